// fabricbench init: a folder to begin with.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/document.h"
#include "cli/run_config.h"
#include "cli/starting_files.h"
#include "cli/usage.h"
#include "sim/capture/pcapng.h"

namespace fb::cli {

namespace {

struct InitArguments {
  std::string folder = ".";
  std::string dut = "embedded";
  std::string ci = "github";
  bool json = false;
};

/// A value between the quotes of TOML.
std::string toml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}

std::string text_of(const std::vector<StartingFile>& files, std::string_view name) {
  const auto found = std::ranges::find(files, name, &StartingFile::name);
  return found == files.end() ? std::string() : found->text;
}

std::string configuration(const std::string& dut) {
  std::string text = text_of(starting_files(), kRunConfigName);
  constexpr std::string_view kPlace = "{DUT}";
  return text.replace(text.find(kPlace), kPlace.size(), toml_text(dut));
}

std::vector<StartingFile> files_of(const InitArguments& arguments) {
  std::vector<StartingFile> files = {{kRunConfigName, configuration(arguments.dut)},
                                     {"waivers.yaml", text_of(starting_files(), "waivers.yaml")}};
  if (arguments.ci == "github") files.push_back({".github/workflows/fabricbench.yml", text_of(starting_files(), "github.yml")});
  if (arguments.ci == "gitlab") files.push_back({".gitlab-ci.yml", text_of(ci_templates(), "gitlab.yml")});
  if (arguments.ci == "jenkins") files.push_back({"Jenkinsfile", text_of(ci_templates(), "Jenkinsfile")});
  return files;
}

void init(const InitArguments& arguments) {
  const std::filesystem::path folder(arguments.folder);
  const std::vector<StartingFile> files = files_of(arguments);
  std::error_code error;
  // All or nothing: what somebody has edited stays.
  for (const StartingFile& file : files) {
    const std::string path = (folder / file.name).string();
    if (std::filesystem::exists(std::filesystem::symlink_status(path, error)))
      throw UserError(path + " exists already; nothing was written");
  }
  nlohmann::ordered_json written = nlohmann::ordered_json::array();
  for (const StartingFile& file : files) {
    const std::filesystem::path path = folder / file.name;
    std::filesystem::create_directories(path.parent_path().empty() ? "." : path.parent_path(), error);
    if (error) throw UserError("cannot create the folder " + path.parent_path().string() + ": " + error.message());
    or_throw(capture::write_atomically(path.string(), Bytes(file.text.begin(), file.text.end())));
    written.push_back(path.string());
    if (!arguments.json) std::printf("wrote %s\n", path.string().c_str());
  }
  if (arguments.json) {
    print_document({{"files", written}});
  } else {
    std::printf("next: edit %s, then run 'fabricbench run' in that folder\n", (folder / kRunConfigName).string().c_str());
  }
}

}  // namespace

void add_init(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<InitArguments>();
  CLI::App* command = app.add_subcommand("init", "Write a configuration for a product to begin with");
  set_help(*command,
           "  fabricbench init\n"
           "  fabricbench init acme --dut tcp://192.0.2.7:4420 --ci gitlab\n",
           exit_codes("the files were written", "not used"));
  command->add_option("folder", arguments->folder, "Folder of the files; it is created")->type_name("DIR")->capture_default_str();
  command->add_option("--dut", arguments->dut, "The product, as of 'fabricbench run'")->type_name("URL")->capture_default_str();
  command->add_option("--ci", arguments->ci, "A file for this CI system too: github, gitlab, jenkins or none")
      ->check(one_of_texts({"github", "gitlab", "jenkins", "none"}))
      ->type_name("SYSTEM")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print the names of the files as one JSON document");
  command->callback([arguments, &outcome] {
    init(*arguments);
    outcome.code = exit_code::good;
  });
}

}  // namespace fb::cli
