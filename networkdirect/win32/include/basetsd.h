// Integers of fixed width. ULONG, LONG and DWORD have 32 bits; long, which has 64 here, stands behind the 64-bit
// types alone. As on Windows all unsigned 64-bit types (UINT64, ULONGLONG, SIZE_T, ULONG_PTR) are one type, the
// same as size_t and uint64_t, so that pointers to them mix.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int8_t INT8, *PINT8;
typedef int16_t INT16, *PINT16;
typedef int32_t INT32, *PINT32;
typedef int64_t INT64, *PINT64;
typedef uint8_t UINT8, *PUINT8;
typedef uint16_t UINT16, *PUINT16;
typedef uint32_t UINT32, *PUINT32;
typedef uint64_t UINT64, *PUINT64;
typedef int32_t LONG32, *PLONG32;
typedef uint32_t ULONG32, *PULONG32;
typedef uint32_t DWORD32, *PDWORD32;
typedef int64_t LONG64, *PLONG64;
typedef uint64_t ULONG64, *PULONG64;
typedef uint64_t DWORD64, *PDWORD64;
typedef intptr_t INT_PTR, *PINT_PTR;
typedef uintptr_t UINT_PTR, *PUINT_PTR;
typedef intptr_t LONG_PTR, *PLONG_PTR;
typedef uintptr_t ULONG_PTR, *PULONG_PTR;
typedef uintptr_t DWORD_PTR, *PDWORD_PTR;
typedef size_t SIZE_T, *PSIZE_T;
typedef intptr_t SSIZE_T, *PSSIZE_T;
typedef ULONG_PTR KAFFINITY, *PKAFFINITY;

#define PtrToUlong(p) ((uint32_t)(uintptr_t)(p))
#define PtrToLong(p) ((int32_t)(intptr_t)(p))
#define PtrToUint(p) ((uint32_t)(uintptr_t)(p))
#define UlongToPtr(n) ((void*)(uintptr_t)(uint32_t)(n))
#define UlongToHandle(n) ((void*)(uintptr_t)(uint32_t)(n))
#define HandleToUlong(h) ((uint32_t)(uintptr_t)(h))
