// What the text forms of secrets have in common: BASE64 of the bytes with their CRC-32 behind them,
// files that only their owner may read, and lines of words in them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace fb::auth {

inline ByteView as_bytes(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

std::string to_base64(ByteView bytes);
/// Nothing for what is not BASE64 with its padding.
std::optional<Bytes> from_base64(std::string_view text);

/// BASE64 of the bytes and their CRC-32, little endian.
std::string with_crc_to_base64(ByteView bytes);

enum class KeyTextFault { none, not_base64, length, crc };
struct KeyText {
  KeyTextFault fault = KeyTextFault::none;
  Bytes bytes;  ///< without the CRC; empty with a fault
};
/// The inverse. `legal` says which lengths there are.
KeyText from_base64_with_crc(std::string_view text, bool (*legal)(std::size_t bytes));

/// The words of each line that has some and is no comment (#). A Problem of `take` is returned with
/// `name` and the line's number in front.
using TakeWords = std::function<Result<void>(std::vector<std::string_view> words)>;
Result<void> for_each_line(std::string_view text, std::string_view name, const TakeWords& take);

/// Wipes what it holds.
class PrivateText {
 public:
  explicit PrivateText(std::string text) : text_(std::move(text)) {}
  PrivateText(PrivateText&& other) noexcept : text_(std::move(other.text_)) {}
  PrivateText& operator=(PrivateText&&) = delete;
  ~PrivateText();
  std::string_view view() const { return text_; }

 private:
  std::string text_;
};
/// A regular file that nobody but its owner may read or write (0600), and of sensible size.
Result<PrivateText> read_private_file(const std::string& path);

}  // namespace fb::auth
