// The providers that the consumer is tried on: this project's, in each way to answer, and the plain one of the tests.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "networkdirect/ndk/consumer/ndk_device.h"
#include "networkdirect/ndk/provider/provider.h"
#include "tests/networkdirect/ndk/consumer/pending.h"
#include "tests/networkdirect/ndk/consumer/plain_provider.h"

namespace fb::ndk::testing {

/// How a provider answers.
struct Way {
  const char* name;
  NDK_VERSION version;
  std::int64_t delay_us = 0;       ///< the plain provider: 0 answers at once
  std::optional<Answers> answers;  ///< the project's, that way
  bool scattered = false;
};

inline constexpr Way kWays[] = {
    {"plain_21", {2, 1}, 0, {}},
    {"plain_12", {1, 2}, 0, {}},
    {"plain_11", {1, 1}, 0, {}},
    {"plain_pending", {2, 1}, 3, {}},
    {"natural", {2, 1}, 0, Answers::natural},
    {"natural_11", {1, 1}, 0, Answers::natural},
    {"at_once", {2, 1}, 0, Answers::at_once},
    {"later", {2, 1}, 3, Answers::later},
    {"before_return", {2, 0}, 0, Answers::before_return},
    {"random", {2, 1}, 3, Answers::random},
    {"scattered", {1, 2}, 0, Answers::natural, true},
};

/// Somebody who stands between consumer and provider, and must find nothing wrong.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual NDK_ADAPTER& wrap(NDK_ADAPTER& adapter) = 0;
  virtual void close(NDK_ADAPTER& adapter, const std::function<void(NDK_ADAPTER&)>& close_inner) = 0;
};
/// Programs of tests that have one set this; without it consumers are alone with their providers. `strict` is false where a
/// test lets the consumer, or its user, do what is wrong.
inline std::function<std::unique_ptr<Watch>(Kernel&, bool strict)> make_watch;

struct AnyProviderOptions {
  bool strict = true;
  bool notify_inside_arm = false;
};

/// One open adapter of whichever provider.
class AnyProvider {
 public:
  AnyProvider(World& world, Kernel& kernel, rdma::Device& device, const Way& way, Pender* pender, const AnyProviderOptions& o = {})
      : watch_(make_watch ? make_watch(kernel, o.strict) : nullptr), pender_(pender) {
    open(world, kernel, device, way, o);
    if (watch_ != nullptr) adapter_ = &watch_->wrap(*adapter_);
  }
  ~AnyProvider() { close(); }
  AnyProvider(const AnyProvider&) = delete;
  AnyProvider& operator=(const AnyProvider&) = delete;

  NDK_ADAPTER& adapter() { return *adapter_; }
  /// Closes the adapter; how many objects were left. Of the plain one, mappings too.
  std::size_t close() {
    NDK_ADAPTER* const adapter = std::exchange(adapter_, nullptr);
    if (adapter == nullptr) return 0;
    if (watch_ == nullptr) return close_inner(*adapter);
    std::size_t left = 0;
    watch_->close(*adapter, [&](NDK_ADAPTER& inner) { left = close_inner(inner); });
    return left;
  }

 private:
  void open(World& world, Kernel& kernel, rdma::Device& device, const Way& way, const AnyProviderOptions& o) {
    if (way.answers.has_value()) {
      ProviderOptions options;
      options.version = way.version;
      options.answers = *way.answers;
      options.answer_delay = Duration::us(way.delay_us);
      options.scattered_logical_pages = way.scattered;
      options.notify_inside_arm = o.notify_inside_arm;
      provider_ = std::make_unique<Provider>(world, kernel, device, options);
      BENCH_ASSERT(provider_->open(way.version, &adapter_) == NDIS_STATUS_SUCCESS, "the version is the provider's");
      return;
    }
    plain_ = std::make_unique<PlainProvider>(device, way.version);
    adapter_ = &plain_->adapter.ndk;
    if (pender_ != nullptr) pender_->take(*adapter_);
  }
  std::size_t close_inner(NDK_ADAPTER& adapter) {
    if (plain_ != nullptr) return static_cast<std::size_t>(plain_->objects + plain_->mappings);
    std::size_t left = 0;
    for (const LeakedObjects& leaked : provider_->close(&adapter)) left += leaked.count;
    return left;
  }

  std::unique_ptr<Watch> watch_;  // outlives the provider, which may still call back
  Pender* pender_;
  std::unique_ptr<Provider> provider_;
  std::unique_ptr<PlainProvider> plain_;
  NDK_ADAPTER* adapter_ = nullptr;
};

}  // namespace fb::ndk::testing
