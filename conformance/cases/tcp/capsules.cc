// Data in command capsules, and what descriptors may say over TCP.
#include "conformance/cases/answers.h"
#include "conformance/cases/tcp/scene.h"

namespace fb::conformance::tcp_cases {

namespace {

constexpr std::uint32_t kBytes = 4096;

void expect_sgl_status(ControllerBench& bench, Check& check, const SglDescriptor& sgl, const OneOf<nvme::Status>& expected) {
  IoQueue io = open_io(bench);
  io.raw->send_command(with_sgl(host::read(bench.nsid(), bench.first_lba(), blocks_for(bench, kBytes)), sgl));
  expect_status(check, *io.raw, expected, "Read");
  expect_alive(check, *io.raw);
}

/// By a status, a C2HTermReq or the end of the connection. `legal`: empty for any status but success.
void refuses_capsule(Check& check, RawTcp& raw, std::string_view what, const OneOf<nvme::Status>& legal = {}) {
  const auto answer = raw.next();
  if (!answer || answer->is(PduType::c2h_term_req)) {
    check.that(answer || raw.closed(), "the capsule is refused", raw.instead());
    return;
  }
  check.require(answer->is(PduType::capsule_resp), "a response or the end", answer->text());
  const nvme::Cqe cqe{ByteView(answer->bytes).subspan(tcp::kCommonHeaderBytes)};
  const nvme::Status status = cqe.get(nvme::cqe::status);
  legal.legal.empty() ? check.refused(status, what) : check.status(status, legal, what);
}

/// The first block, as a Read returns it.
Bytes read_block(Check& check, ControllerBench& bench, RawTcp& raw, std::uint16_t cid) {
  raw.send_command(read_command(bench, 1, cid));
  Bytes read;
  while (read.size() < bench.declared().block_bytes) {
    // A controller may bring a block in pieces.
    const auto part = raw.next(PduType::c2h_data);
    check.require(part.has_value() && !part->data().empty(), "the block can be read");
    read.insert(read.end(), part->data().begin(), part->data().end());
  }
  return read;
}

}  // namespace

CONFORMANCE_CASE(address_descriptor_is_refused, "tcp.sgl.address", roles::controller, needs{&a_namespace}) {
  expect_sgl_status(bench, check, {nvme::SglType::data_block, nvme::sgl_subtype::address, 0x1000, kBytes, 0},
                    one_of(sc::sgl_descriptor_type_invalid));
}

CONFORMANCE_CASE(address_descriptor_of_capsule_data_is_refused, "tcp.sgl.address", roles::controller, needs{&io_data_in_capsules}) {
  const std::uint32_t block = bench.declared().block_bytes;
  IoQueue io = open_io(bench);
  const Bytes before = pattern(block, 2);
  const auto write = [&](const SglDescriptor& sgl, ByteView data, std::uint16_t cid) {
    io.raw->send_command(with_sgl(host::write(bench.nsid(), bench.first_lba(), 1), sgl, cid), data);
  };
  write(SglDescriptor::in_capsule(0, block), before, kCid);
  check.precondition_success(response(check, *io.raw, "Write").get(nvme::cqe::status), "Write with its data in the capsule");
  std::uint16_t cid = kCid;
  // The data is there; the descriptor does not say so.
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{0x1000}}) {
    write({nvme::SglType::data_block, nvme::sgl_subtype::address, address, block, 0}, pattern(block, 6), ++cid);
    expect_status(check, *io.raw, one_of(sc::sgl_descriptor_type_invalid), "Write whose descriptor has the Address subtype", cid);
  }
  check.bytes("the block", read_block(check, bench, *io.raw, ++cid), before);
}

CONFORMANCE_CASE(transport_descriptor_of_another_subtype_is_refused, "tcp.sgl.subtype", roles::controller, needs{&a_namespace}) {
  expect_sgl_status(bench, check, {nvme::SglType::transport_data_block, 0xF, 0, kBytes, 0}, one_of(sc::sgl_descriptor_type_invalid));
}

CONFORMANCE_CASE(keyed_descriptor_is_refused, "tcp.sgl.keyed", roles::controller, needs{&a_namespace}) {
  expect_sgl_status(bench, check, SglDescriptor::keyed(0x1000, kBytes, 7), one_of(sc::sgl_descriptor_type_invalid));
}

CONFORMANCE_CASE(tcp_sgl_shorter_than_data_is_refused, "tcp.sgl.too-short", roles::controller, needs{&a_namespace}) {
  // One association: another controller may not have the namespace.
  IoQueue io = open_io(bench);
  std::uint16_t cid = kCid;
  for (const std::uint32_t bytes : {512u, kBytes - 4}) {
    ++cid;
    const auto read = host::read(bench.nsid(), bench.first_lba(), blocks_for(bench, kBytes));
    io.raw->send_command(with_sgl(read, SglDescriptor::transport(bytes), cid));
    expect_status(check, *io.raw, one_of(sc::data_sgl_length_invalid), "Read", cid);
  }
  expect_alive(check, *io.raw);
  // A Write too, and one that no product expects in its capsule: either it is refused before anything is asked for, or
  // nothing behind the descriptor is asked for.
  const std::uint32_t blocks = blocks_for(bench, beyond_capsule(bench));
  const std::uint32_t too_short = blocks * bench.declared().block_bytes - 4;
  io.raw->send_command(with_sgl(host::write(bench.nsid(), bench.first_lba(), blocks), SglDescriptor::transport(too_short), ++cid));
  const auto first = io.raw->next();
  check.require(first.has_value(), "a Write with a short descriptor is answered", io.raw->instead());
  if (first->type() == static_cast<std::uint8_t>(PduType::r2t)) {
    const auto r2t = first->as<tcp::DataPdu>();
    const std::uint32_t end = r2t.get(tcp::data_pdu::offset) + r2t.get(tcp::data_pdu::length);
    check.between("where the R2T of a Write with a short descriptor ends", end, 0u, too_short);
    return;
  }
  const nvme::Cqe cqe{ByteView(first->bytes).subspan(tcp::kCommonHeaderBytes)};
  check.status(cqe.get(nvme::cqe::status), one_of(sc::data_sgl_length_invalid), "Write");
}

CONFORMANCE_CASE(read_into_a_capsule_is_refused, "tcp.sgl.read-in-capsule", roles::controller, needs{&io_data_in_capsules}) {
  IoQueue io = open_io(bench);
  const std::uint32_t block = bench.declared().block_bytes;
  const Bytes data(block);
  io.raw->send_command(with_sgl(host::read(bench.nsid(), bench.first_lba(), 1), SglDescriptor::in_capsule(0, block)), data);
  refuses_capsule(check, *io.raw, "Read with a descriptor of data in its capsule");
}

CONFORMANCE_CASE(admin_capsule_takes_8192_bytes, "tcp.capsule.admin-room", roles::controller) {
  auto raw = greeted(bench);
  const host::ConnectCommand connect = bench.connect_command();
  Bytes data(tcp::kAdminInCapsuleMax);
  std::copy(connect.data.bytes().begin(), connect.data.bytes().end(), data.begin());
  const auto size = static_cast<std::uint32_t>(data.size());
  raw->send_command(with_sgl(connect.sqe, SglDescriptor::in_capsule(0, size)), data);
  // What is too much for Connect may be refused; the capsule may not.
  (void)response(check, *raw, "Connect with 8192 bytes in its capsule");
  check.that(!raw->wait_closed(100_ms), "the connection goes on", "it ended");
}

CONFORMANCE_CASE(io_capsule_beyond_ioccsz_is_not_executed, "tcp.capsule.io-room", roles::controller, needs{&a_namespace}) {
  const std::uint32_t block = bench.declared().block_bytes;
  const std::uint32_t blocks = bench.declared().in_capsule_bytes / block + 1;
  const std::uint64_t most = bench.declared().transfer_max();
  check.precondition(most == 0 || std::uint64_t{blocks} * block <= most, "MDTS allows as much");
  const Bytes data = pattern(std::size_t{blocks} * block, 5);
  const auto size = static_cast<std::uint32_t>(data.size());
  for (const unsigned queue : {0u, 1u}) {
    RawAssociation& association = bench.associate();
    auto raw = greeted(bench);
    raw->send_connect(association.io_connect(bench.io_qid(queue)), kCid);
    const auto connected = raw->completion(kCid);
    // A product may have one I/O queue.
    if (queue > 0 && (!connected || !connected->get(nvme::cqe::status).ok())) break;
    check.precondition(connected && connected->get(nvme::cqe::status).ok(), "Connect of the I/O queue");
    raw->send_command(with_sgl(host::write(bench.nsid(), bench.first_lba(), blocks), SglDescriptor::in_capsule(0, size)), data);
    refuses_capsule(check, *raw, "Write with more data in its capsule than IOCCSZ allows, I/O queue " + std::to_string(queue + 1));
    if (association.admin().connected()) association.admin().disconnect();
  }
}

CONFORMANCE_CASE(in_capsule_data_is_what_is_written, "tcp.capsule.data", roles::controller, needs{&io_data_in_capsules}) {
  IoQueue io = open_io(bench);
  const std::uint32_t block = bench.declared().block_bytes;
  const Bytes data = pattern(block, 9);
  io.raw->send_command(with_sgl(host::write(bench.nsid(), bench.first_lba(), 1), SglDescriptor::in_capsule(0, block)), data);
  expect_status(check, *io.raw, one_of(nvme::Status{}), "Write with its data in the capsule");
  check.bytes("the block", read_block(check, bench, *io.raw, kCid + 1), data);
}

CONFORMANCE_CASE(in_capsule_data_beyond_the_capsule_is_refused, "tcp.capsule.offset", roles::controller, needs{&io_data_in_capsules}) {
  IoQueue io = open_io(bench);
  const std::uint32_t block = bench.declared().block_bytes;
  const Bytes data = pattern(block / 2, 1);
  // The descriptor speaks of a block, the capsule holds half of it.
  io.raw->send_command(with_sgl(host::write(bench.nsid(), bench.first_lba(), 1), SglDescriptor::in_capsule(0, block)), data);
  refuses_capsule(check, *io.raw, "Write whose descriptor leaves the capsule", beyond_its_capsule());
}

CONFORMANCE_CASE(identify_fits_capsules_over_tcp, "tcp.identify.capsules", roles::controller) {
  const auto reply = bench.associate().admin().send(host::identify(nvme::Cns::controller), 4096).wait();
  check.require_success(reply, "Identify");
  const View<nvme::IdentifyController> id{reply.data};
  check.that(id.get(nvme::id_ctrl::ioccsz) >= 4, "IOCCSZ is at least 4");
  check.equal("IORCSZ", id.get(nvme::id_ctrl::iorcsz), 1);
  check.equal("ICDOFF", id.get(nvme::id_ctrl::icdoff), 0);
  check.that((id.get(nvme::id_ctrl::sgls) & 3) != 0, "SGLS says that SGLs are supported");
}

}  // namespace fb::conformance::tcp_cases
