// The SGL table and the table of connection requests.
#include <gtest/gtest.h>

#include <set>

#include "model/transport/fault_points.h"
#include "model/transport/rdma_rules.h"
#include "tests/model/transport/channel_bench.h"

namespace fb::transport {
namespace {

using nvme::SglDescriptor;
using nvme::SglType;
using Kind = SglPlan::Kind;
namespace sc = nvme::sc;

struct SglRow {
  const char* name;
  SglDescriptor descriptor;
  std::size_t bytes;
  nvme::Status status;
  Kind kind = Kind::none;
};

nvme::Status check(const SglDescriptor& descriptor, std::uint8_t opcode, ByteView behind, const SglLimits& limits, std::size_t bytes,
                   SglPlan& plan, TransportHooks* hooks = nullptr) {
  nvme::Sqe sqe = testing::HostQueue::make(opcode, 1, bytes);
  const auto raw = descriptor.bytes();
  sqe.set(nvme::sqe::sgl1, ByteView{raw});
  return read_sgl(sqe.bytes(), behind, limits, bytes, hooks, plan);
}

TEST(SglRules, IoQueueTable) {
  const Bytes behind(4096);
  const SglLimits limits{4096, 4};
  const SglRow rows[] = {
      {"keyed", SglDescriptor::keyed(1, 512, 7), 512, {}, Kind::keyed},
      {"keyed, invalidate", SglDescriptor::keyed(1, 512, 7, true), 512, {}, Kind::keyed},
      {"keyed, longer", SglDescriptor::keyed(1, 4096, 7), 512, {}, Kind::keyed},
      {"keyed, shorter", SglDescriptor::keyed(1, 511, 7), 512, sc::data_sgl_length_invalid},
      {"keyed, empty", SglDescriptor::keyed(0, 0, 0), 0, {}, Kind::keyed},
      {"keyed, subtype 1", {SglType::keyed_data_block, 1, 1, 512, 7}, 512, sc::sgl_descriptor_type_invalid},
      {"keyed, subtype Ah", {SglType::keyed_data_block, 10, 1, 512, 7}, 512, sc::sgl_descriptor_type_invalid},
      {"in capsule", SglDescriptor::in_capsule(0, 4096), 4096, {}, Kind::in_capsule},
      {"in capsule, behind", SglDescriptor::in_capsule(3584, 512), 512, {}, Kind::in_capsule},
      {"in capsule, leaves", SglDescriptor::in_capsule(3585, 512), 512, sc::sgl_offset_invalid},
      {"in capsule, far", SglDescriptor::in_capsule(~0ull - 511, 512), 512, sc::sgl_offset_invalid},
      {"in capsule, short", SglDescriptor::in_capsule(0, 511), 512, sc::data_sgl_length_invalid},
      {"address", {SglType::data_block, 0, 0, 512, 0}, 512, sc::sgl_descriptor_type_invalid},
      {"bit bucket", {SglType::bit_bucket, 0, 0, 512, 0}, 512, sc::sgl_descriptor_type_invalid},
      {"segment", {SglType::segment, 1, 0, 16, 0}, 512, sc::sgl_descriptor_type_invalid},
      {"transport", SglDescriptor::transport(512), 512, sc::sgl_descriptor_type_invalid},
      {"vendor", {SglType::vendor, 0, 0, 512, 0}, 512, sc::sgl_descriptor_type_invalid},
      {"list by address", {SglType::last_segment, 0, 0, 16, 0}, 512, sc::sgl_descriptor_type_invalid},
      {"list, empty", SglDescriptor::list_in_capsule(0, 0), 512, sc::invalid_sgl_segment_descriptor},
      {"list, odd", {SglType::last_segment, 1, 0, 24, 0}, 512, sc::invalid_sgl_segment_descriptor},
      {"list, leaves", SglDescriptor::list_in_capsule(4096, 1), 512, sc::sgl_offset_invalid},
      {"list, wraps", SglDescriptor::list_in_capsule(~0ull - 15, 2), 512, sc::sgl_offset_invalid},
      {"list, too many", SglDescriptor::list_in_capsule(0, 5), 512, sc::invalid_number_of_sgl_descriptors},
      {"list of zeroes", SglDescriptor::list_in_capsule(0, 4), 0, sc::sgl_descriptor_type_invalid},
  };
  for (const SglRow& row : rows) {
    SglPlan plan;
    EXPECT_EQ(check(row.descriptor, testing::kWrite, behind, limits, row.bytes, plan), row.status) << row.name;
    if (row.status.ok()) {
      EXPECT_EQ(plan.kind, row.kind) << row.name;
    }
  }
}

TEST(SglRules, Lists) {
  Bytes behind(64);
  const auto put = [&](std::size_t at, const SglDescriptor& descriptor) {
    const auto raw = descriptor.bytes();
    std::copy(raw.begin(), raw.end(), behind.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(16, SglDescriptor::keyed(0x1000, 100, 1, true));
  put(32, SglDescriptor::keyed(0x2000, 0, 2));
  put(48, SglDescriptor::keyed(0x3000, 200, 3, true));
  const auto list = SglDescriptor::list_in_capsule(16, 3);
  SglPlan plan;
  EXPECT_TRUE(check(list, testing::kWrite, behind, {4096, 16}, 300, plan).ok());
  EXPECT_EQ(plan.segments, 3);
  EXPECT_EQ(plan.first.key, 1u);
  EXPECT_EQ(plan.last.key, 3u);
  EXPECT_TRUE(plan.last.invalidate);
  EXPECT_EQ(segment_of(plan, behind, 1).address, 0x2000u);
  EXPECT_EQ(check(list, testing::kWrite, behind, {4096, 16}, 301, plan), sc::data_sgl_length_invalid);
  EXPECT_EQ(check(list, testing::kWrite, behind, {4096, 2}, 300, plan), sc::invalid_number_of_sgl_descriptors);
  put(32, SglDescriptor::in_capsule(0, 16));
  EXPECT_EQ(check(list, testing::kWrite, behind, {4096, 16}, 300, plan), sc::sgl_descriptor_type_invalid);
  // Data for the host cannot travel in a command capsule.
  EXPECT_EQ(check(SglDescriptor::in_capsule(0, 16), testing::kRead, behind, {4096, 16}, 16, plan), sc::sgl_descriptor_type_invalid);
  // Nothing lies behind a command of the admin queue.
  EXPECT_EQ(check(SglDescriptor::in_capsule(0, 16), testing::kWrite, {}, {0, 16}, 16, plan), sc::sgl_descriptor_type_invalid);
  EXPECT_EQ(check(list, testing::kWrite, {}, {0, 16}, 16, plan), sc::sgl_descriptor_type_invalid);
}

TEST(SglRules, AnyBytesHaveAnAnswer) {
  Rng rng(5, "sgl");
  for (int i = 0; i < 200000; ++i) {
    Bytes sqe(64), behind(rng.below(200));
    rng.fill(sqe);
    rng.fill(behind);
    if (rng.chance(1, 2)) sqe[39] = static_cast<std::uint8_t>(rng.chance(1, 2) ? 0x31 : 0x01);
    if (rng.chance(1, 2)) store_le<std::uint64_t>(&sqe[24], rng.below(220));
    if (rng.chance(1, 2)) store_le<std::uint32_t>(&sqe[32], static_cast<std::uint32_t>(rng.below(220)));
    for (std::size_t at = 15; at < behind.size(); at += 16) behind[at] = 0x40;
    SglPlan plan;
    const std::size_t bytes = rng.below(10000);
    if (!read_sgl(sqe, behind, {200, 16}, bytes, nullptr, plan).ok()) continue;
    std::uint64_t sum = 0;
    for (std::size_t s = 0; s < plan.segments; ++s) sum += segment_of(plan, behind, s).length;
    if (plan.kind == SglPlan::Kind::in_capsule) {
      EXPECT_LE(plan.offset + bytes, behind.size());
    } else {
      EXPECT_GE(sum, bytes);
    }
  }
}

TEST(QueueRequests, Table) {
  namespace f = fabrics::rdma_request;
  using Sts = fabrics::RdmaRejectStatus;
  ControllerFabricOptions options;
  options.io_queues_max = 4;
  struct Row {
    const char* point;
    std::optional<Sts> status;
    std::function<void(Record<fabrics::RdmaRequest>&)> change;
    std::uint8_t reads = 16;
    std::size_t size = 32;
    std::uint32_t connections = 0;
  };
  const Row rows[] = {
      {"", std::nullopt, [](auto&) {}},
      {"", std::nullopt, [](auto& r) { r.set(f::qid, 4u).set(f::hsqsize, 127u); }},
      {"", std::nullopt, [](auto& r) { r.set(f::cntlid, 77u); }},
      {"private_data_length", Sts::invalid_private_data_length, [](auto&) {}, 16, 31},
      {"private_data_length", Sts::invalid_private_data_length, [](auto&) {}, 16, 0},
      {"recfmt", Sts::invalid_recfmt, [](auto& r) { r.set(f::recfmt, 1u); }},
      {"qid", Sts::invalid_qid, [](auto& r) { r.set(f::qid, 5u); }},
      {"hsqsize_minimum", Sts::invalid_hsqsize, [](auto& r) { r.set(f::hsqsize, 0u); }},
      {"hsqsize_maximum", Sts::invalid_hsqsize, [](auto& r) { r.set(f::hsqsize, 32u); }},
      {"hsqsize_maximum", Sts::invalid_hsqsize, [](auto& r) { r.set(f::qid, 1u).set(f::hsqsize, 128u); }},
      {"hrqsize", Sts::invalid_hrqsize, [](auto& r) { r.set(f::hrqsize, 0u); }},
      {"responder_resources", Sts::invalid_ird, [](auto&) {}, 0},
      {"resources", Sts::no_resources, [](auto&) {}, 16, 32, 4096},
  };
  for (const Row& row : rows) {
    Record<fabrics::RdmaRequest> request;
    request.set(f::hrqsize, 32u).set(f::hsqsize, 31u);
    row.change(request);
    const ByteView data = request.bytes().first(row.size);
    const auto refusal = check_queue_request(data, row.reads, options, row.connections, nullptr);
    ASSERT_EQ(refusal.has_value(), row.status.has_value()) << row.point;
    if (!refusal || row.size == 0) continue;
    EXPECT_EQ(refusal->status, *row.status) << row.point;
    EXPECT_EQ(refusal->check, "rdma.reject." + std::string(row.point));
    testing::TestHooks hooks;
    hooks.set(refusal->check);
    EXPECT_FALSE(check_queue_request(data, row.reads, options, row.connections, &hooks)) << row.point;
  }
}

TEST(FaultPoints, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const FaultPoint& point : kTransportFaultPoints) {
    EXPECT_TRUE(names.insert(point.name).second) << point.name;
    EXPECT_FALSE(point.breaks.empty());
  }
}

}  // namespace
}  // namespace fb::transport
