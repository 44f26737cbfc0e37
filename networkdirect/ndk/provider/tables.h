// The tables of functions that consumers see. A version's own end where that version ended: later entries are null.
#pragma once

#include <ndkpi.h>

namespace fb::ndk::provider {

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

/// Those of version 1.1, 1.2, 2.0 or 2.1.
const Tables& tables_of(NDK_VERSION version);

}  // namespace fb::ndk::provider
