// The tables of the wrappers, by version.
#pragma once

#include <ndkpi.h>

namespace fb::ndk::verifier {

struct Tables {
  NDK_ADAPTER_DISPATCH adapter;
  NDK_PD_DISPATCH pd;
  NDK_CQ_DISPATCH cq;
  NDK_MR_DISPATCH mr;
  NDK_MW_DISPATCH mw;
  NDK_SRQ_DISPATCH srq;
  NDK_QP_DISPATCH qp;
  NDK_CONNECTOR_DISPATCH connector;
  NDK_LISTENER_DISPATCH listener;
  NDK_SHARED_ENDPOINT_DISPATCH shared_endpoint;
};

/// What came with a later version than that is there to be found.
const Tables& tables_of(NDK_VERSION version);

inline bool knows(NDK_VERSION version, USHORT major, USHORT minor) {
  return version.Major > major || (version.Major == major && version.Minor >= minor);
}

}  // namespace fb::ndk::verifier
