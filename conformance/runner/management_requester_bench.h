// The bench of cases on management requesters: the product is told what to ask, the bench is the endpoint
// that sees every request and answers by hand.
//
//   auto reply = bench.product().command(kProductEid, mi::Opcode::subsystem_health_poll);
//   const auto request = bench.next_request();
//   bench.answer(*request, good_health());
//   check.equal("the product has its answer", reply.wait().ok(), true);
#pragma once

#include <memory>
#include <optional>

#include "conformance/runner/case.h"
#include "conformance/runner/environment.h"
#include "conformance/runner/managed_setup.h"
#include "conformance/runner/raw_mctp.h"
#include "model/mi/requester.h"

namespace fb::conformance {

using namespace fb::literals;

/// Where the bench plays an endpoint, and where the product is.
inline constexpr mctp::Eid kPlayedEid = 9;
inline constexpr mctp::Eid kOtherPlayedEid = 10;
inline constexpr mctp::Eid kRequesterEid = 8;

class ManagementRequesterBench final : public Bench {
 public:
  ManagementRequesterBench(World& world, const Environment& environment);
  ~ManagementRequesterBench() override;

  mi::Requester& product() { return *requester_; }
  /// The endpoint that the bench plays; a second one, not on a serial line.
  RawMctp& endpoint() { return *endpoint_; }
  RawMctp& other_endpoint();

  /// The next NVMe-MI message of the product, whole, with its check.
  std::optional<SeenMessage> next_request(Duration limit = Duration::s(10));
  /// The same as the scene of a case: INCONCLUSIVE without one.
  SeenMessage request();
  /// `body` with a good check, to that request.
  void answer(const SeenMessage& request, Bytes body) { answer_raw(request, with_check(std::move(body))); }
  /// Bytes as they are, to that request.
  void answer_raw(const SeenMessage& request, ByteView message);
  static Bytes with_check(Bytes body);
  /// A response from its header on: that of the request with ROR set, `status`, three bytes, data.
  static Bytes response_to(const SeenMessage& request, mi::Status status, ByteView data = {}, std::uint32_t nmresp = 0);
  /// An Admin response with NVMe success.
  static Bytes admin_response_to(const SeenMessage& request, ByteView data = {}, std::uint32_t dw0 = 0);

 private:
  std::unique_ptr<mctp::Segment> segment_;
  std::unique_ptr<mctp::EndpointHooks> mctp_hooks_;
  std::unique_ptr<mi::RequesterHooks> hooks_;
  std::unique_ptr<mctp::Endpoint> end_;
  std::unique_ptr<mi::Requester> requester_;
  std::unique_ptr<RawMctp> endpoint_;
  std::unique_ptr<RawMctp> other_endpoint_;
  std::string_view medium_;
};

}  // namespace fb::conformance
