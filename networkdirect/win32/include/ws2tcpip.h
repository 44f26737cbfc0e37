// Addresses as text, in the wide form; the narrow inet_pton and inet_ntop are the system's.
#pragma once

#include "winsock2.h"

EXTERN_C_START

INT InetPtonW(INT family, LPCWSTR text, PVOID address);
LPCWSTR InetNtopW(INT family, const VOID* address, LPWSTR text, size_t text_chars);

EXTERN_C_END

#define InetPtonA inet_pton
#define InetNtopA inet_ntop
#define InetPton FABRICBENCH_EITHER(InetPton)
#define InetNtop FABRICBENCH_EITHER(InetNtop)
