// Memory regions: rights, lengths, addresses, and their end.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

/// Registers `length` bytes of a chain with a fresh region.
NdkStatus register_chain(NdkBench& ndk, MDL* mdl, SIZE_T length) {
  NDK_MR* const region = ndk.a().region();
  return ndk.request([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, mdl, length, 0, c, x); });
}

NdkStatus deregister(NdkBench& ndk, NDK_MR* region) {
  return ndk.request([&](auto c, PVOID x) { return region->Dispatch->NdkDeregisterMr(region, c, x); });
}

}  // namespace

CONFORMANCE_CASE(ndk_a_region_serves_the_peer, "ndk.mr.remote", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const UINT32 token = c.b.memory->remote;
  says(check, "a Read", access(ndk, check, c, true, c.b.memory->address(100), token), {STATUS_SUCCESS});
  says(check, "a Write", access(ndk, check, c, false, c.b.memory->address(100), token), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_a_local_region_serves_nobody_else, "ndk.mr.no-remote", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const NdkMemory& local = ndk.b().memory(4096, NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
  refused(check, "a Read of a local region", access(ndk, check, c, true, local.address(), local.remote));
}

CONFORMANCE_CASE(ndk_a_readable_region_is_not_written, "ndk.mr.read-only", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const NdkMemory& readable = ndk.b().memory(4096, NDK_MR_FLAG_ALLOW_REMOTE_READ);
  says(check, "a Read", access(ndk, check, c, true, readable.address(), readable.remote), {STATUS_SUCCESS});
  refused(check, "a Write", access(ndk, check, c, false, readable.address(), readable.remote));
}

CONFORMANCE_CASE(ndk_receives_want_the_right_to_write, "ndk.mr.local-write", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.b.memory = &ndk.b().memory(4096, NDK_MR_FLAG_ALLOW_LOCAL_READ);
  const NdkStatus posted = c.b.receive(1, 0, 64);
  if (posted.failed()) return static_cast<void>(refused(check, "NdkReceive", posted));
  arranged_by(check, "NdkSend", c.a.send(2, 100, 16));
  ends_badly(ndk, check, c.b, "a Receive to a region that is read alone");
  check.equal("the first byte of the region", c.b.memory->bytes[0], std::uint8_t{0});
}

CONFORMANCE_CASE(ndk_a_region_is_not_longer_than_its_memory, "ndk.mr.length", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkMemory& memory = ndk.a().plain_memory(3000);
  refused(check, "NdkRegisterMr of 3500 bytes of 3000", register_chain(ndk, &memory.mdl, 3500));
}

CONFORMANCE_CASE(ndk_regions_have_their_flags, "ndk.mr.flags", roles::provider) {
  constexpr ULONG kFlags =
      NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE | NDK_MR_FLAG_RDMA_READ_SINK;
  NdkBench& ndk = bench.ndk();
  NdkMemory& memory = ndk.a().plain_memory(4096);
  for (unsigned bit = 0; bit < 32; ++bit) {
    const ULONG flag = ULONG{1} << bit;
    if ((flag & kFlags) != 0) continue;
    NDK_MR* const region = ndk.a().region();
    refused(check, "NdkRegisterMr with the flag " + words(flag), ndk.request([&](auto c, PVOID x) {
      return region->Dispatch->NdkRegisterMr(region, &memory.mdl, 4096, NDK_MR_FLAG_ALLOW_LOCAL_WRITE | flag, c, x);
    }));
  }
}

CONFORMANCE_CASE(ndk_a_region_has_no_gaps, "ndk.mr.chain", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkMemory& memory = ndk.a().plain_memory(16384);
  MDL first, second;
  MmInitializeMdl(&first, memory.at(0), 4096);
  MmInitializeMdl(&second, memory.at(8192), 4096);
  first.Next = &second;
  refused(check, "NdkRegisterMr of two pages that do not lie side by side", register_chain(ndk, &first, 8192));
  MmInitializeMdl(&second, memory.at(4096), 4096);
  says(check, "NdkRegisterMr of two that do", register_chain(ndk, &first, 8192), {STATUS_SUCCESS});
  // The peer reaches each of them.
  NdkConnection& c = ndk.connect();
  NdkMemory& there = ndk.b().plain_memory(8192);
  std::fill(there.bytes.begin() + 4096, there.bytes.end(), std::uint8_t{0x4D});
  MmInitializeMdl(&first, there.at(0), 4096);
  MmInitializeMdl(&second, there.at(4096), 4096);
  first.Next = &second;
  NDK_MR* const region = ndk.b().region();
  const NdkStatus registered =
      ndk.request([&](auto done, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &first, 8192, kNdkAllRights, done, x); });
  check.require(says(check, "NdkRegisterMr of a chain", registered, {STATUS_SUCCESS}), "the chain is registered");
  const UINT32 token = region->Dispatch->NdkGetRemoteTokenFromMr(region);
  for (const std::size_t at : {std::size_t{0}, std::size_t{4088}, std::size_t{8176}}) {
    const std::string what = "a Read from byte " + std::to_string(at) + " of a chain";
    if (!says(check, what, access(ndk, check, c, true, there.address(at), token, 16), {STATUS_SUCCESS})) break;
    check.bytes("what " + what + " brought", ByteView(c.a.memory->bytes).subspan(8192, 16), ByteView(there.bytes).subspan(at, 16));
  }
}

CONFORMANCE_CASE(ndk_a_region_begins_at_its_address, "ndk.mr.base", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.b.memory->bytes[300] = 0xE7;
  check.require(says(check, "a Read", access(ndk, check, c, true, c.b.memory->address(300), c.b.memory->remote), {STATUS_SUCCESS}),
                "the Read succeeds");
  check.equal("the byte that was read", c.a.memory->bytes[8192], std::uint8_t{0xE7});
}

CONFORMANCE_CASE(ndk_a_deregistered_region_serves_nobody, "ndk.mr.deregister", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const NdkMemory& more = ndk.b().memory(4096);
  says(check, "a Read", access(ndk, check, c, true, more.address(), more.remote), {STATUS_SUCCESS});
  says(check, "NdkDeregisterMr", deregister(ndk, more.region), {STATUS_SUCCESS});
  refused(check, "a Read afterwards", access(ndk, check, c, true, more.address(), more.remote));
}

CONFORMANCE_CASE(ndk_a_region_with_windows_stays, "ndk.mr.deregister-bound", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NDK_MW* const window = ndk.b().window();
  arranged_by(
      check, "NdkBind",
      c.b.qp->Dispatch->NdkBind(c.b.qp, nullptr, c.b.memory->region, window, c.b.memory->at(0), 100, NDK_OP_FLAG_ALLOW_REMOTE_READ));
  ends_as(ndk, check, c.b, "the Bind", {STATUS_SUCCESS});
  refused(check, "NdkDeregisterMr with a window bound", deregister(ndk, c.b.memory->region));
}

CONFORMANCE_CASE(ndk_a_region_ends, "ndk.mr.bounds", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const NdkMemory& memory = ndk.b().memory(4096);
  says(check, "a Read of the last bytes", access(ndk, check, c, true, memory.address(4080), memory.remote), {STATUS_SUCCESS});
  refused(check, "a Read of one byte more", access(ndk, check, c, true, memory.address(4080), memory.remote, 17));
}

CONFORMANCE_CASE(ndk_a_region_has_one_registration, "ndk.mr.one", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkMemory& memory = ndk.a().memory(4096);
  refused(check, "NdkRegisterMr of a region that is registered",
          ndk.request([&](auto c, PVOID x) { return memory.region->Dispatch->NdkRegisterMr(memory.region, &memory.mdl, 4096, 0, c, x); }));
  // Nor two at the same time; and each of them ends once.
  NDK_MR* const region = ndk.a().region();
  NdkMemory& more = ndk.a().plain_memory(4096);
  const auto both = [&](const std::string& what, auto&& call) {
    const NdkAnswer &first = ndk.begin(call), &second = ndk.begin(call);
    says(check, what, ndk.finish(first), {STATUS_SUCCESS});
    refused(check, what + " before the first one has ended", ndk.finish(second));
  };
  both("NdkRegisterMr", [&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &more.mdl, 4096, 0, c, x); });
  both("NdkDeregisterMr", [&](auto c, PVOID x) { return region->Dispatch->NdkDeregisterMr(region, c, x); });
}

CONFORMANCE_CASE(ndk_a_region_may_be_registered_again, "ndk.mr.again", roles::provider) {
  constexpr std::size_t kFirst = 100, kLength = 5000;
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NdkMemory& before = ndk.b().memory(4096);
  NDK_MR* const region = before.region;
  says(check, "NdkDeregisterMr", deregister(ndk, region), {STATUS_SUCCESS});
  NdkMemory& room = ndk.b().plain_memory(2 * PAGE_SIZE);
  MDL& mdl = ndk.keep(std::make_unique<MDL>());
  MmInitializeMdl(&mdl, room.at(kFirst), kLength);
  const NdkStatus again =
      ndk.request([&](auto done, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &mdl, kLength, kNdkAllRights, done, x); });
  check.require(says(check, "NdkRegisterMr of other memory", again, {STATUS_SUCCESS}), "the region is registered again");
  // All that the region is for is the new memory now.
  const UINT32 token = region->Dispatch->NdkGetRemoteTokenFromMr(region);
  const std::size_t last = kFirst + kLength - 16;
  says(check, "a Read of the last bytes", access(ndk, check, c, true, room.address(last), token), {STATUS_SUCCESS});
  check.bytes("what was read", ByteView(c.a.memory->bytes).subspan(8192, 16), ByteView(room.bytes).subspan(last, 16));
  says(check, "a Write to the first bytes", access(ndk, check, c, false, room.address(kFirst), token), {STATUS_SUCCESS});
  check.bytes("what was written", ByteView(room.bytes).subspan(kFirst, 16), ByteView(c.a.memory->bytes).subspan(8192, 16));
  NDK_MW* const window = ndk.b().window();
  const NdkStatus bound = c.b.qp->Dispatch->NdkBind(c.b.qp, ndk_tag(6), region, window, room.at(last), 16, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  if (says(check, "NdkBind to the last bytes", bound, {STATUS_SUCCESS})) ends_as(ndk, check, c.b, "the Bind", {STATUS_SUCCESS});
  refused(check, "a Read of the memory before", access(ndk, check, c, true, before.address(), token));
}

CONFORMANCE_CASE(ndk_a_read_sink_takes_reads, "ndk.mr.read-sink", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  c.a.memory = &ndk.a().memory(4096, NDK_MR_FLAG_RDMA_READ_SINK);
  arranged_by(check, "NdkRead", c.a.read(1, 100, 64, c.b.memory->address(777), c.b.memory->remote));
  ends_as(ndk, check, c.a, "a Read into a region with NDK_MR_FLAG_RDMA_READ_SINK", {STATUS_SUCCESS});
  check.bytes("what was read", ByteView(c.a.memory->bytes).subspan(100, 64), ByteView(c.b.memory->bytes).subspan(777, 64));
}

CONFORMANCE_CASE(ndk_a_fast_region_is_not_registered_otherwise, "ndk.mr.kind", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkMemory& memory = ndk.a().plain_memory(4096);
  NDK_MR* const region = ndk.a().region(true);
  refused(check, "NdkRegisterMr of a region for fast registration",
          ndk.request([&](auto c, PVOID x) { return region->Dispatch->NdkRegisterMr(region, &memory.mdl, 4096, 0, c, x); }));
}

}  // namespace fb::conformance
