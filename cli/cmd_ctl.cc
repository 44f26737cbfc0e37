// fabricbench ctl: one call of a running product's control socket.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/control/control_client.h"
#include "cli/control/control_socket.h"
#include "cli/usage.h"

namespace fb::cli {

namespace {

using Document = nlohmann::ordered_json;

/// "nsid=2" and "names=["a","b"]" are JSON behind the sign, unless the method wants a text there; so is what is no JSON.
Document parameters_from(const std::vector<std::string>& words, const Document& described) {
  Document parameters = Document::object();
  for (const std::string& word : words) {
    const std::size_t at = word.find('=');
    if (at == 0 || at == std::string::npos) throw UserError("'" + word + "' is no parameter; parameters look like nsid=2 or size=64M");
    const std::string key = word.substr(0, at), text = word.substr(at + 1);
    bool plain = false;
    for (const Document& one : described) {
      plain = plain || (one.at("name") == key && one.at("schema").value("type", Document()) == "string");
    }
    Document value = plain ? Document(text) : Document::parse(text, nullptr, false);
    if (value.is_discarded()) value = text;
    if (!parameters.emplace(key, std::move(value)).second) throw UserError("the parameter '" + key + "' is given twice");
  }
  return parameters;
}

/// What rpc.discover says of a method's parameters; nothing of one that is not there.
Document described_parameters(ControlClient& client, const std::string& method) {
  const Document described = client.call({{"jsonrpc", "2.0"}, {"id", 0}, {"method", "rpc.discover"}});
  for (const Document& one : described.at("result").at("methods")) {
    if (one.at("name") == method) return one.at("params");
  }
  return Document::array();
}

void print_methods(const Document& described) {
  for (const auto& method : described.at("methods")) {
    std::string words;
    for (const auto& parameter : method.at("params")) {
      const auto name = parameter.at("name").get<std::string>();
      words += parameter.value("required", false) ? " " + name + "=" : " [" + name + "=]";
    }
    fmt::print("{}{}\n    {}\n", method.at("name").get<std::string>(), words, method.at("description").get<std::string>());
  }
}

/// A name as Prometheus takes it.
std::string metric(std::string_view prefix, std::string_view name) { return "fabricbench_" + std::string(prefix) + std::string(name); }

std::string label_text(const std::string& text) {
  std::string made;
  for (const char c : text) {
    if (c == '\\' || c == '"') made += '\\';
    if (c == '\n') {
      made += "\\n";
    } else {
      made += c;
    }
  }
  return made;
}

void print_metric(const std::string& name, const std::string& labels, const Document& value) {
  fmt::print("{}{} {}\n", name, labels.empty() ? "" : "{" + labels + "}", value.dump());
}

/// Numbers are metrics. Of a list of objects the texts of each are the labels of its numbers.
void print_prometheus(const Document& statistics) {
  for (const auto& [name, value] : statistics.items()) {
    if (value.is_number()) {
      fmt::print("# TYPE {} gauge\n", metric("", name));
      print_metric(metric("", name), "", value);
    }
    if (!value.is_array() || value.empty() || !value.front().is_object()) continue;
    const std::string prefix = (name.ends_with('s') ? name.substr(0, name.size() - 1) : name) + "_";
    for (const auto& [field, sample] : value.front().items()) {
      if (!sample.is_number()) continue;
      fmt::print("# TYPE {} gauge\n", metric(prefix, field));
      for (const auto& one : value) {
        std::string labels;
        for (const auto& [key, text] : one.items()) {
          if (!text.is_string()) continue;
          labels += (labels.empty() ? "" : ",") + key + "=\"" + label_text(text.get<std::string>()) + "\"";
        }
        print_metric(metric(prefix, field), labels, one.at(field));
      }
    }
  }
}

struct CtlArguments {
  std::string socket;
  std::string method;
  std::vector<std::string> parameters;
  bool prometheus = false;
  bool json = false;
};

int run_ctl(const CtlArguments& arguments) {
  const bool lists = arguments.method.empty();
  if (arguments.prometheus && arguments.method != "stats") throw UserError("--prometheus is for the method stats");
  ControlClient client(control_path(arguments.socket));
  const Document described = arguments.parameters.empty() ? Document::array() : described_parameters(client, arguments.method);
  const Document parameters = parameters_from(arguments.parameters, described);
  const Document answer =
      client.call({{"jsonrpc", "2.0"}, {"id", 1}, {"method", lists ? "rpc.discover" : arguments.method}, {"params", parameters}});
  if (const auto error = answer.find("error"); error != answer.end()) {
    const std::string why = error->value("message", "an error without a text");
    fmt::print(stderr, "fabricbench: {}: {}\n", lists ? "rpc.discover" : arguments.method, why);
    return exit_code::red;
  }
  const Document result = answer.value("result", Document());
  if (lists && !arguments.json) {
    print_methods(result);
  } else if (arguments.prometheus) {
    print_prometheus(result);
  } else {
    std::puts(result.dump(1).c_str());
  }
  flush_output();
  return exit_code::good;
}

}  // namespace

void add_ctl(CLI::App& app, Outcome& outcome) {
  CLI::App* command = app.add_subcommand("ctl", "Tell a running target or drive what to do, through its control socket");
  set_help(*command,
           "  fabricbench ctl unix:disk.sock\n"
           "  fabricbench ctl unix:disk.sock namespace.add spec=64M,bs=4096\n"
           "  fabricbench ctl unix:disk.sock ana.set state=inaccessible group=1\n"
           "  fabricbench ctl unix:disk.sock command.fail opcode=2 sct=2 sc=129 count=3\n"
           "  fabricbench ctl unix:disk.sock stats --prometheus\n",
           exit_codes("the method's result was printed", "the method failed"));
  auto arguments = std::make_shared<CtlArguments>();
  command->add_option("SOCKET", arguments->socket, "What --control was given: unix:PATH")->required()->type_name("");
  command->add_option("METHOD", arguments->method, "Method; left out: lists the methods")->type_name("");
  command->add_option("PARAMETER", arguments->parameters, "KEY=VALUE; values are JSON, or else text")->type_name("");
  command->add_flag("--prometheus", arguments->prometheus, "Print statistics in the text format of Prometheus");
  command->add_flag("--json", arguments->json, "Print one JSON document, which is what methods give anyway");
  command->callback([arguments, &outcome] {
    try {
      outcome.code = run_ctl(*arguments);
    } catch (const nlohmann::json::exception&) {
      throw UserError(arguments->socket + ": what listens there is no control socket of fabricbench");
    }
  });
}

}  // namespace fb::cli
