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

RealSession::RealSession(std::string name, const net::LocalHost& local, softroce::SoftHooks* hooks)
    : name_(std::move(name)), local_(local), hooks_(hooks), world_(World::make_real(nonce())) {
  raise_descriptor_limit();
}

RealSession::~RealSession() = default;

softroce::SoftRoceDevice& RealSession::device() {
  if (device_ != nullptr) return *device_;
  host_ = or_throw(net::open_local_host(*world_, local_));
  softroce::SoftRoceOptions options;
  options.name = name_;
  options.address = local_.address;
  options.hooks = hooks_;
  // Peers take two devices with one GUID for one that restarted: each process has one of its own.
  options.ca_guid = nonce() | 1;
  device_ = or_throw(softroce::make_softroce(*world_, *host_, options));
  return *device_;
}

net::StreamHost& RealSession::streams() {
  if (streams_ == nullptr) streams_ = or_throw(net::open_local_streams(*world_, local_));
  return *streams_;
}

}  // namespace fb::cli
