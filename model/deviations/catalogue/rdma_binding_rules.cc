// NVMe over RDMA: departures that break the further rules of the binding. Points that would break every command are
// narrowed to the commands that show what they break.
#include "model/deviations/catalogue/tolerance.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

constexpr std::uint8_t kRead = 0x02, kIdentify = 0x06, kGetFeatures = 0x0A;

/// Departs at a point while the newest command of admin or I/O queues has this opcode.
class DepartsForOpcode : public SubsystemHooks {
 public:
  DepartsForOpcode(std::string_view point, bool admin, std::uint8_t opcode) : point_(point), admin_(admin), opcode_(opcode) {}
  void capsule_in(std::uint16_t qid, ByteView capsule) override {
    armed_ = (qid == 0) == admin_ && capsule.size() >= nvme::kSqeSize && capsule[0] == opcode_;
  }
  bool departs(std::string_view point) override { return armed_ && point == point_; }

 protected:
  bool armed() const { return armed_; }

 private:
  std::string_view point_;
  bool admin_;
  std::uint8_t opcode_;
  bool armed_ = false;
};

struct AnswersLonger final : DepartsForOpcode {
  AnswersLonger() : DepartsForOpcode("rdma.response.longer", true, kGetFeatures) {}
};
struct AnswersInTwo final : DepartsForOpcode {
  AnswersInTwo() : DepartsForOpcode("rdma.response.two_sends", true, kGetFeatures) {}
};
struct WritesHalf final : DepartsForOpcode {
  WritesHalf() : DepartsForOpcode("rdma.data.short", false, kRead) {}
};
struct WritesHalfOfIdentify final : DepartsForOpcode {
  WritesHalfOfIdentify() : DepartsForOpcode("rdma.data.short", true, kIdentify) {}
};
struct WritesAgain final : DepartsForOpcode {
  WritesAgain() : DepartsForOpcode("rdma.data.again_after_response", false, kRead) {}
};
struct InvalidatesFirst final : DepartsForOpcode {
  InvalidatesFirst() : DepartsForOpcode("rdma.invalidate.first_key", false, kRead) {}
};
/// The data of later reads goes to the memory of the first one.
struct WritesToFirst final : DepartsForOpcode {
  WritesToFirst() : DepartsForOpcode("rdma.data.left_key", false, kRead) {}
  bool departs(std::string_view point) override {
    return DepartsForOpcode::departs(point) || (armed() && point == "rdma.invalidate.never");
  }
};

/// In-capsule data beyond IOCCSZ on I/O queues.
class OverfillsCapsules final : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes, MutableBytes) override { qid_ = qid; }
  bool departs(std::string_view point) override { return qid_ != 0 && point == "rdma.host.capsule.too_long"; }

 private:
  std::uint16_t qid_ = 0;
};

}  // namespace

DEVIATION(rdma_rejects_with_unknown_status, "fabrics.rdma.request.recfmt", Product::controller, "rejects with a status that does not exist",
          Departs{"rdma.reject.status"});
DEVIATION(rdma_rejects_for_another_reason, "fabrics.rdma.request.recfmt", Product::controller,
          "rejects with another CM reason than consumer defined", Departs{"rdma.reject.reason"});
DEVIATION(rdma_long_response, "fabrics.rdma.response.size", Product::controller, "a response has 20 bytes", hooks<AnswersLonger>());
DEVIATION(rdma_response_in_two, "fabrics.rdma.response.single-send", Product::controller, "sends a response in two pieces",
          hooks<AnswersInTwo>());
DEVIATION(rdma_writes_half, "fabrics.rdma.read-data.complete", Product::controller, "writes half of the data of a Read",
          hooks<WritesHalf>());
DEVIATION(rdma_writes_half_of_identify, "fabrics.rdma.read-data.admin", Product::controller, "writes half of the data of Identify",
          hooks<WritesHalfOfIdentify>());
DEVIATION(rdma_writes_to_first_key, "fabrics.rdma.read-data.complete", Product::controller,
          "writes the data of a Read to the memory of an earlier one", hooks<WritesToFirst>());
DEVIATION(rdma_writes_again, "fabrics.rdma.read-data.ended", Product::controller, "writes the data once more after the response",
          hooks<WritesAgain>());
DEVIATION(rdma_invalidates_first_key, "fabrics.rdma.invalidate.last-key", Product::controller, "invalidates the first of several keys",
          hooks<InvalidatesFirst>());
DEVIATION(sgl_list_length_taken, "fabrics.sgl.list-length", Product::controller, "takes a segment whose length is no multiple of 16",
          Departs{"rdma.sgl.list_length"});
DEVIATION(sgl_list_count_taken, "fabrics.sgl.list-count", Product::controller, "takes more descriptors than MSDBD",
          Departs{"rdma.sgl.list_count"});
DEVIATION(sgl_list_half, "fabrics.sgl.list-whole", Product::controller, "writes half of the data of a Read", hooks<WritesHalf>());
DEVIATION(sgl_list_types_taken, "fabrics.sgl.list-types", Product::controller, "reads every descriptor of a list as a keyed one",
          Departs{"rdma.sgl.list_types"});
DEVIATION(rdma_refuses_full_queue, "fabrics.rdma.request.sizes", Product::controller, "refuses a queue of as many entries as it has",
          Departs{"rdma.reject.last_entry"});
DEVIATION(sgl_in_capsule_read_taken, "fabrics.sgl.in-capsule-read", Product::controller, "succeeds with a Read into its own capsule",
          Departs{"rdma.sgl.in_capsule_read"});
DEVIATION(rdma_cuts_addresses, "fabrics.rdma.data.address", Product::controller, "uses the low 48 bits of the addresses of host memory",
          Departs{"rdma.data.address"});
DEVIATION(sgl_keyed_subtype_taken, "fabrics.sgl.keyed-subtype", Product::controller,
          "reads any subtype of a keyed descriptor as an address", Departs{"rdma.sgl.subtype"});
DEVIATION(rdma_takes_long_admin_capsule, "fabrics.rdma.capsule.admin-long", Product::controller,
          "has room behind the commands of the admin queue", Departs{"rdma.capsule.admin_room"});

DEVIATION(host_admin_data_in_capsule, "fabrics.rdma.host.admin-capsule", Product::host,
          "puts the data of admin commands into their capsules", Departs{"rdma.host.capsule.admin_in_capsule"});
DEVIATION(host_overfills_capsules, "fabrics.host.capsule-size", Product::host, "in-capsule data beyond IOCCSZ", hooks<OverfillsCapsules>());
DEVIATION(host_request_other_controller, "fabrics.rdma.host.cntlid", Product::host, "the connection request names another controller",
          Departs{"rdma.host.request.cntlid"});
DEVIATION(host_request_without_receives, "fabrics.host.request.private-data", Product::host,
          "the connection request says that there are no receives", Departs{"rdma.host.request.hrqsize"});

}  // namespace fb::deviations
