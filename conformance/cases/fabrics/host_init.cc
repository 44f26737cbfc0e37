// Properties, and how a host makes a controller ready.
#include "conformance/cases/fabrics/host_setup.h"

#include <optional>

namespace fb::conformance {

using namespace host_setup;

namespace {

namespace property = fabrics::property;

std::vector<const SeenCommand*> property_commands(const HostBench& bench) {
  std::vector<const SeenCommand*> found = bench.fabrics_commands(kPropertyGet);
  for (const SeenCommand* seen : bench.fabrics_commands(kPropertySet)) found.push_back(seen);
  return found;
}

/// In bytes; nothing where the property is none that has a size over Fabrics.
std::optional<unsigned> size_of(std::uint32_t offset) {
  switch (offset) {
    case property::cap:
      return 8;
    case property::vs:
    case property::cc:
    case property::csts:
    case property::nssr:
    case property::nssd:
    case property::crto:
      return 4;
    default:
      return std::nullopt;
  }
}

/// Properties of controllers on a bus: interrupts, admin queues in memory, doorbells, memory buffers.
bool is_of_memory(std::uint32_t offset) {
  const bool queues = offset == 0x0C || offset == 0x10 || (offset >= 0x24 && offset < property::nssd);
  const bool buffers = offset >= 0xE00 && offset < 0x1000;
  return queues || buffers;
}

}  // namespace

CONFORMANCE_CASE(host_reads_properties_in_their_size, "fabrics.host.property.size", roles::host) {
  let_it_connect(bench);
  const auto commands = property_commands(bench);
  check.precondition(!commands.empty(), "property commands arrive");
  for (const SeenCommand* seen : commands) {
    const auto wanted = size_of(seen->cdw(11));
    if (!wanted) continue;
    const unsigned size = (seen->cdw(10) & 7) == 1 ? 8 : (seen->cdw(10) & 7) == 0 ? 4 : 0;
    check.equal("size of the property at " + std::to_string(seen->cdw(11)), size, *wanted);
  }
}

CONFORMANCE_CASE(host_leaves_properties_of_memory_alone, "fabrics.host.property.offset", roles::host) {
  let_it_connect(bench);
  const auto commands = property_commands(bench);
  check.precondition(!commands.empty(), "property commands arrive");
  for (const SeenCommand* seen : commands) {
    check.that(!is_of_memory(seen->cdw(11)), "a property that exists over Fabrics", std::to_string(seen->cdw(11)));
  }
}

CONFORMANCE_CASE(host_leaves_reserved_bytes_of_property_commands_alone, "fabrics.host.property.reserved", roles::host) {
  let_it_connect(bench);
  const auto commands = property_commands(bench);
  check.precondition(!commands.empty(), "property commands arrive");
  for (const SeenCommand* seen : commands) {
    const ByteView entry = seen->sqe.bytes();
    zero(check, "bytes 5 to 23 of the entry", entry.subspan(5, 19));
    check.equal("reserved bits of ATTRIB", entry[40] >> 3, 0);
    zero(check, "bytes 41 to 43 of the entry", entry.subspan(41, 3));
    if (seen->fctype() == kPropertyGet) zero(check, "bytes 48 to 55 of Property Get", entry.subspan(48, 8));
    zero(check, "bytes 56 to 63 of the entry", entry.subspan(56, 8));
  }
}

CONFORMANCE_CASE(host_asks_nothing_before_it_is_ready, "fabrics.host.init.admin-after-ready", roles::host) {
  constexpr unsigned kNotYet = 5;
  unsigned looks = 0;
  Instant ready = Instant::never();
  bench.script.property_read = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset != property::csts || (value & 1) == 0) return;
    if (looks++ < kNotYet) {
      value &= ~std::uint64_t{1};
    } else {
      ready = std::min(ready, bench.world().now());
    }
  };
  bench.product().connect({}).wait_for(30_s);
  std::size_t asked = 0;
  for (const SeenCommand* seen : bench.commands(0)) {
    if (seen->opcode() == kFabrics || seen->opcode() == kKeepAlive) continue;
    ++asked;
    check.that(seen->at >= ready, "admin commands after CSTS.RDY = 1 was read", "one came before");
  }
  check.precondition(asked > 0, "the host asks something");
}

CONFORMANCE_CASE(host_chooses_a_page_size_that_is_offered, "fabrics.host.init.mps", roles::host) {
  bench.script.property_read = [](std::uint32_t offset, std::uint64_t& value) {
    with_cap(offset, value, fabrics::cap::mpsmin, 1);
    with_cap(offset, value, fabrics::cap::mpsmax, 2);
  };
  let_it_connect(bench);
  const auto written = enables(bench);
  check.precondition(!written.empty(), "the host enables a controller whose pages have 8 KiB at least");
  for (const SeenCommand* seen : written) {
    const auto cc = record_from_integer<fabrics::Cc>(seen->cdw(12));
    check.between<unsigned>("CC.MPS (MPSMIN 1, MPSMAX 2)", static_cast<unsigned>(cc.get(fabrics::cc::mps)), 1, 2);
  }
}

CONFORMANCE_CASE(host_chooses_command_sets_that_are_offered, "fabrics.host.init.css", roles::host) {
  bench.script.property_read = [](std::uint32_t offset, std::uint64_t& value) {
    with_cap(offset, value, fabrics::cap::css, fabrics::cap_css_bits::nvm);
  };
  let_it_connect(bench);
  const auto written = enables(bench);
  check.precondition(!written.empty(), "the host enables the controller");
  for (const SeenCommand* seen : written) {
    const auto cc = record_from_integer<fabrics::Cc>(seen->cdw(12));
    check.equal("CC.CSS, with the NVM command set alone on offer", static_cast<unsigned>(cc.get(fabrics::cc::css)), 0u);
  }
}

CONFORMANCE_CASE(host_chooses_nothing_that_is_not_offered, "fabrics.host.init.cc-rest", roles::host) {
  bench.script.property_read = [](std::uint32_t offset, std::uint64_t& value) {
    with_cap(offset, value, fabrics::cap::ams, 0);
    with_cap(offset, value, fabrics::cap::crims, 0);
  };
  let_it_connect(bench);
  const auto written = enables(bench);
  check.precondition(!written.empty(), "the host enables the controller");
  const std::uint32_t value = written.front()->cdw(12);
  const auto cc = record_from_integer<fabrics::Cc>(value);
  check.equal("CC.AMS, with round robin alone on offer", static_cast<unsigned>(cc.get(fabrics::cc::ams)), 0u);
  check.equal("CC.SHN of a controller that is enabled", static_cast<unsigned>(cc.get(fabrics::cc::shn)), 0u);
  check.equal("bits 3:1 of CC", value >> 1 & 7u, 0u);
  check.equal("bits 31:24 of CC", value >> 24, 0u);
}

CONFORMANCE_CASE(host_does_not_use_a_controller_in_fatal_state, "fabrics.host.init.fatal", roles::host) {
  bool told = false;
  bench.script.property_read = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset != property::csts || (value & 1) == 0) return;
    told = true;
    value |= 2;
  };
  const auto outcome = bench.product().connect({}).wait_for(60_s);
  check.precondition(told, "the host reads CSTS of an enabled controller");
  check.that(!outcome || !outcome->ok, "the host does not use a controller with CSTS.CFS", "it connected");
}

CONFORMANCE_CASE(host_overlooks_reserved_bits_of_properties, "fabrics.host.init.reserved-ignored", roles::host) {
  bench.script.property_read = [](std::uint32_t offset, std::uint64_t& value) {
    if (offset == property::cap) value |= std::uint64_t{3} << 62 | std::uint64_t{0x1F} << 19;
    if (offset == property::csts) value |= std::uint64_t{1} << 31;
  };
  const auto outcome = bench.product().connect({}).wait_for(60_s);
  check.require(outcome.has_value(), "the host connects", "it still tries");
  check.that(outcome->ok, "the host connects", outcome->text);
}

CONFORMANCE_CASE(host_enables_again_what_is_disabled, "fabrics.host.init.reset-order", roles::host) {
  constexpr unsigned kStill = 4;
  unsigned looks = 0;
  bool enabled = true, disabled = false, was_disabled = false, gone = false, early = false;
  bench.connect_product();
  bench.script.admission = [&](const CommandContext& command) -> std::optional<nvme::Status> {
    if (command.qid == 0 && is_connect(command)) enabled = disabled = false;  // a new association begins anew
    return std::nullopt;
  };
  bench.script.property_write = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset != property::cc) return true;
    const bool enables = (value & 1) != 0;
    if (enabled && !enables) {
      disabled = was_disabled = true;
      gone = false;
    } else if (disabled && enables) {
      early = early || !gone;
      disabled = false;
    }
    enabled = enables;
    return true;
  };
  bench.script.property_read = [&](std::uint32_t offset, std::uint64_t& value) {
    if (offset != property::csts || !disabled) return;
    if (looks++ < kStill) value |= 1;
    gone = gone || (value & 1) == 0;
  };
  bench.product().reset().wait_for(60_s);
  check.precondition(was_disabled, "the host sets CC.EN to 0");
  check.that(!early, "CC.EN = 1 after CSTS.RDY = 0 was read", "it came before");
}

}  // namespace fb::conformance
