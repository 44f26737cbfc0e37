// NVMe/TCP: what controllers and hosts do wrong somewhere among all fields, values, bits and lengths.
#include <vector>

#include "model/deviations/deviation.h"
#include "wire/fabrics/transports.h"
#include "wire/tcp/pdu.h"

namespace fb::deviations {

namespace {

using tcp::PduType;

/// R2Ts behind the first of a write are a dword too short.
class LaterR2tsAreShort final : public subsystem::SubsystemHooks {
 public:
  void pdus_out(std::uint16_t, std::vector<Bytes>& pdus) override {
    for (Bytes& pdu : pdus) {
      if (pdu[0] != static_cast<std::uint8_t>(PduType::r2t) || load_le<std::uint32_t>(&pdu[12]) == 0) continue;
      store_le<std::uint32_t>(&pdu[16], load_le<std::uint32_t>(&pdu[16]) - 4);
      tcp::refresh_digests(pdu);
    }
  }
};

/// C2HData beyond 64 KiB of a transfer carries wrong digests.
class LongTransfersAreWrong final : public subsystem::SubsystemHooks {
 public:
  void pdus_out(std::uint16_t, std::vector<Bytes>& pdus) override {
    for (Bytes& pdu : pdus) {
      if (pdu[0] == static_cast<std::uint8_t>(PduType::c2h_data) && load_le<std::uint32_t>(&pdu[12]) >= 32768) pdu.back() ^= 1;
    }
  }
};

/// Responses of the host behind the second R2T of a command have the tag of the first.
class TagsOfTheFirst final : public host::HostHooks {
 public:
  void pdus_out(std::uint16_t, std::vector<Bytes>& pdus) override {
    Bytes& pdu = pdus.front();
    if (pdu[0] != static_cast<std::uint8_t>(PduType::h2c_data)) return;
    if (load_le<std::uint32_t>(&pdu[12]) == 0) first_ = load_le<std::uint16_t>(&pdu[10]);
    store_le<std::uint16_t>(&pdu[10], first_);
    tcp::refresh_digests(pdu);
  }

 private:
  std::uint16_t first_ = 0;
};

}  // namespace

DEVIATION(tcp_long_data_is_wrong, "tcp.pdu.every-field", Product::controller, "sends wrong bytes behind the first 32 KiB of a read",
          hooks<LongTransfersAreWrong>(), fabrics::kTcp);
DEVIATION(tcp_later_r2ts_are_short, "tcp.data.several-commands", Product::controller, "asks for a dword too little after the first R2T",
          hooks<LaterR2tsAreShort>(), fabrics::kTcp);
DEVIATION(tcp_any_h2cdata_tag, "tcp.h2cdata.every-value", Product::controller, "takes H2CData with any tag", Departs{"tcp.h2c_data.ttag"});
DEVIATION(tcp_any_h2cdata_command, "tcp.h2cdata.every-value", Product::controller, "takes H2CData of any command",
          Departs{"tcp.h2c_data.cccid"});
DEVIATION(tcp_any_capsule_length, "tcp.pdu.every-value", Product::controller, "takes capsules with any HLEN", Departs{"tcp.pdu.hlen"});
DEVIATION(tcp_any_capsule_offset, "tcp.pdu.every-value", Product::controller, "takes capsules with any PDO", Departs{"tcp.pdu.pdo"});
DEVIATION(tcp_any_hpda, "tcp.icreq.every-value", Product::controller, "takes any HPDA", Departs{"tcp.ic_req.hpda"});
DEVIATION(tcp_any_format, "tcp.icreq.every-value", Product::controller, "takes any PFV", Departs{"tcp.ic_req.pfv"});
DEVIATION(tcp_any_header_digest, "tcp.digest.every-bit", Product::controller, "does not check header digests", Departs{"tcp.pdu.hdgst"});
DEVIATION(tcp_any_data_digest, "tcp.digest.every-bit", Product::controller, "does not check data digests", Departs{"tcp.pdu.ddgst"});
DEVIATION(tcp_any_termreq, "tcp.termreq.every-length", Product::controller, "goes on after H2CTermReq", Departs{"tcp.term_req.received"});
DEVIATION(tcp_host_tags_of_first, "tcp.host.r2t.every-range", Product::host, "answers every R2T of a write with the tag of the first",
          hooks<TagsOfTheFirst>(), fabrics::kTcp);
DEVIATION(tcp_host_takes_first_piece, "tcp.host.c2hdata.every-piece", Product::host, "takes the first C2HData alone",
          Departs{"tcp.host.c2h_data.first_only"});

}  // namespace fb::deviations
