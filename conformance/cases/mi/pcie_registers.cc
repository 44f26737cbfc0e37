// The registers of a controller's function: capabilities, and the link that Port Information tells of as well.
#include <fmt/format.h>

#include <map>

#include "conformance/cases/mi/structures.h"

namespace fb::conformance {
namespace {

constexpr std::uint16_t kHead = 256, kSpace = 4096;
constexpr std::size_t kStatus = 0x06, kHeaderType = 0x0E, kBar0 = 0x10, kPointer = 0x34;
constexpr std::uint8_t kPower = 0x01, kMsi = 0x05, kExpress = 0x10, kMsix = 0x11;

/// So many bytes from the start of the configuration space; INCONCLUSIVE without them.
Bytes configuration(EndpointBench& bench, Check& check, std::uint16_t cntlid, std::uint16_t bytes) {
  const MiAnswer answer = bench.pcie(cntlid, mi::PcieOpcode::configuration_read, 0, bytes);
  check.precondition(answer.ok() && answer.data().size() == bytes, "PCIe Configuration Read returns " + words(bytes) + " bytes");
  return {answer.data().begin(), answer.data().end()};
}
/// Where the capabilities are, by their identifiers, as far as the list is sound.
std::map<std::uint8_t, std::size_t> capabilities(ByteView space) {
  std::map<std::uint8_t, std::size_t> found;
  for (std::size_t at = space[kPointer] & 0xFCu; at >= 0x40 && at + 4 <= kHead && found.size() < 48; at = space[at + 1] & 0xFCu) {
    if (!found.emplace(space[at], at).second) break;
  }
  return found;
}

}  // namespace

CONFORMANCE_CASE(capabilities_are_a_list, "mi.pcie.capabilities", roles::endpoint, needs(pcie_commands)) {
  for (const std::uint16_t cntlid : bench.declared().controllers) {
    const std::string of = " of controller " + words(cntlid);
    const Bytes space = configuration(bench, check, cntlid, kSpace);
    check.that((load_le<std::uint16_t>(&space[kStatus]) & 0x10) != 0, "the status says that there are capabilities" + of);
    check.equal("header type" + of, space[kHeaderType] & 0x7F, 0);
    check.equal("kind of the first base address" + of + ": memory of 64 bits", space[kBar0] & 0x07, 0x04);
    check.equal("low bits of the capability pointer" + of, space[kPointer] & 3, 0);
    std::map<std::size_t, std::uint8_t> seen;
    std::size_t at = space[kPointer];
    while (at != 0) {
      check.require(at >= 0x40 && at % 4 == 0 && at + 4 <= kHead, "a capability is at a dword behind the header", words(at));
      check.require(seen.emplace(at, space[at]).second, "the list of capabilities has an end", words(at));
      at = space[at + 1];
    }
    const auto found = capabilities(space);
    for (const std::uint8_t needed : {kPower, kExpress}) {
      check.that(found.count(needed) == 1, fmt::format("capability {:02x}h is there{}", needed, of), "it is not");
    }
    check.that(found.count(kMsi) + found.count(kMsix) >= 1, "MSI or MSI-X is there" + of, "neither is");
    if (const auto express = found.find(kExpress); express != found.end()) {
      const std::uint16_t flags = load_le<std::uint16_t>(&space[express->second + 2]);
      check.that((flags & 0x0F) >= 1, "the PCI Express capability has a version" + of, words(flags));
      check.equal("device type" + of + ": endpoint", flags >> 4 & 0x0F, 0);
    }
    if (const auto power = found.find(kPower); power != found.end()) {
      check.that((space[power->second + 2] & 7) >= 2, "the power management capability has a version" + of,
                 words(space[power->second + 2]));
      check.equal("power state" + of + ": D0", space[power->second + 4] & 3, 0);
    }
    if (const auto msix = found.find(kMsix); msix != found.end()) {
      const std::size_t entries = (load_le<std::uint16_t>(&space[msix->second + 2]) & 0x7FFu) + 1;
      const std::uint32_t table = load_le<std::uint32_t>(&space[msix->second + 4]);
      const std::uint32_t pending = load_le<std::uint32_t>(&space[msix->second + 8]);
      const bool apart = (table & 7) != (pending & 7) || (table & ~7u) + 16 * entries <= (pending & ~7u) || (pending & ~7u) < (table & ~7u);
      check.that(apart, "the MSI-X table" + of + " ends before its pending bits", words(pending));
    }
    // Extended capabilities begin at 100h, each with the offset of the next.
    for (std::size_t place = kHead; place != 0;) {
      const auto head = load_le<std::uint32_t>(&space[place]);
      if (place == kHead && (head == 0 || head == 0xFFFFFFFF)) break;
      check.that((head >> 16 & 0x0F) >= 1, "an extended capability has a version" + of, words(head));
      const std::size_t next = head >> 20;
      check.require(next == 0 || (next > place && next % 4 == 0), "extended capabilities ascend" + of, words(next));
      place = next;
    }
  }
}

CONFORMANCE_CASE(port_information_is_that_of_the_link, "mi.read-ds.port.link", roles::endpoint, needs(pcie_commands), needs(pcie_port)) {
  for (const std::uint16_t cntlid : bench.declared().controllers) {
    const MiAnswer controller = read_structure(bench, mi::DataType::controller_information, cntlid);
    precondition(check, controller, "controller information");
    check.precondition(controller.data().size() == mi::ControllerInfo::size, "controller information has 32 bytes");
    const MiAnswer port = read_structure(bench, mi::DataType::port_information, 0, controller.data()[0]);
    precondition(check, port, "port information");
    check.precondition(port.data().size() == mi::PortInfo::size && port.data()[0] == 1, "it is of a PCI Express port");
    const Bytes space = configuration(bench, check, cntlid, kHead);
    const auto found = capabilities(space);
    const auto express = found.find(kExpress);
    check.precondition(express != found.end() && express->second + 20 <= kHead, "there is a PCI Express capability");
    const auto link = load_le<std::uint32_t>(&space[express->second + 0x0C]);
    const auto now = load_le<std::uint16_t>(&space[express->second + 0x12]);
    const View<mi::PciePortInfo> info{port.data()};
    const std::string of = " of controller " + words(cntlid);
    check.equal("port number, in Port Information and the link" + of, info.get(mi::port_info::pn), static_cast<std::uint8_t>(link >> 24));
    check.equal("widest link, in Port Information and the link" + of, unsigned{info.get(mi::port_info::mlw)}, link >> 4 & 0x3Fu);
    check.equal("fastest link" + of + " is the fastest supported speed", unsigned{info.get(mi::port_info::slsv)} >> ((link & 0x0F) - 1),
                1u);
    if (info.get(mi::port_info::nlw) == 0) continue;  // the link is down
    check.equal("speed of the link" + of, unsigned{info.get(mi::port_info::cls)}, now & 0x0Fu);
    check.equal("width of the link" + of, unsigned{info.get(mi::port_info::nlw)}, now >> 4 & 0x3Fu);
    for (const unsigned width : {unsigned{info.get(mi::port_info::mlw)}, unsigned{info.get(mi::port_info::nlw)}}) {
      check.equal("width of a link" + of, width, one_of(1, 2, 4, 8, 12, 16, 32));
    }
  }
}

}  // namespace fb::conformance
