// The bench of cases on management endpoints: the product is a managed drive on an MCTP medium, the bench is
// the bus owner and management controller that says every packet or message by hand.
//
//   const MiAnswer info = bench.command(mi::Opcode::read_data_structure, 0, 0);
//   check.equal("status", info.status(), mi::Status::success);
//   bench.peer().send(bench.peer().packet(...));           // where there are packets: needs(packets)
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/runner/case.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/managed_setup.h"
#include "conformance/runner/raw_mctp.h"
#include "sim/mctp/smbus_segment.h"
#include "wire/mctp/control.h"
#include "wire/mi/control.h"
#include "wire/mi/data_structures.h"
#include "wire/mi/health.h"
#include "wire/mi/message.h"
#include "wire/mi/tunnels.h"
#include "wire/nvme/sqe.h"

namespace fb::mi {
class Drive;
class Endpoint;
}  // namespace fb::mi

namespace fb::conformance {

using namespace fb::literals;

/// Our EIDs, and the one that the product is given.
inline constexpr mctp::Eid kBenchEid = 8;
inline constexpr mctp::Eid kOtherBenchEid = 0x20;
inline constexpr mctp::Eid kProductEid = 9;
inline constexpr mctp::Eid kSecondEndpointEid = 10;

// ---- what products declare: for needs() ----

/// The bench makes and sees single packets (not behind a kernel).
std::optional<std::string> packets(const Declared& declared);
/// The bench makes and sees the frames of the medium.
std::optional<std::string> frames(const Declared& declared);
/// MCTP control messages of the bench reach it.
std::optional<std::string> control_messages(const Declared& declared);
std::optional<std::string> endpoint_buffer(const Declared& declared);
std::optional<std::string> auto_pause(const Declared& declared);
std::optional<std::string> asynchronous_events(const Declared& declared);
std::optional<std::string> pcie_commands(const Declared& declared);
std::optional<std::string> revision_1_2(const Declared& declared);
std::optional<std::string> revision_2_0(const Declared& declared);
std::optional<std::string> status_reporting(const Declared& declared);
/// A port of that kind.
std::optional<std::string> two_wire_port(const Declared& declared);
std::optional<std::string> pcie_port(const Declared& declared);
/// The optional MI command is in the product's list.
template <mi::Opcode Command>
std::optional<std::string> offers(const Declared& declared) {
  if (declared.endpoint.supports({mi::MessageKind::mi_command, static_cast<std::uint8_t>(Command)})) return std::nullopt;
  return "the product does not offer " + std::string(mi::name_of(Command));
}
/// The optional Admin command is in the product's list.
template <std::uint8_t AdminOpcode>
std::optional<std::string> offers_admin(const Declared& declared) {
  if (declared.endpoint.supports({mi::MessageKind::admin_command, AdminOpcode})) return std::nullopt;
  return "the product does not offer that Admin command";
}

/// How a request is sent, and how long is waited for its answer.
struct MiTerms {
  unsigned slot = 0;
  std::uint8_t tag = 0;
  bool auto_pause = false;
  bool in_buffer = false;
  Duration within = Duration::s(5);  ///< More Processing Required adds what it says
  std::size_t unit = mctp::kBaselineUnit;
};

/// What came back to an NVMe-MI request. Without an answer every accessor says something that no good answer
/// says: status Internal Error, no data.
struct MiAnswer {
  std::optional<SeenMessage> message;
  Bytes body;  ///< from the header on, without its check
  bool mic_good = false;
  std::vector<SeenMessage> more;  ///< More Processing Required, as they came
  Instant sent;

  bool answered() const { return message.has_value(); }
  mi::Status status() const {
    return body.size() >= mi::kResponseMin ? View<mi::AnyResponse>{body}.get(mi::response::status) : mi::Status::internal_error;
  }
  bool ok() const { return answered() && mic_good && body.size() >= mi::kResponseMin && status() == mi::Status::success; }
  std::uint32_t nmresp() const { return body.size() >= mi::kResponseMin ? View<mi::MiResponse>{body}.get(mi::response::nmresp) : 0; }
  mi::ParameterError error_at() const {
    if (body.size() < mi::kResponseMin) return {};
    const View<mi::ErrorResponse> view{body};
    return {view.get(mi::response::pel_byte), view.get(mi::response::pel_bit)};
  }
  /// Of MI and PCIe commands.
  ByteView data() const { return tail(mi::kResponseMin); }
  /// Of primitives.
  std::uint8_t primitive_tag() const { return body.size() >= 8 ? body[5] : std::uint8_t{0}; }
  std::uint16_t cpsr() const { return body.size() >= 8 ? load_le<std::uint16_t>(body.data() + 6) : std::uint16_t{0}; }
  /// Of Admin commands.
  ByteView admin_data() const { return tail(mi::AdminResponse::size); }
  nvme::Status nvme_status() const {
    return body.size() >= mi::AdminResponse::size
               ? View<mi::AdminResponse>{body}.get(mi::admin_response::nvme_status).of(nvme::StatusFamily::command_set)
               : nvme::Status::make(7, 0xFF);
  }
  std::uint32_t dw0() const {
    return body.size() >= mi::AdminResponse::size ? View<mi::AdminResponse>{body}.get(mi::admin_response::dw0) : 0;
  }
  /// Both levels say success.
  bool admin_ok() const { return ok() && body.size() >= mi::AdminResponse::size && nvme_status().ok(); }
  /// From the request's last packet to the first of what came back.
  Duration took() const { return (more.empty() ? message->first : more.front().first) - sent; }
  /// One line for findings: "no answer", "Invalid Parameter at byte 8 bit 0".
  std::string describe() const;

 private:
  ByteView tail(std::size_t from) const { return body.size() <= from ? ByteView{} : ByteView{body}.subspan(from); }
};

struct ControlTerms {
  std::uint8_t instance = 1;
  std::uint8_t tag = 1;
  std::optional<mctp::Eid> destination = {};
  Duration within = Duration::s(1);
};

/// What came back to an MCTP control request.
struct ControlAnswer {
  std::optional<SeenMessage> message;

  bool answered() const { return message.has_value() && message->body.size() >= mctp::control::kResponseHeader; }
  mctp::control::Completion completion() const {
    return answered() ? static_cast<mctp::control::Completion>(message->body[3]) : mctp::control::Completion::error;
  }
  bool ok() const { return answered() && completion() == mctp::control::Completion::success; }
  /// Behind the completion code.
  ByteView data() const { return answered() ? ByteView{message->body}.subspan(4) : ByteView{}; }
  std::string describe() const;
};

/// A frame that the product put on the medium (on a real serial line: bytes as they came).
struct SeenFrame {
  Instant at;
  mctp::PhysicalAddress from;
  Bytes bytes;
};

class Arranger;

class EndpointBench final : public Bench, private mctp::FrameFilter {
 public:
  EndpointBench(World& world, const Environment& environment);
  ~EndpointBench() override;

  bool embedded() const override { return environment_.product->embedded; }
  void finish() override;
  const EndpointFacts& declared() const { return environment_.declared().endpoint; }

  // ---- where the product is ----

  mctp::Eid eid() const { return eid_; }
  mctp::PhysicalAddress address() const;
  /// "smbus", "serial", "pcie"; "kernel" where that knows.
  std::string_view medium() const { return environment_.transport; }
  /// MT1 of the binding: an answer has begun by then.
  Duration answer_within() const { return medium() == "pcie" ? Duration::ms(120) : Duration::ms(100); }
  /// The product's endpoint is at the second port of its kind.
  bool at_second_port() const { return environment_.around().second_port; }
  /// PORTID of the product's endpoint.
  std::uint8_t port() const { return declared().port; }
  /// The EID that a product is given unless a case wants another.
  mctp::Eid usual_eid() const { return environment_.around().eid != 0 ? environment_.around().eid : kProductEid; }
  /// Gives the product its EID (Set Endpoint ID, forced, to its physical address), as after a reset of it;
  /// behind a kernel that is its bus owner's business. INCONCLUSIVE when it does not take it.
  void assign(std::optional<mctp::Eid> eid = {});

  // ---- by hand ----

  MctpPeer& messages() { return *messages_; }
  /// Where there are packets; elsewhere the case says needs(packets).
  RawMctp& peer();
  /// A second management controller at an address of its own; not on a serial line.
  RawMctp& another_peer();
  /// The owner of the second bus: setup.managed->second_bus.
  RawMctp& second_owner();
  /// What the product has put on the medium; needs(frames).
  const std::vector<SeenFrame>& product_frames() const { return frames_; }
  /// Asked for every frame that the product sends (emulated media).
  std::function<mctp::FrameVerdict(mctp::FrameContext&)> on_product_frame;
  /// Asked for every frame of our own (emulated media).
  std::function<mctp::FrameVerdict(mctp::FrameContext&)> on_bench_frame;

  // ---- MCTP control ----

  /// INCONCLUSIVE where a kernel does not let it through: cases without packets say needs(control_messages).
  ControlAnswer control(mctp::control::Command command, Bytes data = {}, const ControlTerms& terms = {});
  /// The same, said by somebody else on the product's media.
  ControlAnswer control_from(MctpPeer& peer, mctp::control::Command command, Bytes data = {}, const ControlTerms& terms = {});

  // ---- NVMe-MI ----

  /// `body` from the header on, without its check; the answer to it, through More Processing Required.
  MiAnswer request(Bytes body, const MiTerms& terms = {});
  /// The same without waiting.
  void say(Bytes body, const MiTerms& terms = {});
  /// The next answer to a request that was said with these terms.
  MiAnswer answer(const MiTerms& terms = {});
  MiAnswer command(mi::Opcode opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0, ByteView data = {}, const MiTerms& terms = {});
  MiAnswer admin(std::uint16_t cntlid, const nvme::Sqe& sqe, std::uint32_t dofst, std::uint32_t dlen, ByteView data = {},
                 const MiTerms& terms = {});
  MiAnswer pcie(std::uint16_t cntlid, mi::PcieOpcode opcode, std::uint64_t offset, std::uint16_t length, std::uint8_t bar = 0,
                ByteView data = {}, const MiTerms& terms = {});
  MiAnswer primitive(mi::Primitive primitive, unsigned slot = 0, std::uint16_t parameter = 0, std::uint8_t tag = 0x5A,
                     const MiTerms& terms = {.tag = 7});
  /// Get State of a slot. INCONCLUSIVE when the product does not say.
  Record<mi::SlotStatus> state(unsigned slot = 0, bool clear = false);
  /// True when nothing comes from the product for so long; by default twice the time it has to answer.
  bool silent(Duration span = {});

  // ---- beside MCTP ----

  /// Writes to a plain slave of the emulated SMBus, reads from it behind a repeated START, and gives what came;
  /// nothing when nobody acknowledges the address (8-bit form). Cases over_smbus.
  std::optional<Bytes> smbus_read(std::uint8_t address, ByteView write, std::size_t count);

  // ---- what no requester can bring about: of real products too (say so with arranges{}) ----

  Arranger& arranger();

  // ---- the emulated product: cases that use these are arranged{} ----

  mi::Drive& drive();
  /// The second endpoint of the same device: setup.managed->second_endpoint.
  mi::Endpoint& second_endpoint();

 private:
  class Neighbour;
  struct Simulated;
  struct Embedded;
  struct Real;
  mctp::FrameVerdict on_frame(mctp::FrameContext& context) override;
  void settle();
  void begin_after_reset();
  void change_slot(Bytes& body) const;

  Environment environment_;
  mctp::Eid eid_ = kProductEid;
  std::vector<SeenFrame> frames_;
  std::unique_ptr<Simulated> simulated_;
  std::unique_ptr<Embedded> embedded_;
  std::unique_ptr<Real> real_;
  std::unique_ptr<RawMctp> raw_;
  std::unique_ptr<RawMctp> other_raw_;
  std::unique_ptr<RawMctp> second_owner_;
  MctpPeer* messages_ = nullptr;
  mctp::SmbusPort* beside_ = nullptr;
  std::unique_ptr<Arranger> arranger_;
};

/// An MI request from its header on, without its check.
Bytes mi_message(std::uint8_t opcode, std::uint32_t nmd0 = 0, std::uint32_t nmd1 = 0, ByteView data = {}, const MiTerms& terms = {});
Bytes admin_message(std::uint16_t cntlid, const nvme::Sqe& sqe, std::uint32_t dofst, std::uint32_t dlen, ByteView data = {},
                    const MiTerms& terms = {});
Bytes pcie_message(std::uint16_t cntlid, std::uint8_t opcode, std::uint64_t offset, std::uint16_t length, std::uint8_t bar = 0,
                   ByteView data = {}, const MiTerms& terms = {});
Bytes primitive_message(std::uint8_t opcode, unsigned slot = 0, std::uint16_t parameter = 0, std::uint8_t tag = 0x5A);

}  // namespace fb::conformance
