// NVMe over RDMA, further rules: where data goes, what a response looks like, lists of descriptors in a capsule.
#include <algorithm>

#include "conformance/cases/fabrics/common.h"
#include "conformance/cases/fabrics/own_device.h"
#include "conformance/runner/host_bench.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/rdma_private_data.h"

namespace fb::conformance {

using namespace fabrics_cases;

namespace {

using nvme::SglDescriptor;

constexpr std::uint8_t kUntouched = 0xEE;
constexpr std::uint8_t kUsedAgain = 0x5A;
constexpr std::uint16_t kCid = 0x700;

/// An even number of blocks, as many as 4096 bytes take.
struct Extent {
  std::uint32_t blocks;
  std::uint32_t bytes;
};
Extent extent(ControllerBench& bench) {
  const std::uint32_t block = std::max(bench.declared().block_bytes, 512u);
  const std::uint32_t blocks = std::max(4096 / block, 2u) & ~1u;
  return {blocks, blocks * block};
}

void slow_link(EmbeddedSetup& setup) {
  setup.link.bandwidth = 1'000'000'000;
  setup.link.queue_bytes = 4u << 20;
}

void four_descriptors(EmbeddedSetup& setup) { setup.fabric.msdbd = 4; }

unsigned descriptors_max(ControllerBench& bench) { return bench.declared().identify().get(nvme::id_ctrl::msdbd); }

/// The first blocks of the extent, filled by a Write that is no matter of the case.
Bytes prepare(ControllerBench& bench, host::RawQueue& queue, std::uint32_t blocks, std::uint8_t seed) {
  const Bytes data = pattern(std::size_t{blocks} * bench.declared().block_bytes, seed);
  if (!queue.send(host::write(bench.nsid(), bench.first_lba(), blocks), data).wait().ok()) {
    throw CannotArrange{"a Write to prepare the blocks failed"};
  }
  return data;
}

/// `first` counts from the first block of the case's extent.
host::RawReply read_into(Check& check, ControllerBench& bench, host::RawQueue& queue, std::uint64_t first, std::uint32_t blocks,
                         const SglDescriptor& sgl) {
  const auto command = host::as_sqe(host::read(bench.nsid(), bench.first_lba() + first, blocks));
  return answered(check, queue.send_command(with_sgl(command, sgl)).wait());
}

/// A command whose list of descriptors lies in its capsule; `length` is that of the segment.
host::RawReply send_by_list(Check& check, host::RawQueue& queue, const nvme::Sqe& sqe, const std::vector<SglDescriptor>& list,
                            std::uint32_t length, std::uint32_t offset = 0) {
  Bytes behind;
  const auto add = [&](const SglDescriptor& one) {
    const auto bytes = one.bytes();
    behind.insert(behind.end(), bytes.begin(), bytes.end());
  };
  // Before the list, descriptors in another order: who begins at 0 moves the data to the wrong places.
  for (std::size_t i = 1; behind.size() < offset; ++i) add(list[i % list.size()]);
  behind.resize(offset);
  for (const SglDescriptor& one : list) add(one);
  SglDescriptor segment = SglDescriptor::list_in_capsule(0, 0);
  segment.address = offset;
  segment.length = length;
  const Bytes capsule = capsule_of(sqe, kCid, segment, behind);
  return answered(check, queue.send_capsule(capsule, kCid).wait());
}

host::RawReply read_by_list(Check& check, ControllerBench& bench, host::RawQueue& queue, std::uint32_t blocks,
                            const std::vector<SglDescriptor>& list, std::uint32_t length) {
  return send_by_list(check, queue, host::as_sqe(host::read(bench.nsid(), bench.first_lba(), blocks)), list, length);
}

host::RawReply write_by_list(Check& check, ControllerBench& bench, host::RawQueue& queue, std::uint32_t blocks,
                             const std::vector<SglDescriptor>& list) {
  const auto length = static_cast<std::uint32_t>(list.size() * SglDescriptor::kSize);
  return send_by_list(check, queue, host::as_sqe(host::write(bench.nsid(), bench.first_lba(), blocks)), list, length);
}

/// Memory of the host in pieces of odd lengths that are `bytes` together; with `empty`, the first and the third have none.
struct Pieces {
  Pieces(host::RawQueue& queue, std::size_t count, std::uint32_t bytes, bool empty) {
    while (memory.size() < count) memory.push_back(&queue.expose(Bytes(bytes + kGuard, kUntouched)));
    share(count, bytes, empty);
  }
  /// Begins anew with the first `count` pieces: a queue has slots for a limited number.
  void share(std::size_t count, std::uint32_t bytes, bool empty) {
    list.clear();
    std::uint32_t left = bytes;
    for (std::size_t i = 0; i < count; ++i) {
      const bool last = i + 1 == count;
      const std::uint32_t odd = bytes / 5 + 2 * static_cast<std::uint32_t>(i) + 1;
      const std::uint32_t length = last ? left : empty && i % 2 == 0 ? 0 : std::min(left, odd);
      list.push_back(memory[i]->sgl(length));
      left -= length;
    }
    clear();
  }
  void clear() {
    for (host::RawQueue::Exposed* const one : memory) std::ranges::fill(one->data, kUntouched);
  }
  void fill(ByteView data) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::copy_n(data.begin(), list[i].length, memory[i]->data.begin());
      data = data.subspan(list[i].length);
    }
  }
  /// They hold these bytes, and nothing was put behind any of them.
  void hold(Check& check, ByteView data, std::string_view what) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const ByteView all{memory[i]->data};
      check.bytes(std::string(what) + ", descriptor " + std::to_string(i), all.first(list[i].length), data.first(list[i].length));
      check.bytes("memory behind descriptor " + std::to_string(i), all.subspan(list[i].length),
                  Bytes(all.size() - list[i].length, kUntouched));
      data = data.subspan(list[i].length);
    }
  }
  static constexpr std::size_t kGuard = 16;
  std::vector<host::RawQueue::Exposed*> memory;
  std::vector<SglDescriptor> list;
};

/// As many descriptors as the product takes, within reason.
std::size_t list_length(ControllerBench& bench) {
  const unsigned most = descriptors_max(bench);
  return most == 0 ? 4 : std::min(most, 8u);
}

}  // namespace

CONFORMANCE_CASE(a_response_has_sixteen_bytes, "fabrics.rdma.response.size", roles::controller) {
  RawAssociation& association = bench.associate();
  const auto command = host::get_features(nvme::FeatureId::number_of_queues);
  const host::RawReply reply = association.admin().send(command).wait();
  check.require(reply.answered(), "a response of 16 bytes", reply.end ? reply.end->text : "none");
  check.success(reply, "Get Features");
}

// Asks for nothing that is learned from data: where none arrives, this is the case that says so.
CONFORMANCE_CASE(identify_data_arrives_over_rdma, "fabrics.rdma.read-data.admin", roles::controller) {
  RawAssociation& association = bench.associate({.enable = false});
  const Duration limit = ready_limit(association);
  check.precondition_success(association.set_property(prop::cc, association.enabling_cc()), "Property Set of CC");
  check.precondition(association.wait_csts(1, 1, limit), "CSTS.RDY is 1 within CAP.TO");
  host::RawQueue::Exposed& memory = association.admin().expose(Bytes(nvme::kIdentifySize, kUntouched));
  const auto identify = host::as_sqe(host::identify(nvme::Cns::controller));
  const host::RawReply reply = association.admin().send_command(with_sgl(identify, memory.sgl(nvme::kIdentifySize))).wait();
  const Bytes at_response = memory.data;
  check.require_success(answered(check, reply), "Identify Controller");
  // What follows the power states is the vendor's own, and may look like anything.
  constexpr std::size_t kEnd = 3072, kPiece = 512;
  for (std::size_t at = 0; at < kEnd; at += kPiece) {
    const ByteView piece = ByteView{at_response}.subspan(at, kPiece);
    const bool written = std::any_of(piece.begin(), piece.end(), [](std::uint8_t byte) { return byte != kUntouched; });
    const std::string what = "the data of Identify Controller from byte " + std::to_string(at) + " on is in host memory";
    if (!check.that(written, what, "the memory is as it was")) return;
  }
}

CONFORMANCE_CASE(read_data_goes_to_the_command_s_own_memory, "fabrics.rdma.read-data.complete", roles::controller, needs{&a_namespace}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  const Bytes data = prepare(bench, queue, blocks, 0x21);
  const std::uint32_t half = bytes / 2;
  host::RawQueue::Exposed& first = queue.expose(Bytes(bytes, kUntouched));
  host::RawQueue::Exposed& second = queue.expose(Bytes(bytes, kUntouched));
  check.success(read_into(check, bench, queue, 0, blocks, first.sgl(bytes)), "the first Read");
  check.bytes("memory of the first Read", first.data, data);
  std::fill(first.data.begin(), first.data.end(), kUsedAgain);
  check.success(read_into(check, bench, queue, blocks / 2, blocks / 2, second.sgl(half)), "the second Read");
  check.bytes("memory of the second Read", ByteView{second.data}.first(half), ByteView{data}.last(half));
  check.bytes("memory of the first Read, which the host uses for something else", first.data, Bytes(bytes, kUsedAgain));
}

CONFORMANCE_CASE(memory_is_left_alone_after_the_response, "fabrics.rdma.read-data.ended", roles::controller, needs{&a_namespace},
                 arranged{"a slow link", &slow_link}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  prepare(bench, queue, blocks, 0x22);
  host::RawQueue::Exposed& memory = queue.expose(Bytes(bytes, kUntouched));
  check.success(read_into(check, bench, queue, 0, blocks, memory.sgl(bytes)), "Read");
  std::fill(memory.data.begin(), memory.data.end(), kUsedAgain);
  bench.world().run_for(50_ms);
  check.bytes("memory of a Read that is finished, which the host uses for something else", memory.data, Bytes(bytes, kUsedAgain));
}

CONFORMANCE_CASE(of_two_keys_the_last_is_invalidated, "fabrics.rdma.invalidate.last-key", roles::controller, furnished{&four_descriptors},
                 needs{&lists_in_capsules}, needs{&keys_can_be_invalidated}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  const Bytes data = prepare(bench, queue, blocks, 0x23);
  // Each piece has a key of its own.
  for (std::size_t count = 2; count <= std::min<std::size_t>(list_length(bench), 4); ++count) {
    Pieces pieces(queue, count, bytes, false);
    for (SglDescriptor& one : pieces.list) one.subtype = nvme::sgl_subtype::invalidate_key;
    const host::RawReply reply =
        read_by_list(check, bench, queue, blocks, pieces.list, static_cast<std::uint32_t>(count * SglDescriptor::kSize));
    check.precondition(reply.ok(), "the product takes no list of keyed descriptors");
    pieces.hold(check, data, "what the Read brought");
    if (reply.facts.invalidated) {
      check.equal("the key that is invalidated, of " + std::to_string(count), reply.facts.invalidated_key, pieces.list.back().key);
    }
  }
}

CONFORMANCE_CASE(a_list_of_a_broken_length_is_refused, "fabrics.sgl.list-length", roles::controller, over_rdma,
                 furnished{&four_descriptors}, needs{&lists_in_capsules}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  host::RawQueue::Exposed& memory = queue.expose(Bytes(bytes, kUntouched));
  const std::vector<SglDescriptor> list = {memory.sgl(bytes), memory.sgl(0)};
  for (const std::uint32_t length : {24u, 17u, 31u, 15u}) {
    check.status(read_by_list(check, bench, queue, blocks, list, length),
                 one_of(sc::invalid_sgl_segment_descriptor, sc::invalid_number_of_sgl_descriptors),
                 "Read with a segment of " + std::to_string(length) + " bytes");
  }
  bench.world().run_for(10_ms);
  check.bytes("memory of the Read", memory.data, Bytes(bytes, kUntouched));
}

CONFORMANCE_CASE(a_list_beyond_msdbd_is_refused, "fabrics.sgl.list-count", roles::controller, over_rdma, furnished{&four_descriptors},
                 needs{&lists_in_capsules}) {
  const unsigned most = descriptors_max(bench);
  check.precondition(most != 0, "MSDBD is 0: the product has no limit");
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  host::RawQueue::Exposed& memory = queue.expose(Bytes(bytes, kUntouched));
  std::vector<SglDescriptor> list(most, memory.sgl(0));
  list.push_back(memory.sgl(bytes));
  check.status(read_by_list(check, bench, queue, blocks, list, static_cast<std::uint32_t>(list.size()) * 16),
               sc::invalid_number_of_sgl_descriptors, "Read with one descriptor more than MSDBD");
}

CONFORMANCE_CASE(a_list_of_any_length_moves_all_data, "fabrics.sgl.list-whole", roles::controller, over_rdma, furnished{&four_descriptors},
                 needs{&lists_in_capsules}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  // More than 64 KiB in all, where MDTS and the namespace have room for it.
  constexpr std::uint32_t kLong = 0x20000;
  const std::uint32_t many = kLong / std::max(bench.declared().block_bytes, 512u);
  const std::uint32_t all = many * bench.declared().block_bytes;
  const std::uint64_t most = bench.declared().transfer_max();
  const bool has_room = (most == 0 || most >= all) && bench.declared().blocks >= bench.first_lba() + many;
  Pieces pieces(queue, list_length(bench), has_room ? std::max(all, bytes) : bytes, false);
  std::uint8_t seed = 0x31;
  for (std::size_t count = 1; count <= list_length(bench); ++count) {
    for (const bool empty : {false, true}) {
      const std::string what = "a list of " + std::to_string(count) + " descriptors" + (empty ? ", some of no bytes" : "");
      const Bytes data = prepare(bench, queue, blocks, seed++);
      pieces.share(count, bytes, empty);
      const auto length = static_cast<std::uint32_t>(count * SglDescriptor::kSize);
      if (!check.success(read_by_list(check, bench, queue, blocks, pieces.list, length), "Read with " + what)) return;
      pieces.hold(check, data, "what the Read brought");
      const Bytes written = pattern(bytes, seed++);
      pieces.fill(written);
      if (!check.success(write_by_list(check, bench, queue, blocks, pieces.list), "Write with " + what)) return;
      pieces.clear();
      check.success(read_by_list(check, bench, queue, blocks, pieces.list, length), "Read of what was written");
      pieces.hold(check, written, "what was written");
    }
  }
  if (has_room) {
    const Bytes data = prepare(bench, queue, many, seed++);
    pieces.share(list_length(bench), all, false);
    const auto length = static_cast<std::uint32_t>(pieces.list.size() * SglDescriptor::kSize);
    if (!check.success(read_by_list(check, bench, queue, many, pieces.list, length), "Read of more than 64 KiB")) return;
    pieces.hold(check, data, "what the Read of more than 64 KiB brought");
  }
  // Who takes a list elsewhere in its capsule takes it for what it is.
  const Bytes data = prepare(bench, queue, blocks, seed);
  const std::uint32_t room = bench.declared().in_capsule_bytes;
  constexpr std::uint32_t kTwo = 2 * SglDescriptor::kSize;
  for (const std::uint32_t offset : {std::uint32_t{SglDescriptor::kSize}, (room - kTwo) & ~15u}) {
    pieces.share(2, bytes, false);
    const auto command = host::as_sqe(host::read(bench.nsid(), bench.first_lba(), blocks));
    const host::RawReply reply = send_by_list(check, queue, command, pieces.list, kTwo, offset);
    if (!reply.ok()) return;
    pieces.hold(check, data, "what the Read brought");
  }
}

CONFORMANCE_CASE(a_list_one_byte_short_is_refused, "fabrics.sgl.too-short", roles::controller, over_rdma, furnished{&four_descriptors},
                 needs{&lists_in_capsules}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  const Bytes data = prepare(bench, queue, blocks, 0x41);
  const std::size_t count = list_length(bench);
  for (const bool listed : {false, true}) {
    const Pieces to(queue, listed ? count : 1, bytes - 1, false);
    const auto length = static_cast<std::uint32_t>(to.list.size() * SglDescriptor::kSize);
    const host::RawReply read =
        listed ? read_by_list(check, bench, queue, blocks, to.list, length) : read_into(check, bench, queue, 0, blocks, to.list.front());
    check.status(read, sc::data_sgl_length_invalid, "Read into memory that is a byte short");
    bench.world().run_for(10_ms);
    for (std::size_t i = 0; i < to.list.size(); ++i)
      check.bytes("memory behind descriptor " + std::to_string(i), ByteView{to.memory[i]->data}.subspan(to.list[i].length),
                  Bytes(to.memory[i]->data.size() - to.list[i].length, kUntouched));
    Pieces from(queue, listed ? count : 1, bytes - 1, false);
    from.fill(ByteView{data}.first(bytes - 1));
    const auto command = host::as_sqe(host::write(bench.nsid(), bench.first_lba(), blocks));
    const host::RawReply written = listed ? write_by_list(check, bench, queue, blocks, from.list)
                                          : answered(check, queue.send_command(with_sgl(command, from.list.front())).wait());
    check.status(written, sc::data_sgl_length_invalid, "Write from memory that is a byte short");
  }
  host::RawQueue::Exposed& back = queue.expose(Bytes(bytes, kUntouched));
  check.success(read_into(check, bench, queue, 0, blocks, back.sgl(bytes)), "Read into memory that is just enough");
  check.bytes("the blocks afterwards", back.data, data);
}

CONFORMANCE_CASE(each_descriptor_of_a_list_is_judged, "fabrics.sgl.list-types", roles::controller, over_rdma, furnished{&four_descriptors},
                 needs{&lists_in_capsules}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  prepare(bench, queue, blocks, 0x51);
  const std::size_t count = std::min<std::size_t>(list_length(bench), 4);
  const Pieces to(queue, count, bytes, false);
  for (std::size_t at = 0; at < count; ++at) {
    for (const bool transport : {false, true}) {
      std::vector<SglDescriptor> list = to.list;
      list[at] = transport ? SglDescriptor::transport(list[at].length) : SglDescriptor::in_capsule(0, list[at].length);
      const host::RawReply reply =
          read_by_list(check, bench, queue, blocks, list, static_cast<std::uint32_t>(count * SglDescriptor::kSize));
      check.that(reply.answered() && !reply.ok(), "a Read whose descriptor " + std::to_string(at) + " has no key is refused",
                 "it succeeds");
    }
  }
}

CONFORMANCE_CASE(only_the_key_that_asks_for_it_is_invalidated, "fabrics.rdma.invalidate.only-asked", roles::controller,
                 furnished{&four_descriptors}, needs{&lists_in_capsules}, needs{&keys_can_be_invalidated}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  const Bytes data = prepare(bench, queue, blocks, 0x61);
  // Each of them asks alone, all do, and none does.
  for (const unsigned asks : {1u, 2u, 3u, 0u}) {
    const Pieces to(queue, 2, bytes, false);
    std::vector<SglDescriptor> list = to.list;
    for (std::size_t i = 0; i < 2; ++i) {
      if ((asks >> i & 1) != 0) list[i].subtype = nvme::sgl_subtype::invalidate_key;
    }
    const host::RawReply reply = read_by_list(check, bench, queue, blocks, list, 32);
    check.precondition(reply.ok(), "the product takes no list of two keyed descriptors");
    to.hold(check, data, "what the Read brought");
    if (!reply.facts.invalidated) continue;
    const bool first = (asks & 1) != 0 && reply.facts.invalidated_key == list[0].key;
    const bool last = (asks & 2) != 0 && reply.facts.invalidated_key == list[1].key;
    check.that(first || last, "the key that is invalidated is one that asked for it", "it is another");
  }
}

CONFORMANCE_CASE(an_unknown_subtype_of_a_key_is_refused, "fabrics.sgl.keyed-subtype", roles::controller, over_rdma, needs{&a_namespace}) {
  host::RawQueue& queue = bench.associate().open_io();
  const auto [blocks, bytes] = extent(bench);
  host::RawQueue::Exposed& memory = queue.expose(Bytes(bytes, kUntouched));
  SglDescriptor sgl = memory.sgl(bytes);
  // An offset in the capsule is another type's; the others are reserved.
  for (const unsigned subtype : {2u, 1u, 4u, 8u, 9u}) {
    sgl.subtype = static_cast<std::uint8_t>(subtype);
    check.status(read_into(check, bench, queue, 0, blocks, sgl), sc::sgl_descriptor_type_invalid,
                 "Read with subtype " + std::to_string(subtype));
  }
}

CONFORMANCE_CASE(a_long_admin_capsule_is_not_executed, "fabrics.rdma.capsule.admin-long", roles::controller, sends_malformed) {
  RawAssociation& association = bench.associate();
  const auto sqe = host::as_sqe(host::get_features(nvme::FeatureId::number_of_queues));
  const Bytes capsule = capsule_of(sqe, kCid, SglDescriptor::keyed(0, 0, 0), Bytes(16));
  association.admin().post_capsule(capsule);
  const auto reply = association.admin().next_response().wait_for(500_ms);
  check.that(!reply || !reply->ok(), "an admin capsule of 80 bytes is not executed", "it is");
}

CONFORMANCE_CASE(host_admin_capsules_have_no_data, "fabrics.rdma.host.admin-capsule", roles::host) {
  // A controller that looks away: what the host says is judged here, not there.
  bench.script.refuses = [](const CommandContext&, subsystem::Refusal&) { return false; };
  bench.script.departs = [](std::string_view point) { return point == "rdma.capsule.admin_room"; };
  bench.product().connect({}).wait_for(30_s);
  const auto admin = bench.commands(0);
  check.precondition(!admin.empty(), "commands arrive");
  for (const SeenCommand* seen : admin) check.equal("bytes of an admin capsule", seen->capsule.size(), 64);
}

CONFORMANCE_CASE(host_request_names_its_controller, "fabrics.rdma.host.cntlid", roles::host) {
  bench.script.refuses = [](const CommandContext&, subsystem::Refusal&) { return false; };
  constexpr std::uint16_t kQueues = 3;
  bench.product().connect({.io_queues = kQueues}).wait_for(30_s);
  check.precondition(bench.requests().size() == 1 + kQueues, "connection requests for the admin queue and three I/O queues");
  bool all_named = true, any_named = false;
  for (std::uint16_t queue = 0; queue <= kQueues; ++queue) {
    const auto connects = bench.commands(queue);
    check.precondition(
        !connects.empty() && connects.front()->fctype() == 0x01 && connects.front()->data.size() == fabrics::ConnectData::size,
        "the first command of each queue is Connect");
    const std::uint16_t cntlid = View<fabrics::ConnectData>{connects.front()->data}.get(fabrics::connect_data::cntlid);
    const auto request = View<fabrics::RdmaRequest>::over(bench.requests()[queue]);
    check.require(request.has_value(), "32 bytes of private data", "fewer");
    const std::uint16_t named = request->get(fabrics::rdma_request::cntlid);
    if (queue == 0) {
      check.equal("CNTLID in the request of the admin queue", named, 0u);
    } else {
      // The field was reserved before it had a name.
      check.equal("CNTLID in the request of I/O queue " + std::to_string(queue), named, OneOf<std::uint16_t>{{0, cntlid}});
      all_named = all_named && named != 0;
      any_named = any_named || named != 0;
    }
  }
  // A host knows the field or does not know it.
  check.that(all_named == any_named, "the requests of all I/O queues name the controller, or none does", "some do");
}

}  // namespace fb::conformance
