#include "model/auth/formulas.h"

#include <array>

#include "model/auth/key_text.h"

namespace fb::auth {

namespace {

Bytes response(AuthHash hash, ByteView key, const ResponseInput& input, std::string_view role, std::string_view own,
               std::string_view other) {
  std::array<std::uint8_t, 7> numbers = {};
  store_le<std::uint32_t>(numbers.data(), input.seqnum);
  store_le<std::uint16_t>(numbers.data() + 4, input.t_id);
  numbers[6] = input.sc_c;
  const std::uint8_t zero[1] = {0};
  return hmac(hash, key, {input.augmented_challenge, numbers, as_bytes(role), as_bytes(own), zero, as_bytes(other)});
}

}  // namespace

Bytes augmented_challenge(AuthHash hash, DhGroup group, ByteView session_key, ByteView challenge) {
  if (group == DhGroup::null) return {challenge.begin(), challenge.end()};
  return hmac(hash, session_key, {challenge});
}

Bytes host_response(AuthHash hash, ByteView key, const ResponseInput& input) {
  return response(hash, key, input, "HostHost", input.hostnqn, input.subnqn);
}

Bytes controller_response(AuthHash hash, ByteView key, const ResponseInput& input) {
  return response(hash, key, input, "Controller", input.subnqn, input.hostnqn);
}

}  // namespace fb::auth
