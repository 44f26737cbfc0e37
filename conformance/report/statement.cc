#include "conformance/report/statement.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "conformance/requirements/ledger.h"
#include "conformance/runner/json_problem.h"

namespace fb::conformance {

namespace {

using Json = nlohmann::ordered_json;

std::string sha256_of(std::string_view text) {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return to_hex(ByteView{digest}.first(size));
}

std::string base64_of(ByteView bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(), static_cast<int>(bytes.size()));
  return text;
}

/// The worst comes last. What a waiver covers is not as bad as what nothing could decide.
int rank_of(std::string_view verdict) {
  constexpr std::string_view kOrder[] = {"skip", "pass", "waived", "inconclusive", "fail", "error"};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), verdict) - std::begin(kOrder));
}

std::string verdict_of(const Json& one) {
  return one.at("disposition") == "waived" ? std::string("waived") : one.at("verdict").get<std::string>();
}

std::string note_of(const Json& one, const std::string& verdict) {
  if (verdict == "pass") return "";
  std::string text = one.at("name").get<std::string>() + ": ";
  if (verdict == "waived") return text + one.value("waiver", "");
  const auto expected = one.value("expected", std::vector<std::string>{});
  if (verdict != "fail" || expected.empty()) return text + one.value("reason", "");
  text += "expected ";
  for (std::size_t i = 0; i < expected.size(); ++i) text += (i == 0 ? "" : " or ") + expected[i];
  return text + ", seen " + one.value("seen", "");
}

Statement::Row row_of(const std::string& id, const Json& one) {
  Statement::Row row;
  row.id = id;
  if (const Requirement* const rule = find_requirement(id); rule != nullptr) {
    row.citation = citation(*rule);
    row.level = rule->level;
    row.text = rule->text;
    for (const std::string_view other : rule->see) row.tests += (row.tests.empty() ? "" : ", ") + std::string(other);
  } else {
    row.citation = one.value("document", "") + ", " + one.value("section", "");
    row.level = one.value("level", "");
  }
  return row;
}

void add_case(std::map<std::string, Statement::Row>& rows, const Json& one) {
  const auto id = one.at("requirement").get<std::string>();
  const std::string verdict = verdict_of(one);
  const auto [at, fresh] = rows.try_emplace(id);
  if (fresh) at->second = row_of(id, one);
  if (!fresh && rank_of(verdict) <= rank_of(at->second.verdict)) return;
  at->second.verdict = verdict;
  at->second.note = note_of(one, verdict);
}

void add_run(Statement& statement, const Json& json) {
  const Json& tool = json.at("tool");
  const auto bench = [&](const char* key) { return tool.value(key, "not recorded"); };
  statement.run = {{"Product", json.at("dut").get<std::string>()},
                   {"Date", json.at("started").get<std::string>()},
                   {"Bench", bench("name") + " " + bench("version") + ", commit " + bench("commit") + ", " + bench("compiler")},
                   {"Requirements", "ledger " + bench("ledger")},
                   {"Seed", std::to_string(json.at("seed").get<std::uint64_t>())},
                   {"Digest", json.at("digest").get<std::string>()},
                   {"Check of the bench", "the case that must fail was " + json.at("canary").get<std::string>()}};
  std::string misbehaviour;
  for (const auto& one : json.at("deviations")) misbehaviour += (misbehaviour.empty() ? "" : ", ") + one.get<std::string>();
  if (!misbehaviour.empty()) statement.run.emplace_back("Deviations", misbehaviour + " (switched on in the embedded product on purpose)");
  if (json.contains("stopped")) {
    statement.run.emplace_back("Product went down", json["stopped"].value("after", "") + ": " + json["stopped"].value("why", ""));
  }
  if (json.value("interrupted", false)) statement.run.emplace_back("Interrupted", "only the cases that were finished are counted");
}

void add_counts(Statement& statement) {
  std::map<std::string, std::size_t> counts;
  for (const Statement::Row& row : statement.rows) ++counts[row.verdict];
  std::size_t decided = 0;
  for (const char* verdict : {"pass", "fail", "waived", "inconclusive", "skip", "error"}) {
    statement.counts.emplace_back(verdict, std::to_string(counts[verdict]));
    if (std::string_view(verdict) == "pass" || std::string_view(verdict) == "fail") decided += counts[verdict];
  }
  const std::size_t bad = counts["fail"] + counts["error"];
  statement.outcome = fmt::format("{} of {} requirements were decided; {} {} met.", decided, statement.rows.size(),
                                  bad == 0 ? "none" : std::to_string(bad), bad == 1 ? "is not" : "are not");
  if (bad == 0) {
    statement.outcome = fmt::format(
        "All {} requirements that were decided are met; "
        "{} were waived, {} could not be decided, {} do not apply.",
        counts["pass"], counts["waived"], counts["inconclusive"], counts["skip"]);
  }
}

}  // namespace

Result<Statement> make_statement(const std::string& results, const std::string& name) {
  Statement statement;
  try {
    const Json json = Json::parse(results);
    if (json.value("schema_version", 1) != 1) {
      return Failure{Problem{fmt::format("{}: schema version {}; this program reads version 1", name, json["schema_version"].dump())}};
    }
    add_run(statement, json);
    if (json.contains("product")) {
      for (const auto& [key, value] : json["product"].items()) statement.declared.emplace_back(key, value.get<std::string>());
    }
    std::map<std::string, Statement::Row> rows;
    for (const auto& one : json.at("cases")) {
      add_case(rows, one);
      if (verdict_of(one) == "waived") {
        statement.waived.push_back({one.at("name").get<std::string>(), one.value("waiver", ""), one.value("waiver_owner", ""),
                                    one.value("waiver_expires", ""), one.value("waiver_link", "")});
      }
    }
    for (auto& [id, row] : rows) statement.rows.push_back(std::move(row));
  } catch (const Json::exception& wrong) {
    return Failure{Problem{name + " is no results.json of fabricbench: " + json_problem(wrong)}};
  }
  if (statement.rows.empty()) return Failure{Problem{name + ": there is no case in it"}};
  statement.title = statement.run.front().second;
  for (const auto& [key, value] : statement.declared) {
    if (key == "Model") statement.title = value;
  }
  statement.sha256 = sha256_of(results);
  add_counts(statement);
  return statement;
}

Result<std::string> sign_results(const std::string& results, const std::string& key_pem, Statement& statement) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())), &BIO_free);
  // Nobody is asked for a passphrase: a key with one is refused.
  const auto nobody = [](char*, int, int, void*) { return 0; };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(PEM_read_bio_PrivateKey(memory.get(), nullptr, nobody, nullptr),
                                                                &EVP_PKEY_free);
  if (key == nullptr) return Failure{Problem{"there is no private key without a passphrase in it (PEM)"}};
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  // Edwards curves bring their own hash.
  const int kind = EVP_PKEY_get_base_id(key.get());
  const EVP_MD* const hash = kind == EVP_PKEY_ED25519 || kind == EVP_PKEY_ED448 ? nullptr : EVP_sha256();
  const auto* const data = reinterpret_cast<const unsigned char*>(results.data());
  std::size_t size = 0;
  std::string signature;
  bool good = EVP_DigestSignInit(context.get(), nullptr, hash, nullptr, key.get()) == 1 &&
              EVP_DigestSign(context.get(), nullptr, &size, data, results.size()) == 1;
  if (good) {
    signature.resize(size);
    good = EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, data, results.size()) == 1;
    signature.resize(size);
  }
  if (!good) return Failure{Problem{"a key of this kind does not sign"}};
  unsigned char* der = nullptr;
  const int length = i2d_PUBKEY(key.get(), &der);
  if (length > 0) statement.key = sha256_of({reinterpret_cast<const char*>(der), static_cast<std::size_t>(length)});
  OPENSSL_free(der);
  statement.signature = base64_of({reinterpret_cast<const std::uint8_t*>(signature.data()), signature.size()});
  return signature;
}

}  // namespace fb::conformance
