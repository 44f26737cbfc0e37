// Both machines of DH-HMAC-CHAP against a peer that says anything. The first byte chooses the terms;
// then messages, each with its length in front.
#include <cstdint>

#include "model/auth/controller_auth.h"
#include "model/auth/host_auth.h"
#include "tests/fuzz/input.h"

namespace {

using namespace fb::auth;

fb::Bytes next_message(fb::fuzz::Input& input) {
  const std::size_t length = input.word() % 1200;
  return input.bytes(length);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fb::fuzz::Input input(data, size);
  const std::uint8_t terms = input.byte();
  const auto world = fb::World::make_virtual(1);
  const auto nonces = make_nonces(*world, "fuzz");
  const Secret secret(fb::Bytes(32, 0x11), AuthHash::sha_256);
  const std::vector<DhGroup> groups =
      (terms & 1) != 0 ? std::vector{DhGroup::ffdhe2048, DhGroup::null} : std::vector{DhGroup::null, DhGroup::ffdhe2048};
  const auto mutual = (terms & 2) != 0 ? std::optional{secret} : std::nullopt;
  const auto channel = (terms & 4) != 0 ? SecureChannel::new_tls_psk : SecureChannel::none;
  if ((terms & 8) != 0) {
    HostAuth host({"h", "s", secret, mutual, all_hashes(), groups, channel}, *nonces);
    host.begin();
    while (!input.empty() && host.state() != HostAuth::State::failed && !host.done()) {
      host.on_message(next_message(input));
    }
    return 0;
  }
  ControllerAuth controller({"h", "s", secret, mutual, all_hashes(), groups, (terms & 4) != 0, false}, *nonces);
  // An honest host's Negotiate first, so that the later messages are reached.
  HostAuth peer({"h", "s", secret, mutual, all_hashes(), groups, channel}, *nonces);
  if ((terms & 16) != 0) controller.on_message(peer.begin().message);
  while (!input.empty() && !controller.failed()) {
    controller.take_message();
    controller.on_message(next_message(input));
  }
  return 0;
}
