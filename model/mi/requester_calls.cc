// The requester's calls: one command each.
#include <algorithm>
#include <utility>

#include "model/mi/requester.h"
#include "model/mi/requester_read.h"

namespace fb::mi {

namespace {

template <class L>
void fill_header(Record<L>& record, MessageKind kind, const CommandTerms& terms) {
  record.set(header::ic, true)
      .set(header::mt, kNvmeMiType)
      .set(header::nmimt, kind)
      .set(header::csi, terms.slot)
      .set(header::ciap, terms.auto_pause)
      .set(header::meb, terms.in_buffer);
}

template <class L>
Bytes message_of(const Record<L>& record, ByteView data = {}) {
  Bytes made(record.bytes().begin(), record.bytes().end());
  made.insert(made.end(), data.begin(), data.end());
  return made;
}

/// The dwords of a command from its fields.
template <class L, class Fill>
std::array<std::uint32_t, 2> dwords(Fill fill) {
  Record<L> record;
  fill(record);
  return {load_le<std::uint32_t>(&record.bytes()[8]), load_le<std::uint32_t>(&record.bytes()[12])};
}

}  // namespace

Op<Reply> Requester::command(mctp::Eid peer, Opcode opcode, std::uint32_t nmd0, std::uint32_t nmd1, Bytes data, CommandTerms terms) {
  Record<MiRequest> made;
  fill_header(made, MessageKind::mi_command, terms);
  made.set(request::opcode, static_cast<unsigned>(opcode)).set(mi_request::nmd0, nmd0).set(mi_request::nmd1, nmd1);
  return request(peer, message_of(made, data), terms.timeout);
}

// ---- data structures ----

template <class L>
Op<Answer<Record<L>>> Requester::read_structure(mctp::Eid peer, DataType type, std::uint8_t port, std::uint16_t cntlid) {
  const auto [nmd0, nmd1] = dwords<ReadDataStructure>([&](auto& record) {
    record.set(read_ds::dtyp, static_cast<unsigned>(type)).set(read_ds::portid, port).set(read_ds::ctrlid, cntlid);
  });
  return read_reply<Record<L>>(world_, command(peer, Opcode::read_data_structure, nmd0, nmd1),
                               [checked = options_.reserved_checked](Reply& reply) -> std::optional<Record<L>> {
                                 const ByteView data = reply.data();
                                 if (!data_length_ok(reply, L::size)) return std::nullopt;
                                 if (checked) {
                                   if (const auto at = first_reserved_set<L>(data)) {
                                     return violate<Record<L>>(reply, {"data_structure.reserved", kResponseMin + *at, data[*at], 0});
                                   }
                                 }
                                 return Record<L>{data};
                               });
}

Op<Answer<Record<SubsystemInfo>>> Requester::read_subsystem(mctp::Eid peer) {
  return read_structure<SubsystemInfo>(peer, DataType::subsystem_information, 0, 0);
}

Op<Answer<Record<PortInfo>>> Requester::read_port(mctp::Eid peer, std::uint8_t port) {
  const auto [nmd0, nmd1] = dwords<ReadDataStructure>(
      [&](auto& record) { record.set(read_ds::dtyp, static_cast<unsigned>(DataType::port_information)).set(read_ds::portid, port); });
  return read_reply<Record<PortInfo>>(world_, command(peer, Opcode::read_data_structure, nmd0, nmd1),
                                      [](Reply& reply) -> std::optional<Record<PortInfo>> {
                                        if (!data_length_ok(reply, PortInfo::size)) return std::nullopt;
                                        return Record<PortInfo>{reply.data()};
                                      });
}

Op<Answer<Record<ControllerInfo>>> Requester::read_controller(mctp::Eid peer, std::uint16_t cntlid) {
  return read_structure<ControllerInfo>(peer, DataType::controller_information, 0, cntlid);
}

Op<Answer<std::vector<std::uint16_t>>> Requester::read_controllers(mctp::Eid peer, std::uint16_t first) {
  using List = std::vector<std::uint16_t>;
  const auto [nmd0, nmd1] = dwords<ReadDataStructure>(
      [&](auto& record) { record.set(read_ds::dtyp, static_cast<unsigned>(DataType::controller_list)).set(read_ds::ctrlid, first); });
  return read_reply<List>(world_, command(peer, Opcode::read_data_structure, nmd0, nmd1), [first](Reply& reply) -> std::optional<List> {
    const ByteView data = reply.data();
    if (!data_length_ok(reply, data.size())) return std::nullopt;
    const auto list = parse_controller_list(data);
    if (!list || data.size() != 2 + 2 * list->size()) {
      return violate<List>(reply, {"controller_list.count", kResponseMin, data.size(), 0});
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::uint16_t least = i == 0 ? first : (*list)[i - 1];
      if ((*list)[i] < least || (i != 0 && (*list)[i] == least)) {
        return violate<List>(reply, {"controller_list.order", kResponseMin + 2 + 2 * i, (*list)[i], least});
      }
    }
    return *list;
  });
}

namespace {

Op<Answer<std::vector<SupportedCommand>>> read_commands(World& world, Op<Reply> op) {
  using List = std::vector<SupportedCommand>;
  return read_reply<List>(world, std::move(op), [](Reply& reply) -> std::optional<List> {
    const ByteView data = reply.data();
    if (!data_length_ok(reply, data.size())) return std::nullopt;
    auto list = parse_command_list(data);
    if (!list || data.size() != 2 + 2 * list->size()) {
      return violate<List>(reply, {"command_list.count", kResponseMin, data.size(), 0});
    }
    return *list;
  });
}

}  // namespace

Op<Answer<std::vector<SupportedCommand>>> Requester::read_optional_commands(mctp::Eid peer, std::uint16_t cntlid) {
  const auto [nmd0, nmd1] = dwords<ReadDataStructure>(
      [&](auto& record) { record.set(read_ds::dtyp, static_cast<unsigned>(DataType::supported_commands)).set(read_ds::ctrlid, cntlid); });
  return read_commands(world_, command(peer, Opcode::read_data_structure, nmd0, nmd1));
}

Op<Answer<std::vector<SupportedCommand>>> Requester::read_buffer_commands(mctp::Eid peer) {
  const auto [nmd0, nmd1] =
      dwords<ReadDataStructure>([&](auto& record) { record.set(read_ds::dtyp, static_cast<unsigned>(DataType::buffer_commands)); });
  return read_commands(world_, command(peer, Opcode::read_data_structure, nmd0, nmd1));
}

// ---- health ----

Op<Answer<Record<SubsystemHealth>>> Requester::poll_subsystem(mctp::Eid peer, bool clear) {
  using Health = Record<SubsystemHealth>;
  const auto [nmd0, nmd1] = dwords<SubsystemHealthPoll>([&](auto& record) { record.set(subsystem_poll::cs, clear); });
  return read_reply<Health>(world_, command(peer, Opcode::subsystem_health_poll, nmd0, nmd1), [](Reply& reply) -> std::optional<Health> {
    if (reply.data().size() != SubsystemHealth::size) {
      return violate<Health>(reply, {"subsystem_poll.size", 0, reply.data().size(), SubsystemHealth::size});
    }
    return Health{reply.data()};
  });
}

Op<Answer<std::vector<Record<ControllerHealth>>>> Requester::poll_controllers(mctp::Eid peer, PollTerms terms) {
  using List = std::vector<Record<ControllerHealth>>;
  const auto [nmd0, nmd1] = dwords<ControllerHealthPoll>([&](auto& record) {
    record.set(controller_poll::sctlid, terms.first)
        .set(controller_poll::maxrent, ZeroBased<std::uint8_t>::of(terms.entries_max))
        .set(controller_poll::all, terms.all)
        .set(controller_poll::incf, terms.plain)
        .set(controller_poll::incpf, terms.physical)
        .set(controller_poll::incvf, terms.virtual_functions)
        .set(controller_poll::csts, (terms.selection & 1) != 0)
        .set(controller_poll::ctemp, (terms.selection & 2) != 0)
        .set(controller_poll::pdlu, (terms.selection & 4) != 0)
        .set(controller_poll::spare, (terms.selection & 8) != 0)
        .set(controller_poll::cwarn, (terms.selection & 16) != 0)
        .set(controller_poll::ccf, terms.clear);
  });
  return read_reply<List>(world_, command(peer, Opcode::controller_health_poll, nmd0, nmd1), [](Reply& reply) -> std::optional<List> {
    const ByteView data = reply.data();
    const std::size_t entries = reply.nmresp() >> kRentShift & 0xFF;
    if (data.size() != entries * ControllerHealth::size) {
      return violate<List>(reply, {"controller_poll.entries", 7, entries, data.size() / ControllerHealth::size});
    }
    List list;
    for (std::size_t i = 0; i < entries; ++i) {
      list.emplace_back(data.subspan(i * ControllerHealth::size, ControllerHealth::size));
    }
    return list;
  });
}

// ---- configuration, VPD, reset, buffer, enclosure ----

Op<Reply> Requester::get_configuration(mctp::Eid peer, ConfigurationId id, std::uint8_t port) {
  const auto [nmd0, nmd1] = dwords<UnitConfiguration>(
      [&](auto& record) { record.set(configuration::id, static_cast<unsigned>(id)).set(configuration::portid, port); });
  return command(peer, Opcode::configuration_get, nmd0, nmd1);
}

Op<Reply> Requester::set_frequency(mctp::Eid peer, std::uint8_t port, std::uint8_t frequency) {
  const auto [nmd0, nmd1] = dwords<FrequencyConfiguration>([&](auto& record) {
    record.set(configuration::id, static_cast<unsigned>(ConfigurationId::smbus_frequency))
        .set(configuration::portid, port)
        .set(configuration::sfreq, frequency);
  });
  return command(peer, Opcode::configuration_set, nmd0, nmd1);
}

Op<Reply> Requester::set_unit(mctp::Eid peer, std::uint8_t port, std::uint16_t unit) {
  const auto [nmd0, nmd1] = dwords<UnitConfiguration>([&](auto& record) {
    record.set(configuration::id, static_cast<unsigned>(ConfigurationId::transmission_unit))
        .set(configuration::portid, port)
        .set(configuration::unit, unit);
  });
  // What comes from now on may be as large; what is sent stays at the baseline, which everybody takes.
  port_.set_unit(std::min<std::size_t>(std::max<std::size_t>(unit, unit_taken_), port_.unit_max()));
  unit_taken_ = std::max<std::size_t>(unit, unit_taken_);
  return command(peer, Opcode::configuration_set, nmd0, nmd1);
}

Op<Reply> Requester::clear_health(mctp::Eid peer, std::uint32_t positions) {
  return command(peer, Opcode::configuration_set, static_cast<std::uint32_t>(ConfigurationId::health_status_change), positions);
}

namespace {

/// Data whose length the request said.
Op<Answer<Bytes>> read_bytes(World& world, Op<Reply> op, std::size_t length, std::string_view rule) {
  return read_reply<Bytes>(world, std::move(op), [length, rule](Reply& reply) -> std::optional<Bytes> {
    const ByteView data = reply.data();
    if (data.size() != length) return violate<Bytes>(reply, {rule, 0, data.size(), length});
    return Bytes(data.begin(), data.end());
  });
}

}  // namespace

Op<Answer<Bytes>> Requester::read_vpd(mctp::Eid peer, std::uint16_t offset, std::uint16_t length) {
  return read_bytes(world_, command(peer, Opcode::vpd_read, offset, length), length, "vpd_read.size");
}

Op<Reply> Requester::write_vpd(mctp::Eid peer, std::uint16_t offset, Bytes data) {
  const auto length = static_cast<std::uint32_t>(data.size());
  return command(peer, Opcode::vpd_write, offset, length, std::move(data));
}

Op<Reply> Requester::reset_subsystem(mctp::Eid peer, std::uint8_t type) { return command(peer, Opcode::reset, std::uint32_t{type} << 24); }

Op<Reply> Requester::shut_down(mctp::Eid peer, bool abrupt) { return command(peer, Opcode::shutdown, abrupt ? 1u << 24 : 0u); }

Op<Answer<Bytes>> Requester::read_buffer(mctp::Eid peer, std::uint32_t offset, std::uint32_t length) {
  return read_bytes(world_, command(peer, Opcode::buffer_read, offset, length), length, "buffer_read.size");
}

Op<Reply> Requester::write_buffer(mctp::Eid peer, std::uint32_t offset, Bytes data) {
  const auto length = static_cast<std::uint32_t>(data.size());
  return command(peer, Opcode::buffer_write, offset, length, std::move(data));
}

Op<Answer<Bytes>> Requester::receive_ses(mctp::Eid peer, std::uint8_t page, std::uint16_t length) {
  return read_reply<Bytes>(world_, command(peer, Opcode::ses_receive, page, length), [](Reply& reply) -> std::optional<Bytes> {
    const ByteView data = reply.data();
    if (!data_length_ok(reply, data.size())) return std::nullopt;
    return Bytes(data.begin(), data.end());
  });
}

Op<Reply> Requester::send_ses(mctp::Eid peer, Bytes page) {
  const auto length = static_cast<std::uint32_t>(page.size());
  return command(peer, Opcode::ses_send, 0, length, std::move(page));
}

// ---- primitives and tunnels ----

Op<Reply> Requester::primitive(mctp::Eid peer, Primitive primitive, unsigned slot, std::uint16_t parameter) {
  Record<PrimitiveRequest> made;
  fill_header(made, MessageKind::control_primitive, {.slot = slot, .timeout = {}});
  made.set(primitive::cpo, static_cast<unsigned>(primitive)).set(primitive::tag, next_primitive_tag_++).set(primitive::cpsp, parameter);
  return request(peer, message_of(made));
}

Op<Reply> Requester::admin(mctp::Eid peer, std::uint16_t cntlid, const nvme::Sqe& sqe, AdminTerms terms, Bytes data) {
  namespace ar = admin_request;
  Record<AdminRequest> made;
  fill_header(made, MessageKind::admin_command, terms.command);
  if (!data.empty() && terms.dlen == 0) terms.dlen = static_cast<std::uint32_t>(data.size());
  if (departs(departure::requester_length)) ++terms.dlen;
  made.set(request::opcode, sqe.get(nvme::sqe::opcode))
      .set(ar::dlenv, (terms.flags & 1) != 0)
      .set(ar::dofstv, (terms.flags & 2) != 0)
      .set(ar::ctlid, cntlid)
      .set(ar::nsid, sqe.get(nvme::sqe::nsid))
      .set(ar::cdw2, sqe.get(nvme::sqe::cdw2))
      .set(ar::cdw3, sqe.get(nvme::sqe::cdw3))
      .set(ar::dofst, terms.dofst)
      .set(ar::dlen, terms.dlen)
      .set(ar::cdw10, sqe.get(nvme::sqe::cdw10))
      .set(ar::cdw11, sqe.get(nvme::sqe::cdw11))
      .set(ar::cdw12, sqe.get(nvme::sqe::cdw12))
      .set(ar::cdw13, sqe.get(nvme::sqe::cdw13))
      .set(ar::cdw14, sqe.get(nvme::sqe::cdw14))
      .set(ar::cdw15, sqe.get(nvme::sqe::cdw15));
  return request(peer, message_of(made, data), terms.command.timeout);
}

Op<Answer<Bytes>> Requester::identify(mctp::Eid peer, std::uint16_t cntlid, nvme::Cns cns, std::uint32_t nsid, std::uint32_t dofst,
                                      std::uint32_t dlen) {
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, static_cast<unsigned>(nvme::AdminOpcode::identify))
      .set(nvme::sqe::nsid, nsid)
      .set(nvme::sqe::cdw10, static_cast<std::uint32_t>(cns));
  const auto flags = static_cast<std::uint8_t>(dofst != 0 ? 3 : 1);
  const std::size_t expected = dofst >= nvme::kIdentifySize ? 0 : std::min<std::size_t>(dlen, nvme::kIdentifySize - dofst);
  return read_reply<Bytes>(world_, admin(peer, cntlid, sqe, {.dofst = dofst, .dlen = dlen, .flags = flags}),
                           [expected](Reply& reply) { return admin_bytes(reply, expected); });
}

Op<Reply> Requester::get_feature(mctp::Eid peer, std::uint16_t cntlid, std::uint8_t fid, std::uint32_t cdw11) {
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, static_cast<unsigned>(nvme::AdminOpcode::get_features))
      .set(nvme::sqe::cdw10, fid)
      .set(nvme::sqe::cdw11, cdw11);
  return admin(peer, cntlid, sqe, {.dlen = kDataMax, .flags = 1});
}

Op<Reply> Requester::set_feature(mctp::Eid peer, std::uint16_t cntlid, std::uint8_t fid, std::uint32_t cdw11, Bytes data) {
  nvme::Sqe sqe;
  sqe.set(nvme::sqe::opcode, static_cast<unsigned>(nvme::AdminOpcode::set_features))
      .set(nvme::sqe::cdw10, fid)
      .set(nvme::sqe::cdw11, cdw11);
  return admin(peer, cntlid, sqe, {}, std::move(data));
}

Op<Reply> Requester::pcie(mctp::Eid peer, std::uint16_t cntlid, PcieOpcode opcode, std::uint64_t offset, std::uint16_t length,
                          std::uint8_t bar, Bytes data, CommandTerms terms) {
  namespace pr = pcie_request;
  Record<PcieRequest> made;
  fill_header(made, MessageKind::pcie_command, terms);
  made.set(request::opcode, static_cast<unsigned>(opcode))
      .set(pr::ctlid, cntlid)
      .set(pr::length, length)
      .set(pr::bar, bar)
      .set(pr::offset, offset);
  return request(peer, message_of(made, data), terms.timeout);
}

}  // namespace fb::mi
