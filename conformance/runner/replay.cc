#include "conformance/runner/replay.h"

#include <charconv>

#include "base/rng.h"

namespace fb::conformance {

namespace {

constexpr std::string_view kHead = "fb1";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' || c == '/';
}

/// Everything that is not plain becomes %XX, so that ':' and ',' separate.
std::string escaped(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_plain(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned value = 0;
    if (text[at] == '%' && at + 2 < text.size() && std::from_chars(&text[at + 1], &text[at] + 3, value, 16).ptr == &text[at] + 3) {
      out += static_cast<char>(value);
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::string check_word(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const std::uint64_t hash = mix64(hash_name(text));
  std::string word;
  for (int shift = 12; shift >= 0; shift -= 4) word += kDigits[hash >> shift & 15];
  return word;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Failure<Problem> wrong(std::string_view text, std::string_view why) {
  return {Problem{"'" + std::string(text) + "' is no replay token: " + std::string(why)}};
}

}  // namespace

std::string to_string(const ReplayToken& token) {
  std::string text = std::string(kHead) + ":" + escaped(token.case_name) + ":v=" + escaped(token.version) +
                     ":seed=" + std::to_string(token.seed) + ":dut=" + escaped(token.dut);
  if (!token.transport.empty()) text += ":on=" + escaped(token.transport);
  if (!token.lane.empty()) text += ":lane=" + escaped(token.lane);
  if (!token.deviations.empty()) {
    text += ":dev=";
    for (std::size_t i = 0; i < token.deviations.size(); ++i) {
      text += (i == 0 ? "" : ",") + escaped(token.deviations[i]);
    }
  }
  return text + ":" + check_word(text);
}

Result<ReplayToken> parse_replay_token(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() < 3 || parts[0] != kHead) return wrong(text, "it does not begin with fb1:CASE:");
  const std::string_view body = text.substr(0, text.rfind(':'));
  if (check_word(body) != parts.back()) return wrong(text, "its check value is wrong (is the token complete?)");
  ReplayToken token;
  token.case_name = unescaped(parts[1]);
  for (std::size_t i = 2; i + 1 < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string_view key = parts[i].substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? std::string_view{} : parts[i].substr(equals + 1);
    if (key == "v") {
      token.version = unescaped(value);
    } else if (key == "seed") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), token.seed);
      if (error != std::errc() || end != value.data() + value.size()) return wrong(text, "its seed is no number");
    } else if (key == "dut") {
      token.dut = unescaped(value);
    } else if (key == "on") {
      token.transport = unescaped(value);
    } else if (key == "lane") {
      token.lane = unescaped(value);
    } else if (key == "dev") {
      for (const std::string_view name : split(value, ',')) token.deviations.push_back(unescaped(name));
    } else {
      return wrong(text, "this version does not know '" + std::string(key) + "'");
    }
  }
  return token;
}

}  // namespace fb::conformance
