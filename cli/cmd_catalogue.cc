// fabricbench catalogue: every requirement as pages to look things up in.
#include <cstdio>

#include "cli/common.h"
#include "cli/document.h"
#include "cli/usage.h"
#include "conformance/report/catalogue.h"

namespace fb::cli {

namespace {

struct CatalogueArguments {
  std::vector<std::string> reports;
  std::string output = "catalogue";
  bool json = false;
};

void write_catalogue(const CatalogueArguments& arguments) {
  std::vector<conformance::Statement> reports;
  for (const std::string& report : arguments.reports) {
    const std::string path = results_of(report);
    reports.push_back(or_throw(conformance::make_statement(read_text(path), path)));
  }
  const auto files = or_throw(conformance::catalogue_files(reports));
  const std::vector<std::string> written = write_folder(arguments.output, files);
  if (arguments.json)
    print_document({{"files", written}});
  else
    std::printf("wrote %s and %zu other files\n", written.front().c_str(), written.size() - 1);
}

}  // namespace

void add_catalogue(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<CatalogueArguments>();
  CLI::App* command = app.add_subcommand("catalogue", "Write the requirements, their cases and what products do as web pages");
  set_help(*command,
           "  fabricbench catalogue --output site\n"
           "  fabricbench catalogue --output site report-of-linux report-of-acme\n",
           exit_codes("the pages were written", "not used"));
  command
      ->add_option("reports", arguments->reports,
                   "Folders that `run --report` left, or their results.json: their products are listed with each requirement")
      ->type_name("REPORT");
  add_output(*command, arguments->output, "Folder of the pages; it is created. Open index.html in it", "DIR");
  command->add_flag("--json", arguments->json, "Print the names of the files as one JSON document");
  command->callback([arguments, &outcome] {
    write_catalogue(*arguments);
    outcome.code = exit_code::good;
  });
}

}  // namespace fb::cli
