#include "conformance/runner/waivers.h"

#include <fnmatch.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace fb::conformance {

namespace {

struct Key {
  const char* name;
  std::string Waiver::*field;
};
constexpr Key kKeys[] = {{"case", &Waiver::case_glob}, {"owner", &Waiver::owner},
                         {"reason", &Waiver::reason},  {"link", &Waiver::link},
                         {"expires", &Waiver::expires}, {"signature", &Waiver::signature}};

class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  Result<Expectations> parse(const YAML::Node& root) {
    Expectations made;
    if (root.IsSequence()) {
      if (auto added = add_waivers(root, made); !added) return Failure{added.error()};
      return made;
    }
    if (!root.IsMap()) return wrong(root, "an expectation file is a list of waivers, or has one as 'waivers'");
    for (const auto& entry : root) {
      const std::string key = entry.first.as<std::string>();
      if (key == "product" && entry.second.IsScalar()) {
        made.product = entry.second.as<std::string>();
      } else if (key == "waivers" && entry.second.IsSequence()) {
        if (auto added = add_waivers(entry.second, made); !added) return Failure{added.error()};
      } else {
        return wrong(entry.first, "'" + key + "' is not 'product' (text) or 'waivers' (a list)");
      }
    }
    return made;
  }

 private:
  Failure<Problem> wrong(const YAML::Node& node, const std::string& why) const {
    return {Problem{name_ + ":" + std::to_string(node.Mark().line + 1) + ": " + why}};
  }

  Result<void> add_waivers(const YAML::Node& list, Expectations& to) const {
    for (const YAML::Node& node : list) {
      auto waiver = parse_waiver(node);
      if (!waiver) return Failure{waiver.error()};
      to.waivers.push_back(std::move(waiver).value());
    }
    return {};
  }

  Result<Waiver> parse_waiver(const YAML::Node& node) const {
    if (!node.IsMap()) return wrong(node, "a waiver is a mapping");
    Waiver waiver;
    for (const auto& entry : node) {
      const std::string key = entry.first.as<std::string>();
      const auto known = std::find_if(std::begin(kKeys), std::end(kKeys),
                                      [&](const Key& one) { return key == one.name; });
      if (known == std::end(kKeys)) return wrong(entry.first, "a waiver has no '" + key + "'");
      if (!entry.second.IsScalar()) return wrong(entry.second, "'" + key + "' is a text");
      waiver.*(known->field) = entry.second.as<std::string>();
    }
    for (const Key& key : kKeys) {
      if ((waiver.*(key.field)).empty()) {
        return wrong(node, std::string("a waiver without '") + key.name + "'");
      }
    }
    if (!is_date(waiver.expires)) return wrong(node, "'" + waiver.expires + "' is no date like 2027-01-31");
    return waiver;
  }

  const std::string& name_;
};

}  // namespace

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto number = [&](std::size_t at, std::size_t length) {
    int value = 0;
    for (const char c : text.substr(at, length)) {
      if (c < '0' || c > '9') return -1;
      value = value * 10 + (c - '0');
    }
    return value;
  };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

Result<Expectations> parse_expectations(const std::string& text, const std::string& name) {
  try {
    return Parser(name).parse(YAML::Load(text));
  } catch (const YAML::Exception& problem) {
    return Failure{Problem{name + ":" + std::to_string(problem.mark.line + 1) + ": " + problem.msg}};
  }
}

Result<Expectations> read_expectations(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return Failure{Problem{"cannot read " + path}};
  return parse_expectations(text.str(), path);
}

namespace {

bool matches(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

bool fails_with(const CaseResult& result, const std::string& signature) {
  return result.verdict == Verdict::fail && !result.findings.empty() &&
         is_signature_of(signature, result.findings.front());
}

/// What a peer does is described with stars for what is another one each time.
bool fails_as(const CaseResult& result, const KnownDeviation& known) {
  if (fails_with(result, known.signature)) return true;
  return result.verdict == Verdict::fail && !result.findings.empty() &&
         matches(known.signature, summary_of(result.findings.front()));
}

}  // namespace

void dispose(CaseResult& result, const Expectations& expectations, std::string_view today) {
  const std::string name(result.info->name);
  bool named = false;  // something is known of this case, whether or not it covers this failure
  const auto waive = [&](const std::string& reason) {
    result.disposition = Disposition::waived;
    result.waiver = reason;
  };
  for (const Waiver& waiver : expectations.waivers) {
    if (!matches(waiver.case_glob, name)) continue;
    named = true;
    if (fails_with(result, waiver.signature) && today <= waiver.expires) return waive(waiver.reason);
  }
  for (const KnownDeviation& known : expectations.deviations) {
    if (!matches(known.requirement, std::string(result.info->requirement))) continue;
    if (!known.case_glob.empty() && !matches(known.case_glob, name)) continue;
    if (!known.transport.empty() && known.transport != result.transport) continue;
    named = named || known.shows != kSometimes;
    if (fails_as(result, known)) {
      return waive(expectations.product + ": " + known.reason + " (" + known.source + ")");
    }
  }
  switch (result.verdict) {
    case Verdict::pass:
      result.disposition = named ? Disposition::unexpected_pass : Disposition::as_expected;
      break;
    case Verdict::skip:
    case Verdict::inconclusive: result.disposition = Disposition::as_expected; break;
    default: result.disposition = Disposition::regression; break;
  }
}

bool is_red(const CaseResult& result) {
  return result.disposition == Disposition::regression || result.disposition == Disposition::unexpected_pass ||
         (result.embedded && result.verdict == Verdict::inconclusive);
}

}  // namespace fb::conformance
