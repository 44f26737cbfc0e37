// Memory keys: who may touch what.
#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {
namespace {

using roce::Opcode;

/// A WRITE and, on a connection of its own, a READ are refused with a remote access error; `memory`
/// stays as it was.
void access_refused(RdmaBench& bench, Check& check, const VerbsMemory& memory, const Remote& at) {
  const Bytes before = memory.bytes;
  const auto writing = bench.connect_to_product();
  bench.peer().send(write_only(writing, 0, at, pattern(at.length)));
  refused_with(bench, check, {kAccessError}, "answer to the WRITE");
  check.bytes("memory after the WRITE", memory.bytes, before);
  const auto reading = bench.connect_to_product();
  bench.peer().inbox().clear();
  bench.peer().send(read_request(reading, 0, at));
  refused_with(bench, check, {kAccessError}, "answer to the READ");
}

}  // namespace

CONFORMANCE_CASE(an_unknown_key_gives_no_access, "rdma.key.unknown", roles::responder) {
  auto& memory = bench.product().memory(64);
  // Another index, and the right index with another key byte.
  for (const std::uint32_t flip : {0x00F00000u, 0x00000001u}) {
    access_refused(bench, check, memory, {memory.address(), memory.rkey() ^ flip, 64});
  }
}

CONFORMANCE_CASE(access_behind_the_region_is_refused, "rdma.key.range", roles::responder) {
  auto& memory = bench.product().memory(64);
  access_refused(bench, check, memory, {memory.address() + 32, memory.rkey(), 36});
}

CONFORMANCE_CASE(access_before_the_region_is_refused, "rdma.key.range", roles::responder) {
  auto& memory = bench.product().memory(64);
  access_refused(bench, check, memory, {memory.address() - 4, memory.rkey(), 8});
}

CONFORMANCE_CASE(access_that_wraps_around_is_refused, "rdma.key.range", roles::responder) {
  auto& memory = bench.product().memory(64);
  access_refused(bench, check, memory, {0xFFFFFFFFFFFFFFF8, memory.rkey(), 16});
}

CONFORMANCE_CASE(access_without_the_right_is_refused, "rdma.key.permission", roles::responder) {
  auto& memory = bench.product().memory(64, rdma::Access::local_write);
  access_refused(bench, check, memory, all_of(memory));
}

CONFORMANCE_CASE(a_key_of_another_domain_is_refused, "rdma.key.protection-domain", roles::responder,
                 beyond_networkdirect("a NetworkDirect adapter is one protection domain")) {
  auto& memory = bench.product().foreign_memory(64);
  access_refused(bench, check, memory, all_of(memory));
}

CONFORMANCE_CASE(an_invalidated_key_gives_no_access, "rdma.key.invalidated", roles::responder, needs(registers_by_requests),
                 beyond_networkdirect("NetworkDirect has no fast registration")) {
  const auto c = bench.connect_to_product();
  const Remote at = fast_registered(check, c, bench.product().fast_memory(64));
  bench.peer().send(write_only(c, 0, at, pattern(64)));
  acknowledged(bench, check, c, 0, "a WRITE under the valid key");
  bench.peer().send(invalidating_send(c, 1, at.rkey));
  acknowledged(bench, check, c, 1, "a SEND with invalidate");
  bench.peer().send(write_only(c, 2, at, pattern(64)));
  refused_with(bench, check, {kAccessError}, "answer to a WRITE under the invalidated key");
}

}  // namespace fb::conformance
