#include "cli/real_session.h"

#include <sys/resource.h>

#include "cli/common.h"

namespace fb::cli {

namespace {

/// As many connections as the machine lets this process have, not as few as shells start with.
void raise_descriptor_limit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

RealSession::RealSession(std::string name, const net::LocalHost& local, const RdmaDeviceArguments& device, softroce::SoftHooks* hooks)
    : name_(std::move(name)), local_(local), chosen_(device), hooks_(hooks), world_(World::make_real(nonce())) {
  raise_descriptor_limit();
}

RealSession::~RealSession() = default;

rdma::Device& RealSession::device() {
  if (!device_) device_.emplace(*world_, name_, chosen_, local_, hooks_);
  return device_->get();
}

net::StreamHost& RealSession::streams() {
  if (streams_ == nullptr) streams_ = or_throw(net::open_local_streams(*world_, local_));
  return *streams_;
}

}  // namespace fb::cli
