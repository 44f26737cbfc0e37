// Cuts a stream of bytes into NVMe/TCP PDUs and checks what every PDU must keep to. Does no I/O: room()
// says where the next bytes are to go, took() that they are there.
//
// Data of a PDU whose header is known goes straight to its place. What comes behind it in the same
// receive() - headers, and the data of small PDUs - passes through a scratch buffer that all the
// connections of a fabric share; between two receives a connection keeps no more than a part of a
// header.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "wire/tcp/pdu.h"

namespace fb::transport {

/// Which product receives (and which product the messages of a fault come from).
enum class TcpSide : std::uint8_t { host, controller };

/// Something that ends a connection: what the TermReq says. `check` names the rule that was broken, and
/// the departure that overlooks it.
struct PduFault {
  tcp::FatalStatus fes = tcp::FatalStatus::invalid_header_field;
  std::uint32_t fei = 0;
  std::string_view check;
  std::string_view text;
  bool silent = false;  ///< close at once, without a TermReq
};

/// A PDU that arrives. Valid during the call.
struct PduIn {
  ByteView header;
  tcp::PduType type = tcp::PduType::ic_req;
  std::uint8_t flags = 0;
  std::uint32_t data_bytes = 0;
  MutableBytes data;      ///< where on_header() put it
  bool data_good = true;  ///< on_pdu() only: there was no data digest, or it was right

  template <class L>
  View<L> as() const {
    return View<L>{header};
  }
};

class PduSink {
 public:
  /// A product that departs at `check` goes on as if nothing were wrong.
  virtual bool overlooks(std::string_view check) = 0;
  /// The header is whole and passed the common checks. With data, sets pdu.data to exactly
  /// pdu.data_bytes of memory that stays until on_pdu(); leaves it empty to have the data thrown away.
  virtual std::optional<PduFault> on_header(PduIn& pdu) = 0;
  virtual std::optional<PduFault> on_pdu(const PduIn& pdu) = 0;

 protected:
  ~PduSink() = default;
};

class PduReceiver {
 public:
  explicit PduReceiver(TcpSide side) : side_(side) {}

  /// From the next PDU on.
  void set_digests(bool header, bool data) {
    header_digest_ = header;
    data_digest_ = data;
    usual_ = {};
  }
  /// What data offsets must be a multiple of: what this side announced.
  void set_alignment(std::size_t alignment) {
    alignment_ = alignment;
    usual_ = {};
  }

  /// Where the next bytes go; `scratch` is the memory for what has no place yet.
  std::span<const MutableBytes> room(MutableBytes scratch);
  /// The first `bytes` of room() are there. A fault ends the connection; so does a sink that says
  /// that the connection is `gone`: then this object may not exist any more.
  std::optional<PduFault> took(std::size_t bytes, PduSink& sink, const bool& gone);
  /// The header of the PDU that is under way: what a TermReq sends back.
  ByteView offending() const { return {header_.data(), have_}; }
  /// Whether a PDU has begun and is not whole.
  bool partial() const { return phase_ != Phase::header || have_ > 0; }
  std::uint64_t pdus() const { return pdus_; }

 private:
  enum class Phase : std::uint8_t { header, padding, data, data_digest };

  /// What the first eight bytes of a PDU come to.
  struct Start {
    std::uint64_t bytes = 0;
    std::size_t header_end = SIZE_MAX;  ///< with its digest
    std::size_t padding = 0;
    std::uint32_t data_bytes = 0;
    bool tail = false;  ///< the PDU ends in a data digest
  };

  std::optional<PduFault> take(ByteView& bytes, PduSink& sink, const bool& gone);
  std::optional<PduFault> take_usual(ByteView header, PduSink& sink, const bool& gone);
  std::optional<PduFault> field(PduSink& sink, bool wrong, std::uint32_t offset, std::string_view check, std::string_view text);
  std::size_t header_bytes(std::uint8_t type) const;
  std::optional<PduFault> check_common(PduSink& sink, const bool& gone);
  std::optional<PduFault> check_lengths(const tcp::PduShape& shape, PduSink& sink);
  std::optional<PduFault> check_data(std::size_t head, PduSink& sink);
  std::optional<PduFault> header_done(PduSink& sink, const bool& gone);
  std::optional<PduFault> data_arrived(ByteView part, PduSink& sink, const bool& gone);
  std::optional<PduFault> finish(PduSink& sink, const bool& gone);

  TcpSide side_;
  bool header_digest_ = false;
  bool data_digest_ = false;
  std::size_t alignment_ = 4;
  Phase phase_ = Phase::header;
  /// The header as far as it is there, then its digest.
  std::array<std::uint8_t, tcp::kHeaderMax + tcp::kDigestBytes> header_ = {};
  std::size_t have_ = 0;
  std::size_t header_end_ = tcp::kCommonHeaderBytes;  ///< bytes to gather in this phase of the header
  bool common_checked_ = false;
  /// The last start with which nothing was wrong: most PDUs of a connection begin alike, and need not
  /// be judged again.
  Start usual_;
  bool faulty_ = false;  ///< something was wrong with this PDU's start, and overlooked
  PduIn pdu_;
  bool skipped_ = false;     ///< a PDU that nobody looks at
  bool tail_ = false;        ///< this PDU ends in a data digest
  std::size_t padding_ = 0;  ///< still to come
  std::uint32_t data_have_ = 0;
  std::uint32_t crc_ = 0;
  std::array<std::uint8_t, tcp::kDigestBytes> digest_ = {};
  std::size_t digest_have_ = 0;
  bool large_ = false;  ///< the last data was: do not gather much in the scratch buffer
  std::array<MutableBytes, 2> parts_;
  std::uint64_t pdus_ = 0;
};

}  // namespace fb::transport
