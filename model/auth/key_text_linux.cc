#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "model/auth/cleanse.h"
#include "model/auth/key_text.h"

namespace fb::auth {

namespace {

constexpr std::size_t kFileMax = 1u << 20;

bool base64_character(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/'; }

}  // namespace

std::string to_base64(ByteView bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  EVP_EncodeBlock(reinterpret_cast<std::uint8_t*>(out.data()), bytes.data(), static_cast<int>(bytes.size()));
  out.pop_back();
  return out;
}

std::optional<Bytes> from_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  if (text.empty() || text.size() % 4 != 0 || !std::all_of(digits.begin(), digits.end(), base64_character)) {
    return std::nullopt;
  }
  Bytes out(text.size() / 4 * 3);
  const ByteView in = as_bytes(text);
  if (EVP_DecodeBlock(out.data(), in.data(), static_cast<int>(in.size())) < 0) return std::nullopt;
  out.resize(out.size() - padding);
  return out;
}

Result<PrivateText> read_private_file(const std::string& path) {
  const auto problem = [&](const std::string& why) { return Failure{Problem{path + ": " + why}}; };
  // Not blocking: a pipe of that name is refused, not waited for.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return problem(std::strerror(errno));
  struct stat facts = {};
  std::string text;
  std::string why;
  if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    why = "not a regular file";
  } else if ((facts.st_mode & 0077) != 0) {
    why = "others than its owner may read or change it; chmod 600 it";
  } else if (facts.st_size > static_cast<off_t>(kFileMax)) {
    why = "too large for a file of secrets";
  } else {
    text.reserve(static_cast<std::size_t>(facts.st_size));  // so that no copy stays behind
    std::array<char, 4096> part = {};
    ssize_t n = 0;
    while (text.size() <= kFileMax && (n = ::read(file, part.data(), part.size())) > 0) {
      text.append(part.data(), static_cast<std::size_t>(n));
    }
    if (n < 0) why = std::strerror(errno);
    cleanse(part.data(), part.size());
  }
  ::close(file);
  if (!why.empty()) return problem(why);
  return PrivateText(std::move(text));
}

}  // namespace fb::auth
