// What Microsoft's C library has besides the standard one. The wide printing functions write through the narrow ones: on
// this system a stream that was once written wide is lost to printf. As there, %s in a wide format is a wide string,
// %S and %hs are narrow, %I64 and %I say how wide a number is, and %ld is 32 bits wide. Output is UTF-8. The narrow
// printf is the system's: it knows no %I64, and its %ld is 64 bits wide.
#pragma once

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
#define sprintf_s snprintf
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
#include <cstdio>
#include <cwchar>
#endif

#define wprintf fabricbench_wprintf
#define fwprintf fabricbench_fwprintf
#define vwprintf fabricbench_vwprintf
#define vfwprintf fabricbench_vfwprintf
#define swprintf fabricbench_swprintf
#define swprintf_s fabricbench_swprintf
#define _snwprintf fabricbench_swprintf
#define wprintf_s fabricbench_wprintf
#define fwprintf_s fabricbench_fwprintf
#define printf_s printf
#define fprintf_s fprintf
#define _putws(text) (fabricbench_wprintf(L"%ls\n", (text)))
#define fputws fabricbench_fputws
