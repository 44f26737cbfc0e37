#include "model/auth/key_text.h"

#include <isa-l/crc.h>

#include <algorithm>

#include "model/auth/cleanse.h"

namespace fb::auth {

namespace {

constexpr std::size_t kCrcBytes = 4;

std::uint32_t crc_of(ByteView bytes) { return crc32_gzip_refl(0, bytes.data(), bytes.size()); }

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kSpace); at != std::string_view::npos; at = line.find_first_not_of(kSpace, at)) {
    const std::size_t end = std::min(line.find_first_of(kSpace, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace

std::string with_crc_to_base64(ByteView bytes) {
  Bytes both(bytes.size() + kCrcBytes);
  std::copy(bytes.begin(), bytes.end(), both.begin());
  store_le<std::uint32_t>(both.data() + bytes.size(), crc_of(bytes));
  std::string text = to_base64(both);
  cleanse(both.data(), both.size());
  return text;
}

KeyText from_base64_with_crc(std::string_view text, bool (*legal)(std::size_t)) {
  auto bytes = from_base64(text);
  if (!bytes) return {KeyTextFault::not_base64, {}};
  if (bytes->size() < kCrcBytes || !legal(bytes->size() - kCrcBytes)) {
    return {KeyTextFault::length, {}};
  }
  const std::size_t length = bytes->size() - kCrcBytes;
  const bool intact = load_le<std::uint32_t>(bytes->data() + length) == crc_of(ByteView{*bytes}.first(length));
  if (!intact) return {KeyTextFault::crc, {}};
  bytes->resize(length);
  return {KeyTextFault::none, std::move(*bytes)};
}

Result<void> for_each_line(std::string_view text, std::string_view name, const TakeWords& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::vector<std::string_view> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words.front().starts_with('#')) continue;
    if (auto taken = take(std::move(words)); !taken) {
      return Failure{Problem{std::string(name) + ":" + std::to_string(number) + ": " + taken.error().text}};
    }
  }
  return {};
}

PrivateText::~PrivateText() { cleanse(text_.data(), text_.size()); }

}  // namespace fb::auth
