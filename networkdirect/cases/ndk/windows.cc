// Memory windows.
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

NdkStatus bind(NdkSide& side, const NdkMemory& memory, NDK_MW* window, std::size_t offset, SIZE_T length, ULONG flags) {
  return side.qp->Dispatch->NdkBind(side.qp, ndk_tag(6), memory.region, window, memory.at(offset), length, flags);
}

/// Bound at the passive side to the 256 bytes at 1024.
NDK_MW* bound(NdkBench& ndk, Check& check, NdkConnection& c, ULONG flags) {
  NDK_MW* const window = ndk.b().window();
  arranged_by(check, "NdkBind", bind(c.b, *c.b.memory, window, 1024, 256, flags));
  arranged_by(check, "NdkBind", next_result(ndk, check, c.b, "the Bind").Status);
  return window;
}

UINT32 token_of(NDK_MW* window) { return window->Dispatch->NdkGetRemoteTokenFromMw(window); }

}  // namespace

CONFORMANCE_CASE(ndk_a_window_lies_in_its_region, "ndk.mw.range", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const std::size_t near_end = c.b.memory->bytes.size() - 100;
  refused_somehow(ndk, check, c.b, "NdkBind beyond the region",
                  bind(c.b, *c.b.memory, ndk.b().window(), near_end, 200, NDK_OP_FLAG_ALLOW_REMOTE_READ));
}

CONFORMANCE_CASE(ndk_a_window_has_no_more_rights_than_its_region, "ndk.mw.rights", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const NdkMemory& readable = ndk.b().memory(4096, NDK_MR_FLAG_ALLOW_LOCAL_READ);
  refused_somehow(ndk, check, c.b, "NdkBind for Writes to a region that is read alone",
                  bind(c.b, readable, ndk.b().window(), 0, 256, NDK_OP_FLAG_ALLOW_REMOTE_WRITE));
}

CONFORMANCE_CASE(ndk_a_window_belongs_to_its_queue_pair, "ndk.mw.queue", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NdkConnection& other = ndk.connect();
  NDK_MW* const window = bound(ndk, check, c, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  const UINT64 address = c.b.memory->address(1024);
  says(check, "a Read over its connection", access(ndk, check, c, true, address, token_of(window)), {STATUS_SUCCESS});
  refused(check, "a Read over another", access(ndk, check, other, true, address, token_of(window)));
}

CONFORMANCE_CASE(ndk_a_window_gives_its_rights, "ndk.mw.grants", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NDK_MW* const window = bound(ndk, check, c, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  const UINT64 address = c.b.memory->address(1024);
  says(check, "a Read", access(ndk, check, c, true, address, token_of(window)), {STATUS_SUCCESS});
  refused(check, "a Write", access(ndk, check, c, false, address, token_of(window)));
}

CONFORMANCE_CASE(ndk_an_invalidated_window_serves_nobody, "ndk.mw.invalidate", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  NDK_MW* const window = bound(ndk, check, c, NDK_OP_FLAG_ALLOW_REMOTE_READ);
  const UINT32 token = token_of(window);
  arranged_by(check, "NdkReceive", c.a.receive(1));
  arranged_by(check, "NdkInvalidate", c.b.qp->Dispatch->NdkInvalidate(c.b.qp, ndk_tag(7), &window->Header, 0));
  ends_as(ndk, check, c.b, "the Invalidate", {STATUS_SUCCESS});
  arranged_by(check, "NdkRead", c.a.read(9, 8192, 16, c.b.memory->address(1024), token));
  NDK_RESULT_EX result = next_result(ndk, check, c.a, "the Read");
  // The Receive may be cancelled first; only what the Read says counts.
  if (result.RequestContext != ndk_tag(9)) result = next_result(ndk, check, c.a, "the Read");
  refused(check, "a Read through a window that was invalidated", result.Status);
}

}  // namespace fb::conformance
