#include "conformance/runner/endpoint_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "conformance/evidence/behind_the_wire.h"
#include "conformance/runner/arranger.h"
#include "conformance/runner/endpoint_neighbour.h"
#include "conformance/runner/kernel_peer.h"
#include "conformance/runner/library_product.h"
#include "model/drive/drive.h"
#include "model/drive/smbus_slaves.h"
#include "model/mi/in_band.h"
#include "sim/mctp/serial_fd.h"

namespace fb::conformance {

using mctp::control::Command;
using mctp::control::Completion;

// ---- declarations ----

std::optional<std::string> packets(const Declared& declared) {
  if (declared.endpoint.packets) return std::nullopt;
  return "the product is behind a kernel, which makes the packets";
}

std::optional<std::string> frames(const Declared& declared) {
  if (declared.endpoint.frames) return std::nullopt;
  return "the product is behind a kernel, which makes the frames";
}

std::optional<std::string> control_messages(const Declared& declared) {
  if (declared.endpoint.control) return std::nullopt;
  return "the product is behind a kernel, which keeps MCTP control messages to itself";
}

namespace {

std::optional<std::string> unless(bool holds, const char* why) {
  if (holds) return std::nullopt;
  return why;
}

std::optional<std::string> needs_revision(const EndpointFacts& facts, unsigned major, unsigned minor) {
  if (facts.at_least(major, minor)) return std::nullopt;
  if (facts.major == 0) return "the product does not say its revision of NVMe-MI";
  return fmt::format("the product is older than NVMe-MI {}.{}", major, minor);
}

}  // namespace

std::optional<std::string> endpoint_buffer(const Declared& declared) {
  return unless(declared.endpoint.buffer_bytes() != 0, "no management endpoint buffer (MEBS is 0)");
}
std::optional<std::string> auto_pause(const Declared& declared) {
  const EndpointFacts& facts = declared.endpoint;
  return unless(facts.port_info(facts.port).get(mi::port_info::ciaps), "no command initiated auto pause (CIAPS is clear)");
}
std::optional<std::string> asynchronous_events(const Declared& declared) {
  const EndpointFacts& facts = declared.endpoint;
  return unless(facts.port_info(facts.port).get(mi::port_info::aems), "no asynchronous events (AEMS is clear)");
}
std::optional<std::string> pcie_commands(const Declared& declared) {
  return unless(declared.endpoint.supports({mi::MessageKind::pcie_command, 0}), "no PCIe commands");
}
std::optional<std::string> revision_1_2(const Declared& declared) { return needs_revision(declared.endpoint, 1, 2); }
std::optional<std::string> revision_2_0(const Declared& declared) { return needs_revision(declared.endpoint, 2, 0); }
std::optional<std::string> status_reporting(const Declared& declared) {
  return unless(declared.endpoint.status_reporting, "no Status Reporting Enhancements (SRE is clear)");
}
std::optional<std::string> two_wire_port(const Declared& declared) {
  return unless(declared.endpoint.port_of(mi::PortType::two_wire).has_value(), "no two-wire port");
}
std::optional<std::string> pcie_port(const Declared& declared) {
  return unless(declared.endpoint.port_of(mi::PortType::pcie).has_value(), "no PCI Express port");
}

// ---- answers ----

std::string MiAnswer::describe() const {
  if (!answered()) return more.empty() ? "no answer" : "no answer but More Processing Required";
  if (!mic_good) return "an answer with a wrong integrity check: " + mi::describe(message->body);
  if (body.size() < mi::kResponseMin) return fmt::format("an answer of {} bytes", body.size());
  std::string text(mi::name_of(status()));
  if (status() == mi::Status::invalid_parameter) text += " at " + to_string(error_at());
  return text;
}

std::string ControlAnswer::describe() const {
  if (!message.has_value()) return "no answer";
  if (!answered()) return fmt::format("an answer of {} bytes", message->body.size());
  return "completion code " + words(completion());
}

// ---- messages ----

namespace {

Bytes bytes_of(ByteView fixed, ByteView data) {
  Bytes bytes(fixed.begin(), fixed.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

template <class Request>
Record<Request> request_of(mi::MessageKind kind, const MiTerms& terms) {
  Record<Request> made;
  made.set(mi::header::ic, true)
      .set(mi::header::mt, mi::kNvmeMiType)
      .set(mi::header::nmimt, kind)
      .set(mi::header::csi, terms.slot)
      .set(mi::header::ciap, terms.auto_pause)
      .set(mi::header::meb, terms.in_buffer);
  return made;
}

}  // namespace

Bytes mi_message(std::uint8_t opcode, std::uint32_t nmd0, std::uint32_t nmd1, ByteView data, const MiTerms& terms) {
  auto made = request_of<mi::MiRequest>(mi::MessageKind::mi_command, terms);
  made.set(mi::request::opcode, opcode).set(mi::mi_request::nmd0, nmd0).set(mi::mi_request::nmd1, nmd1);
  return bytes_of(made.bytes(), data);
}

Bytes admin_message(std::uint16_t cntlid, const nvme::Sqe& sqe, std::uint32_t dofst, std::uint32_t dlen, ByteView data,
                    const MiTerms& terms) {
  const auto cdw = [&](unsigned index) { return load_le<std::uint32_t>(sqe.bytes().data() + 4 * index); };
  auto made = request_of<mi::AdminRequest>(mi::MessageKind::admin_command, terms);
  made.set(mi::request::opcode, sqe.bytes()[0])
      .set(mi::admin_request::dlenv, dlen != 0)
      .set(mi::admin_request::dofstv, dofst != 0)
      .set(mi::admin_request::ctlid, cntlid)
      .set(mi::admin_request::nsid, cdw(1))
      .set(mi::admin_request::dofst, dofst)
      .set(mi::admin_request::dlen, dlen)
      .set(mi::admin_request::cdw10, cdw(10))
      .set(mi::admin_request::cdw11, cdw(11))
      .set(mi::admin_request::cdw12, cdw(12))
      .set(mi::admin_request::cdw13, cdw(13))
      .set(mi::admin_request::cdw14, cdw(14))
      .set(mi::admin_request::cdw15, cdw(15));
  return bytes_of(made.bytes(), data);
}

Bytes pcie_message(std::uint16_t cntlid, std::uint8_t opcode, std::uint64_t offset, std::uint16_t length, std::uint8_t bar, ByteView data,
                   const MiTerms& terms) {
  auto made = request_of<mi::PcieRequest>(mi::MessageKind::pcie_command, terms);
  made.set(mi::request::opcode, opcode)
      .set(mi::pcie_request::ctlid, cntlid)
      .set(mi::pcie_request::length, length)
      .set(mi::pcie_request::bar, bar)
      .set(mi::pcie_request::offset, offset);
  return bytes_of(made.bytes(), data);
}

Bytes primitive_message(std::uint8_t opcode, unsigned slot, std::uint16_t parameter, std::uint8_t tag) {
  auto made = request_of<mi::PrimitiveRequest>(mi::MessageKind::control_primitive, {.slot = slot});
  made.set(mi::primitive::cpo, opcode).set(mi::primitive::tag, tag).set(mi::primitive::cpsp, parameter);
  return bytes_of(made.bytes(), {});
}

// ---- the bench ----

/// The medium that an emulated drive or a library shares with the bench.
struct EndpointBench::Simulated {
  Simulated(World& world, const EmbeddedSetup& setup)
      : segment(make_segment(world, setup)),
        bench_binding(segment->attach("bench", bench_address_on(setup.transport), true)),
        product_binding(segment->attach("product", product_address_on(setup.transport))) {}

  std::unique_ptr<mctp::Segment> segment;
  mctp::Binding& bench_binding;
  mctp::Binding& product_binding;
};

/// The emulated drive.
struct EndpointBench::Embedded {
  Embedded(World& world, const Environment& environment, Simulated& simulated, EmbeddedSetup setup)
      : segment(simulated.segment),
        product_binding(simulated.product_binding),
        mi_hooks(environment.deviations->endpoint_hooks()),
        mctp_hooks(environment.deviations->mctp_hooks(deviations::Product::endpoint)) {
    setup.managed->drive.end.name = "product";
    const bool second_port = environment.around().second_port;
    const auto kind = setup.transport == "pcie" ? mi::PortType::pcie : mi::PortType::two_wire;
    setup.managed->drive.endpoint.port = nth_port(setup.managed->drive.device, kind, second_port ? 1 : 0);
    setup.managed->drive.node.one_eid = setup.managed->second_bus;
    environment.deviations->alter(setup.managed->drive);
    const mctp::DeviceOptions node_options = setup.managed->drive.node;
    const mctp::EndpointOptions end = setup.managed->drive.end;
    const mi::EndpointOptions endpoint = setup.managed->drive.endpoint;
    node = std::make_unique<mctp::SimpleDevice>(world, product_binding, node_options, end);
    drive = std::make_unique<mi::Drive>(world, *node, std::move(setup.managed->drive),
                                        mi::DriveHooks{nullptr, mi_hooks.get(), mctp_hooks.get()});
    if (setup.managed->in_band) tunnel = std::make_unique<mi::InBand>(drive->device(), endpoint, mi_hooks.get());
    if (segment->smbus() != nullptr) {
      slaves = std::make_unique<mi::SmbusSlaves>(*segment->smbus(), drive->device(), endpoint.port, mi_hooks.get());
    }
    if (setup.managed->second_bus) put_on_second_bus(world, setup);
    if (environment.around().neighbour) {
      mi::EndpointOptions beside = endpoint;
      beside.port = second_port ? nth_port(drive->device().options(), kind, 0) : other_port(endpoint.port);
      neighbour = std::make_unique<Neighbour>(world, *segment, setup.transport, *drive, node_options, beside, mi_hooks.get());
    }
    if (!setup.managed->second_endpoint) return;
    second_node = std::make_unique<mctp::SimpleDevice>(world, segment->attach("product 2", product_address_on(setup.transport, 1)),
                                                       node_options, mctp::EndpointOptions{.name = "product 2", .eid = kSecondEndpointEid});
    mi::EndpointOptions other = endpoint;
    other.port = other_port(endpoint.port);
    second = std::make_unique<mi::Endpoint>(world, drive->device(), second_node->endpoint(), other, mi_hooks.get());
  }

  void put_on_second_bus(World& world, const EmbeddedSetup& setup) {
    second_segment = make_segment(world, setup);
    second_bench_binding = &second_segment->attach("second owner", bench_address_on(setup.transport), true);
    second_end = std::make_unique<mctp::Endpoint>(world, second_segment->attach("product, second bus", product_address_on(setup.transport)),
                                                  mctp::EndpointOptions{.name = "product, second bus"});
    second_end->set_hooks(mctp_hooks.get());
    second_control = std::make_unique<mctp::Control>(*second_end, node->device());
  }

  const std::unique_ptr<mctp::Segment>& segment;
  mctp::Binding& product_binding;
  std::unique_ptr<mi::EndpointHooks> mi_hooks;
  std::unique_ptr<mctp::EndpointHooks> mctp_hooks;
  std::unique_ptr<mctp::SimpleDevice> node;
  std::unique_ptr<mi::Drive> drive;
  std::unique_ptr<mi::InBand> tunnel;
  std::unique_ptr<mi::SmbusSlaves> slaves;
  std::unique_ptr<mctp::SimpleDevice> second_node;
  std::unique_ptr<mi::Endpoint> second;
  std::unique_ptr<Neighbour> neighbour;
  std::unique_ptr<mctp::Segment> second_segment;
  mctp::Binding* second_bench_binding = nullptr;
  std::unique_ptr<mctp::Endpoint> second_end;
  std::unique_ptr<mctp::Control> second_control;
};

/// Which of the bench's places on a bus is for what is not MCTP.
constexpr unsigned kBesideMctp = 2;

/// A product at a serial port, or behind a kernel.
struct EndpointBench::Real {
  std::unique_ptr<mctp::SerialFd> line;
  std::unique_ptr<KernelPeer> kernel;
};

EndpointBench::EndpointBench(World& world, const Environment& environment) : Bench(world), environment_(environment) {
  const Product& product = *environment.product;
  if (!is_virtual(product)) {
    real_ = std::make_unique<Real>();
    eid_ = product.eid;
    if (product.transport == kKernelTransport) {
      real_->kernel = std::make_unique<KernelPeer>(world, product.network, product.eid);
      messages_ = real_->kernel.get();
      settle();
      return;
    }
    auto opened = mctp::SerialFd::open(world, product.path, {.unit_max = mctp::serial::kUnitMax});
    if (!opened) throw UserError(opened.error().text);
    real_->line = std::move(opened).value();
    real_->line->set_tap([this](ByteView bytes) { frames_.push_back({this->world().now(), {}, Bytes(bytes.begin(), bytes.end())}); });
    raw_ = std::make_unique<RawMctp>(world, *real_->line, kBenchEid, [this](Bytes frame) { real_->line->send_frame(std::move(frame)); });
  } else {
    EmbeddedSetup setup = environment.setup();
    const bool assigned = setup.managed->assigned;
    simulated_ = std::make_unique<Simulated>(world, setup);
    if (product.embedded) {
      embedded_ = std::make_unique<Embedded>(world, environment, *simulated_, std::move(setup));
    } else {
      arranger_ = start_library_endpoint(world, simulated_->product_binding, setup.transport, product);
    }
    simulated_->segment->set_filter(this);
    raw_ = std::make_unique<RawMctp>(world, simulated_->bench_binding, kBenchEid, [this](Bytes frame) {
      send_frame_on(*simulated_->segment, simulated_->bench_binding, std::move(frame));
    });
    messages_ = raw_.get();
    if (environment.around().near_wrap) raw_->begin_near_wrap();
    raw_->set_product(mctp::kNullEid, address());
    if (assigned) assign();
    if (assigned && environment.around().reset) begin_after_reset();
    return;
  }
  messages_ = raw_.get();
  raw_->set_product(mctp::kNullEid, address());
  if (environment.setup().managed->assigned) assign();
  settle();
}

EndpointBench::~EndpointBench() = default;

/// The device was used and reset before, and what tells of it was looked at.
void EndpointBench::begin_after_reset() {
  constexpr std::uint32_t kIdentifyTypes = 0, kClearAll = 0xFFFFFFFF;
  for (const unsigned slot : {0u, 1u}) command(mi::Opcode::read_data_structure, kIdentifyTypes, 0, {}, {.slot = slot});
  say(mi_message(static_cast<std::uint8_t>(mi::Opcode::reset)));
  silent();
  assign();
  for (const unsigned slot : {0u, 1u}) state(slot, true);
  command(mi::Opcode::configuration_set, static_cast<std::uint32_t>(mi::ConfigurationId::health_status_change), kClearAll);
  // ALL, every kind of function, 255 entries; CCF.
  command(mi::Opcode::controller_health_poll, 0x87FE0000, 0x80000000);
  raw_->forget();
  frames_.clear();
}

void EndpointBench::finish() {
  if (arranger_) arranger_->end();
  if (real_ != nullptr) settle();
}

Arranger& EndpointBench::arranger() {
  if (arranger_) return *arranger_;
  arranger_ = embedded() ? arrange_embedded(world(), embedded_->drive->subsystem(), nullptr, embedded_->drive.get())
                         : arrange_real(world(), *environment_.product, environment_.declared(), environment_.case_name);
  return *arranger_;
}

/// A real product keeps what the case before has left: both slots are emptied, and what was set is set back.
void EndpointBench::settle() {
  const MiTerms brief{.tag = 7, .within = Duration::ms(500)};
  primitive(mi::Primitive::resume, 0, 0, 1, brief);
  for (const unsigned slot : {0u, 1u}) {
    primitive(mi::Primitive::abort, slot, 0, 2, brief);
    primitive(mi::Primitive::get_state, slot, 1, 3, brief);
  }
  constexpr auto kUnit = static_cast<std::uint32_t>(mi::ConfigurationId::transmission_unit);
  for (const std::uint32_t port : {0u, 1u}) {
    const MiAnswer unit = command(mi::Opcode::configuration_get, kUnit | port << 24, 0, {}, brief);
    if (unit.ok() && (unit.nmresp() & 0xFFFF) != mctp::kBaselineUnit) {
      command(mi::Opcode::configuration_set, kUnit | port << 24, mctp::kBaselineUnit, {}, brief);
    }
  }
  if (raw_ != nullptr) raw_->forget();
}

mctp::PhysicalAddress EndpointBench::address() const {
  return simulated_ != nullptr ? product_address_on(environment_.transport) : mctp::PhysicalAddress{};
}

RawMctp& EndpointBench::peer() {
  BENCH_ASSERT(raw_ != nullptr, "what says packets needs(packets)");
  return *raw_;
}

RawMctp& EndpointBench::another_peer() {
  BENCH_ASSERT(simulated_ != nullptr && medium() != "serial", "a second controller is arranged{} over_buses");
  if (other_raw_ == nullptr) {
    mctp::Binding& binding = simulated_->segment->attach("bench 2", bench_address_on(medium(), 1));
    other_raw_ = std::make_unique<RawMctp>(world(), binding, kOtherBenchEid, [this, &binding](Bytes frame) {
      send_frame_on(*simulated_->segment, binding, std::move(frame));
    });
    other_raw_->set_product(eid_, address());
    if (environment_.around().near_wrap) other_raw_->begin_near_wrap();
  }
  return *other_raw_;
}

RawMctp& EndpointBench::second_owner() {
  BENCH_ASSERT(embedded_ != nullptr && embedded_->second_bench_binding != nullptr, "setup.managed->second_bus");
  if (second_owner_ == nullptr) {
    second_owner_ = std::make_unique<RawMctp>(world(), *embedded_->second_bench_binding, kOtherBenchEid);
    second_owner_->set_product(mctp::kNullEid, address());
  }
  return *second_owner_;
}

mi::Drive& EndpointBench::drive() {
  BENCH_ASSERT(embedded_ != nullptr, "the emulated drive is for cases that are arranged{}");
  evidence::behind_the_wire(world());
  return *embedded_->drive;
}

mi::Endpoint& EndpointBench::second_endpoint() {
  BENCH_ASSERT(embedded_ != nullptr && embedded_->second != nullptr, "setup.managed->second_endpoint");
  return *embedded_->second;
}

mctp::FrameVerdict EndpointBench::on_frame(mctp::FrameContext& context) {
  // A line has two ends, the left one for who owns the bus.
  if (context.sender.starts_with("neighbour") || context.sender.starts_with("other")) return {};
  const bool ours = context.sender.starts_with("bench") || context.sender.ends_with(".left");
  if (ours) return on_bench_frame ? on_bench_frame(context) : mctp::FrameVerdict{};
  const mctp::FrameVerdict verdict = on_product_frame ? on_product_frame(context) : mctp::FrameVerdict{};
  frames_.push_back({context.now, context.source, context.frame});
  return verdict;
}

void EndpointBench::assign(std::optional<mctp::Eid> wanted) {
  const mctp::Eid eid = wanted.value_or(usual_eid());
  if (medium() == kKernelTransport) return;  // the kernel's own business
  raw_->set_product(mctp::kNullEid, address());
  const ControlAnswer answer =
      control(Command::set_endpoint_id, {static_cast<std::uint8_t>(mctp::control::SetOperation::force), eid}, {.instance = 30});
  if (!answer.ok() || answer.data().size() < 2) {
    throw CannotArrange{"the endpoint does not take an EID: " + answer.describe()};
  }
  eid_ = answer.data()[1];
  raw_->set_product(eid_, address());
  if (other_raw_ != nullptr) other_raw_->set_product(eid_, address());
  if (embedded_ != nullptr && embedded_->neighbour != nullptr) embedded_->neighbour->set_product(eid_, address());
}

ControlAnswer EndpointBench::control(Command command, Bytes data, const ControlTerms& terms) {
  return control_from(*messages_, command, std::move(data), terms);
}

ControlAnswer EndpointBench::control_from(MctpPeer& peer, Command command, Bytes data, const ControlTerms& terms) {
  Bytes body = {0x00, static_cast<std::uint8_t>(0x80 | (terms.instance & 0x1F)), static_cast<std::uint8_t>(command)};
  body.insert(body.end(), data.begin(), data.end());
  peer.send_message(body, {.tag = terms.tag, .destination = terms.destination});
  ControlAnswer answer;
  std::vector<SeenMessage> others;
  const Instant end = world().now() + terms.within;
  while (auto message = peer.next_message(end - world().now())) {
    if (message->type() == 0 && !message->owner && message->tag == terms.tag) {
      answer.message = std::move(message);
      break;
    }
    others.push_back(std::move(*message));
    if (world().now() >= end) break;
  }
  for (auto one = others.rbegin(); one != others.rend(); ++one) peer.untake(std::move(*one));
  return answer;
}

/// In the lane of the other slot whatever a case says to one goes to the other, and answers look as if they came from it.
void EndpointBench::change_slot(Bytes& body) const {
  constexpr std::size_t kHeader = 1;  // of the byte with CSI, behind the message type
  constexpr std::uint8_t kCsi = 1;
  // Pause and Resume are of both slots.
  const bool primitive = body.size() > 4 && (body[kHeader] & 0x78) == 0 && (body[kHeader] & 0x80) == 0;
  if (primitive && body[4] <= static_cast<std::uint8_t>(mi::Primitive::resume)) return;
  if (environment_.around().other_slot && body.size() > kHeader && (body[0] & 0x7F) == mi::kNvmeMiType) body[kHeader] ^= kCsi;
}

void EndpointBench::say(Bytes body, const MiTerms& terms) {
  change_slot(body);
  mi::append_mic(body);
  if (environment_.around().busy) embedded_->neighbour->talk(terms.tag);
  messages_->send_message(body, {.tag = terms.tag, .unit = terms.unit});
}

MiAnswer EndpointBench::request(Bytes body, const MiTerms& terms) {
  say(std::move(body), terms);
  if (raw_ != nullptr) raw_->wait_until_said();
  return answer(terms);
}

MiAnswer EndpointBench::answer(const MiTerms& terms) {
  MiAnswer answer;
  answer.sent = world().now();
  std::vector<SeenMessage> others;
  Instant end = world().now() + terms.within;
  while (world().now() <= end) {
    auto message = messages_->next_message(end - world().now());
    if (!message) break;
    if (message->type() != mi::kNvmeMiType || message->owner || message->tag != terms.tag) {
      others.push_back(std::move(*message));
      continue;
    }
    const bool good = mi::mic_ok(message->body);
    Bytes body = message->body;
    if (good) body.resize(body.size() - mi::kMicSize);
    const bool more =
        good && body.size() >= mi::kResponseMin && View<mi::AnyResponse>{body}.get(mi::response::status) == mi::Status::more_processing;
    if (more) {
      const std::uint16_t units = View<mi::MoreProcessing>{body}.get(mi::response::mprt);
      end = world().now() + terms.within + Duration::ms(100) * units;
      answer.more.push_back(std::move(*message));
      // A product that never stops to ask for time has given no answer.
      if (answer.more.size() > 16) break;
      continue;
    }
    change_slot(body);
    answer.message = std::move(message);
    answer.body = std::move(body);
    answer.mic_good = good;
    break;
  }
  for (auto one = others.rbegin(); one != others.rend(); ++one) messages_->untake(std::move(*one));
  return answer;
}

MiAnswer EndpointBench::command(mi::Opcode opcode, std::uint32_t nmd0, std::uint32_t nmd1, ByteView data, const MiTerms& terms) {
  return request(mi_message(static_cast<std::uint8_t>(opcode), nmd0, nmd1, data, terms), terms);
}

MiAnswer EndpointBench::admin(std::uint16_t cntlid, const nvme::Sqe& sqe, std::uint32_t dofst, std::uint32_t dlen, ByteView data,
                              const MiTerms& terms) {
  return request(admin_message(cntlid, sqe, dofst, dlen, data, terms), terms);
}

MiAnswer EndpointBench::pcie(std::uint16_t cntlid, mi::PcieOpcode opcode, std::uint64_t offset, std::uint16_t length, std::uint8_t bar,
                             ByteView data, const MiTerms& terms) {
  return request(pcie_message(cntlid, static_cast<std::uint8_t>(opcode), offset, length, bar, data, terms), terms);
}

MiAnswer EndpointBench::primitive(mi::Primitive primitive, unsigned slot, std::uint16_t parameter, std::uint8_t tag, const MiTerms& terms) {
  return request(primitive_message(static_cast<std::uint8_t>(primitive), slot, parameter, tag), terms);
}

Record<mi::SlotStatus> EndpointBench::state(unsigned slot, bool clear) {
  const MiAnswer answer = primitive(mi::Primitive::get_state, slot, clear ? 1 : 0);
  if (!answer.ok()) throw CannotArrange{"Get State: " + answer.describe()};
  return record_from_integer<mi::SlotStatus>(answer.cpsr());
}

bool EndpointBench::silent(Duration span) {
  if (span == Duration{}) span = answer_within() * 2;
  if (raw_ != nullptr) raw_->wait_until_said();
  const std::size_t heard = raw_ != nullptr ? raw_->packets().size() : 0;
  const bool message = messages_->next_message(span).has_value();
  return !message && (raw_ == nullptr || raw_->packets().size() == heard);
}

std::optional<Bytes> EndpointBench::smbus_read(std::uint8_t address, ByteView write, std::size_t count) {
  BENCH_ASSERT(simulated_ != nullptr && medium() == "smbus", "plain slaves are read over_smbus");
  if (embedded_ == nullptr) throw NotOffered{"the interface of libraries has NVMe-MI messages and no other SMBus transactions"};
  if (beside_ == nullptr) {
    beside_ = static_cast<mctp::SmbusPort*>(&simulated_->segment->attach("bench beside MCTP", bench_address_on(medium(), kBesideMctp)));
  }
  bool done = false;
  std::optional<Bytes> read;
  beside_->transact(address, write, count, [&](const std::optional<Bytes>& came) {
    read = came;
    done = true;
  });
  BENCH_ASSERT(world().run_until([&] { return done; }, Duration::s(10)), "a transaction on the bus ends");
  return read;
}

}  // namespace fb::conformance
