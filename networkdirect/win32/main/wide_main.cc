// main() for programs whose _tmain or wmain takes wide arguments. The program's own function is one of several, by its
// arguments and its language; the linker says which is there.
#include <cstdio>
#include <string>
#include <vector>

#include "networkdirect/win32/kernel.h"

__attribute__((weak)) int plain_c(int, wchar_t**) __asm__("wmain");
__attribute__((weak)) int with_arguments(int, wchar_t**) __asm__("_Z5wmainiPPw");
__attribute__((weak)) int with_constant_arguments(int, wchar_t**) __asm__("_Z5wmainiPPKw");
__attribute__((weak)) int without_arguments() __asm__("_Z5wmainv");

int main(int argc, char** argv) {
  std::vector<std::wstring> texts;
  for (int i = 0; i < argc; ++i) texts.push_back(fb::win32::to_wide(argv[i]));
  std::vector<wchar_t*> arguments;
  for (std::wstring& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  if (&plain_c != nullptr) return plain_c(argc, arguments.data());
  if (&with_arguments != nullptr) return with_arguments(argc, arguments.data());
  if (&with_constant_arguments != nullptr) return with_constant_arguments(argc, arguments.data());
  if (&without_arguments != nullptr) return without_arguments();
  std::fputs("this program has no wmain\n", stderr);
  return 2;
}
