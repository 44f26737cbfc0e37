#include "cli/real_session.h"

#include "cli/common.h"

namespace fb::cli {

RealSession::RealSession(const std::string& name, const net::LocalHost& local,
                         softroce::SoftHooks* hooks)
    : world_(World::make_real(nonce())), host_(or_throw(net::open_local_host(*world_, local))) {
  softroce::SoftRoceOptions options;
  options.name = name;
  options.address = local.address;
  options.hooks = hooks;
  // Peers take two devices with one GUID for one that restarted: each process has one of its own.
  options.ca_guid = nonce() | 1;
  device_ = or_throw(softroce::make_softroce(*world_, *host_, options));
}

RealSession::~RealSession() = default;

}  // namespace fb::cli
