// The same request has the same answer whatever came before it: in either slot, with any tag, beside another command, behind errors,
// with another transmission unit, after a pause.
#include "conformance/cases/mi/commands.h"
#include "conformance/cases/mi/structures.h"

namespace fb::conformance {
namespace {

using mi::DataType;
using mi::Opcode;

/// A request whose answer does not change, and the answer that it had first.
struct Asked {
  std::string what;
  Bytes request;
  Bytes answer = {};
};

constexpr std::uint8_t kSlotBit = 0x01;
Bytes without_slot(Bytes body) {
  if (body.size() > 1) body[1] = static_cast<std::uint8_t>(body[1] & ~kSlotBit);
  return body;
}
Bytes in_slot(Bytes body, unsigned slot) {
  body[1] = static_cast<std::uint8_t>((body[1] & ~kSlotBit) | slot);
  return body;
}

class Requests {
 public:
  Requests(EndpointBench& bench, Check& check) : bench_(bench) {
    structures();
    configurations();
    vpd(vpd_size(bench, check));
    for (const std::uint16_t cntlid : bench.declared().controllers) admin(cntlid);
    if (const auto unknown = unknown_controllers(bench); !unknown.empty()) admin(unknown.front());
    buffer();
    refused_changes();
    management("an MI command that is reserved", 0x5A, 0, 0);
    management("256 entries of controller health", code(Opcode::controller_health_poll), 0x87FF0000, 0);
  }
  std::vector<Asked> take() { return std::move(all_); }

 private:
  static std::uint8_t code(Opcode opcode) { return static_cast<std::uint8_t>(opcode); }
  void management(std::string what, std::uint8_t opcode, std::uint32_t nmd0, std::uint32_t nmd1) {
    all_.push_back({std::move(what), mi_message(opcode, nmd0, nmd1)});
  }
  void structure(DataType type, std::uint16_t cntlid, unsigned port) {
    const auto which = static_cast<unsigned>(type);
    management(fmt::format("data structure {} of controller {} and port {}", which, cntlid, port), code(Opcode::read_data_structure),
               cntlid | port << 16 | which << 24, 0);
  }
  void structures() {
    structure(DataType::subsystem_information, 0, 0);
    const auto ports = static_cast<unsigned>(bench_.declared().ports.size());
    for (unsigned port = 0; port <= ports; ++port) {
      // Speed and width of a real link may change.
      const bool linked = port < ports && bench_.declared().port_info(port).get(mi::port_info::prttyp) == mi::PortType::pcie;
      if (bench_.embedded() || !linked) structure(DataType::port_information, 0, port);
    }
    for (const std::uint16_t cntlid : bench_.declared().controllers) {
      for (const DataType type : {DataType::controller_list, DataType::controller_information, DataType::supported_commands}) {
        structure(type, cntlid, 0);
      }
      structure(DataType::controller_list, static_cast<std::uint16_t>(cntlid + 1), 0);
    }
    structure(DataType::controller_list, 0, 0);
    structure(static_cast<DataType>(0x06), 0, 0);
  }
  void configurations() {
    const auto get = [&](mi::ConfigurationId id, unsigned port) {
      management(fmt::format("configuration {} of port {}", static_cast<unsigned>(id), port), code(Opcode::configuration_get),
                 static_cast<std::uint32_t>(id) | port_bits(port), 0);
    };
    for (unsigned port = 0; port <= bench_.declared().ports.size(); ++port) {
      get(mi::ConfigurationId::smbus_frequency, port);
      if (port != bench_.port()) get(mi::ConfigurationId::transmission_unit, port);  // that one is changed on the way
    }
    get(static_cast<mi::ConfigurationId>(0x56), 0);
  }
  /// What asks for a change that is refused, and changes nothing.
  void refused_changes() {
    const auto set = [&](mi::ConfigurationId id, unsigned port, unsigned frequency, unsigned unit) {
      management(fmt::format("setting configuration {} of port {} to {}", static_cast<unsigned>(id), port, frequency + unit),
                 code(Opcode::configuration_set), static_cast<std::uint32_t>(id) | port_bits(port) | frequency << 8, unit);
    };
    for (unsigned port = 0; port <= bench_.declared().ports.size(); ++port) {
      for (const unsigned unit : {0u, 63u, 0xFFFFu}) set(mi::ConfigurationId::transmission_unit, port, 0, unit);
      for (const unsigned frequency : {0u, 15u}) set(mi::ConfigurationId::smbus_frequency, port, frequency, 0);
    }
    set(static_cast<mi::ConfigurationId>(0x56), 0, 1, 64);
    const auto with_data = [&](std::string what, Opcode opcode, std::uint32_t nmd0, std::uint32_t nmd1, std::size_t bytes) {
      all_.push_back({std::move(what), mi_message(code(opcode), nmd0, nmd1, Bytes(bytes, 0x5A))});
    };
    with_data("a VPD Write of 16 bytes with 4", Opcode::vpd_write, 0, 16, 4);
    with_data("a VPD Write of 4 bytes with 64", Opcode::vpd_write, 0, 4, 64);
    constexpr std::uint32_t kReserved = 0x7F000000;
    management("a reset of a reserved type", code(Opcode::reset), kReserved, 0);
    management("a shutdown of a reserved type", code(Opcode::shutdown), kReserved, 0);
    if (bench_.declared().buffer_bytes() == 0) return;
    with_data("a buffer write of 16 bytes with 4", Opcode::buffer_write, 0, 16, 4);
    with_data("a buffer write of 4 bytes with 64", Opcode::buffer_write, 0, 4, 64);
  }
  void vpd(std::uint32_t size) {
    const auto read = [&](std::uint32_t offset, std::uint32_t length) {
      management(fmt::format("{} bytes of VPD from {}", length, offset), code(Opcode::vpd_read), offset, length);
    };
    for (const auto& [offset, length] : {std::pair{0u, 0u}, {0u, 1u}, {0u, 52u}, {0u, 53u}, {3u, 116u}, {1u, 200u}}) read(offset, length);
    read(size - 1, 1);
    read(size - 1, 2);
    read(0, std::min<std::uint32_t>(size, mi::kDataMax));
  }
  void admin(std::uint16_t cntlid) {
    const auto identify = [&](std::uint32_t dofst, std::uint32_t dlen) {
      Bytes message = admin_message(cntlid, identify_controller_command(), dofst, dlen);
      message[5] = 3;  // both flags of old
      all_.push_back({fmt::format("{} bytes from {} of Identify of controller {}", dlen, dofst, cntlid), std::move(message)});
    };
    for (const auto& [dofst, dlen] : {std::pair{0u, 4096u}, {0u, 4u}, {4092u, 4u}, {24u, 44u}, {0u, 4097u}, {2u, 4u}}) {
      identify(dofst, dlen);
    }
    const auto command = [&](std::string what, const nvme::Sqe& sqe, std::uint32_t dlen) {
      all_.push_back({fmt::format("{} at controller {}", what, cntlid), admin_message(cntlid, sqe, 0, dlen)});
    };
    command("Get Features", admin_command(nvme::AdminOpcode::get_features, 0x04), 0);
    command("Identify of a page that there is not", admin_command(nvme::AdminOpcode::identify, 0xFF), 64);
    if (!bench_.declared().supports({mi::MessageKind::pcie_command, 0})) return;
    for (const auto& [offset, length] : {std::pair{0u, 64u}, {0u, 3u}, {0xFFCu, 4u}, {0xFFCu, 8u}}) {
      all_.push_back({fmt::format("{} bytes from {} of the configuration space of controller {}", length, offset, cntlid),
                      pcie_message(cntlid, 0, offset, static_cast<std::uint16_t>(length))});
    }
  }
  void buffer() {
    const std::uint32_t size = bench_.declared().buffer_bytes();
    if (size == 0) return;
    for (const auto& [offset, length] : {std::pair{0u, 16u}, {size - 1, 1u}, {size, 1u}, {size - 1, 2u}}) {
      management(fmt::format("{} bytes of the buffer from {}", length, offset), code(Opcode::buffer_read), offset, length);
    }
  }

  EndpointBench& bench_;
  std::vector<Asked> all_;
};

/// The terms of the next exchange, drawn.
struct Drawn {
  const Asked* asked = nullptr;
  MiTerms terms;
};
Drawn draw(Rng& rng, const std::vector<Asked>& all, unsigned slot, std::uint8_t other_tag) {
  Drawn made;
  made.asked = &all[rng.below(all.size())];
  made.terms.slot = slot;
  made.terms.tag = static_cast<std::uint8_t>(rng.below(8));
  if (made.terms.tag == other_tag) made.terms.tag = static_cast<std::uint8_t>((made.terms.tag + 1) & 7);
  return made;
}
void say(EndpointBench& bench, const Drawn& one) { bench.say(in_slot(one.asked->request, one.terms.slot), one.terms); }
bool has_its_answer(EndpointBench& bench, Check& check, const Drawn& one) {
  const MiAnswer answer = bench.answer(one.terms);
  if (!check.that(answer.answered() && answer.mic_good, one.asked->what + " is answered", answer.describe())) return false;
  return check.bytes("the answer to " + one.asked->what, without_slot(answer.body), one.asked->answer);
}

}  // namespace

CONFORMANCE_CASE(requests_in_any_order_have_their_answers, "mi.message.gap", roles::endpoint, lasts{Duration::s(60)}) {
  constexpr std::uint8_t kOfPrimitives = 7;
  // Packets of a real product take their time.
  const unsigned rounds = bench.embedded() ? 160 : 40;
  std::vector<Asked> all = Requests(bench, check).take();
  for (Asked& one : all) {
    const MiAnswer answer = bench.request(one.request);
    check.require(answer.answered() && answer.mic_good, one.what + " is answered", answer.describe());
    one.answer = without_slot(answer.body);
  }
  Rng rng = bench.world().stream("case.any-order");
  const std::uint32_t largest = std::max<std::uint32_t>(bench.declared().unit_max(), mctp::kBaselineUnit);
  for (unsigned round = 0; round < rounds; ++round) {
    const auto first_slot = static_cast<unsigned>(rng.below(2));
    const Drawn first = draw(rng, all, first_slot, kOfPrimitives);
    switch (rng.below(5)) {
      case 0: {  // both slots at once
        const Drawn second = draw(rng, all, first_slot ^ 1, first.terms.tag);
        say(bench, first);
        say(bench, second);
        if (!has_its_answer(bench, check, first) || !has_its_answer(bench, check, second)) return;
        break;
      }
      case 1: {  // held, and let go
        precondition(check, bench.primitive(mi::Primitive::pause), "Pause");
        say(bench, first);
        bench.world().run_for(Duration::ms(30));
        precondition(check, bench.primitive(mi::Primitive::resume), "Resume");
        if (!has_its_answer(bench, check, first)) return;
        break;
      }
      case 2: {  // with another transmission unit
        const std::uint32_t units[] = {mctp::kBaselineUnit, std::min(largest, 128u), largest};
        const std::uint32_t unit = units[rng.below(3)];
        success(check, configure(bench, mi::ConfigurationId::transmission_unit, port_bits(bench.port()), unit),
                fmt::format("Set of {} bytes", unit));
        say(bench, first);
        if (!has_its_answer(bench, check, first)) return;
        break;
      }
      case 3:  // behind a primitive
        bench.primitive(rng.below(2) == 0 ? mi::Primitive::get_state : mi::Primitive::abort, first_slot ^ 1);
        say(bench, first);
        if (!has_its_answer(bench, check, first)) return;
        break;
      default:
        say(bench, first);
        if (!has_its_answer(bench, check, first)) return;
    }
  }
  check.that(bench.silent(), "nothing comes that was not asked for", "something came");
}

}  // namespace fb::conformance
