#include "model/auth/nonces.h"

#if defined(_WIN32)
#include <windows.h>
// After the types that it needs.
#include <bcrypt.h>
#else
#include <sys/random.h>
#endif

#include <algorithm>

#include "base/assert.h"

namespace fb::auth {

namespace {

constexpr std::size_t kExponentBytes = 32;

class StreamNonces final : public NonceSource {
 public:
  explicit StreamNonces(Rng stream) : stream_(stream) {}
  void fill(MutableBytes bytes) override { stream_.fill(bytes); }

 private:
  Rng stream_;
};

class SystemNonces final : public NonceSource {
 public:
  void fill(MutableBytes bytes) override {
    constexpr std::size_t kAtOnce = 256;  // so much comes whole or not at all
    while (!bytes.empty()) {
      const std::size_t part = std::min(bytes.size(), kAtOnce);
#if defined(_WIN32)
      const bool whole = BCryptGenRandom(nullptr, bytes.data(), static_cast<ULONG>(part), BCRYPT_USE_SYSTEM_PREFERRED_RNG) >= 0;
#else
      const bool whole = ::getrandom(bytes.data(), part, 0) == static_cast<ssize_t>(part);
#endif
      BENCH_ASSERT(whole, "the system has random numbers");
      bytes = bytes.subspan(part);
    }
  }
};

}  // namespace

Bytes NonceSource::bytes(std::size_t count) {
  Bytes made(count);
  fill(made);
  return made;
}

Bytes NonceSource::exponent() {
  Bytes made = bytes(kExponentBytes);
  made[0] |= 0x80;  // of full length
  return made;
}

std::uint32_t NonceSource::sequence_number() {
  while (sequence_ == 0) {
    const Bytes first = bytes(4);
    sequence_ = load_le<std::uint32_t>(first.data());
  }
  const std::uint32_t given = sequence_++;
  if (sequence_ == 0) sequence_ = 1;
  return given;
}

std::uint16_t NonceSource::transaction() {
  if (!transaction_begun_) {
    const Bytes first = bytes(2);
    transaction_ = load_le<std::uint16_t>(first.data());
    transaction_begun_ = true;
  }
  return transaction_++;
}

std::unique_ptr<NonceSource> make_nonces(World& world, std::string_view name) {
  if (world.real_loop() != nullptr) return system_nonces();
  return std::make_unique<StreamNonces>(world.stream(name));
}

std::unique_ptr<NonceSource> system_nonces() { return std::make_unique<SystemNonces>(); }

}  // namespace fb::auth
