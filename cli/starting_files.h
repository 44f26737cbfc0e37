// What `fabricbench init` writes: texts of cli/starting and ci/templates.
#pragma once

#include <string>
#include <vector>

namespace fb::cli {

struct StartingFile {
  std::string name;
  std::string text;
};

std::vector<StartingFile> starting_files();
std::vector<StartingFile> ci_templates();

}  // namespace fb::cli
