#include "cli/usage.h"

#include <algorithm>

#include "base/suggest.h"
#include "base/wrap.h"

namespace fb::cli {

namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kDescriptionAt = 26;

/// Lines of at most `columns` each, without indentation; a longer word has a line of its own.
std::vector<std::string> lines_of(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!line.empty() && line.size() + 1 + word.size() > columns) {
      lines.push_back(line);
      line.clear();
    }
    if (!word.empty()) line += (line.empty() ? "" : " ") + std::string(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

/// A name on the left, its description beside it, or below it if the name is long.
std::string entry(const std::string& name, std::string_view description) {
  std::string text, left = "  " + name;
  if (left.size() + 2 > kDescriptionAt) {
    text = left + '\n';
    left.clear();
  }
  for (const std::string& line : lines_of(description, kColumns - kDescriptionAt)) {
    left.resize(kDescriptionAt, ' ');
    text += left + line + '\n';
    left.clear();
  }
  return left.empty() ? text : text + left + '\n';
}

/// Where a line of a shell can be continued on the next: the last blank outside of quotes that leaves room for a backslash.
std::size_t break_of(std::string_view line) {
  std::size_t cut = 0;
  bool quoted = false;
  for (std::size_t i = line.find_first_not_of(' '); i < line.size(); ++i) {
    if (line[i] == '\'') quoted = !quoted;
    if (line[i] != ' ' || quoted) continue;
    if (i + 2 > kColumns && cut != 0) break;
    cut = i;
  }
  return cut;
}

/// A command, continued with backslashes where it is too long.
std::string command_lines(std::string line) {
  const std::string indent(line.find_first_not_of(' ') + 4, ' ');
  std::string out;
  while (line.size() > kColumns) {
    const std::size_t cut = break_of(line);
    if (cut == 0) break;
    out += line.substr(0, cut) + " \\\n";
    line = indent + line.substr(cut + 1);
  }
  return out + line + '\n';
}

std::string footer_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    out += line.empty() ? "\n" : line.starts_with("  ") ? command_lines(std::string(line)) : wrap(line, 2);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string path_of(const CLI::App& command) {
  std::string path = command.get_name();
  for (const CLI::App* up = command.get_parent(); up != nullptr; up = up->get_parent()) path = up->get_name() + " " + path;
  return path;
}

class Formatter final : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override { return footer_text(app->get_description()) + "\n"; }

  std::string make_usage(const CLI::App* app, std::string) const override {
    std::string text = "Usage: " + path_of(*app);
    if (!app->get_subcommands([](const CLI::App*) { return true; }).empty()) return text + " COMMAND [OPTIONS]\n";
    text += " [OPTIONS]";
    for (const CLI::Option* one : app->get_options([](const CLI::Option* option) { return option->get_positional(); })) {
      const std::string word = one->get_type_name().empty() ? one->get_name(true, false) : one->get_type_name();
      const bool several = one->get_expected_max() >= CLI::detail::expected_max_vector_size;
      text += one->get_required() ? " " + word : " [" + word + "]";
      if (several) text += "...";
    }
    return wrap(text, 7);
  }

  std::string make_subcommand(const CLI::App* command) const override { return entry(command->get_name(), command->get_description()); }

  std::string make_option(const CLI::Option* option, bool positional) const override {
    std::string name = positional ? option->get_name(true, false) : option->get_name(false, true);
    std::replace(name.begin(), name.end(), ',', ' ');
    std::string description = option->get_description();
    if (option->get_type_size() != 0) {
      const std::string type = option->get_type_name();
      if (positional && !type.empty())
        name = type;
      else if (!type.empty())
        name += " " + type;
      if (option->get_required() && !positional) description += " (required)";
      if (!option->get_default_str().empty()) description += " [" + option->get_default_str() + "]";
    }
    return entry(name, description);
  }

  std::string make_footer(const CLI::App* app) const override { return footer_text(app->get_footer()); }
};

/// The command that was named.
const CLI::App& deepest(const CLI::App& program) {
  const CLI::App* at = &program;
  for (auto chosen = at->get_subcommands(); !chosen.empty(); chosen = at->get_subcommands()) at = chosen.front();
  return *at;
}

std::string option_names(const CLI::App& command, std::string_view typed) {
  std::vector<std::string> names;
  for (const CLI::Option* one : command.get_options([](const CLI::Option*) { return true; })) {
    if (one->get_group().empty()) continue;
    for (const std::string& name : one->get_lnames()) names.push_back("--" + name);
  }
  return did_you_mean(typed, names);
}

void for_each_command(CLI::App& at, const std::function<void(CLI::App&)>& call) {
  call(at);
  for (CLI::App* below : at.get_subcommands([](CLI::App*) { return true; })) for_each_command(*below, call);
}

}  // namespace

std::string exit_codes(std::string_view zero, std::string_view one) {
  return "Exit codes: 0 " + std::string(zero) + "; 1 " + std::string(one) +
         "; 2 wrong use, wrong input or missing surroundings; 130 interrupted.";
}

void set_help(CLI::App& command, const std::string& examples, const std::string& codes) {
  const bool several = std::count(examples.begin(), examples.end(), '\n') > 1;
  command.footer((several ? "Examples:\n" : "Example:\n") + examples + "\n" + codes);
}

void add_hidden_name(CLI::App& command, const std::string& name, CLI::Option& option) {
  command
      .add_option_function<std::string>(name,
                                        [&option](const std::string& value) {
                                          option.clear();
                                          option.add_result(value);
                                          option.run_callback();
                                        })
      ->group("");
}

void add_report_folder(CLI::App& command, std::string& folder) {
  CLI::Option* option = command.add_option("--report", folder, "Write a report into this folder")->type_name("DIR");
  add_hidden_name(command, "--output", *option);
  add_hidden_name(command, "--out", *option);
}

CLI::Option* add_output(CLI::App& command, std::string& path, const std::string& description, const std::string& type) {
  CLI::Option* option = command.add_option("--output", path, description)->type_name(type)->capture_default_str();
  add_hidden_name(command, "--out", *option);
  return option;
}

CLI::Validator one_of_texts(std::vector<std::string> known) {
  return CLI::Validator(
      [known = std::move(known)](std::string& text) {
        return std::find(known.begin(), known.end(), text) != known.end() ? std::string() : refuse_word(text, known);
      },
      "");
}

std::string refuse_word(const std::string& text, const std::vector<std::string>& known) {
  std::string all;
  for (const std::string& word : known) all += (all.empty() ? "" : ", ") + word;
  return "'" + text + "' is none of " + all + did_you_mean(text, known);
}

void finish_commands(CLI::App& program) {
  const auto formatter = std::make_shared<Formatter>();
  const auto given_as = [](const std::string& name) {
    return CLI::Validator([name](std::string& text) { return text.empty() ? name + "the value is empty" : std::string(); }, "");
  };
  const CLI::Validator given = given_as("");
  for_each_command(program, [&](CLI::App& command) {
    command.formatter(formatter);
    if (CLI::Option* help = command.get_help_ptr()) help->description("Show this help and exit");
    for (CLI::Option* option : command.get_options([](CLI::Option*) { return true; })) {
      if (option->get_items_expected_min() == 0 || option->get_name() == "program") continue;
      // The library names no option that is not in --help.
      const bool hidden = option->get_name().empty() && !option->get_lnames().empty();
      option->check(hidden ? given_as("--" + option->get_lnames().front() + ": ") : given);
    }
  });
}

std::string explain(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = deepest(program);
  const std::string hint = " ('" + path_of(command) + " --help' shows the options)";
  for (const std::string& word : program.remaining(true)) {
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with('-') && name != "-" && name != "--") {
      return path_of(command) + ": no option '" + name + "'" + option_names(command, name) + hint;
    }
  }
  for (const std::string& word : program.remaining(true)) {
    // "list deviations" for "list --deviations".
    if (word != "--") return path_of(command) + ": '" + word + "' was not expected" + option_names(command, "--" + word) + hint;
  }
  std::string what = error.what();
  constexpr std::string_view kRequired = " is required";
  if (what == "A subcommand is required") {
    std::string known;
    for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
      known += (known.empty() ? "" : ", ") + below->get_name();
    }
    return path_of(command) + ": no command; known are: " + known;
  }
  if (what.ends_with(kRequired)) {
    // A positional argument is called in the help by its type.
    const CLI::Option* const option = command.get_option_no_throw(what.substr(0, what.size() - kRequired.size()));
    if (option != nullptr && option->get_positional()) {
      const std::string name = option->get_type_name().empty() ? option->get_name(true, false) : option->get_type_name();
      return path_of(command) + ": " + name + " is missing" + hint;
    }
  }
  // "Could not convert: --nsid = -1"
  constexpr std::string_view kConvert = "Could not convert: ";
  if (what.starts_with(kConvert)) {
    what.erase(0, kConvert.size());
    const std::size_t equals = what.find(" = ");
    if (equals != std::string::npos) what = what.substr(0, equals) + ": '" + what.substr(equals + 3) + "' is not a number that it takes";
  }
  return what + hint;
}

std::string empty_element(const std::string& text) {
  if (!text.starts_with(',') && !text.ends_with(',') && text.find(",,") == std::string::npos) return {};
  return "'" + text + "' has an element that is empty";
}

std::string empty_element(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* command = &program;
  const CLI::Option* list = nullptr;
  for (const std::string& word : words) {
    if (word == "--") break;
    const auto named = command->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (!named.empty()) {
      command = named.front();
      continue;
    }
    std::string value = word;
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      const CLI::Option* const option = command->get_option_no_throw(word.substr(0, equals));
      list = option != nullptr && option->get_delimiter() == ',' ? option : nullptr;
      value = equals == std::string::npos ? "" : word.substr(equals + 1);
    }
    if (list == nullptr) continue;
    if (const std::string wrong = empty_element(value); !wrong.empty()) {
      return list->get_name() + ": " + wrong + " ('" + path_of(*command) + " --help' shows the options)";
    }
  }
  return {};
}

std::string unknown_command(const CLI::App& program, const std::vector<std::string>& words) {
  const CLI::App* at = &program;
  for (const std::string& word : words) {
    if (word.starts_with('-')) break;
    const auto commands = at->get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty()) break;
    std::vector<std::string> names;
    const CLI::App* found = nullptr;
    std::string known;
    for (const CLI::App* command : commands) {
      if (command->get_name() == word) found = command;
      names.push_back(command->get_name());
      known += (known.empty() ? "" : ", ") + command->get_name();
    }
    if (found == nullptr && (word == "help" || word == "version")) {
      return "no command '" + word + "': '" + path_of(*at) + (word == "version" ? " --version" : " [COMMAND] --help") + "' shows it";
    }
    if (found == nullptr) {
      return "no command '" + word + "'; known are: " + known + did_you_mean(word, names);
    }
    at = found;
  }
  return {};
}

}  // namespace fb::cli
