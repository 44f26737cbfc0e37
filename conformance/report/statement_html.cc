#include <fmt/format.h>

#include "conformance/report/html_text.h"
#include "conformance/report/statement.h"

namespace fb::conformance {

namespace {

std::string facts_table(std::string_view title, const Statement::Facts& facts) {
  if (facts.empty()) return "";
  std::string out = fmt::format("<h2>{}</h2>\n<table class=\"facts\">\n", html(title));
  for (const auto& [name, value] : facts) out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", html(name), html(value));
  return out + "</table>\n";
}

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conformance statement</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-top: 1px solid #ccc; }
.facts th { width: 12rem; font-weight: 600; } td { overflow-wrap: anywhere; }
.id { font-family: ui-monospace, monospace; font-size: .85em; } .note { color: #444; font-size: .9em; }
.fail, .error { color: #a40000; font-weight: 600; } .waived, .inconclusive { color: #7a5200; font-weight: 600; } .pass { color: #0b6b2e; }
@media print { body { margin: 0; max-width: none; } tr { break-inside: avoid; } }
</style>
</head>
<body>
)";

}  // namespace

std::string statement_html(const Statement& statement) {
  std::string out(kHead);
  out += fmt::format("<h1>Conformance statement: {}</h1>\n<p>{}</p>\n", html(statement.title), html(statement.outcome));
  out += facts_table("What was tested", statement.run);
  out += facts_table("What the product declares", statement.declared);
  out += facts_table("Requirements by verdict", statement.counts);
  if (!statement.waived.empty()) {
    out += "<h2>Waivers</h2>\n<table><thead><tr><th>Case</th><th>Reason</th><th>Owner</th><th>Until</th></tr></thead><tbody>\n";
    for (const Statement::Waived& one : statement.waived) {
      const std::string link = one.link.empty() ? "" : fmt::format("<br><span class=\"note\">{}</span>", html(one.link));
      out += fmt::format("<tr><td class=\"id\">{}</td><td>{}{}</td><td>{}</td><td>{}</td></tr>\n", html(one.name), html(one.reason), link,
                         html(one.owner), html(one.expires));
    }
    out += "</tbody></table>\n";
  }
  out += "<h2>Requirements</h2>\n<table><thead><tr><th>Verdict</th><th>Requirement</th></tr></thead><tbody>\n";
  for (const Statement::Row& row : statement.rows) {
    out += fmt::format("<tr><td class=\"{0}\">{0}</td><td><strong>{1}</strong> ({2})<br>{3}<br><span class=\"id\">{4}</span>",
                       html(row.verdict), html(row.citation), html(row.level), html(row.text), html(row.id));
    if (!row.tests.empty()) out += fmt::format(" <span class=\"note\">{}</span>", html(row.tests));
    if (!row.note.empty()) out += fmt::format("<br><span class=\"note\">{}</span>", html(row.note));
    out += "</td></tr>\n";
  }
  out += "</tbody></table>\n";
  return out + facts_table("Signature", statement.signing()) + "</body>\n</html>\n";
}

}  // namespace fb::conformance
