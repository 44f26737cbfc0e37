// The driver protocol over standard input and output. docs/user-guide.md describes it.
#pragma once

#include <string>

#include "cli/drive/adapter.h"

namespace fb::drive {

/// The program that serves, as messages on standard error name it.
struct Serving {
  std::string name;   ///< "fabricbench host drive"
  std::string start;  ///< how a bench starts it: "fabricbench run --dut host:COMMAND"
  MakeAdapter adapter;
};

/// Serves until the input ends, and puts back what it changed; the exit code of the program.
int serve(const Serving& serving);

}  // namespace fb::drive
