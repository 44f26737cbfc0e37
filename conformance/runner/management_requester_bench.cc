#include "conformance/runner/management_requester_bench.h"

#include <utility>

namespace fb::conformance {

ManagementRequesterBench::ManagementRequesterBench(World& world, const Environment& environment)
    : Bench(world), medium_(environment.transport) {
  if (!environment.product->embedded) {
    throw UserError("no adapter for a management requester at " + environment.product->url);
  }
  const EmbeddedSetup setup = environment.setup();
  segment_ = make_segment(world, setup);
  mctp_hooks_ = environment.deviations->mctp_hooks(deviations::Product::management_requester);
  hooks_ = environment.deviations->requester_hooks();
  mctp::Binding& own = segment_->attach("requester", bench_address_on(medium_), true);
  end_ = std::make_unique<mctp::Endpoint>(world, own, mctp::EndpointOptions{.name = "requester", .eid = kRequesterEid});
  end_->set_hooks(mctp_hooks_.get());
  end_->set_route(kPlayedEid, kPlayedEid, product_address_on(medium_));
  end_->set_route(kOtherPlayedEid, kOtherPlayedEid, product_address_on(medium_, 1));
  if (environment.around().near_wrap) {
    // The tag before the last is the next one towards each endpoint.
    for (const mctp::Eid peer : {kPlayedEid, kOtherPlayedEid}) {
      for (unsigned i = 0; i < 6; ++i) end_->release_tag(peer, *end_->take_tag(peer));
    }
  }
  requester_ = std::make_unique<mi::Requester>(world, *end_, setup.managed->requester, hooks_.get());
  endpoint_ = std::make_unique<RawMctp>(world, segment_->attach("bench", product_address_on(medium_)), kPlayedEid);
  endpoint_->set_product(kRequesterEid, bench_address_on(medium_));
}

ManagementRequesterBench::~ManagementRequesterBench() = default;

RawMctp& ManagementRequesterBench::other_endpoint() {
  BENCH_ASSERT(medium_ != "serial", "a second endpoint is for cases over_buses");
  if (other_endpoint_ == nullptr) {
    other_endpoint_ = std::make_unique<RawMctp>(world(), segment_->attach("bench 2", product_address_on(medium_, 1)), kOtherPlayedEid);
    other_endpoint_->set_product(kRequesterEid, bench_address_on(medium_));
  }
  return *other_endpoint_;
}

std::optional<SeenMessage> ManagementRequesterBench::next_request(Duration limit) {
  while (auto message = endpoint_->next_message(limit)) {
    if (message->type() == mi::kNvmeMiType) return message;
  }
  return std::nullopt;
}

SeenMessage ManagementRequesterBench::request() {
  auto request = next_request();
  if (!request) throw CannotArrange{"the requester sends nothing"};
  return std::move(*request);
}

void ManagementRequesterBench::answer_raw(const SeenMessage& request, ByteView message) {
  endpoint_->send_message(message, {.tag = request.tag, .owner = false, .destination = request.source});
  endpoint_->wait_until_said();
}

Bytes ManagementRequesterBench::with_check(Bytes body) {
  mi::append_mic(body);
  return body;
}

namespace {

/// Header, status and three bytes.
Bytes response_start(const SeenMessage& request, mi::Status status, std::uint32_t nmresp) {
  Bytes body(mi::kResponseMin);
  std::copy_n(request.body.begin(), std::min<std::size_t>(request.body.size(), 2), body.begin());
  body[1] = static_cast<std::uint8_t>(body[1] | 0x80);
  body[4] = static_cast<std::uint8_t>(status);
  for (unsigned i = 0; i < 3; ++i) body[5 + i] = static_cast<std::uint8_t>(nmresp >> (8 * i));
  return body;
}

}  // namespace

Bytes ManagementRequesterBench::response_to(const SeenMessage& request, mi::Status status, ByteView data, std::uint32_t nmresp) {
  Bytes body = response_start(request, status, nmresp);
  body.insert(body.end(), data.begin(), data.end());
  return body;
}

Bytes ManagementRequesterBench::admin_response_to(const SeenMessage& request, ByteView data, std::uint32_t dw0) {
  Bytes body = response_start(request, mi::Status::success, 0);
  body.resize(mi::AdminResponse::size);
  store_le(body.data() + 8, dw0);
  body.insert(body.end(), data.begin(), data.end());
  return body;
}

}  // namespace fb::conformance
