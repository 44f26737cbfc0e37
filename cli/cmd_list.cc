// fabricbench list and fabricbench requirements: what there is.
#include <cstdio>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/document.h"
#include "cli/suite_options.h"
#include "cli/usage.h"
#include "conformance/report/report.h"
#include "model/drive/variants.h"

namespace fb::cli {

namespace {

using namespace conformance;

struct ListArguments {
  Selection selection;
  bool deviations = false;
  bool drives = false;
  bool json = false;
};

using Deviations = std::vector<const deviations::Deviation*>;

/// Those of the requirements that the chosen cases check; all of them where nothing was chosen.
Deviations deviations_for(const Selection& selection) {
  const bool all = selection.suites.empty() && selection.cases.empty() && selection.roles.empty() && selection.transport.empty();
  if (all) return deviations::all_deviations();
  std::set<std::string_view> requirements;
  for (const CaseInfo* info : or_throw(select(all_cases(), selection))) requirements.insert(info->requirement);
  Deviations found;
  for (const auto* deviation : deviations::all_deviations()) {
    const bool shows = selection.transport.empty() || deviations::shows_over(*deviation, selection.transport);
    if (shows && requirements.contains(deviation->requirement)) found.push_back(deviation);
  }
  return found;
}

nlohmann::ordered_json deviations_json(const Deviations& found) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto* deviation : found) {
    all.push_back({{"name", deviation->name},
                   {"product", name_of(deviation->product)},
                   {"requirement", deviation->requirement},
                   {"what", deviation->what}});
  }
  return {{"deviations", all}};
}

std::string deviations_text(const Deviations& found) {
  std::string text;
  for (const auto* deviation : found) {
    text += std::string(deviation->name) + "\n    " + std::string(name_of(deviation->product)) + ", " +
            std::string(deviation->requirement) + "\n    " + std::string(deviation->what) + "\n";
  }
  return text + counted(found.size(), "deviation") + "\n";
}

std::string drives_text() {
  std::string text;
  for (const mi::DriveVariant& variant : mi::drive_variants()) {
    text += std::string(variant.name) + "\n    a drive " + std::string(variant.what) + "\n";
  }
  return text + std::to_string(mi::drive_variants().size()) + " drives\n";
}

nlohmann::ordered_json drives_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const mi::DriveVariant& variant : mi::drive_variants()) {
    all.push_back({{"name", variant.name}, {"what", "a drive " + std::string(variant.what)}});
  }
  return {{"drives", all}};
}

}  // namespace

void add_list(CLI::App& app, Outcome& outcome) {
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* command = app.add_subcommand("list", "List the cases, the deviations, or the kinds of drives");
  set_help(*command, "  fabricbench list --suite fabrics\n  fabricbench list --deviations\n  fabricbench list --drives --json\n",
           exit_codes("success", "not used"));
  add_selection(*command, arguments->selection);
  command->add_flag("--deviations", arguments->deviations, "List the ways in which the embedded products can misbehave");
  command->add_flag("--drives", arguments->drives, "List the kinds of drives for mctp exec and mctp serve");
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([arguments, &outcome] {
    outcome.code = exit_code::good;
    const Selection& chosen = arguments->selection;
    if (arguments->drives) {
      const bool any = !chosen.suites.empty() || !chosen.cases.empty() || !chosen.roles.empty() || !chosen.transport.empty();
      if (arguments->deviations || any) throw UserError("--drives lists drives: it goes with --json only");
      if (arguments->json)
        print_document(drives_json());
      else
        std::fputs(drives_text().c_str(), stdout);
      return;
    }
    if (arguments->deviations) {
      const Deviations found = deviations_for(chosen);
      if (arguments->json)
        print_document(deviations_json(found));
      else
        std::fputs(deviations_text(found).c_str(), stdout);
      return;
    }
    const auto cases = or_throw(select(all_cases(), chosen));
    std::fputs((arguments->json ? list_json(cases) : list_text(cases)).c_str(), stdout);
  });
}

void add_requirements(CLI::App& app, Outcome& outcome) {
  struct Arguments {
    bool coverage = false;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("requirements", "List the requirements and the cases that check them");
  set_help(*command, "  fabricbench requirements --coverage\n", exit_codes("success", "not used"));
  command->add_flag("--coverage", arguments->coverage, "With the cases that check each (the default)");
  command->add_flag("--json", arguments->json, "Print one JSON document");
  command->callback([arguments, &outcome] {
    outcome.code = exit_code::good;
    const auto text = arguments->json ? coverage_json(all_cases()) : coverage_text(all_cases());
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace fb::cli
