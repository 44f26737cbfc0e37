// Makes any provider pend: what its functions did at once is told later, from an event. The tables of functions of its
// objects are replaced in place, so that no object needs a double.
#pragma once

#include <ndkpi.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "sim/core/world.h"

namespace fb::ndk::testing {

class Pender {
 public:
  /// At most one at a time: the functions of tables know no other context.
  Pender(World& world, Duration delay) : world_(world), delay_(delay) { current() = this; }
  ~Pender() { current() = nullptr; }
  Pender(const Pender&) = delete;
  Pender& operator=(const Pender&) = delete;

  void take(NDK_ADAPTER& adapter);
  /// Gives the adapter its own table back: it is going to be closed.
  void give_back(NDK_ADAPTER& adapter);
  std::size_t pended() const { return pended_; }

 private:
  struct Tables {
    const NDK_ADAPTER_DISPATCH* adapter = nullptr;
    const NDK_PD_DISPATCH* pd = nullptr;
    const NDK_CQ_DISPATCH* cq = nullptr;
    const NDK_MR_DISPATCH* mr = nullptr;
    const NDK_SRQ_DISPATCH* srq = nullptr;
    const NDK_QP_DISPATCH* qp = nullptr;
    NDK_ADAPTER_DISPATCH own_adapter;
    NDK_PD_DISPATCH own_pd;
    NDK_CQ_DISPATCH own_cq;
    NDK_MR_DISPATCH own_mr;
    NDK_SRQ_DISPATCH own_srq;
    NDK_QP_DISPATCH own_qp;
  };
  struct Late {
    NDK_FN_CREATE_COMPLETION create = nullptr;
    NDK_FN_REQUEST_COMPLETION request = nullptr;
    NDK_FN_CLOSE_COMPLETION close = nullptr;
    PVOID context = nullptr;
  };
  static Pender*& current() {
    static Pender* now = nullptr;
    return now;
  }
  void later(std::function<void()> what) {
    ++pended_;
    todo_.push_back({world_.now() + delay_, std::move(what)});
    if (!timer_.scheduled()) world_.loop().schedule(timer_, todo_.front().first);
  }
  void run() {
    const auto what = std::move(todo_.front().second);
    todo_.pop_front();
    if (!todo_.empty()) world_.loop().schedule(timer_, todo_.front().first);
    what();
  }

  static VOID created(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER* object) {
    const std::unique_ptr<Late> late(static_cast<Late*>(context));
    current()->later([l = *late, status, object] { l.create(l.context, status, object); });
    if (object != nullptr) current()->patch(*object);
  }
  static VOID requested(PVOID context, NTSTATUS status) {
    const std::unique_ptr<Late> late(static_cast<Late*>(context));
    current()->later([l = *late, status] { l.request(l.context, status); });
  }
  static VOID closed(PVOID context) {
    const std::unique_ptr<Late> late(static_cast<Late*>(context));
    current()->later([l = *late] { l.close(l.context); });
  }
  /// Success becomes pending; failures stay what they are.
  template <class T, class Call>
  static NTSTATUS create(NDK_FN_CREATE_COMPLETION completion, PVOID context, Call&& call) {
    auto* late = new Late{.create = completion, .context = context};
    T* object = nullptr;
    const NTSTATUS status = call(&Pender::created, static_cast<PVOID>(late), &object);
    if (status == STATUS_PENDING) return status;
    if (status != STATUS_SUCCESS) return delete late, status;
    created(late, status, &object->Header);
    return STATUS_PENDING;
  }
  template <class Call>
  static NTSTATUS request(NDK_FN_REQUEST_COMPLETION completion, PVOID context, Call&& call) {
    auto* late = new Late{.request = completion, .context = context};
    const NTSTATUS status = call(&Pender::requested, static_cast<PVOID>(late));
    if (status == STATUS_PENDING) return status;
    if (status != STATUS_SUCCESS) return delete late, status;
    requested(late, status);
    return STATUS_PENDING;
  }
  template <class Call>
  static NTSTATUS close(NDK_FN_CLOSE_COMPLETION completion, PVOID context, Call&& call) {
    auto* late = new Late{.close = completion, .context = context};
    if (call(&Pender::closed, static_cast<PVOID>(late)) != STATUS_PENDING) closed(late);
    return STATUS_PENDING;
  }
  void patch(NDK_OBJECT_HEADER& header);

  World& world_;
  Duration delay_;
  std::size_t pended_ = 0;
  Tables t_ = {};
  std::deque<std::pair<Instant, std::function<void()>>> todo_;
  Timer<Pender, &Pender::run> timer_{"test.ndk.pended", *this};
};

inline void Pender::take(NDK_ADAPTER& adapter) {
  t_.adapter = adapter.Dispatch;
  t_.own_adapter = *adapter.Dispatch;
  t_.own_adapter.NdkCreatePd = [](NDK_ADAPTER* a, NDK_FN_CREATE_COMPLETION cc, PVOID context, NDK_PD**) {
    return create<NDK_PD>(cc, context, [&](auto c, PVOID x, NDK_PD** p) { return current()->t_.adapter->NdkCreatePd(a, c, x, p); });
  };
  t_.own_adapter.NdkCreateCq = [](NDK_ADAPTER* a, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK f, PVOID fc, GROUP_AFFINITY* g,
                                  NDK_FN_CREATE_COMPLETION cc, PVOID context, NDK_CQ**) {
    return create<NDK_CQ>(cc, context,
                          [&](auto c, PVOID x, NDK_CQ** p) { return current()->t_.adapter->NdkCreateCq(a, depth, f, fc, g, c, x, p); });
  };
  t_.own_adapter.NdkCreateConnector = [](NDK_ADAPTER* a, NDK_FN_CREATE_COMPLETION cc, PVOID context, NDK_CONNECTOR**) {
    return create<NDK_CONNECTOR>(cc, context,
                                 [&](auto c, PVOID x, NDK_CONNECTOR** p) { return current()->t_.adapter->NdkCreateConnector(a, c, x, p); });
  };
  t_.own_adapter.NdkCreateListener = [](NDK_ADAPTER* a, NDK_FN_CONNECT_EVENT_CALLBACK f, PVOID fc, NDK_FN_CREATE_COMPLETION cc,
                                        PVOID context, NDK_LISTENER**) {
    return create<NDK_LISTENER>(
        cc, context, [&](auto c, PVOID x, NDK_LISTENER** p) { return current()->t_.adapter->NdkCreateListener(a, f, fc, c, x, p); });
  };
  t_.own_adapter.NdkBuildLAM = [](NDK_ADAPTER* a, MDL* m, SIZE_T length, NDK_FN_REQUEST_COMPLETION rc, PVOID context,
                                  NDK_LOGICAL_ADDRESS_MAPPING* map, ULONG* size, ULONG* offset) {
    return request(rc, context, [&](auto c, PVOID x) { return current()->t_.adapter->NdkBuildLAM(a, m, length, c, x, map, size, offset); });
  };
  adapter.Dispatch = &t_.own_adapter;
}

inline void Pender::give_back(NDK_ADAPTER& adapter) { adapter.Dispatch = t_.adapter; }

inline void Pender::patch(NDK_OBJECT_HEADER& header) {
  switch (header.ObjectType) {
    case NdkObjectTypePd: {
      auto& pd = reinterpret_cast<NDK_PD&>(header);
      t_.pd = pd.Dispatch;
      t_.own_pd = *pd.Dispatch;
      t_.own_pd.NdkClosePd = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION done, PVOID context) {
        return close(done, context, [&](auto c, PVOID x) { return current()->t_.pd->NdkClosePd(o, c, x); });
      };
      t_.own_pd.NdkCreateMr = [](NDK_PD* d, BOOLEAN fast, NDK_FN_CREATE_COMPLETION cc, PVOID context, NDK_MR**) {
        return create<NDK_MR>(cc, context, [&](auto c, PVOID x, NDK_MR** p) { return current()->t_.pd->NdkCreateMr(d, fast, c, x, p); });
      };
      t_.own_pd.NdkCreateSrq = [](NDK_PD* d, ULONG depth, ULONG sges, ULONG threshold, NDK_FN_SRQ_NOTIFICATION_CALLBACK f, PVOID fc,
                                  GROUP_AFFINITY* g, NDK_FN_CREATE_COMPLETION cc, PVOID context, NDK_SRQ**) {
        return create<NDK_SRQ>(cc, context, [&](auto c, PVOID x, NDK_SRQ** p) {
          return current()->t_.pd->NdkCreateSrq(d, depth, sges, threshold, f, fc, g, c, x, p);
        });
      };
      t_.own_pd.NdkCreateQp = [](NDK_PD* d, NDK_CQ* r, NDK_CQ* i, PVOID qc, ULONG rd, ULONG id, ULONG rs, ULONG is, ULONG in,
                                 NDK_FN_CREATE_COMPLETION cc, PVOID context, NDK_QP**) {
        return create<NDK_QP>(cc, context, [&](auto c, PVOID x, NDK_QP** p) {
          return current()->t_.pd->NdkCreateQp(d, r, i, qc, rd, id, rs, is, in, c, x, p);
        });
      };
      t_.own_pd.NdkCreateQpWithSrq = [](NDK_PD* d, NDK_CQ* r, NDK_CQ* i, NDK_SRQ* s, PVOID qc, ULONG id, ULONG is, ULONG in,
                                        NDK_FN_CREATE_COMPLETION cc, PVOID context, NDK_QP**) {
        return create<NDK_QP>(cc, context, [&](auto c, PVOID x, NDK_QP** p) {
          return current()->t_.pd->NdkCreateQpWithSrq(d, r, i, s, qc, id, is, in, c, x, p);
        });
      };
      pd.Dispatch = &t_.own_pd;
      return;
    }
    case NdkObjectTypeMr: {
      auto& mr = reinterpret_cast<NDK_MR&>(header);
      t_.mr = mr.Dispatch;
      t_.own_mr = *mr.Dispatch;
      t_.own_mr.NdkCloseMr = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION done, PVOID context) {
        return close(done, context, [&](auto c, PVOID x) { return current()->t_.mr->NdkCloseMr(o, c, x); });
      };
      t_.own_mr.NdkRegisterMr = [](NDK_MR* m, MDL* mdl, SIZE_T length, ULONG flags, NDK_FN_REQUEST_COMPLETION rc, PVOID context) {
        return request(rc, context, [&](auto c, PVOID x) { return current()->t_.mr->NdkRegisterMr(m, mdl, length, flags, c, x); });
      };
      t_.own_mr.NdkDeregisterMr = [](NDK_MR* m, NDK_FN_REQUEST_COMPLETION rc, PVOID context) {
        return request(rc, context, [&](auto c, PVOID x) { return current()->t_.mr->NdkDeregisterMr(m, c, x); });
      };
      t_.own_mr.NdkInitializeFastRegisterMr = [](NDK_MR* m, ULONG pages, BOOLEAN remote, NDK_FN_REQUEST_COMPLETION rc, PVOID context) {
        return request(rc, context, [&](auto c, PVOID x) { return current()->t_.mr->NdkInitializeFastRegisterMr(m, pages, remote, c, x); });
      };
      mr.Dispatch = &t_.own_mr;
      return;
    }
    case NdkObjectTypeCq: {
      auto& cq = reinterpret_cast<NDK_CQ&>(header);
      t_.cq = cq.Dispatch;
      t_.own_cq = *cq.Dispatch;
      t_.own_cq.NdkCloseCq = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION done, PVOID context) {
        return close(done, context, [&](auto c, PVOID x) { return current()->t_.cq->NdkCloseCq(o, c, x); });
      };
      cq.Dispatch = &t_.own_cq;
      return;
    }
    case NdkObjectTypeSrq: {
      auto& srq = reinterpret_cast<NDK_SRQ&>(header);
      t_.srq = srq.Dispatch;
      t_.own_srq = *srq.Dispatch;
      t_.own_srq.NdkCloseSrq = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION done, PVOID context) {
        return close(done, context, [&](auto c, PVOID x) { return current()->t_.srq->NdkCloseSrq(o, c, x); });
      };
      srq.Dispatch = &t_.own_srq;
      return;
    }
    case NdkObjectTypeQp: {
      auto& qp = reinterpret_cast<NDK_QP&>(header);
      t_.qp = qp.Dispatch;
      t_.own_qp = *qp.Dispatch;
      t_.own_qp.NdkCloseQp = [](NDK_OBJECT_HEADER* o, NDK_FN_CLOSE_COMPLETION done, PVOID context) {
        return close(done, context, [&](auto c, PVOID x) { return current()->t_.qp->NdkCloseQp(o, c, x); });
      };
      qp.Dispatch = &t_.own_qp;
      return;
    }
    default:
      return;
  }
}

}  // namespace fb::ndk::testing
