// Objects of libibverbs and librdmacm that go with their owner.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>

namespace fb::verbs {

struct Destroys {
  void operator()(ibv_context* object) const { ibv_close_device(object); }
  void operator()(ibv_pd* object) const { ibv_dealloc_pd(object); }
  void operator()(ibv_mr* object) const { ibv_dereg_mr(object); }
  void operator()(ibv_comp_channel* object) const { ibv_destroy_comp_channel(object); }
  void operator()(ibv_cq* object) const { ibv_destroy_cq(object); }
  void operator()(ibv_srq* object) const { ibv_destroy_srq(object); }
  void operator()(ibv_qp* object) const { ibv_destroy_qp(object); }
  void operator()(rdma_event_channel* object) const { rdma_destroy_event_channel(object); }
  void operator()(rdma_cm_id* object) const { rdma_destroy_id(object); }
};

template <class T>
using Owned = std::unique_ptr<T, Destroys>;

}  // namespace fb::verbs
