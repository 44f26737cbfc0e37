#include "conformance/runner/verdict.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace fb::conformance {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::none:
      return "none";
    case Verdict::pass:
      return "pass";
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::fail:
      return "fail";
    case Verdict::error:
      return "error";
    case Verdict::skip:
      return "skip";
  }
  return "error";
}

std::string_view name_of(Disposition disposition) {
  switch (disposition) {
    case Disposition::as_expected:
      return "as_expected";
    case Disposition::waived:
      return "waived";
    case Disposition::regression:
      return "regression";
    case Disposition::unexpected_pass:
      return "unexpected_pass";
  }
  return "regression";
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Puts a letter in the place of values. Of what was checked, which is the case's own text, only those that a product chooses.
class ValueEraser {
 public:
  ValueEraser(std::string_view text, bool all_numbers) : text_(text), all_numbers_(all_numbers) {}

  std::string run() {
    while (at_ < text_.size()) {
      if (at_ > 0 && (is_word(text_[at_ - 1]) || text_[at_ - 1] == '.')) {
        copy(1);
      } else if (!address() && !excerpt() && !dump() && !digest() && !status() && !time() && !number()) {
        copy(1);
      }
    }
    return std::move(out_);
  }

 private:
  void copy(std::size_t count) {
    out_ += text_.substr(at_, count);
    at_ += count;
  }
  bool erase(std::size_t count, std::string_view by) {
    out_ += by;
    at_ += count;
    return true;
  }
  template <class Is>
  std::size_t run_of(std::size_t from, Is&& is) const {
    std::size_t end = from;
    while (end < text_.size() && is(text_[end])) ++end;
    return end - from;
  }
  bool ends_at(std::size_t end) const { return end >= text_.size() || !is_word(text_[end]); }

  /// "10.0.0.1:4420", "[fe80::1]:4420", "fe80::1", "aa:bb:cc:dd:ee:ff".
  bool address() {
    const std::size_t open = text_[at_] == '[' ? 1 : 0;
    const std::size_t length = run_of(at_ + open, [](char c) { return is_hex(c) || c == '.' || c == ':'; });
    std::string_view inside = text_.substr(at_ + open, length);
    const auto dots = std::count(inside.begin(), inside.end(), '.'), colons = std::count(inside.begin(), inside.end(), ':');
    const bool v4 = open == 0 && dots == 3 && is_digit(inside[0]);
    const bool v6 = colons >= 2 && (open == 1 || colons >= 3 || inside.find("::") != std::string_view::npos);
    if (!v4 && !v6) return false;
    std::size_t end = at_ + open + length;
    if (open == 1 && end < text_.size() && text_[end] == ']') {
      ++end;
      if (end < text_.size() && text_[end] == ':') end += 1 + run_of(end + 1, is_digit);
    }
    while (end > at_ && (text_[end - 1] == ':' || text_[end - 1] == '.')) --end;  // of the sentence
    return erase(end - at_, "ADDRESS");
  }
  /// Eight hexadecimal digits and more, with or without 0x; groups of a UUID.
  bool dump() {
    const std::size_t begin = text_.substr(at_).starts_with("0x") ? 2 : 0;
    constexpr std::size_t kLeast = 8;
    std::size_t length = run_of(at_ + begin, is_hex);
    const std::string_view digits = text_.substr(at_ + begin, length);
    const bool counts = std::all_of(digits.begin(), digits.end(), is_digit);
    const bool letters = std::none_of(digits.begin(), digits.end(), is_digit);
    const bool uuid =
        length == kLeast && text_.substr(at_ + begin + length).starts_with("-") && run_of(at_ + begin + length + 1, is_hex) == 4;
    if (length < kLeast || (letters && !uuid) || (counts && begin == 0 && !uuid && length < 2 * kLeast)) {
      return false;
    }
    std::size_t end = at_ + begin + length;
    while (end < text_.size() && text_[end] == '-' && run_of(end + 1, is_hex) >= 4) end += 1 + run_of(end + 1, is_hex);
    if (!ends_at(end)) return false;
    if (text_.substr(end).starts_with("...")) end += 3;
    return erase(end - at_, "X");
  }
  /// "9c at byte 47": bytes of any number, in hexadecimal, and where they stand.
  bool excerpt() {
    const std::size_t length = run_of(at_, is_hex);
    if (length == 0 || length % 2 != 0 || !text_.substr(at_ + length).starts_with(" at byte ")) return false;
    return erase(length, "X");
  }
  /// The hash of a PSK identity: Base64 with its padding.
  bool digest() {
    constexpr std::size_t kLeast = 16;
    std::size_t length = run_of(at_, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/'; });
    if (length < kLeast || text_.substr(at_ + length, 1) != "=") return false;
    length += run_of(at_ + length, [](char c) { return c == '='; });
    return erase(length, "X");
  }
  /// "0/02h", and the number behind "FES".
  bool status() {
    if (!is_digit(text_[at_])) return false;
    std::size_t length = run_of(at_, is_digit);
    const std::string_view rest = text_.substr(at_ + length);
    const bool coded = rest.size() >= 4 && rest[0] == '/' && is_hex(rest[1]) && is_hex(rest[2]) && rest[3] == 'h';
    if (coded) length += 4;
    if (!coded && !out_.ends_with("FES ")) return false;
    copy(length);
    return true;
  }
  bool time() {
    if (!all_numbers_ || !is_digit(text_[at_])) return false;
    const std::size_t length = run_of(at_, [](char c) { return is_digit(c) || c == '.' || c == ','; });
    std::size_t end = at_ + length;
    if (end < text_.size() && text_[end] == ' ') ++end;
    for (const std::string_view unit : {"ns", "us", "ms", "s", "min", "h"}) {
      // "10h" is a number, "10 h" a time.
      if (unit == "h" && end == at_ + length) continue;
      if (text_.substr(end).starts_with(unit) && ends_at(end + unit.size())) return erase(end + unit.size() - at_, "T");
    }
    return false;
  }
  /// "55", "-3", "1,024", "37h", "55 (37h)", "0x1F".
  bool number() {
    const std::size_t sign = text_[at_] == '-' ? 1 : 0;
    if (!all_numbers_ && !is_chosen()) return false;
    const std::size_t end = end_of_number(at_ + sign);
    if (end == 0) return false;
    out_ += 'N';
    at_ = end;
    // The same number again, in hexadecimal.
    if (!text_.substr(at_).starts_with(" (")) return true;
    const std::size_t second = end_of_number(at_ + 2);
    if (second != 0 && second < text_.size() && text_[second] == ')' && text_[second - 1] == 'h') at_ = second + 1;
    return true;
  }
  /// Behind the last character of a number; 0: there is none.
  std::size_t end_of_number(std::size_t from) const {
    if (text_.substr(from).starts_with("0x")) {
      const std::size_t length = run_of(from + 2, is_hex);
      return length > 0 && ends_at(from + 2 + length) ? from + 2 + length : 0;
    }
    const std::size_t hex = run_of(from, is_hex);
    if (hex > 0 && from + hex < text_.size() && text_[from + hex] == 'h' && ends_at(from + hex + 1)) return from + hex + 1;
    std::size_t digits = run_of(from, is_digit);
    if (digits == 0) return 0;
    while (from + digits + 1 < text_.size() && (text_[from + digits] == '.' || text_[from + digits] == ',') &&
           is_digit(text_[from + digits + 1])) {
      digits += 1 + run_of(from + digits + 1, is_digit);
    }
    return ends_at(from + digits) ? from + digits : 0;
  }
  /// Whether the product, or chance, chooses the number that stands here.
  bool is_chosen() const {
    constexpr std::array kBefore = {"controller ", "port ", "PSN ", "CID ", "TTAG ", "T_ID ", "packet ", "connection ", "QPN "};
    return std::any_of(kBefore.begin(), kBefore.end(), [&](std::string_view word) { return text_.substr(0, at_).ends_with(word); });
  }

  std::string_view text_;
  bool all_numbers_;
  std::size_t at_ = 0;
  std::string out_;
};

std::string what_in_signature(const Finding& finding) { return ValueEraser(finding.what, false).run(); }
std::string seen_in_signature(std::string_view seen) { return ValueEraser(seen, true).run(); }

}  // namespace

std::string summary_of(const Finding& finding) { return finding.what + ": " + finding.seen; }

std::string signature_of(const Finding& finding) { return what_in_signature(finding) + ": " + seen_in_signature(finding.seen); }

bool is_signature_of(std::string_view signature, const Finding& finding) {
  for (const std::string& what : {finding.what, what_in_signature(finding)}) {
    const std::string begin = what + ": ";
    if (!signature.starts_with(begin)) continue;
    if (seen_in_signature(signature.substr(begin.size())) == seen_in_signature(finding.seen)) return true;
  }
  return false;
}

}  // namespace fb::conformance
