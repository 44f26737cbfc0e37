#include "model/auth/generated_psks.h"

#include <algorithm>

namespace fb::auth {

GeneratedPsks::GeneratedPsks(World& world, PskStore& store, Duration lifetime) : world_(world), store_(store), lifetime_(lifetime) {}

GeneratedPsks::~GeneratedPsks() { world_.loop().cancel(timer_); }

Result<void> GeneratedPsks::add(const GeneratedPsk& made) {
  if (made.hash == AuthHash::sha_512) {
    return Failure{Problem{"no cipher suite of TLS goes with a PSK made with SHA-512"}};
  }
  const PskHash hash = made.hash == AuthHash::sha_256 ? PskHash::sha_256 : PskHash::sha_384;
  auto psk = derive_tls_psk({1, PskOrigin::generated, hash, made.hostnqn, made.subnqn}, made.psk);
  if (!psk) return Failure{psk.error()};
  std::erase_if(entries_, [&](const Entry& old) {
    if (old.hostnqn != made.hostnqn || old.subnqn != made.subnqn) return false;
    store_.remove(old.identity);
    return true;
  });
  entries_.push_back({psk->identity, made.hostnqn, made.subnqn, world_.now() + lifetime_});
  store_.add(std::move(psk).value());
  arm();
  return {};
}

void GeneratedPsks::arm() {
  if (keeps_for_ever || entries_.empty()) return;
  world_.loop().schedule(timer_, entries_.front().until);
}

void GeneratedPsks::expire() {
  while (!entries_.empty() && entries_.front().until <= world_.now()) {
    store_.remove(entries_.front().identity);
    entries_.pop_front();
  }
  arm();
}

}  // namespace fb::auth
