#include "cli/run_config.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <toml++/toml.h>
#include <vector>

#include "base/suggest.h"
#include "cli/common.h"
#include "cli/usage.h"

namespace fb::cli {

namespace {

enum class Kind : std::uint8_t { text, path, number, flag, texts };

struct Key {
  const char* name;
  const char* option;
  Kind kind;
};

constexpr Key kProduct[] = {
    {"dut", "--dut", Kind::text},
    {"local", "--local", Kind::text},
    {"device", "--device", Kind::text},
    {"transport", "--transport", Kind::text},
    {"waivers", "--waivers", Kind::path},
    {"profile", "--profile", Kind::text},
    {"tls", "--tls", Kind::flag},
    {"psk_file", "--psk-file", Kind::path},
    {"dhchap_secret_file", "--dhchap-secret-file", Kind::path},
};
constexpr Key kRun[] = {
    {"suites", "--suite", Kind::texts}, {"cases", "--case", Kind::texts},       {"roles", "--role", Kind::texts},
    {"lanes", "--lanes", Kind::texts},  {"seed", "--seed", Kind::number},       {"jobs", "--jobs", Kind::number},
    {"report", "--report", Kind::path}, {"captures", "--captures", Kind::text}, {"slow", "--slow", Kind::flag},
    {"twice", "--twice", Kind::flag},   {"verbose", "--verbose", Kind::flag},
};

const char* wanted(Kind kind) {
  switch (kind) {
    case Kind::number:
      return "a whole number";
    case Kind::flag:
      return "true or false";
    case Kind::texts:
      return "a list of texts";
    default:
      return "a text";
  }
}

class Reader {
 public:
  Reader(CLI::App& command, const std::string& path) : command_(command), path_(path) {}

  void read() {
    // Bytes that are no TOML are an exception as well, whatever they are.
    try {
      const toml::table all = toml::parse_file(path_);
      for (const auto& [name, node] : all) read_table(name.str(), node);
    } catch (const toml::parse_error& wrong) {
      throw UserError(fmt::format("{}:{}: {}", path_, wrong.source().begin.line, wrong.description()));
    }
  }

 private:
  [[noreturn]] void refuse(const toml::node& node, const std::string& what) {
    throw UserError(fmt::format("{}:{}: {}", path_, node.source().begin.line, what));
  }

  void read_table(std::string_view name, const toml::node& node) {
    const bool product = name == "product";
    if ((!product && name != "run") || !node.is_table()) {
      refuse(node, fmt::format("there is no table [{}]; known are [product] and [run]", name));
    }
    // Whoever names another product on the command line does not mean the addresses and waivers of this one.
    const bool applies = !product || command_.get_option("--dut")->count() == 0;
    for (const auto& [key, value] : *node.as_table()) {
      const Key& known = product ? find(kProduct, key.str(), value) : find(kRun, key.str(), value);
      const std::vector<std::string> texts = texts_of(known, value);
      if (applies) give(known, value, texts);
    }
  }

  template <std::size_t N>
  const Key& find(const Key (&keys)[N], std::string_view name, const toml::node& node) {
    std::vector<std::string> names;
    for (const Key& key : keys) {
      if (name == key.name) return key;
      names.push_back(key.name);
    }
    refuse(node, fmt::format("there is no key '{}'{}", name, did_you_mean(name, names)));
  }

  /// The value as the option would have it. A flag that is off has none.
  std::vector<std::string> texts_of(const Key& key, const toml::node& node) {
    const auto single = [&]() -> std::optional<std::string> {
      if (key.kind == Kind::number && node.is_integer()) return std::to_string(**node.as_integer());
      if (key.kind == Kind::flag && node.is_boolean()) return **node.as_boolean() ? "true" : "";
      if (key.kind != Kind::number && key.kind != Kind::flag && node.is_string()) return **node.as_string();
      return std::nullopt;
    };
    std::vector<std::string> texts;
    if (key.kind == Kind::texts && node.is_array()) {
      for (const toml::node& one : *node.as_array()) {
        if (!one.is_string()) refuse(one, fmt::format("{}: {} is wanted", key.name, wanted(key.kind)));
        texts.push_back(**one.as_string());
      }
      return texts;
    }
    const auto text = single();
    if (!text) refuse(node, fmt::format("{}: {} is wanted", key.name, wanted(key.kind)));
    if (key.kind == Kind::path)
      texts.push_back(beside(*text));
    else if (!text->empty() || key.kind != Kind::flag)
      texts.push_back(*text);
    return texts;
  }

  std::string beside(const std::string& text) const {
    const std::filesystem::path file(text);
    return text.empty() || file.is_absolute() ? text : (std::filesystem::path(path_).parent_path() / file).string();
  }

  void give(const Key& key, const toml::node& node, const std::vector<std::string>& texts) {
    CLI::Option& option = *command_.get_option(key.option);
    if (option.count() > 0 || texts.empty()) return;
    for (const std::string& text : texts) {
      const std::string wrong = option.get_delimiter() == ',' ? empty_element(text) : "";
      if (!wrong.empty()) refuse(node, fmt::format("{}: {}", key.name, wrong));
    }
    try {
      option.add_result(texts);
      option.run_callback();
    } catch (const CLI::ParseError& wrong) {
      refuse(node, fmt::format("{}: {}", key.name, wrong.what()));
    }
  }

  CLI::App& command_;
  std::string path_;
};

}  // namespace

void apply_run_config(CLI::App& command, const std::string& path) {
  // The library says of a file that cannot be opened nothing but that.
  read_text(path);
  Reader(command, path).read();
}

}  // namespace fb::cli
