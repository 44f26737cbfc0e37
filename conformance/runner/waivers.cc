#include "conformance/runner/waivers.h"

#include <fnmatch.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/suggest.h"
#include "conformance/monitors/rules.h"

namespace fb::conformance {

namespace {

struct Key {
  const char* name;
  std::string Waiver::*field;
};
constexpr Key kKeys[] = {{"case", &Waiver::case_glob}, {"owner", &Waiver::owner},     {"reason", &Waiver::reason},
                         {"link", &Waiver::link},      {"expires", &Waiver::expires}, {"signature", &Waiver::signature}};

std::vector<std::string_view> key_names() {
  std::vector<std::string_view> names;
  for (const Key& key : kKeys) names.emplace_back(key.name);
  return names;
}

class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  Result<Expectations> parse(const YAML::Node& root) {
    Expectations made;
    if (root.IsNull()) return made;  // nothing but comments
    if (root.IsSequence()) {
      if (auto added = add_waivers(root, made); !added) return Failure{added.error()};
      return made;
    }
    if (!root.IsMap()) return wrong(root, "a waivers file is a list of waivers, or has one under 'waivers'");
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
    waiver.place = name_ + ":" + std::to_string(node.Mark().line + 1);
    for (const auto& entry : node) {
      const std::string key = entry.first.as<std::string>();
      const auto known = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& one) { return key == one.name; });
      if (known == std::end(kKeys)) return wrong(entry.first, "a waiver has no '" + key + "'" + did_you_mean(key, key_names()));
      if (!entry.second.IsScalar()) return wrong(entry.second, "'" + key + "' is a text");
      if (!(waiver.*(known->field)).empty()) return wrong(entry.first, "'" + key + "' occurs twice in this waiver");
      waiver.*(known->field) = entry.second.as<std::string>();
    }
    for (const Key& key : kKeys) {
      if ((waiver.*(key.field)).empty()) {
        return wrong(node, std::string("a waiver without '") + key.name + "'");
      }
    }
    if (!is_date(waiver.expires)) return wrong(node, "'" + waiver.expires + "' is not a date like 2027-01-31");
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
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad()) return Failure{Problem{"cannot read " + path + ": " + std::strerror(errno)}};
  return parse_expectations(text.str(), path);
}

namespace {

bool matches(const std::string& glob, const std::string& name) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; }

/// What a waiver or a profile has to cover: the first check of a case that failed, and every way in which a rule was broken.
std::vector<Finding> to_cover(const CaseResult& result) {
  if (result.verdict != Verdict::fail || result.findings.empty()) return {};
  if (result.info->name.starts_with("rule_")) return result.findings;
  return {result.findings.front()};
}

/// Of a broken rule, this covers whatever breaks it.
constexpr std::string_view kWholeRule = "the product breaks this rule";

bool is_covered(const CaseResult& result, const Finding& finding, const std::string& signature) {
  if (is_signature_of(signature, finding)) return true;
  return result.info->name.starts_with("rule_") && signature == finding.what + ": " + std::string(kWholeRule);
}

/// What a peer does is described with stars for what is another one each time.
bool is_covered(const CaseResult& result, const Finding& finding, const KnownDeviation& known) {
  return is_covered(result, finding, known.signature) || matches(known.signature, summary_of(finding));
}

/// Takes from `left` what `by` covers; true if there was such.
template <class By>
bool cover(const CaseResult& result, std::vector<Finding>& left, const By& by) {
  return std::erase_if(left, [&](const Finding& finding) { return is_covered(result, finding, by); }) != 0;
}

}  // namespace

namespace {

/// "the waiver of jane (f.yaml:3, https://tracker/123)".
std::string named(const Waiver& waiver) { return "the waiver of " + waiver.owner + " (" + waiver.place + ", " + waiver.link + ")"; }

std::string seen_instead(const CaseResult& result) {
  if (result.verdict == Verdict::error) return "this is an ERROR of the bench, which no waiver covers";
  return result.findings.empty() ? "this failure has no finding" : "this failure is '" + signature_of(result.findings.front()) + "'";
}

void take(CaseResult& result, const Waiver& waiver) {
  result.waiver = waiver.reason;
  result.waiver_owner = waiver.owner;
  result.waiver_link = waiver.link;
  result.waiver_expires = waiver.expires;
}

/// What the waivers say of it: true if they cover it. `expected`: one that counts expects the case to fail.
bool waived(CaseResult& result, const std::vector<Waiver>& waivers, std::string_view today, const Waiver*& expected) {
  std::vector<Finding> left = to_cover(result);
  const Waiver* used = nullptr;
  for (const Waiver& waiver : waivers) {
    if (!matches(waiver.case_glob, std::string(result.info->name))) continue;
    const bool counts = today <= waiver.expires;
    if (counts && expected == nullptr) expected = &waiver;
    if (result.verdict != Verdict::fail && result.verdict != Verdict::error) continue;
    if (counts && cover(result, left, waiver.signature)) {
      if (used == nullptr) used = &waiver;
    } else if (!counts) {
      result.waiver_problem = named(waiver) + " expired on " + waiver.expires + ": " + waiver.reason;
    } else if (!left.empty() || used == nullptr) {
      result.waiver_problem = named(waiver) + " expects '" + waiver.signature + "'; " + seen_instead(result);
    }
  }
  if (used == nullptr) return false;
  if (!left.empty()) {
    result.waiver_problem = named(*used) + " does not cover that it is also '" + signature_of(left.front()) + "'";
    return false;
  }
  result.waiver_problem.clear();
  take(result, *used);
  return true;
}

}  // namespace

void dispose(CaseResult& result, const Expectations& expectations, std::string_view today) {
  const std::string name(result.info->name);
  const Waiver* waiver = nullptr;          // one that counts and names this case, whether or not it covers this failure
  const KnownDeviation* always = nullptr;  // the same of a profile
  if (waived(result, expectations.waivers, today, waiver)) {
    result.disposition = Disposition::waived;
    return;
  }
  std::vector<Finding> left = to_cover(result);
  for (const KnownDeviation& known : expectations.deviations) {
    if (!matches(known.requirement, std::string(result.info->requirement))) continue;
    if (!known.case_glob.empty() && !matches(known.case_glob, name)) continue;
    if (!known.transport.empty() && known.transport != result.transport) continue;
    if (known.shows != kSometimes) always = &known;
    if (cover(result, left, known) && left.empty()) {
      result.disposition = Disposition::waived;
      result.waiver = expectations.product + ": " + known.reason + " (" + known.source + ")";
      return;
    }
  }
  switch (result.verdict) {
    case Verdict::pass:
      result.disposition = waiver != nullptr || always != nullptr ? Disposition::unexpected_pass : Disposition::as_expected;
      if (waiver != nullptr) {
        take(result, *waiver);
        result.waiver_problem = named(*waiver) + " expects '" + waiver->signature + "' until " + waiver->expires + ": delete it";
      } else if (always != nullptr) {
        result.waiver_problem = "the profile of " + expectations.product + " expects '" + always->signature + "': " + always->reason;
      }
      break;
    case Verdict::skip:
    case Verdict::inconclusive:
      result.disposition = Disposition::as_expected;
      break;
    default:
      result.disposition = Disposition::regression;
      break;
  }
}

namespace {

/// For a waiver that names a requirement, or a case by a wrong name.
std::string cases_meant(const std::string& typed, const std::vector<const CaseInfo*>& suite, const std::vector<std::string_view>& names) {
  std::string cases;
  for (const CaseInfo* info : suite) {
    if (info->requirement == typed) cases += (cases.empty() ? "" : ", ") + std::string(info->name);
  }
  if (cases.empty()) return did_you_mean(typed, names);
  return "; it is a requirement, and its cases are " + cases;
}

}  // namespace

std::vector<std::string> remarks_on(const Expectations& expectations, const std::vector<const CaseInfo*>& suite, std::string_view today) {
  std::vector<std::string_view> names;
  for (const CaseInfo* info : suite) names.push_back(info->name);
  // A rule that the product breaks is reported under a name like a case's.
  std::vector<std::string> rules;
  for (const monitors::RuleFacts& rule : monitors::catalogue()) rules.push_back("rule_" + std::string(rule.name));
  names.insert(names.end(), rules.begin(), rules.end());
  std::vector<std::string> remarks;
  for (const Waiver& waiver : expectations.waivers) {
    const bool any = std::ranges::any_of(names, [&](std::string_view name) { return matches(waiver.case_glob, std::string(name)); });
    if (!any) {
      remarks.push_back(waiver.place + ": no case matches '" + waiver.case_glob + "'" + cases_meant(waiver.case_glob, suite, names));
    }
    if (today > waiver.expires)
      remarks.push_back(named(waiver) + " for '" + waiver.case_glob + "' expired on " + waiver.expires + " and covers nothing");
  }
  return remarks;
}

bool is_red(const CaseResult& result) {
  return result.disposition == Disposition::regression || result.disposition == Disposition::unexpected_pass ||
         (result.embedded && result.verdict == Verdict::inconclusive);
}

}  // namespace fb::conformance
