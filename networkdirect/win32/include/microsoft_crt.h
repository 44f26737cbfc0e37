// What Microsoft's C library has besides the standard one, and printing as it prints. The wide functions write through the narrow
// ones: on this system a stream that was once written wide is lost to printf. As there, %s is text of the format's own width
// and %S of the other, %hs narrow and %ls wide; %I64 and %I say how wide a number is, and %ld is 32 bits wide: a program that
// means 64 says %lld, %I64d or PRId64. Output is UTF-8.
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>
#include <wctype.h>

#include "minwindef.h"

EXTERN_C_START

int fabricbench_wprintf(const wchar_t* format, ...);
int fabricbench_fwprintf(FILE* stream, const wchar_t* format, ...);
int fabricbench_vwprintf(const wchar_t* format, va_list arguments);
int fabricbench_vfwprintf(FILE* stream, const wchar_t* format, va_list arguments);
int fabricbench_swprintf(wchar_t* to, size_t chars, const wchar_t* format, ...);
int fabricbench_vswprintf(wchar_t* to, size_t chars, const wchar_t* format, va_list arguments);
int fabricbench_fputws(const wchar_t* text, FILE* stream);

int fabricbench_printf(const char* format, ...);
int fabricbench_fprintf(FILE* stream, const char* format, ...);
int fabricbench_vprintf(const char* format, va_list arguments);
int fabricbench_vfprintf(FILE* stream, const char* format, va_list arguments);
int fabricbench_sprintf(char* to, const char* format, ...);
int fabricbench_vsprintf(char* to, const char* format, va_list arguments);
int fabricbench_snprintf(char* to, size_t chars, const char* format, ...);
int fabricbench_vsnprintf(char* to, size_t chars, const char* format, va_list arguments);

// What does not fit empties the target, and the answer is -1. With _TRUNCATE, or a `count` that is smaller than the target, it is
// cut, and the answer is -1 too.
int sprintf_s(char* to, size_t chars, const char* format, ...);
int vsprintf_s(char* to, size_t chars, const char* format, va_list arguments);
int _snprintf_s(char* to, size_t chars, size_t count, const char* format, ...);
int _vsnprintf_s(char* to, size_t chars, size_t count, const char* format, va_list arguments);
int swprintf_s(wchar_t* to, size_t chars, const wchar_t* format, ...);
int vswprintf_s(wchar_t* to, size_t chars, const wchar_t* format, va_list arguments);
int _snwprintf_s(wchar_t* to, size_t chars, size_t count, const wchar_t* format, ...);
int _vsnwprintf_s(wchar_t* to, size_t chars, size_t count, const wchar_t* format, va_list arguments);

typedef int errno_t;
FILE* _wfopen(const wchar_t* name, const wchar_t* mode);
FILE* _wfreopen(const wchar_t* name, const wchar_t* mode, FILE* stream);
errno_t _wfopen_s(FILE** stream, const wchar_t* name, const wchar_t* mode);
errno_t fopen_s(FILE** stream, const char* name, const char* mode);
int _fcloseall(void);
int _wtoi(const wchar_t* text);
LONG _wtol(const wchar_t* text);
INT64 _wtoi64(const wchar_t* text);
double _wtof(const wchar_t* text);
wchar_t* _wgetenv(const wchar_t* name);
// Too long or null: the target is emptied, and the answer is ERANGE or EINVAL.
errno_t wcscpy_s(wchar_t* to, size_t chars, const wchar_t* from);
errno_t wcscat_s(wchar_t* to, size_t chars, const wchar_t* from);
errno_t wcsncpy_s(wchar_t* to, size_t chars, const wchar_t* from, size_t count);
errno_t strcpy_s(char* to, size_t chars, const char* from);
errno_t strcat_s(char* to, size_t chars, const char* from);
errno_t strncpy_s(char* to, size_t chars, const char* from, size_t count);
errno_t wcsncat_s(wchar_t* to, size_t chars, const wchar_t* from, size_t count);
errno_t strncat_s(char* to, size_t chars, const char* from, size_t count);
errno_t memmove_s(void* to, size_t to_bytes, const void* from, size_t count);
errno_t memcpy_s(void* to, size_t to_bytes, const void* from, size_t count);
void* _aligned_malloc(size_t bytes, size_t alignment);
void _aligned_free(void* memory);

EXTERN_C_END

#define _TRUNCATE ((size_t)-1)
#ifndef _countof
#define _countof(array) (sizeof(array) / sizeof((array)[0]))
#endif
#define _wcsicmp wcscasecmp
#define _wcsnicmp wcsncasecmp
#define _wcsdup wcsdup
#define _stricmp strcasecmp
#define _strnicmp strncasecmp
#define _strdup strdup
#define _snprintf snprintf
#define _vsnprintf vsnprintf
#define _vsnwprintf fabricbench_vswprintf
#define vswprintf fabricbench_vswprintf
#define _strtoui64 strtoull
#define _strtoi64 strtoll
#define _wcstoui64 wcstoull
#define _wcstoi64 wcstoll
#define _atoi64 atoll
#define wcstok_s wcstok
#define strtok_s strtok_r
#define __debugbreak() __builtin_trap()

#ifdef __cplusplus
// The sizes of arrays are known.
template <size_t chars>
errno_t wcscpy_s(wchar_t (&to)[chars], const wchar_t* from) {
  return wcscpy_s(to, chars, from);
}
template <size_t chars>
errno_t wcscat_s(wchar_t (&to)[chars], const wchar_t* from) {
  return wcscat_s(to, chars, from);
}
template <size_t chars>
errno_t strcpy_s(char (&to)[chars], const char* from) {
  return strcpy_s(to, chars, from);
}
template <size_t chars>
errno_t strcat_s(char (&to)[chars], const char* from) {
  return strcat_s(to, chars, from);
}
template <size_t chars>
errno_t wcsncpy_s(wchar_t (&to)[chars], const wchar_t* from, size_t count) {
  return wcsncpy_s(to, chars, from, count);
}
template <size_t chars>
errno_t strncpy_s(char (&to)[chars], const char* from, size_t count) {
  return strncpy_s(to, chars, from, count);
}
template <size_t chars>
errno_t wcsncat_s(wchar_t (&to)[chars], const wchar_t* from, size_t count) {
  return wcsncat_s(to, chars, from, count);
}
template <size_t chars>
errno_t strncat_s(char (&to)[chars], const char* from, size_t count) {
  return strncat_s(to, chars, from, count);
}
template <size_t chars>
int vsprintf_s(char (&to)[chars], const char* format, va_list arguments) {
  return vsprintf_s(to, chars, format, arguments);
}
template <size_t chars>
int sprintf_s(char (&to)[chars], const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vsprintf_s(to, chars, format, arguments);
  va_end(arguments);
  return written;
}
template <size_t chars>
int _vsnprintf_s(char (&to)[chars], size_t count, const char* format, va_list arguments) {
  return _vsnprintf_s(to, chars, count, format, arguments);
}
template <size_t chars>
int _snprintf_s(char (&to)[chars], size_t count, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = _vsnprintf_s(to, chars, count, format, arguments);
  va_end(arguments);
  return written;
}
template <size_t chars>
int vswprintf_s(wchar_t (&to)[chars], const wchar_t* format, va_list arguments) {
  return vswprintf_s(to, chars, format, arguments);
}
template <size_t chars>
int swprintf_s(wchar_t (&to)[chars], const wchar_t* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = vswprintf_s(to, chars, format, arguments);
  va_end(arguments);
  return written;
}
template <size_t chars>
int _vsnwprintf_s(wchar_t (&to)[chars], size_t count, const wchar_t* format, va_list arguments) {
  return _vsnwprintf_s(to, chars, count, format, arguments);
}
template <size_t chars>
int _snwprintf_s(wchar_t (&to)[chars], size_t count, const wchar_t* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = _vsnwprintf_s(to, chars, count, format, arguments);
  va_end(arguments);
  return written;
}
// Before the names become others'.
#include <cstdio>
#include <cwchar>
#include <string>
namespace std {
using ::fabricbench_fprintf;
using ::fabricbench_fwprintf;
using ::fabricbench_printf;
using ::fabricbench_snprintf;
using ::fabricbench_sprintf;
using ::fabricbench_swprintf;
using ::fabricbench_vfprintf;
using ::fabricbench_vprintf;
using ::fabricbench_vsnprintf;
using ::fabricbench_vsprintf;
using ::fabricbench_wprintf;
}  // namespace std
#endif

// 64 bits by the name that says so: %ld has 32.
#if __WORDSIZE == 64
#undef PRId64
#define PRId64 "lld"
#undef PRIi64
#define PRIi64 "lli"
#undef PRIo64
#define PRIo64 "llo"
#undef PRIx64
#define PRIx64 "llx"
#undef PRIu64
#define PRIu64 "llu"
#undef PRIX64
#define PRIX64 "llX"
#undef PRIdLEAST64
#define PRIdLEAST64 "lld"
#undef PRIiLEAST64
#define PRIiLEAST64 "lli"
#undef PRIoLEAST64
#define PRIoLEAST64 "llo"
#undef PRIxLEAST64
#define PRIxLEAST64 "llx"
#undef PRIuLEAST64
#define PRIuLEAST64 "llu"
#undef PRIXLEAST64
#define PRIXLEAST64 "llX"
#undef PRIdFAST64
#define PRIdFAST64 "lld"
#undef PRIiFAST64
#define PRIiFAST64 "lli"
#undef PRIoFAST64
#define PRIoFAST64 "llo"
#undef PRIxFAST64
#define PRIxFAST64 "llx"
#undef PRIuFAST64
#define PRIuFAST64 "llu"
#undef PRIXFAST64
#define PRIXFAST64 "llX"
#undef PRIdFAST32
#define PRIdFAST32 "lld"
#undef PRIiFAST32
#define PRIiFAST32 "lli"
#undef PRIoFAST32
#define PRIoFAST32 "llo"
#undef PRIxFAST32
#define PRIxFAST32 "llx"
#undef PRIuFAST32
#define PRIuFAST32 "llu"
#undef PRIXFAST32
#define PRIXFAST32 "llX"
#undef PRIdFAST16
#define PRIdFAST16 "lld"
#undef PRIiFAST16
#define PRIiFAST16 "lli"
#undef PRIoFAST16
#define PRIoFAST16 "llo"
#undef PRIxFAST16
#define PRIxFAST16 "llx"
#undef PRIuFAST16
#define PRIuFAST16 "llu"
#undef PRIXFAST16
#define PRIXFAST16 "llX"
#undef PRIdMAX
#define PRIdMAX "lld"
#undef PRIiMAX
#define PRIiMAX "lli"
#undef PRIoMAX
#define PRIoMAX "llo"
#undef PRIxMAX
#define PRIxMAX "llx"
#undef PRIuMAX
#define PRIuMAX "llu"
#undef PRIXMAX
#define PRIXMAX "llX"
#undef PRIdPTR
#define PRIdPTR "lld"
#undef PRIiPTR
#define PRIiPTR "lli"
#undef PRIoPTR
#define PRIoPTR "llo"
#undef PRIxPTR
#define PRIxPTR "llx"
#undef PRIuPTR
#define PRIuPTR "llu"
#undef PRIXPTR
#define PRIXPTR "llX"
#endif

#define printf fabricbench_printf
#define fprintf fabricbench_fprintf
#define vprintf fabricbench_vprintf
#define vfprintf fabricbench_vfprintf
#define sprintf fabricbench_sprintf
#define vsprintf fabricbench_vsprintf
#define snprintf fabricbench_snprintf
#define vsnprintf fabricbench_vsnprintf

#define wprintf fabricbench_wprintf
#define fwprintf fabricbench_fwprintf
#define vwprintf fabricbench_vwprintf
#define vfwprintf fabricbench_vfwprintf
#define swprintf fabricbench_swprintf
#define _snwprintf fabricbench_swprintf
#define wprintf_s fabricbench_wprintf
#define fwprintf_s fabricbench_fwprintf
#define printf_s printf
#define fprintf_s fprintf
#define _putws(text) (fabricbench_wprintf(L"%ls\n", (text)))
#define fputws fabricbench_fputws
