// The basic words of Win32: types, calling conventions (there is but one here), small macros.
#pragma once

#include <wchar.h>

#include "basetsd.h"
#include "sal.h"

#ifdef __cplusplus
#define EXTERN_C extern "C"
#define EXTERN_C_START extern "C" {
#define EXTERN_C_END }
#else
#define EXTERN_C extern
#define EXTERN_C_START
#define EXTERN_C_END
#endif

// Calling conventions and what a compiler for Windows says besides.
#define WINAPI
#define CALLBACK
#define APIENTRY
#define APIPRIVATE
#define PASCAL
#define CDECL
#define NTAPI
#define WINBASEAPI
#define WINAPIV
#define FAR
#define NEAR
#define CONST const
#ifndef __cdecl
#define __cdecl
#endif
#ifndef __stdcall
#define __stdcall
#endif
#ifndef __fastcall
#define __fastcall
#endif
#ifndef __forceinline
#define __forceinline inline __attribute__((always_inline))
#endif
#define FORCEINLINE static inline __attribute__((always_inline))
#ifndef __int64
#define __int64 long
#endif
#ifndef __int32
#define __int32 int
#endif
#ifndef __int16
#define __int16 short
#endif
#ifndef __declspec
#define __declspec(what) FABRICBENCH_DECLSPEC_##what
#define FABRICBENCH_DECLSPEC_novtable
#define FABRICBENCH_DECLSPEC_dllimport
#define FABRICBENCH_DECLSPEC_nothrow __attribute__((__nothrow__))
#define FABRICBENCH_DECLSPEC_dllexport __attribute__((__visibility__("default")))
#define FABRICBENCH_DECLSPEC_noreturn __attribute__((__noreturn__))
#define FABRICBENCH_DECLSPEC_noinline __attribute__((__noinline__))
#define FABRICBENCH_DECLSPEC_selectany __attribute__((__weak__))
#define FABRICBENCH_DECLSPEC_thread __thread
#define FABRICBENCH_DECLSPEC_align(n) __attribute__((__aligned__(n)))
#define FABRICBENCH_DECLSPEC_uuid(text)
#define FABRICBENCH_DECLSPEC_deprecated __attribute__((__deprecated__))
#endif
#define DECLSPEC_NOVTABLE
#define DECLSPEC_IMPORT
#define DECLSPEC_EXPORT __attribute__((__visibility__("default")))
#define DECLSPEC_NORETURN __attribute__((__noreturn__))
#define DECLSPEC_NOINLINE __attribute__((__noinline__))
#define DECLSPEC_SELECTANY __attribute__((__weak__))
#define DECLSPEC_ALIGN(n) __attribute__((__aligned__(n)))

#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef OPTIONAL
#define OPTIONAL
#endif

#ifndef VOID
#define VOID void
#endif
typedef char CHAR, *PCHAR;
typedef unsigned char UCHAR, *PUCHAR;
typedef unsigned char BYTE, *PBYTE, *LPBYTE;
typedef BYTE BOOLEAN, *PBOOLEAN;
typedef int16_t SHORT, *PSHORT;
typedef uint16_t USHORT, *PUSHORT;
typedef uint16_t WORD, *PWORD, *LPWORD;
typedef int32_t INT, *PINT, *LPINT;
typedef uint32_t UINT, *PUINT, *LPUINT;
typedef int32_t LONG, *PLONG, *LPLONG;
typedef uint32_t ULONG, *PULONG, *LPULONG;
typedef uint32_t DWORD, *PDWORD, *LPDWORD;
typedef int64_t LONGLONG, *PLONGLONG;
typedef uint64_t ULONGLONG, *PULONGLONG;
typedef uint64_t DWORDLONG, *PDWORDLONG;
typedef float FLOAT, *PFLOAT;
typedef double DOUBLE;
typedef int32_t BOOL, *PBOOL, *LPBOOL;
typedef void *PVOID, *LPVOID, **PPVOID;
typedef const void *PCVOID, *LPCVOID;
typedef uint16_t GROUP;

typedef char *PSTR, *LPSTR, *NPSTR;
typedef const char *PCSTR, *LPCSTR;
// Wide characters are those of the system, four bytes each.
typedef wchar_t WCHAR, *PWCHAR, *LPWCH, *PWCH;
typedef wchar_t *PWSTR, *LPWSTR, *NWPSTR;
typedef const wchar_t *PCWSTR, *LPCWSTR, *LPCWCH, *PCWCH;
#ifdef UNICODE
typedef WCHAR TCHAR, *PTCHAR, TBYTE;
typedef LPWSTR PTSTR, LPTSTR;
typedef LPCWSTR PCTSTR, LPCTSTR;
#define FABRICBENCH_TEXT(text) L##text
#define FABRICBENCH_EITHER(name) name##W
#else
typedef CHAR TCHAR, *PTCHAR, TBYTE;
typedef LPSTR PTSTR, LPTSTR;
typedef LPCSTR PCTSTR, LPCTSTR;
#define FABRICBENCH_TEXT(text) text
#define FABRICBENCH_EITHER(name) name##A
#endif
#define TEXT(text) FABRICBENCH_TEXT(text)

// A handle is a number, a multiple of four that is never given out twice; zero is none.
typedef void *HANDLE, **PHANDLE, **LPHANDLE;
#define DECLARE_HANDLE(name) \
  struct name##__ {          \
    int unused;              \
  };                         \
  typedef struct name##__* name
DECLARE_HANDLE(HINSTANCE);
typedef HINSTANCE HMODULE;
typedef HANDLE HLOCAL, HGLOBAL;
// The one type of function that compilers let be cast to any other without a word.
typedef void (*FARPROC)(void);
typedef void (*PROC)(void);
#define INVALID_HANDLE_VALUE ((HANDLE)(LONG_PTR)-1)

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif
#ifndef NULL
#define NULL 0
#endif
#define MAX_PATH 260
#define INFINITE 0xFFFFFFFFu
#define MAXDWORD 0xFFFFFFFFu
#define MAXULONG 0xFFFFFFFFu

typedef struct _FILETIME {
  DWORD dwLowDateTime;
  DWORD dwHighDateTime;
} FILETIME, *PFILETIME, *LPFILETIME;

#define MAKEWORD(low, high) ((WORD)(((BYTE)((low)&0xFF)) | ((WORD)((BYTE)((high)&0xFF))) << 8))
#define MAKELONG(low, high) ((LONG)(((WORD)((low)&0xFFFF)) | ((DWORD)((WORD)((high)&0xFFFF))) << 16))
#define LOWORD(n) ((WORD)((DWORD_PTR)(n)&0xFFFF))
#define HIWORD(n) ((WORD)(((DWORD_PTR)(n) >> 16) & 0xFFFF))
#define LOBYTE(n) ((BYTE)((DWORD_PTR)(n)&0xFF))
#define HIBYTE(n) ((BYTE)(((DWORD_PTR)(n) >> 8) & 0xFF))
#define UNREFERENCED_PARAMETER(name) ((void)(name))
#define UNREFERENCED_LOCAL_VARIABLE(name) ((void)(name))
#define DBG_UNREFERENCED_PARAMETER(name) ((void)(name))

// Functions instead of macros where there are functions: the C++ library has members called min and max.
#ifndef NOMINMAX
#ifdef __cplusplus
#include <type_traits>
template <typename A, typename B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using Both = std::common_type_t<A, B>;
  return static_cast<Both>(a) < static_cast<Both>(b) ? static_cast<Both>(a) : static_cast<Both>(b);
}
template <typename A, typename B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using Both = std::common_type_t<A, B>;
  return static_cast<Both>(a) > static_cast<Both>(b) ? static_cast<Both>(a) : static_cast<Both>(b);
}
#else
#ifndef min
#define min(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef max
#define max(a, b) ((a) > (b) ? (a) : (b))
#endif
#endif
#endif
#ifndef __min
#define __min(a, b) ((a) < (b) ? (a) : (b))
#define __max(a, b) ((a) > (b) ? (a) : (b))
#endif
