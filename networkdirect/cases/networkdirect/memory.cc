// Memory regions: registering, rights, what peers see of them.
#include "networkdirect/cases/networkdirect/scene.h"

namespace fb::conformance {
namespace {

/// A region of a part of some memory, which the case registers itself.
struct Part {
  Part(ProviderBench& bench, NdEnd& end) : memory(bench.nd().memory().take(8192)), region(end.empty_region()) {
    std::ranges::fill(memory, std::uint8_t{0x11});
  }
  NdStatus make(ProviderBench& bench, const void* at, SIZE_T length, ULONG flags = kNdAllRights) {
    return ended(bench, region->Register(at, length, flags, &request), request, *region);
  }
  NdStatus drop(ProviderBench& bench) { return ended(bench, region->Deregister(&back), back, *region); }
  MutableBytes memory;
  NdRequest request, back;
  NdRef<IND2MemoryRegion> region;
};

void registered(ProviderBench& bench, Check& check, Part& part, SIZE_T length = 4096, ULONG flags = kNdAllRights) {
  check.precondition(part.make(bench, part.memory.data(), length, flags) == ND_SUCCESS, "Register succeeds");
}

}  // namespace

CONFORMANCE_CASE(nd_a_registration_completes, "networkdirect.memory.register", roles::provider) {
  Part part(bench, bench.nd().a());
  says(check, "Register", part.make(bench, part.memory.data(), 8192), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_nothing_is_not_registered, "networkdirect.memory.register-nothing", roles::provider) {
  Part part(bench, bench.nd().a());
  says(check, "Register of nothing nowhere", part.make(bench, nullptr, 0), {ND_INVALID_PARAMETER});
  says(check, "Register of nothing somewhere", part.make(bench, part.memory.data(), 0), {ND_INVALID_BUFFER_SIZE});
}

CONFORMANCE_CASE(nd_memory_must_be_there, "networkdirect.memory.register-unmapped", roles::provider) {
  Part part(bench, bench.nd().a());
  says(check, "Register of the second page", part.make(bench, nd_tag(4096), 64), {ND_ACCESS_VIOLATION});
}

CONFORMANCE_CASE(nd_a_region_has_its_limit, "networkdirect.memory.register-large", roles::provider) {
  const SIZE_T most = bench.nd().a().info().MaxRegistrationSize;
  check.precondition(most < ~SIZE_T{0}, "there is a size above the limit");
  Part part(bench, bench.nd().a());
  refused(check, "Register of more than the limit", part.make(bench, part.memory.data(), most + 1));
}

CONFORMANCE_CASE(nd_regions_have_their_flags, "networkdirect.memory.register-flags", roles::provider) {
  constexpr ULONG kFlags = ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_ALLOW_REMOTE_READ | ND_MR_FLAG_ALLOW_REMOTE_WRITE |
                           ND_MR_FLAG_RDMA_READ_SINK | ND_MR_FLAG_DO_NOT_SECURE_VM;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const ULONG flag = ULONG{1} << bit;
    if ((flag & kFlags) != 0) continue;
    Part part(bench, bench.nd().a());
    refused(check, "Register with the flag " + std::to_string(flag), part.make(bench, part.memory.data(), 4096, kNdAllRights | flag));
  }
}

CONFORMANCE_CASE(nd_an_empty_region_is_not_deregistered, "networkdirect.memory.deregister-none", roles::provider) {
  Part part(bench, bench.nd().a());
  refused(check, "Deregister of a region that has no buffer", part.drop(bench));
  registered(bench, check, part);
  says(check, "Deregister", part.drop(bench), {ND_SUCCESS});
  refused(check, "a second Deregister", part.drop(bench));
}

CONFORMANCE_CASE(nd_a_region_has_one_buffer, "networkdirect.memory.register-one", roles::provider) {
  NdRequest again;
  Part part(bench, bench.nd().a());
  registered(bench, check, part);
  const HRESULT called = part.region->Register(part.memory.data() + 4096, 4096, kNdAllRights, &again);
  refused(check, "Register of another buffer", ended(bench, called, again, *part.region));
}

CONFORMANCE_CASE(nd_a_region_is_used_again, "networkdirect.memory.register-again", roles::provider) {
  const auto c = bench.nd().connect();
  Part other(bench, bench.nd().b());
  registered(bench, check, other);
  check.precondition(other.drop(bench) == ND_SUCCESS, "Deregister succeeds");
  check.require(says(check, "Register of another buffer", other.make(bench, other.memory.data() + 3000, 5000), {ND_SUCCESS}),
                "the region is registered again");
  // All that the region is for is the new buffer now.
  const std::size_t last = 3000 + 5000 - 16;
  const UINT32 token = other.region->GetRemoteToken();
  for (std::size_t i = 0; i < 16; ++i) other.memory[last + i] = static_cast<std::uint8_t>(0xA0 + i);
  says(check, "a Read of its last bytes", access(bench, check, *c, true, remote_address(&other.memory[last]), token), {ND_SUCCESS});
  check.bytes("what was read", ByteView(c->a.memory->bytes).subspan(8192, 16), ByteView(other.memory).subspan(last, 16));
  says(check, "a Write to its first bytes", access(bench, check, *c, false, remote_address(&other.memory[3000]), token), {ND_SUCCESS});
  check.bytes("what was written", ByteView(other.memory).subspan(3000, 16), ByteView(c->a.memory->bytes).subspan(8192, 16));
  const auto window = c->b.end->window();
  const HRESULT bound = c->b.qp->Bind(nd_tag(4), other.region.get(), window.get(), &other.memory[last], 16, ND_OP_FLAG_ALLOW_READ);
  if (says(check, "Bind to its last bytes", bound, {ND_SUCCESS})) ends_as(bench, check, c->b, "the Bind", {ND_SUCCESS});
  refused(check, "a Read of the buffer before", access(bench, check, *c, true, remote_address(other.memory.data()), token));
}

CONFORMANCE_CASE(nd_a_read_sink_takes_reads, "networkdirect.memory.read-sink", roles::provider) {
  const auto c = bench.nd().connect();
  Part part(bench, bench.nd().a());
  registered(bench, check, part, 4096, ND_MR_FLAG_RDMA_READ_SINK);
  ND2_SGE into = {part.memory.data() + 100, 64, part.region->GetLocalToken()};
  arranged_by(check, "Read", c->a.qp->Read(nullptr, &into, 1, c->b.memory->address(777), c->b.memory->region->GetRemoteToken(), 0));
  ends_as(bench, check, c->a, "a Read into a region with ND_MR_FLAG_RDMA_READ_SINK", {ND_SUCCESS});
  check.bytes("what was read", ByteView(part.memory).subspan(100, 64), ByteView(c->b.memory->bytes).subspan(777, 64));
}

CONFORMANCE_CASE(nd_a_region_is_deregistered, "networkdirect.memory.deregister", roles::provider) {
  Part part(bench, bench.nd().a());
  registered(bench, check, part);
  says(check, "Deregister", part.drop(bench), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_deregistered_region_is_closed, "networkdirect.memory.deregister-ends", roles::provider) {
  const auto c = bench.nd().connect();
  Part part(bench, bench.nd().b());
  registered(bench, check, part);
  const UINT32 token = part.region->GetRemoteToken();
  check.precondition(access(bench, check, *c, false, remote_address(part.memory.data()), token) == ND_SUCCESS, "a Write succeeds");
  check.precondition(part.drop(bench) == ND_SUCCESS, "Deregister succeeds");
  refused(check, "a Write to a region that was deregistered", access(bench, check, *c, false, remote_address(part.memory.data()), token));
}

CONFORMANCE_CASE(nd_a_region_with_a_window_stays, "networkdirect.memory.deregister-bound", roles::provider) {
  const auto c = bench.nd().connect();
  const auto window = c->b.end->window();
  Part part(bench, bench.nd().b());
  registered(bench, check, part);
  check.precondition(c->b.qp->Bind(nullptr, part.region.get(), window.get(), part.memory.data(), 64, ND_OP_FLAG_ALLOW_READ) == ND_SUCCESS,
                     "Bind is taken");
  ends_as(bench, check, c->b, "Bind", {ND_SUCCESS});
  says(check, "Deregister with a window", part.drop(bench), {ND_DEVICE_BUSY});
}

CONFORMANCE_CASE(nd_local_write_is_a_right, "networkdirect.memory.local-rights", roles::provider) {
  const auto c = bench.nd().connect();
  Part part(bench, bench.nd().b());
  registered(bench, check, part, 4096, 0);
  ND2_SGE into = {part.memory.data(), 64, part.region->GetLocalToken()}, out = c->a.memory->sge(0, 16);
  arranged_by(check, "Receive", c->b.qp->Receive(nullptr, &into, 1));
  arranged_by(check, "Send", c->a.qp->Send(nullptr, &out, 1, 0));
  ends_badly(bench, check, c->b, "a Receive into a region for reading");
  check.equal("the first byte of the region", part.memory[0], 0x11);
}

CONFORMANCE_CASE(nd_remote_access_is_a_right, "networkdirect.memory.remote-rights", roles::provider) {
  struct Right {
    bool read;
    ULONG flags;
  };
  for (const Right right : {Right{false, ND_MR_FLAG_ALLOW_LOCAL_WRITE}, Right{true, ND_MR_FLAG_ALLOW_LOCAL_WRITE},
                            Right{false, ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_ALLOW_REMOTE_READ}}) {
    const auto c = bench.nd().connect();
    Part part(bench, bench.nd().b());
    registered(bench, check, part, 4096, right.flags);
    const NdStatus status = access(bench, check, *c, right.read, remote_address(part.memory.data()), part.region->GetRemoteToken());
    refused(check, right.read ? "a Read without the right" : "a Write without the right", status);
    check.equal("the first byte of the region", part.memory[0], 0x11);
  }
}

CONFORMANCE_CASE(nd_rights_give_access, "networkdirect.memory.remote-access", roles::provider) {
  const auto c = bench.nd().connect();
  Part readable(bench, bench.nd().b()), writable(bench, bench.nd().b());
  registered(bench, check, readable, 4096, ND_MR_FLAG_ALLOW_REMOTE_READ);
  registered(bench, check, writable, 4096, ND_MR_FLAG_ALLOW_REMOTE_WRITE);
  says(check, "a Read", access(bench, check, *c, true, remote_address(readable.memory.data()), readable.region->GetRemoteToken()),
       {ND_SUCCESS});
  says(check, "a Write", access(bench, check, *c, false, remote_address(writable.memory.data()), writable.region->GetRemoteToken()),
       {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_peers_use_the_addresses_of_memory, "networkdirect.memory.addresses", roles::provider) {
  const auto c = bench.nd().connect();
  Part part(bench, bench.nd().b());
  registered(bench, check, part);
  const void* const there = part.memory.data() + 1234;
  says(check, "a Write", access(bench, check, *c, false, remote_address(there), part.region->GetRemoteToken()), {ND_SUCCESS});
  check.bytes("the bytes there", ByteView(part.memory).subspan(1234, 16), ByteView(c->a.memory->bytes).subspan(8192, 16));
}

CONFORMANCE_CASE(nd_a_token_is_passed_as_it_is, "networkdirect.memory.remote-token", roles::provider) {
  const auto c = bench.nd().connect();
  const UINT32 token = c->b.memory->region->GetRemoteToken();
  says(check, "a Read", access(bench, check, *c, true, c->b.memory->address(), token), {ND_SUCCESS});
  says(check, "a Write", access(bench, check, *c, false, c->b.memory->address(), token), {ND_SUCCESS});
}

CONFORMANCE_CASE(nd_a_region_has_an_end_for_peers, "networkdirect.memory.range-remote", roles::provider) {
  for (const bool read : {false, true}) {
    const auto c = bench.nd().connect();
    Part part(bench, bench.nd().b());
    registered(bench, check, part);
    const NdStatus status = access(bench, check, *c, read, remote_address(part.memory.data() + 4096 - 8), part.region->GetRemoteToken());
    refused(check, read ? "a Read beyond the region" : "a Write beyond the region", status);
    check.equal("the byte behind the region", part.memory[4096], 0x11);
  }
}

CONFORMANCE_CASE(nd_a_region_has_an_end_for_its_owner, "networkdirect.memory.range-local", roles::provider) {
  const auto c = bench.nd().connect();
  Part part(bench, bench.nd().a());
  registered(bench, check, part);
  ND2_SGE out = {part.memory.data() + 4096 - 8, 16, part.region->GetLocalToken()};
  check.require(says(check, "Send from beyond the region", c->a.qp->Send(nullptr, &out, 1, 0), {ND_SUCCESS}), "the call is taken");
  ends_as(bench, check, c->a, "a Send from beyond the region", {ND_ACCESS_VIOLATION});
}

}  // namespace fb::conformance
