// Packets as a careless device says and takes them.
#include "model/deviations/deviation.h"
#include "wire/rdma/headers.h"

namespace fb::deviations {

using softroce::Departure;

namespace {

/// The pad count of a payload that needs a pad is one too few or too many.
struct WrongPadCount final : softroce::SoftHooks {
  void packet_out(MutableBytes packet) override {
    MutableView<roce::Bth> bth{packet};
    const unsigned pad = bth.get(roce::bth::padcnt);
    if (pad != 0) bth.set(roce::bth::padcnt, pad == 1 ? 2 : pad - 1);
  }
};

}  // namespace

DEVIATION(rdma_sends_bad_icrc, "rdma.icrc.sent", Product::rdma, "sends packets with a wrong ICRC", departs(Departure::send_bad_icrc));
DEVIATION(rdma_icrc_over_changing_bits, "rdma.icrc.masked-fields", Product::rdma, "computes the ICRC over bits that change on the way",
          departs(Departure::icrc_covers_reserved_bits));
DEVIATION(rdma_takes_any_version, "rdma.bth.tver", Product::rdma, "executes packets of any transport version",
          departs(Departure::accept_bad_version));
DEVIATION(rdma_answers_unknown_opcodes, "rdma.bth.unknown-opcode", Product::rdma, "answers a reserved opcode with a NAK",
          departs(Departure::answer_unknown_opcode));
DEVIATION(rdma_compares_part_of_the_qpn, "rdma.bth.unknown-qp", Product::rdma, "finds queue pairs by the low bits of their number alone",
          departs(Departure::number_compared_in_part));
DEVIATION(rdma_takes_foreign_partitions, "rdma.bth.pkey", Product::rdma, "executes packets of a foreign partition",
          departs(Departure::accept_bad_pkey));
DEVIATION(rdma_pads_with_garbage, "rdma.bth.pad", Product::rdma, "pad bytes are not zero", departs(Departure::send_nonzero_pad));
DEVIATION(rdma_miscounts_pad, "rdma.bth.pad", Product::rdma, "the pad count is off by one", hooks<WrongPadCount>());
DEVIATION(rdma_wants_migreq, "rdma.bth.migreq", Product::rdma, "drops packets with MigReq 0", departs(Departure::refuse_migreq_clear));
DEVIATION(rdma_answers_short_packets, "rdma.bth.too-short", Product::rdma, "answers a packet that is too short for its opcode",
          departs(Departure::answer_too_short));

}  // namespace fb::deviations
