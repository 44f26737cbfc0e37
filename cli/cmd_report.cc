// fabricbench report: the reports of several runs beside each other, as one page.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/document.h"
#include "cli/usage.h"
#include "conformance/report/matrix.h"
#include "sim/capture/pcapng.h"

namespace fb::cli {

namespace {

struct ReportArguments {
  std::vector<std::string> folders;
  std::string output = "matrix.html";
  bool json = false;
};

int write_matrix(const ReportArguments& arguments) {
  const std::filesystem::path output(arguments.output);
  std::error_code error;
  if (std::filesystem::is_directory(output, error)) throw UserError(arguments.output + ": this is a folder; --output names a file");
  if (output.has_parent_path() && !std::filesystem::is_directory(output.parent_path(), error)) {
    throw UserError(arguments.output + ": there is no folder " + output.parent_path().string());
  }
  const std::string page = or_throw(conformance::matrix_html(arguments.folders, arguments.output));
  or_throw(capture::write_atomically(arguments.output, Bytes(page.begin(), page.end())));
  if (arguments.json) {
    print_document({{"runs", arguments.folders}, {"page", arguments.output}});
  } else {
    std::printf("matrix of %zu runs in %s\n", arguments.folders.size(), arguments.output.c_str());
  }
  return exit_code::good;
}

}  // namespace

void add_report(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("report", "Compare the reports of several runs on one page");
  set_help(*command,
           "  fabricbench run --dut tcp://192.0.2.7:4420 --report ours\n"
           "  fabricbench run --dut tcp://192.0.2.8:4420 --report theirs\n"
           "  fabricbench report ours theirs --output matrix.html\n",
           exit_codes("the page was written", "not used"));
  command->add_option("folders", arguments->folders, "Folders that `run --report` left")->type_name("DIR")->required();
  add_output(*command, arguments->output, "The page to write", "FILE");
  command->add_flag("--json", arguments->json, "Print the result as one JSON document");
  command->callback([arguments, &outcome] { outcome.code = write_matrix(*arguments); });
}

}  // namespace fb::cli
