// Security Send and Security Receive.
#include "conformance/cases/nvme/scene.h"
#include "model/subsystem/security.h"

namespace fb::conformance {

namespace {

constexpr std::uint8_t kInformation = 0x00;
constexpr std::size_t kListHeader = 8;
constexpr std::uint32_t kBufferRoom = 512;

std::optional<std::string> has_security(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::security) != 0) return {};
  return "OACS bit 0 (security commands) is clear";
}

host::RawReply receive(RawAssociation& association, std::uint8_t protocol, std::uint16_t specific, std::uint32_t length) {
  return association.admin().send(host::security_receive(protocol, specific, length), length).wait();
}

/// The protocols that protocol 00h lists; INCONCLUSIVE where it is cut off.
Bytes protocols(RawAssociation& association, Check& check) {
  const auto reply = receive(association, kInformation, 0, kBufferRoom);
  check.precondition_success(reply, "Security Receive of protocol 00h");
  const std::size_t count = std::size_t{reply.data[6]} << 8 | reply.data[7];
  check.require(count <= kBufferRoom - kListHeader, "the list is as long as it says", std::to_string(count) + " protocols");
  return Bytes(reply.data.begin() + kListHeader, reply.data.begin() + static_cast<std::ptrdiff_t>(kListHeader + count));
}

}  // namespace

CONFORMANCE_CASE(security_protocols_are_listed, "nvme.security.list", roles::controller, needs(has_security)) {
  RawAssociation& association = bench.associate();
  const Bytes list = protocols(association, check);
  check.require(!list.empty(), "a protocol is listed");
  check.equal("the first protocol", list.front(), kInformation);
  check.that(std::is_sorted(list.begin(), list.end()) && std::adjacent_find(list.begin(), list.end()) == list.end(), "the list ascends",
             to_hex(list));
}

CONFORMANCE_CASE(unlisted_security_protocols_are_refused, "nvme.security.unknown", roles::controller, needs(has_security),
                 reaches{"security.protocol"}) {
  RawAssociation& association = bench.associate();
  const Bytes list = protocols(association, check);
  unsigned asked = 0;
  // Two that are reserved, and one (IEEE 1667) that a product lists if it serves it.
  for (const std::uint8_t protocol : {std::uint8_t{0x08}, std::uint8_t{0x7F}, std::uint8_t{0xEE}}) {
    if (std::find(list.begin(), list.end(), protocol) != list.end()) continue;
    ++asked;
    check.status(receive(association, protocol, 0, kBufferRoom), sc::invalid_field, "Security Receive");
  }
  check.precondition(asked != 0, "there is a protocol that is not listed");
}

CONFORMANCE_CASE(a_short_receive_gives_the_beginning, "nvme.security.short", roles::controller, needs(has_security)) {
  RawAssociation& association = bench.associate();
  const auto whole = receive(association, kInformation, 0, kBufferRoom);
  check.precondition_success(whole, "Security Receive");
  for (const std::uint32_t length : {8u, 9u, 64u}) {
    const auto part = receive(association, kInformation, 0, length);
    if (!check.success(part, "Security Receive of " + std::to_string(length))) continue;
    check.bytes("its bytes", part.data, ByteView{whole.data}.first(length));
  }
}

CONFORMANCE_CASE(security_send_reaches_its_protocol, "nvme.security.kept", roles::controller,
                 arranged("a security protocol that keeps what it is told",
                          [](EmbeddedSetup& setup) { setup.subsystem.security = true; })) {
  RawAssociation& association = bench.associate();
  for (const std::size_t length : {std::size_t{1}, std::size_t{512}, std::size_t{5000}}) {
    constexpr std::uint8_t kProtocol = subsystem::kSecurityMailbox;
    const Bytes said = pattern(0x2A, 1, length);
    const auto count = static_cast<std::uint32_t>(length);
    const auto sent = association.admin().send(host::security_send(kProtocol, 3, count), said).wait();
    if (!check.success(sent, "Security Send of " + std::to_string(length))) continue;
    const auto back = receive(association, kProtocol, 3, count);
    if (check.success(back, "Security Receive")) check.bytes("what was sent", back.data, said);
  }
}

CONFORMANCE_CASE(security_protocol_specific_values_are_apart, "nvme.security.kept", roles::controller,
                 arranged("a security protocol that keeps what it is told",
                          [](EmbeddedSetup& setup) { setup.subsystem.security = true; })) {
  constexpr std::uint8_t kProtocol = subsystem::kSecurityMailbox;
  constexpr std::size_t kBytes = 16;
  RawAssociation& association = bench.associate();
  const auto said = [](std::uint16_t specific) { return pattern(static_cast<std::uint8_t>(0x40 + 9 * specific), 1, kBytes); };
  for (std::uint16_t specific = 0; specific < subsystem::kMailboxes; ++specific) {
    const auto sent = association.admin().send(host::security_send(kProtocol, specific, kBytes), said(specific)).wait();
    check.success(sent, "Security Send, SPSP " + words(specific));
  }
  for (std::uint16_t specific = 0; specific < subsystem::kMailboxes; ++specific) {
    const std::string what = "Security Receive, SPSP " + words(specific);
    const auto back = receive(association, kProtocol, specific, kBytes);
    if (check.success(back, what)) check.bytes(what, back.data, said(specific));
  }
  for (unsigned bit = 4; bit < 16; ++bit) {
    const auto near = static_cast<std::uint16_t>(1u << bit | 1u);
    check.refused(receive(association, kProtocol, near, kBytes), "Security Receive, SPSP " + words(near));
    const auto sent = association.admin().send(host::security_send(kProtocol, near, kBytes), Bytes(kBytes, 0xEE)).wait();
    check.refused(sent, "Security Send, SPSP " + words(near));
  }
  const auto kept = receive(association, kProtocol, 1, kBytes);
  if (check.success(kept, "Security Receive, SPSP 1")) check.bytes("what was sent with SPSP 1", kept.data, said(1));
}

}  // namespace fb::conformance
