// A statement of what a product was tested for, for third parties: drawn from the results of a run and the ledger, as HTML and as PDF.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fb::conformance {

struct Statement {
  using Facts = std::vector<std::pair<std::string, std::string>>;
  /// A requirement with the verdict of its cases together: the worst one.
  struct Row {
    std::string id, citation, level, text, verdict;
    std::string tests;  ///< the same in other catalogues: "UNH-IOL NVMe-MI 1.4.1"; mostly empty
    std::string note;   ///< what was expected and seen, why it was waived or could not be decided
  };
  struct Waived {
    std::string name, reason, owner, expires, link;
  };

  std::string title;    ///< of the product
  std::string outcome;  ///< in one sentence
  Facts run;            ///< product, bench, ledger, seed, date, digest
  Facts declared;       ///< what the product said of itself
  Facts counts;         ///< requirements by verdict
  std::vector<Row> rows;
  std::vector<Waived> waived;
  std::string sha256;     ///< of results.json
  std::string signature;  ///< of the same, in base64; empty: it was not signed
  std::string key;        ///< the fingerprint of the public key

  /// The last three, as far as they are there.
  Facts signing() const {
    Facts facts = {{"SHA-256 of results.json", sha256}};
    if (signature.empty()) return facts;
    facts.emplace_back("Signature (base64)", signature);
    facts.emplace_back("SHA-256 of the public key", key);
    return facts;
  }
};

/// From the text of a results.json. The Problem says what is wrong with it.
Result<Statement> make_statement(const std::string& results, const std::string& name);

/// Signs the statement's results with the private key (PEM) of that text.
Result<std::string> sign_results(const std::string& results, const std::string& key_pem, Statement& statement);

std::string statement_html(const Statement& statement);
/// The bytes of a PDF of A4 pages.
Result<std::string> statement_pdf(const Statement& statement);

}  // namespace fb::conformance
