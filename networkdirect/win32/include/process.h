// Threads as the C library of Windows starts them.
#pragma once

#include "windows.h"

EXTERN_C_START

uintptr_t _beginthreadex(void* security, unsigned stack_bytes, unsigned(__stdcall* start)(void*), void* parameter, unsigned flags,
                         unsigned* id);
// The handle of _beginthread closes itself when the thread ends.
uintptr_t _beginthread(void(__cdecl* start)(void*), unsigned stack_bytes, void* parameter);
DECLSPEC_NORETURN void _endthreadex(unsigned code);
DECLSPEC_NORETURN void _endthread(void);

EXTERN_C_END

#define _getpid() ((int)GetCurrentProcessId())
