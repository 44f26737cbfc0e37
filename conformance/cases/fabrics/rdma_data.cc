// Capsules and data over RDMA: the order of data and response, keys, SGLs.
#include <algorithm>

#include "conformance/cases/answers.h"
#include "conformance/cases/fabrics/common.h"
#include "conformance/cases/fabrics/own_device.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

using nvme::SglDescriptor;

constexpr std::size_t kRoom = (2u << 20) + 4096;
constexpr std::uint64_t kMuch = 64u << 10;
/// Where in exposed memory the data goes: not on a page boundary.
constexpr std::uint64_t kUneven = 512;
constexpr std::uint8_t kUntouched = 0xEE;

/// As many blocks as 4096 bytes take.
struct Extent {
  std::uint32_t blocks;
  std::uint32_t bytes;
};
Extent extent(ControllerBench& bench) {
  const std::uint32_t block = std::max(bench.declared().block_bytes, 512u);
  const std::uint32_t blocks = bench.blocks(std::max(4096 / block, 1u));
  return {blocks, blocks * block};
}

/// Where packets take their time, one can see which comes first.
void slow_link(EmbeddedSetup& setup) {
  setup.link.bandwidth = 1'000'000'000;
  setup.link.queue_bytes = 4u << 20;
}

void write_pattern(ControllerBench& bench, host::RawQueue& queue, const Bytes& data) {
  const auto blocks = static_cast<std::uint32_t>(data.size() / bench.declared().block_bytes);
  const host::RawReply reply = queue.send(host::write(bench.nsid(), bench.first_lba(), blocks), data).wait();
  if (!reply.ok()) throw CannotArrange{"a Write to prepare the blocks failed"};
}

Bytes read_back(Check& check, ControllerBench& bench, host::RawQueue& queue, std::uint32_t blocks) {
  const std::size_t bytes = std::size_t{blocks} * bench.declared().block_bytes;
  const host::RawReply reply = answered(check, queue.send(host::read(bench.nsid(), bench.first_lba(), blocks), bytes).wait());
  check.require_success(reply, "Read");
  return reply.data;
}

host::RawReply read_into(Check& check, ControllerBench& bench, host::RawQueue& queue, std::uint32_t blocks, const SglDescriptor& sgl) {
  const auto command = host::as_sqe(host::read(bench.nsid(), bench.first_lba(), blocks));
  return answered(check, queue.send_command(with_sgl(command, sgl)).wait());
}

}  // namespace

CONFORMANCE_CASE(read_data_arrives_before_its_response, "fabrics.rdma.read-data.order", roles::controller, needs{&a_namespace},
                 arranged{"a slow link", &slow_link}) {
  host::RawQueue& queue = bench.associate().open_io();
  // Many packets: what comes behind the response is seen to be missing.
  const std::uint64_t most = bench.declared().transfer_max();
  const std::uint64_t wanted = most == 0 ? kMuch : std::min(most, kMuch);
  const auto blocks = static_cast<std::uint32_t>(wanted / bench.declared().block_bytes);
  const std::uint32_t bytes = blocks * bench.declared().block_bytes;
  const Bytes data = pattern(bytes, 1);
  write_pattern(bench, queue, data);
  host::RawQueue::Exposed& memory = queue.expose(Bytes(bytes, kUntouched));
  const host::RawReply reply = read_into(check, bench, queue, blocks, memory.sgl(bytes));
  const Bytes at_response = memory.data;
  check.success(reply, "Read");
  check.bytes("the data when the response is there", at_response, data);
}

CONFORMANCE_CASE(write_data_is_read_from_the_range, "fabrics.rdma.write-data.by-read", roles::controller, needs{&a_namespace}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  // The registration ends with the data: a read beyond it ends the connection.
  Bytes image = pattern(kUneven + bytes, 2);
  host::RawQueue::Exposed& memory = queue.expose(image);
  const auto command = host::as_sqe(host::write(bench.nsid(), bench.first_lba(), blocks));
  const SglDescriptor sgl = memory.sgl(bytes, kUneven);
  check.require_success(answered(check, queue.send_command(with_sgl(command, sgl)).wait()), "Write");
  check.bytes("what was written", read_back(check, bench, queue, blocks), ByteView{image}.subspan(kUneven));
}

CONFORMANCE_CASE(aborted_writes_leave_their_reads_to_others, "fabrics.rdma.write-data.by-read", roles::controller, needs{&a_namespace},
                 arranged{"a slow link", &slow_link}) {
  // More than a controller has reads in flight.
  constexpr std::uint16_t kTimes = 40;
  RawAssociation& association = bench.associate();
  host::RawQueue& queue = association.open_io();
  const std::uint64_t most = bench.declared().transfer_max();
  const std::uint64_t wanted = most == 0 ? kMuch : std::min(most, kMuch);
  const auto blocks = static_cast<std::uint32_t>(wanted / bench.declared().block_bytes);
  const std::uint32_t bytes = blocks * bench.declared().block_bytes;
  const Bytes first = pattern(kUneven + bytes, 0x71), second = pattern(kUneven + bytes, 0x72);
  host::RawQueue::Exposed& memory = queue.expose(first);
  const auto command = host::as_sqe(host::write(bench.nsid(), bench.first_lba(), blocks));
  const auto write = [&](std::uint16_t cid) { return queue.send_capsule(capsule_of(command, cid, memory.sgl(bytes, kUneven), {}), cid); };
  for (std::uint16_t i = 0; i < kTimes; ++i) {
    const auto cid = static_cast<std::uint16_t>(0x700 + i);
    auto written = write(cid);
    check.require_success(answered(check, association.admin().send(host::abort(bench.io_qid(), cid)).wait()), "Abort");
    check.require(answered(check, written.wait()).answered(), "a Write that was to be aborted is answered");
  }
  std::copy(second.begin(), second.end(), memory.data.begin());
  check.require_success(answered(check, write(0x7F0).wait()), "Write after forty that were aborted");
  check.bytes("what was written", read_back(check, bench, queue, blocks), ByteView{second}.subspan(kUneven));
}

CONFORMANCE_CASE(response_is_one_send, "fabrics.rdma.response.single-send", roles::controller) {
  RawAssociation& association = bench.associate({.kato_ms = 60000});
  host::RawQueue& queue = association.admin();
  const auto identify = host::identify(nvme::Cns::controller);
  check.success(answered(check, queue.send(identify, 4096).wait()), "Identify");
  const auto no_data = host::get_features(nvme::FeatureId::number_of_queues);
  check.success(answered(check, queue.send(no_data).wait()), "Get Features");
  if (const Declared& declared = bench.declared(); !declared.known || declared.identify().get(nvme::id_ctrl::kas) != 0) {
    check.success(answered(check, queue.send(host::keep_alive()).wait()), "Keep Alive");
  }
  const auto stray = queue.next_response().wait_for(100_ms);
  check.that(!stray, "each command is answered once", stray && stray->answered() ? "a second response" : "the connection ended");
  expect_association(check, association);
}

CONFORMANCE_CASE(key_is_kept_where_nobody_asked, "fabrics.rdma.invalidate.only-asked", roles::controller, needs{&a_namespace}) {
  RawAssociation& association = bench.associate();
  const auto [blocks, bytes] = extent(bench);
  for (unsigned index = 0; index < std::clamp(unsigned{bench.declared().io_queues}, 1u, 3u); ++index) {
    host::RawQueue& queue = association.open_io(bench.io_qid(index));
    host::RawQueue::Exposed& memory = queue.expose(Bytes(kRoom));
    const host::RawReply reply = read_into(check, bench, queue, blocks, memory.sgl(bytes));
    check.success(reply, "Read");
    check.that(!reply.facts.invalidated, "the response invalidates no key", "it invalidates one");
    const auto command = host::as_sqe(host::write(bench.nsid(), bench.first_lba(), blocks));
    const host::RawReply written = answered(check, queue.send_command(with_sgl(command, memory.sgl(bytes))).wait());
    check.success(written, "Write");
    check.that(!written.facts.invalidated, "the response to a Write invalidates no key", "it invalidates one");
  }
}

CONFORMANCE_CASE(key_of_the_command_is_invalidated, "fabrics.rdma.invalidate.right-key", roles::controller, needs{&a_namespace},
                 needs{&keys_can_be_invalidated}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  host::RawQueue::Exposed& memory = queue.expose(Bytes(kRoom));
  SglDescriptor sgl = memory.sgl(bytes, kUneven);
  sgl.subtype = nvme::sgl_subtype::invalidate_key;
  const host::RawReply reply = read_into(check, bench, queue, blocks, sgl);
  check.success(reply, "Read");
  if (reply.facts.invalidated) {
    check.equal("the key that is invalidated", reply.facts.invalidated_key, memory.key);
  }
}

CONFORMANCE_CASE(admin_command_takes_no_data_in_capsule, "fabrics.rdma.capsule.admin-in-capsule", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto identify = host::as_sqe(host::identify(nvme::Cns::controller));
  const auto command = with_sgl(identify, SglDescriptor::in_capsule(0, 4096));
  const host::RawReply reply = association.admin().send_command(command).wait();
  if (!reply.answered()) {
    check.that(true, "the connection ends");
    return;
  }
  check.status(reply,
               one_of(sc::sgl_descriptor_type_invalid, sc::sgl_offset_invalid, sc::invalid_sgl_segment_descriptor,
                      sc::data_sgl_length_invalid, sc::invalid_field),
               "Identify with an in-capsule descriptor");
}

CONFORMANCE_CASE(short_capsule_is_not_executed, "fabrics.rdma.capsule.short", roles::controller, sends_malformed,
                 reaches{"transport.controller.short_capsule"}) {
  for (const bool io : {false, true}) {
    for (const std::size_t bytes : {std::size_t{63}, std::size_t{48}, std::size_t{4}}) {
      RawAssociation& association = bench.associate();
      host::RawQueue& queue = io ? association.open_io() : association.admin();
      nvme::Sqe command = io ? host::flush(bench.nsid()) : host::keep_alive();
      command.set(nvme::sqe::cid, 0x77u).set(nvme::sqe::psdt, nvme::Psdt::sgl);
      queue.post_capsule(command.bytes().first(bytes));
      const auto reply = queue.next_response().wait_for(500_ms);
      check.that(!reply || !reply->answered(),
                 "a capsule of " + std::to_string(bytes) + " bytes on " + (io ? "an I/O queue" : "the admin queue") + " is not answered",
                 "it is answered");
    }
  }
}

CONFORMANCE_CASE(write_data_in_capsule_is_what_is_written, "fabrics.rdma.in-capsule.accepted", roles::controller, needs{&in_capsule_data}) {
  host::RawQueue& queue = bench.associate().open_io();
  const std::uint32_t block = bench.declared().block_bytes;
  const auto command = host::as_sqe(host::write(bench.nsid(), bench.first_lba(), 1));
  // As much as a capsule holds: the block lies at its beginning, behind that, in the middle and at the very end.
  const std::uint32_t room = std::max(bench.declared().in_capsule_bytes, 2 * block);
  const Bytes data = pattern(room, 3);
  std::uint16_t cid = 0x700;
  for (const std::uint32_t offset : {0u, block, (room / 2) & ~3u, (room - block) & ~3u}) {
    if (offset > room - block) continue;
    const Bytes capsule = capsule_of(command, ++cid, SglDescriptor::in_capsule(offset, block), data);
    check.require_success(answered(check, queue.send_capsule(capsule, cid).wait()), "Write");
    check.bytes("what was written", read_back(check, bench, queue, 1), ByteView{data}.subspan(offset, block));
  }
}

CONFORMANCE_CASE(transport_sgl_type_is_refused, "fabrics.sgl.transport-type", roles::controller, over_rdma, needs{&a_namespace}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  check.status(read_into(check, bench, queue, blocks, SglDescriptor::transport(bytes)), sc::sgl_descriptor_type_invalid);
}

CONFORMANCE_CASE(reserved_sgl_type_is_refused, "fabrics.sgl.reserved-type", roles::controller, needs{&a_namespace}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  SglDescriptor sgl = SglDescriptor::transport(bytes);
  sgl.type = static_cast<nvme::SglType>(0x7);
  sgl.subtype = 0;
  check.status(read_into(check, bench, queue, blocks, sgl), sc::sgl_descriptor_type_invalid);
}

CONFORMANCE_CASE(in_capsule_offset_beyond_capsule_is_refused, "fabrics.sgl.offset-beyond-capsule", roles::controller,
                 needs{&in_capsule_data}) {
  host::RawQueue& queue = bench.associate().open_io();
  const std::uint32_t block = bench.declared().block_bytes;
  write_pattern(bench, queue, pattern(block, 4));
  const auto command = host::as_sqe(host::write(bench.nsid(), bench.first_lba(), 1));
  const bool tcp = bench.transport() == fabrics::kTcp;
  // Over RDMA a full capsule: what lies behind its data is behind all capsules.
  const std::uint32_t room = tcp ? block : bench.declared().in_capsule_bytes;
  std::uint16_t cid = 0x700;
  for (const std::uint64_t offset :
       {std::uint64_t{1} << 20, std::uint64_t{room}, std::uint64_t{room - block + 1}, std::uint64_t{1} << 32, std::uint64_t{1} << 63}) {
    SglDescriptor sgl = SglDescriptor::in_capsule(0, block);
    sgl.address = offset;
    const host::RawReply reply = queue.send_capsule(capsule_of(command, cid, sgl, pattern(room, 5)), cid).wait();
    ++cid;
    if (!reply.answered() && tcp) {
      check.that(true, "the connection ends");  // over TCP this may be taken for a fatal error
      return;
    }
    check.status(answered(check, reply), beyond_its_capsule(), "Write of a block at offset " + std::to_string(offset) + " of its capsule");
    check.bytes("the block afterwards", read_back(check, bench, queue, 1), pattern(block, 4));
    if (tcp) return;
  }
  // The same of a list of descriptors.
  const unsigned msdbd = bench.declared().identify().get(nvme::id_ctrl::msdbd);
  if (msdbd == 1 || room < 64) return;
  Bytes behind = pattern(room, 5);
  host::RawQueue::Exposed& memory = queue.expose(pattern(block, 6));
  for (const std::uint32_t left : {16u, 0u}) {
    const std::uint32_t offset = (room & ~15u) - left;
    if (left > 0) {
      const auto one = memory.sgl(block).bytes();
      std::copy(one.begin(), one.end(), behind.begin() + offset);
    }
    SglDescriptor segment = SglDescriptor::list_in_capsule(0, 0);
    segment.address = offset;
    segment.length = left + SglDescriptor::kSize;
    const host::RawReply reply = answered(check, queue.send_capsule(capsule_of(command, cid, segment, behind), cid).wait());
    ++cid;
    check.that(!reply.ok(), "a Write with a list that ends behind its capsule fails", "it succeeds");
    check.bytes("the block afterwards", read_back(check, bench, queue, 1), pattern(block, 4));
  }
}

CONFORMANCE_CASE(in_capsule_data_of_a_read_is_refused, "fabrics.sgl.in-capsule-read", roles::controller, over_rdma,
                 needs{&in_capsule_data}) {
  host::RawQueue& queue = bench.associate().open_io();
  const std::uint32_t block = bench.declared().block_bytes;
  write_pattern(bench, queue, pattern(block, 4));
  constexpr std::uint16_t kCid = 0x700;
  const auto command = host::as_sqe(host::read(bench.nsid(), bench.first_lba(), 1));
  for (const bool with_room : {true, false}) {
    const auto cid = static_cast<std::uint16_t>(kCid + with_room);
    const Bytes capsule = capsule_of(command, cid, SglDescriptor::in_capsule(0, block), with_room ? pattern(block, 5) : Bytes{});
    const host::RawReply reply = answered(check, queue.send_capsule(capsule, cid).wait());
    check.that(!reply.ok(), "a Read into its own capsule fails", "it succeeds");
  }
}

CONFORMANCE_CASE(sgl_shorter_than_data_is_refused, "fabrics.sgl.too-short", roles::controller, over_rdma, needs{&a_namespace}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  write_pattern(bench, queue, pattern(bytes, 6));
  host::RawQueue::Exposed& memory = queue.expose(Bytes(kRoom, kUntouched));
  const host::RawReply reply = read_into(check, bench, queue, blocks, memory.sgl(bytes / 2));
  check.status(reply, sc::data_sgl_length_invalid, "Read");
  bench.world().run_for(10_ms);
  check.bytes("memory behind the descriptor", ByteView{memory.data}.subspan(bytes / 2), Bytes(kRoom - bytes / 2, kUntouched));
  // In a capsule that has all the data, too.
  const std::uint32_t block = bench.declared().block_bytes;
  if (bench.declared().in_capsule_bytes < block) return;
  std::uint16_t cid = 0x700;
  const auto command = host::as_sqe(host::write(bench.nsid(), bench.first_lba(), 1));
  for (const std::uint32_t length : {block - 4, block / 2, 0u}) {
    const Bytes capsule = capsule_of(command, ++cid, SglDescriptor::in_capsule(0, length), pattern(block, 8));
    check.status(answered(check, queue.send_capsule(capsule, cid).wait()), sc::data_sgl_length_invalid,
                 "Write with " + std::to_string(length) + " bytes of the data in its capsule");
  }
  check.bytes("the blocks afterwards", read_back(check, bench, queue, blocks), pattern(bytes, 6));
}

CONFORMANCE_CASE(sgl_longer_than_data_is_filled_to_the_data, "fabrics.sgl.longer", roles::controller, over_rdma, needs{&a_namespace}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  const Bytes data = pattern(bytes, 7);
  write_pattern(bench, queue, data);
  const std::uint32_t room = bytes + 1024;
  host::RawQueue::Exposed& memory = queue.expose(Bytes(room, kUntouched));
  const host::RawReply reply = read_into(check, bench, queue, blocks, memory.sgl(room));
  const bool accepts = (bench.declared().identify().get(nvme::id_ctrl::sgls) & 1u << 18) != 0;
  if (!accepts && nvme::same_code(reply.status(), sc::data_sgl_length_invalid)) {
    check.status(reply, sc::data_sgl_length_invalid, "Read");
    return;
  }
  check.success(reply, "Read");
  check.bytes("the data", ByteView{memory.data}.first(bytes), data);
  bench.world().run_for(10_ms);
  check.bytes("memory behind the data", ByteView{memory.data}.subspan(bytes), Bytes(room - bytes, kUntouched));
}

}  // namespace fb::conformance
