// A library like any other: it loads, and is no provider.
#include <windows.h>

extern "C" __declspec(dllexport) int hollow() { return 0; }
