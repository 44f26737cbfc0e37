// A program as it is written for Windows: wide arguments and wide printing.
#include <windows.h>
#include <tchar.h>

#include <stdio.h>

int __cdecl _tmain(int argc, TCHAR* argv[]) {
  printf("narrow first\n");
  for (int i = 1; i < argc; i++) {
    _tprintf(_T("%d %s %S %hs\n"), i, argv[i], "narrow", "short");
  }
  printf("narrow last %hu\n", static_cast<USHORT>(7));
  return argc == 3 ? 0 : 1;
}
