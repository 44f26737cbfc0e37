// Parts of a target in words, as options of the command and the control socket take them.
#pragma once

#include <string>

#include "model/subsystem/options.h"

namespace fb::cli {

/// SIZE[,file=PATH][,bs=512|4096][,ms=8|16|64][,pi=1|2|3][,kv][,zoned=SIZE[,zcap=SIZE][,active=N][,open=N][,zdes=BYTES][,razb]]
/// with the file opened. UserError for anything else.
subsystem::NamespaceOptions namespace_from(const std::string& text);

/// A discovery service, or a subsystem, at tcp://HOST:PORT[/NQN] or rdma://HOST:PORT[/NQN]. UserError for anything else.
subsystem::Referral referral_from(const std::string& text);

subsystem::AddressFamily family_of(const IpAddress& address);

}  // namespace fb::cli
