// fabricbench statement: what a product was tested for, for third parties.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/document.h"
#include "cli/usage.h"
#include "conformance/report/statement.h"

namespace fb::cli {

namespace {

struct StatementArguments {
  std::string report;
  std::string output = "statement";
  std::string key;
  bool json = false;
};

void write_statement(const StatementArguments& arguments) {
  const std::string path = results_of(arguments.report);
  const std::string results = read_text(path);
  conformance::Statement statement = or_throw(conformance::make_statement(results, path));
  std::vector<std::pair<std::string, std::string>> files;
  if (!arguments.key.empty()) {
    const auto signature = conformance::sign_results(results, read_text(arguments.key), statement);
    if (!signature) throw UserError(arguments.key + ": " + signature.error().text);
    files.emplace_back("results.json.sig", *signature);
  }
  files.emplace_back("statement.html", conformance::statement_html(statement));
  files.emplace_back("statement.pdf", or_throw(conformance::statement_pdf(statement)));
  const std::vector<std::string> written = write_folder(arguments.output, files);
  if (arguments.json)
    print_document({{"outcome", statement.outcome}, {"sha256", statement.sha256}, {"files", written}});
  else
    for (const std::string& file : written) std::printf("wrote %s\n", file.c_str());
}

}  // namespace

void add_statement(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<StatementArguments>();
  CLI::App* command = app.add_subcommand("statement", "Write a conformance statement (HTML and PDF) from a report");
  set_help(*command,
           "  fabricbench statement report\n"
           "  fabricbench statement report --output acme-3.1 --key signing.pem\n",
           exit_codes("the statement was written", "not used"));
  command->add_option("report", arguments->report, "A folder that `run --report` left, or its results.json")
      ->type_name("REPORT")
      ->required();
  add_output(*command, arguments->output, "Folder of the statement; it is created", "DIR");
  command->add_option("--key", arguments->key, "Sign results.json with this private key (PEM: Ed25519, EC or RSA)")->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print the result as one JSON document");
  command->callback([arguments, &outcome] {
    write_statement(*arguments);
    outcome.code = exit_code::good;
  });
}

}  // namespace fb::cli
