// The structures that have options in Python.
#pragma once

#include "bindings/options.h"
#include "model/host/raw_queue.h"
#include "model/host/types.h"
#include "model/mi/options.h"
#include "model/mi/requester.h"
#include "model/subsystem/options.h"
#include "model/transport/controller_channel.h"
#include "model/transport/tcp_controller.h"
#include "model/transport/tcp_host.h"
#include "sim/net/network.h"

namespace fb::python {

// clang-format off
#define FB_OPTION_STRUCTURES(X)                                                                                     \
  X(subsystem::FirmwareOptions) X(subsystem::CopyOptions) X(subsystem::NamespaceManagementOptions)                   \
  X(subsystem::SanitizeOptions) X(subsystem::ZoneOptions) X(subsystem::ZonedOptions) X(subsystem::SelfTestOptions)   \
  X(subsystem::TelemetryOptions) X(subsystem::PersistentLogOptions) X(subsystem::DirectiveOptions)                   \
  X(subsystem::LockdownOptions) X(subsystem::LbaStatusOptions) X(subsystem::EnduranceOptions)                        \
  X(subsystem::FdpConfiguration) X(subsystem::FdpOptions) X(subsystem::CrossControllerResetOptions)                  \
  X(subsystem::KeyValueFormat) X(subsystem::KeyValueOptions)                                                          \
  X(subsystem::SubsystemOptions)                                                                                     \
  X(subsystem::NamespaceLimits) X(subsystem::NamespaceOptions) X(transport::ControllerFabricOptions)                 \
  X(transport::TcpControllerOptions) X(transport::TcpHostOptions) X(net::LinkOptions) X(host::ConnectOptions)        \
  X(mi::EndpointOptions) X(mi::DeviceOptions) X(mi::RequesterOptions) X(host::RawQueueOptions)
// clang-format on

#define FB_DECLARE_OPTIONS(S)                       \
  template <>                                       \
  struct Options<S> {                               \
    static const std::vector<OptionRow<S>>& rows(); \
    static std::string_view name();                 \
  };
FB_OPTION_STRUCTURES(FB_DECLARE_OPTIONS)
#undef FB_DECLARE_OPTIONS

}  // namespace fb::python
