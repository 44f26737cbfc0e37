// What a connection manager does wrong with the counts it is told, and at the end of a connection.
#include "model/deviations/deviation.h"
#include "sim/rdma/softroce/cm_fault_points.h"
#include "sim/rdma/softroce/finer_fault_points.h"
#include "wire/rdma/cm_messages.h"

namespace fb::deviations {

namespace {

/// Every message of one kind is spoilt on its way out.
template <cm::Attribute Kind, void (*Spoil)(MutableBytes mad)>
struct SpoilsMessages final : softroce::SoftHooks {
  bool mad_out(MutableBytes mad) override {
    if (View<cm::MadHeader>{mad}.get(cm::mad::attribute) == Kind) Spoil(mad.subspan(cm::kMadHeaderBytes));
    return true;
  }
};

void always_seven_retries(MutableBytes req) { MutableView<cm::Req>{req}.set(cm::req::retry_count, 7); }
void always_seven_rnr_retries(MutableBytes req) { MutableView<cm::Req>{req}.set(cm::req::rnr_retry_count, 7); }
void depths_change_places(MutableBytes req) {
  MutableView<cm::Req> view{req};
  const auto served = view.get(cm::req::responder_resources);
  view.set(cm::req::responder_resources, view.get(cm::req::initiator_depth)).set(cm::req::initiator_depth, served);
}
void one_read_more(MutableBytes rep) {
  MutableView<cm::Rep> view{rep};
  view.set(cm::rep::responder_resources, view.get(cm::rep::responder_resources) + 1);
}
void rep_without_rnr_retries(MutableBytes rep) { MutableView<cm::Rep>{rep}.set(cm::rep::rnr_retry_count, 0); }

}  // namespace

DEVIATION(cm_req_seven_retries, "cm.active.req-counts", Product::cm, "asks for seven retries, whatever its program says",
          hooks<SpoilsMessages<cm::Attribute::req, &always_seven_retries>>());
DEVIATION(cm_req_seven_rnr_retries, "cm.active.req-counts", Product::cm, "asks for seven RNR retries, whatever its program says",
          hooks<SpoilsMessages<cm::Attribute::req, &always_seven_rnr_retries>>());
DEVIATION(cm_req_depths_swapped, "cm.active.req-counts", Product::cm, "takes the READs it serves for those it issues",
          hooks<SpoilsMessages<cm::Attribute::req, &depths_change_places>>());
DEVIATION(cm_rep_one_read_more, "cm.rep.counts", Product::cm, "offers to serve a READ more than its program does",
          hooks<SpoilsMessages<cm::Attribute::rep, &one_read_more>>());
DEVIATION(cm_rep_no_rnr_retries, "cm.rep.counts", Product::cm, "its REP carries no RNR retries",
          hooks<SpoilsMessages<cm::Attribute::rep, &rep_without_rnr_retries>>());
DEVIATION(cm_rep_rnr_retries_ignored, "cm.active.rnr-of-rep", Product::cm, "does not heed the RNR retry count of the REP",
          Departs{softroce::cm_departure::kRepRnrIgnored});
DEVIATION(cm_keeps_receives, "cm.dreq.flushes", Product::cm, "keeps the receives of a connection that has ended",
          Departs{softroce::finer::kCompletionFlushedReceivesVanish});

}  // namespace fb::deviations
