#include "conformance/runner/check.h"

namespace fb::conformance {

std::string words_of_unsigned(std::uint64_t value) {
  std::string text = std::to_string(value);
  if (value < 10) return text;
  char hex[24];
  std::size_t at = sizeof hex;
  for (std::uint64_t rest = value; rest != 0; rest >>= 4) hex[--at] = "0123456789ABCDEF"[rest & 15];
  return text + " (" + std::string(hex + at, sizeof hex - at) + "h)";
}

std::string words_of_signed(std::int64_t value) {
  return value < 0 ? std::to_string(value) : words_of_unsigned(static_cast<std::uint64_t>(value));
}

std::string words_of_bytes(ByteView bytes) {
  constexpr std::size_t kShown = 32;
  if (bytes.size() <= kShown) return to_hex(bytes);
  return to_hex(bytes.first(kShown)) + "... (" + std::to_string(bytes.size()) + " bytes)";
}

bool Check::status_is(nvme::Status got, const std::optional<std::string>& missing, const std::vector<nvme::Status>& legal,
                      std::string_view what) {
  const bool holds = !missing && std::any_of(legal.begin(), legal.end(), [&](nvme::Status one) { return nvme::same_code(one, got); });
  return record(holds, what, [&] {
    // An entry alone does not say which command it answers; the answers that are legal for it do.
    nvme::Status named = got;
    for (const nvme::Status one : legal) {
      if (named.family() == nvme::StatusFamily::unknown) named = named.of(one.family());
    }
    Said said{{}, missing.value_or(words(named))};
    for (const nvme::Status one : legal) said.expected.push_back(words(one));
    return said;
  });
}

bool Check::bytes(std::string_view what, ByteView got, ByteView expected) {
  const bool holds = std::equal(got.begin(), got.end(), expected.begin(), expected.end());
  return record(holds, what, [&] {
    if (got.size() != expected.size()) {
      return Said{{std::to_string(expected.size()) + " bytes"}, std::to_string(got.size()) + " bytes"};
    }
    const auto at = static_cast<std::size_t>(std::mismatch(got.begin(), got.end(), expected.begin()).first - got.begin());
    const std::size_t shown = std::min<std::size_t>(16, got.size() - at);
    const std::string where = " at byte " + std::to_string(at);
    return Said{{to_hex(expected.subspan(at, shown)) + where}, to_hex(got.subspan(at, shown)) + where};
  });
}

bool Check::that(bool condition, std::string_view what, std::string_view seen) {
  return record(condition, what, [&] { return Said{{std::string(what)}, std::string(seen)}; });
}

void Check::fails(std::string_view what, std::vector<std::string> expected, std::string_view seen) {
  ++performed_;
  note_failure(what, std::move(expected), std::string(seen));
}

void Check::inconclusive(std::string_view why) {
  raise(Verdict::inconclusive, std::string(why));
  throw LeaveCase{};
}

void Check::raise(Verdict verdict, std::string reason) {
  if (worse(verdict_, verdict) != verdict_ || reason_.empty()) reason_ = std::move(reason);
  verdict_ = worse(verdict_, verdict);
}

void Check::note_failure(std::string_view what, std::vector<std::string> expected, std::string seen) {
  findings_.push_back({std::string(what), std::move(expected), std::move(seen)});
  raise(Verdict::fail, summary_of(findings_.back()));
}

}  // namespace fb::conformance
