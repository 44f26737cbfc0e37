// How the commands describe themselves, and what they say about a command line that they do not understand.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace fb::cli {

/// "Exit codes: 0 ZERO; 1 ONE; 2 wrong use, wrong input or missing surroundings; 130 interrupted."
std::string exit_codes(std::string_view zero, std::string_view one);

/// The footer of a command's help: examples, a line each, and its exit codes. Lines are wrapped to 80 columns, those of
/// commands with a backslash.
void set_help(CLI::App& command, const std::string& examples, const std::string& codes = exit_codes("success", "failure"));

/// Another name of an option, which scripts may know: not shown in the help.
void add_hidden_name(CLI::App& command, const std::string& name, CLI::Option& option);

/// --report DIR, the folder of a report, the same for every command that leaves one.
void add_report_folder(CLI::App& command, std::string& folder);
/// --output PATH, whatever else a command leaves.
CLI::Option* add_output(CLI::App& command, std::string& path, const std::string& description, const std::string& type);

/// For transform(): a word and what it stands for. Anything else is refused, with a suggestion.
template <class Value>
CLI::Validator one_of_words(std::vector<std::pair<std::string, Value>> words);

/// For check(): one of these words; anything else is refused, with a suggestion.
CLI::Validator one_of_texts(std::vector<std::string> known);

/// Help in 80 columns for the program and all of its commands; no option takes an empty text.
void finish_commands(CLI::App& program);

/// What is wrong with the command line, in one line with a hint.
std::string explain(const CLI::App& program, const CLI::ParseError& error);
/// The same for a word that should be a command; empty if all is well.
std::string unknown_command(const CLI::App& program, const std::vector<std::string>& words);

/// "a,,b", "a,": a list with commas that CLI11 would take as "a,b" and "a". Why the text is no such list; empty if it is one.
std::string empty_element(const std::string& text);
/// The same for the words of a command line, with the name of the option; empty if all is well.
std::string empty_element(const CLI::App& program, const std::vector<std::string>& words);

/// Why a text is none of the words.
std::string refuse_word(const std::string& text, const std::vector<std::string>& known);

template <class Value>
CLI::Validator one_of_words(std::vector<std::pair<std::string, Value>> words) {
  return CLI::Validator(
      [words](std::string& text) {
        std::vector<std::string> known;
        for (const auto& [word, value] : words) {
          if (word != text) {
            known.push_back(word);
            continue;
          }
          text = std::to_string(static_cast<std::int64_t>(value));
          return std::string();
        }
        return refuse_word(text, known);
      },
      "");
}

}  // namespace fb::cli
