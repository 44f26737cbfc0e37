// NVMe over RDMA: private data, the order of data and response, keys, SGLs. Points that would break
// every command are narrowed to the commands that show what they break.
#include "model/deviations/catalogue/tolerance.h"
#include "wire/fabrics/rdma_private_data.h"
#include "wire/fabrics/transports.h"
#include "wire/nvme/sgl.h"
#include "wire/nvme/sqe.h"

namespace fb::deviations {

namespace {

using nvme::SglDescriptor;

SglDescriptor sgl_of(ByteView sqe) { return SglDescriptor::parse(sqe.subspan(24)); }
bool keyed(const SglDescriptor& sgl) { return sgl.type == nvme::SglType::keyed_data_block; }
bool uneven(const SglDescriptor& sgl) { return keyed(sgl) && (sgl.address & 0xFFF) != 0; }

/// Departs at a point while the newest command capsule of an I/O queue has an SGL of a kind.
template <bool (*Concerns)(ByteView capsule)>
class DepartsFor : public SubsystemHooks {
 public:
  explicit DepartsFor(std::string_view point, std::string_view tcp_point = fabrics::kTcp) : point_(point), tcp_point_(tcp_point) {}
  void capsule_in(std::uint16_t qid, ByteView capsule) override {
    armed_ = qid != 0 && capsule.size() >= nvme::kSqeSize && Concerns(capsule);
  }
  bool departs(std::string_view point) override { return armed_ && (point == point_ || point == tcp_point_); }

 private:
  std::string_view point_;
  std::string_view tcp_point_;
  bool armed_ = false;
};

bool has_transport_sgl(ByteView capsule) { return sgl_of(capsule).type == nvme::SglType::transport_data_block; }
bool has_reserved_sgl(ByteView capsule) {
  const auto type = static_cast<unsigned>(sgl_of(capsule).type);
  return type >= 6 && type <= 0xE;
}
bool has_uneven_sgl(ByteView capsule) { return uneven(sgl_of(capsule)); }
/// NSID 1 has blocks of 512 bytes, NSID 2 of 4096.
bool has_long_sgl(ByteView capsule) {
  const auto blocks = View<nvme::ReadWriteSqe>{capsule}.get(nvme::rw_sqe::nlb).count();
  const std::uint64_t block = load_le<std::uint32_t>(capsule.data() + 4) == 1 ? 512 : 4096;
  return capsule[0] == 0x02 && keyed(sgl_of(capsule)) && sgl_of(capsule).length > blocks * block;
}

bool has_much_data(ByteView capsule) { return capsule[0] == 0x02 && keyed(sgl_of(capsule)) && sgl_of(capsule).length >= 32u << 10; }

struct AnswersBeforeMuchData final : DepartsFor<&has_much_data> {
  AnswersBeforeMuchData() : DepartsFor("rdma.data.after_response") {}
};
struct TakesTransportSgl final : DepartsFor<&has_transport_sgl> {
  TakesTransportSgl() : DepartsFor("rdma.sgl.type") {}
};
struct TakesReservedSgl final : DepartsFor<&has_reserved_sgl> {
  TakesReservedSgl() : DepartsFor("rdma.sgl.type", "tcp.sgl.type") {}
};
struct InvalidatesWrongKey final : DepartsFor<&has_uneven_sgl> {
  InvalidatesWrongKey() : DepartsFor("rdma.invalidate.wrong_key") {}
};
struct WritesBeyondLongSgl final : DepartsFor<&has_long_sgl> {
  WritesBeyondLongSgl() : DepartsFor("rdma.data.beyond_length") {}
};

/// The tail of what lies at an address within a page is not fetched.
class LosesUnevenTail final : public SubsystemHooks {
 public:
  void data_in(const CommandContext& command, MutableBytes data) override {
    if (command.qid == 0 || opcode_of(command) != 0x01 || !uneven(sgl_of(command.sqe))) return;
    const std::size_t offset = sgl_of(command.sqe).address & 0xFFF;
    const MutableBytes tail = data.last(std::min(offset, data.size()));
    std::fill(tail.begin(), tail.end(), std::uint8_t{0});
  }
};

/// Data in the capsule is taken from another place than the descriptor says.
class MistakesCapsuleOffset final : public SubsystemHooks {
 public:
  void data_in(const CommandContext& command, MutableBytes data) override {
    const SglDescriptor sgl = sgl_of(command.sqe);
    if (command.qid == 0 || opcode_of(command) != 0x01 || keyed(sgl) || sgl.address == 0) return;
    if (data.size() > 1) std::rotate(data.begin(), data.begin() + 1, data.end());
  }
};

/// Keep Alive is answered twice.
class AnswersTwice final : public SubsystemHooks {
 public:
  Answer completion(const CommandContext& command, MutableBytes) override {
    return command.qid == 0 && opcode_of(command) == 0x18 ? Answer::send_twice : Answer::send;
  }
};

/// One REJ status becomes one that does not exist.
template <std::uint8_t Status>
class RejectsWithout final : public SubsystemHooks {
 public:
  void private_data_out(std::string_view message, Bytes& data) override {
    if (message == "rej" && data.size() >= 4 && data[2] == Status) data[2] = 0x40 + Status;
  }
};

/// Reserved bytes of the accept are not zero.
class AcceptWithNoise final : public SubsystemHooks {
 public:
  void private_data_out(std::string_view message, Bytes& data) override {
    if (message == "rep" && data.size() >= 32) data[17] = 0x5A;
  }
};

}  // namespace

DEVIATION(rdma_takes_any_recfmt, "fabrics.rdma.request.recfmt", Product::controller, "accepts a connection request of an unknown format",
          Departs{"rdma.reject.recfmt"});
DEVIATION(rdma_takes_hsqsize_zero, "fabrics.rdma.request.hsqsize", Product::controller, "accepts a host without a send queue",
          Departs{"rdma.reject.hsqsize_minimum"});
DEVIATION(rdma_takes_hrqsize_zero, "fabrics.rdma.request.hrqsize", Product::controller, "accepts a host without a receive queue",
          Departs{"rdma.reject.hrqsize"});
DEVIATION(rdma_rejects_qid_with_unknown_status, "fabrics.rdma.request.qid", Product::controller,
          "rejects an impossible queue with an undefined status", hooks<RejectsWithout<3>>());
DEVIATION(rdma_rejects_reads_with_unknown_status, "fabrics.rdma.request.ird", Product::controller,
          "rejects a host that serves no reads with an undefined status", hooks<RejectsWithout<7>>());
DEVIATION(rdma_counts_abandoned_connections, "fabrics.rdma.request.abandoned", Product::controller,
          "connections that were never established count against the limit for ever", Departs{"rdma.connection.abandoned"});
DEVIATION(rdma_accepts_in_other_format, "fabrics.rdma.accept.private-data", Product::controller,
          "accepts with private data of another record format", Departs{"rdma.accept.recfmt"});
DEVIATION(rdma_accepts_with_larger_queue, "fabrics.rdma.accept.private-data", Product::controller,
          "accepts with a CRQSIZE above the host's queue", Departs{"rdma.accept.crqsize"});
DEVIATION(rdma_has_fewer_receives_than_it_says, "fabrics.rdma.accept.receives", Product::controller,
          "has half as many receives as its CRQSIZE says", Departs{"rdma.accept.receives"});
DEVIATION(rdma_accepts_with_reserved_bytes, "fabrics.rdma.accept.private-data", Product::controller, "accepts with reserved bytes set",
          hooks<AcceptWithNoise>());
DEVIATION(rdma_offers_reads, "fabrics.rdma.accept.depths", Product::controller, "offers RDMA READs to a host",
          Departs{"rdma.accept.responder_resources"});

DEVIATION(rdma_answers_before_data, "fabrics.rdma.read-data.order", Product::controller,
          "sends the response before the data of a long read", hooks<AnswersBeforeMuchData>());
DEVIATION(rdma_fetches_too_little, "fabrics.rdma.write-data.by-read", Product::controller,
          "does not fetch the end of data that lies within a page", hooks<LosesUnevenTail>());
DEVIATION(rdma_answers_twice, "fabrics.rdma.response.single-send", Product::controller, "answers Keep Alive twice", hooks<AnswersTwice>());
DEVIATION(rdma_invalidates_unasked, "fabrics.rdma.invalidate.only-asked", Product::controller,
          "invalidates keys that the host wants to keep", Departs{"rdma.invalidate.not_asked"});
DEVIATION(rdma_invalidates_wrong_key, "fabrics.rdma.invalidate.right-key", Product::controller,
          "invalidates another key than the command's", hooks<InvalidatesWrongKey>());
DEVIATION(rdma_takes_admin_data_in_capsule, "fabrics.rdma.capsule.admin-in-capsule", Product::controller,
          "takes an in-capsule descriptor on the admin queue", Departs{"rdma.sgl.in_capsule_admin"});
DEVIATION(rdma_takes_short_capsule, "fabrics.rdma.capsule.short", Product::controller, "executes a capsule that is too short",
          Departs{"rdma.capsule.short"});
DEVIATION(rdma_mistakes_capsule_offset, "fabrics.rdma.in-capsule.accepted", Product::controller,
          "takes in-capsule data from the wrong offset", hooks<MistakesCapsuleOffset>());

DEVIATION(sgl_transport_type_taken, "fabrics.sgl.transport-type", Product::controller, "succeeds with a transport data block",
          hooks<TakesTransportSgl>());
DEVIATION(sgl_reserved_type_taken, "fabrics.sgl.reserved-type", Product::controller, "succeeds with a reserved descriptor type",
          hooks<TakesReservedSgl>());
DEVIATION(sgl_reserved_type_is_done, "fabrics.sgl.reserved-type", Product::controller, "says success where there is no data to be had",
          Tolerate{"command.sgl"});
DEVIATION(sgl_offset_taken, "fabrics.sgl.offset-beyond-capsule", Product::controller, "takes data from beyond the capsule",
          Departs{"rdma.sgl.offset"});
DEVIATION(sgl_too_short_taken, "fabrics.sgl.too-short", Product::controller, "succeeds with an SGL that is too short",
          Departs{"rdma.sgl.length"});
DEVIATION(sgl_longer_overrun, "fabrics.sgl.longer", Product::controller, "writes beyond the data into a longer SGL",
          hooks<WritesBeyondLongSgl>());

}  // namespace fb::deviations
