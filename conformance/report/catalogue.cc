#include "conformance/report/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "conformance/report/html_text.h"
#include "conformance/report/page_parts.h"
#include "conformance/report/report.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/case.h"
#include "conformance/runner/profiles.h"
#include "model/deviations/deviation.h"

namespace fb::conformance {

namespace {

/// What one product does about one requirement.
struct Seen {
  std::string product, verdict, what;
};
using SeenBy = std::map<std::string, std::vector<Seen>, std::less<>>;  // by the id of the requirement

/// Sections in the order of their numbers: 5.2.9 before 5.2.12. What is no number comes after them, by its name.
using SectionNumber = std::pair<std::vector<std::uint32_t>, std::string_view>;

/// Of the first of several sections.
SectionNumber number_of(std::string_view section) {
  section = section.substr(0, section.find(','));
  const std::string_view name = section;
  std::vector<std::uint32_t> parts;
  while (!section.empty()) {
    const std::size_t end = std::min(section.find('.'), section.size());
    std::uint32_t part = 0;
    const auto [rest, problem] = std::from_chars(section.data(), section.data() + end, part);
    if (problem != std::errc{} && end > 0) part = 0x10000u + static_cast<std::uint8_t>(section.front());
    parts.push_back(part);
    section.remove_prefix(std::min(end + 1, section.size()));
  }
  return {parts, name};
}

struct Document {
  std::string_view name, revision, full_name;
  std::map<SectionNumber, std::vector<const Requirement*>> sections;

  std::size_t size() const {
    std::size_t all = 0;
    for (const auto& [number, rules] : sections) all += rules.size();
    return all;
  }
  std::string title() const { return fmt::format("{} {}", name, revision); }
  /// "nvme-base-2.3.html".
  std::string page() const {
    std::string page;
    for (const char c : title()) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
      if (plain)
        page += c;
      else if (c >= 'A' && c <= 'Z')
        page += static_cast<char>(c - 'A' + 'a');
      else if (!page.empty() && page.back() != '-')
        page += '-';
    }
    while (!page.empty() && page.back() == '-') page.pop_back();
    return page + ".html";
  }
};

std::vector<Document> documents() {
  std::map<std::pair<std::string_view, std::string_view>, Document> all;
  for (const Requirement& rule : ledger()) {
    Document& document = all[{rule.document, rule.revision}];
    document.name = rule.document;
    document.revision = rule.revision;
    document.full_name = rule.document_name;
    document.sections[number_of(rule.section)].push_back(&rule);
  }
  std::vector<Document> found;
  for (auto& [key, document] : all) found.push_back(std::move(document));
  return found;
}

Result<void> add_profiles(SeenBy& seen, std::vector<std::string>& products) {
  for (const BuiltInProfile& profile : built_in_profiles()) {
    Expectations known;
    const Result<void> read = add_named_profile(std::string(profile.name), known);
    if (!read) return read;
    products.push_back(known.product);
    for (const KnownDeviation& one : known.deviations) {
      std::string what = fmt::format("{}. Reason: {} ({})", one.signature, one.reason, one.source);
      if (!one.transport.empty()) what = one.transport + ": " + what;
      for (const Requirement& rule : ledger()) {
        if (fnmatch(one.requirement.c_str(), std::string(rule.id).c_str(), 0) != 0) continue;
        seen[std::string(rule.id)].push_back({known.product, one.shows == kSometimes ? "sometimes fails" : "fails", what});
      }
    }
  }
  return {};
}

void add_report(const Statement& report, SeenBy& seen, std::vector<std::string>& products) {
  products.push_back(report.title);
  for (const Statement::Row& row : report.rows) seen[row.id].push_back({report.title, row.verdict, row.note});
}

std::string_view confidence_text(const Requirement& rule) {
  if (rule.confidence == "confirmed") return "sentence looked up in this section";
  return rule.confidence == "read" ? "read in this document" : "no public text found: never fails a third-party product";
}

std::string list_of(std::string_view title, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  return fmt::format("<details><summary>{} ({})</summary><ul><li>{}</li></ul></details>\n", title, items.size(),
                     fmt::join(items, "</li><li>"));
}

std::string products_table(const std::vector<Seen>& all) {
  std::string out = "<table><thead><tr><th>Product</th><th>Verdict</th><th>Seen</th></tr></thead><tbody>\n";
  for (const Seen& one : all) {
    out +=
        fmt::format("<tr><td>{}</td><td class=\"verdict\">{}</td><td>{}</td></tr>\n", html(one.product), html(one.verdict), html(one.what));
  }
  return out + "</tbody></table>\n";
}

using CasesOf = std::map<std::string_view, std::vector<const CaseInfo*>>;

std::string article(const Requirement& rule, const CasesOf& cases_of, const SeenBy& seen) {
  std::string out = fmt::format("<article id=\"{0}\">\n<h3><a href=\"#{0}\">{0}</a></h3>\n", html(rule.id));
  std::string facts = fmt::format("{} · {} · {}", rule.level, fmt::join(rule.roles, ", "), confidence_text(rule));
  if (!rule.since.empty()) facts += fmt::format(" · since {}", rule.since);
  if (!rule.profile.empty()) facts += fmt::format(" · {}", rule.profile);
  if (!rule.see.empty()) facts += fmt::format(" · also {}", fmt::join(rule.see, ", "));
  out += fmt::format("<p class=\"facts\">{}</p>\n<p>{}</p>\n", html(facts), html(rule.text));
  if (!rule.answers.empty()) {
    out += "<p class=\"label\">Legal answers</p>\n<ul class=\"answers\">";
    for (const std::string_view answer : rule.answers) out += fmt::format("<li>{}</li>", html(answer));
    out += "</ul>\n";
  }
  if (!rule.reason.empty()) out += fmt::format("<p class=\"facts\">No case: {}</p>\n", html(rule.reason));
  std::vector<std::string> cases, deviations;
  if (const auto found = cases_of.find(rule.id); found != cases_of.end()) {
    for (const CaseInfo* info : found->second) cases.push_back(fmt::format("{} <code>{}</code>", html(title_of(*info)), html(info->name)));
  }
  for (const auto* deviation : deviations::deviations_of(rule.id)) {
    deviations.push_back(fmt::format("{} <code>{}</code>", html(deviation->what), html(deviation->name)));
  }
  out += list_of("Cases", cases) + list_of("Deviations that the cases are tested with", deviations);
  if (const auto found = seen.find(rule.id); found != seen.end()) out += products_table(found->second);
  return out + "</article>\n";
}

std::string page(std::string_view title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n"
      "<link rel=\"stylesheet\" href=\"catalogue.css\">\n</head>\n<body>\n{}</body>\n</html>\n",
      html(title), body);
}

std::string document_page(const Document& document, const CasesOf& cases_of, const SeenBy& seen) {
  std::string contents, rules;
  for (const auto& [number, of_section] : document.sections) {
    const std::string_view section = number.second, titles = of_section.front()->section_title;
    const std::string_view title = titles.substr(0, titles.find(';'));
    const std::string heading = html(fmt::format("{} {}", section, title));
    contents +=
        fmt::format("<li><a href=\"#s{}\">{}</a> <span class=\"facts\">{}</span></li>\n", html(section), heading, of_section.size());
    rules += fmt::format("<h2 id=\"s{}\">{}</h2>\n", html(section), heading);
    for (const Requirement* rule : of_section) rules += article(*rule, cases_of, seen);
  }
  return page(document.title(), fmt::format("<p><a href=\"index.html\">All documents</a></p>\n<h1>{}</h1>\n<p>{}. {} requirements.</p>\n"
                                            "<nav><ul>\n{}</ul></nav>\n{}",
                                            html(document.title()), html(document.full_name), document.size(), contents, rules));
}

std::string index_page(const std::vector<Document>& all, const std::vector<std::string>& products) {
  std::string rows, known;
  std::size_t rules = 0;
  for (const Document& document : all) {
    rules += document.size();
    rows += fmt::format("<tr><td><a href=\"{}\">{}</a></td><td>{}</td><td class=\"count\">{}</td></tr>\n", document.page(),
                        html(document.title()), html(document.full_name), document.size());
  }
  for (const std::string& product : products) known += fmt::format("<li>{}</li>\n", html(product));
  return page("Requirements of NVMe over Fabrics, NVMe-MI and MCTP",
              fmt::format("<h1>Requirements of NVMe over Fabrics, NVMe-MI and MCTP</h1>\n"
                          "<p>{} requirements, ledger {}. What each specification asks for, its legal answers, the cases of fabricbench "
                          "that check it, and what known products do.</p>\n"
                          "<label for=\"words\">Search: words of a rule, a section, a status code or an identifier</label>\n"
                          "<input id=\"words\" type=\"search\" autocomplete=\"off\" autofocus>\n<p id=\"count\" role=\"status\"></p>\n"
                          "<ol id=\"found\"></ol>\n"
                          "<table><thead><tr><th>Document</th><th>Name</th><th>Requirements</th></tr></thead><tbody>\n{}</tbody></table>\n"
                          "<h2>Products</h2>\n<ul>\n{}</ul>\n"
                          "<script src=\"entries.js\"></script>\n<script src=\"catalogue.js\"></script>\n",
                          rules, ledger_version(), rows, known));
}

/// For the search: identifier, page, citation, text with answers.
std::string entries_script(const std::vector<Document>& all) {
  auto entries = nlohmann::json::array();
  for (const Document& document : all) {
    for (const auto& [number, rules] : document.sections) {
      for (const Requirement* rule : rules) {
        std::string answers;
        for (const std::string_view answer : rule->answers) answers += " " + std::string(answer);
        entries.push_back({rule->id, document.page(), citation(*rule), rule->text, answers});
      }
    }
  }
  return "const entries = " + entries.dump(-1, ' ', true) + ";\n";
}

}  // namespace

Result<std::vector<CatalogueFile>> catalogue_files(const std::vector<Statement>& reports) {
  SeenBy seen;
  std::vector<std::string> products;
  if (const Result<void> read = add_profiles(seen, products); !read) return Failure{read.error()};
  for (const Statement& report : reports) add_report(report, seen, products);
  CasesOf cases_of;
  for (const CaseInfo* info : all_cases()) cases_of[info->requirement].push_back(info);
  const std::vector<Document> all = documents();
  std::vector<CatalogueFile> files = {{"index.html", index_page(all, products)}, {"entries.js", entries_script(all)}};
  for (const PagePart& part : page_parts()) {
    if (part.name.starts_with("catalogue.")) files.emplace_back(part.name, part.text);
  }
  for (const Document& document : all) files.emplace_back(document.page(), document_page(document, cases_of, seen));
  return files;
}

}  // namespace fb::conformance
