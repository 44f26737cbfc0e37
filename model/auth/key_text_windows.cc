#include <windows.h>
// After the types that it needs.
#include <wincrypt.h>

#include <algorithm>
#include <fstream>

#include "model/auth/key_text.h"

namespace fb::auth {

namespace {

constexpr std::streamoff kFileMax = 1 << 20;

}  // namespace

std::string to_base64(ByteView bytes) {
  if (bytes.empty()) return {};
  DWORD size = 0;
  constexpr DWORD kForm = CRYPT_STRING_BASE64 | CRYPT_STRING_NOCRLF;
  CryptBinaryToStringA(bytes.data(), static_cast<DWORD>(bytes.size()), kForm, nullptr, &size);
  std::string out(size, '\0');  // with the zero at the end
  CryptBinaryToStringA(bytes.data(), static_cast<DWORD>(bytes.size()), kForm, out.data(), &size);
  out.resize(size);
  return out;
}

std::optional<Bytes> from_base64(std::string_view text) {
  const bool blank = std::ranges::any_of(text, [](char c) { return c <= ' '; });
  if (text.empty() || text.size() % 4 != 0 || blank) return std::nullopt;
  Bytes out(text.size() / 4 * 3);
  auto size = static_cast<DWORD>(out.size());
  const BOOL good =
      CryptStringToBinaryA(text.data(), static_cast<DWORD>(text.size()), CRYPT_STRING_BASE64, out.data(), &size, nullptr, nullptr);
  if (good == FALSE) return std::nullopt;
  out.resize(size);
  return out;
}

// Who else may read the file is not looked at: Windows has lists of that, no mode.
Result<PrivateText> read_private_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Failure{Problem{path + ": it cannot be opened"}};
  const std::streamoff size = file.tellg();
  if (size > kFileMax) return Failure{Problem{path + ": too large for a file of secrets"}};
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) return Failure{Problem{path + ": it cannot be read"}};
  return PrivateText(std::move(text));
}

}  // namespace fb::auth
