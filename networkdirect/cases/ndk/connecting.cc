// How connections are made, or not.
#include "networkdirect/cases/foreign_addresses.h"
#include "networkdirect/cases/ndk/scene.h"

namespace fb::conformance {
namespace {

NdkStatus data_of(NDK_CONNECTOR* connector, ULONG* inbound, ULONG* outbound, PVOID data, ULONG* length) {
  return connector->Dispatch->NdkGetConnectionData(connector, inbound, outbound, data, length);
}

/// The private data that a connector has from its peer; transports may pad it.
std::string data_from_peer(Check& check, NDK_CONNECTOR* connector) {
  std::string data(512, '\0');
  auto length = static_cast<ULONG>(data.size());
  says(check, "NdkGetConnectionData", data_of(connector, nullptr, nullptr, data.data(), &length), {STATUS_SUCCESS});
  data.resize(std::min<std::size_t>(length, data.size()));
  return data;
}

void begins_with(Check& check, std::string_view got, std::string_view expected) {
  check.equal("private data", got.substr(0, expected.size()), expected);
}

NdkStatus reject(NDK_CONNECTOR* connector, std::string data = {}) {
  return connector->Dispatch->NdkReject(connector, data.empty() ? nullptr : data.data(), static_cast<ULONG>(data.size()));
}

/// NdkConnect of the active side, from and to wherever.
NdkAnswer& connect_from(NdkBench& ndk, NDK_CONNECTOR* connector, NDK_QP* qp, NdkAddress from, NdkAddress to, std::string data = {}) {
  return ndk.begin([&](auto done, PVOID x) {
    return connector->Dispatch->NdkConnect(connector, qp, from.get(), from.length, to.get(), to.length, 1, 1,
                                           data.empty() ? nullptr : data.data(), static_cast<ULONG>(data.size()), done, x);
  });
}

}  // namespace

CONFORMANCE_CASE(ndk_a_source_address_is_the_adapters, "ndk.connector.source", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  const NdkAddress to(ndk.b().address(), c.port);
  for (const IpAddress& foreign : foreign_addresses(ndk.a().address())) {
    refused(check, "NdkConnect from " + to_string(foreign),
            ndk.finish(connect_from(ndk, c.a.connector, c.a.qp, NdkAddress(foreign, 0), to)));
  }
}

CONFORMANCE_CASE(ndk_private_data_has_a_limit, "ndk.connector.data-limit", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.prepare();
  const ULONG most = ndk.a().info().MaxCallerData;
  const NdkAddress from(ndk.a().address()), to(ndk.b().address(), c.port);
  refused(check, "NdkConnect with too much private data",
          connect_from(ndk, c.a.connector, c.a.qp, from, to, std::string(most + 1, 'x')).said);
  NDK_SHARED_ENDPOINT* const endpoint = ndk.a().endpoint(0);
  std::string data(most + 1, 'x');
  NdkAddress at(ndk.b().address(), c.port);
  refused(check, "NdkConnectWithSharedEndpoint with too much private data",
          ndk.begin([&](auto done, PVOID x) {
               return c.a.connector->Dispatch->NdkConnectWithSharedEndpoint(c.a.connector, c.a.qp, endpoint, at.get(), at.length, 1, 1,
                                                                            data.data(), most + 1, done, x);
             })
              .said);
}

CONFORMANCE_CASE(ndk_private_data_of_requests_comes, "ndk.connector.request-data", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const std::string said = "who is there";
  NdkConnection& c = ndk.ask({.request_data = said});
  begins_with(check, data_from_peer(check, c.b.connector), said);
  NdkConnection& shared = ndk.prepare();
  NDK_SHARED_ENDPOINT* const endpoint = ndk.a().endpoint(0);
  std::string data = "by a shared endpoint";
  NdkAddress at(ndk.b().address(), shared.port);
  const NdkAnswer& asked = ndk.begin([&](auto done, PVOID x) {
    return shared.a.connector->Dispatch->NdkConnectWithSharedEndpoint(shared.a.connector, shared.a.qp, endpoint, at.get(), at.length, 1, 1,
                                                                      data.data(), static_cast<ULONG>(data.size()), done, x);
  });
  check.require(!NdkStatus(asked.said).failed(), "NdkConnectWithSharedEndpoint is taken");
  check.require(ndk.asked(shared), "the request reaches the listener");
  begins_with(check, data_from_peer(check, shared.b.connector), data);
}

CONFORMANCE_CASE(ndk_an_accepted_request_completes, "ndk.connector.completes", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  arranged_by(check, "NdkAccept", ndk.begin_accept(c).said);
  says(check, "NdkConnect", ndk.finish(*c.connecting), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_a_refused_request_says_so, "ndk.connector.refused", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  arranged_by(check, "NdkReject", reject(c.b.connector));
  says(check, "NdkConnect that was rejected", ndk.finish(*c.connecting), {STATUS_CONNECTION_REFUSED});
  const NdkAddress from(ndk.a().address()), nobody(ndk.b().address(), ndk.fresh_port());
  says(check, "NdkConnect to nobody", ndk.finish(connect_from(ndk, ndk.a().connector(), ndk.a().queue_pair(*c.a.queue), from, nobody)),
       {STATUS_CONNECTION_REFUSED});
}

CONFORMANCE_CASE(ndk_a_refused_queue_pair_is_as_good_as_new, "ndk.connector.refused-again", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  arranged_by(check, "NdkReject", reject(c.b.connector));
  check.precondition(ndk.finish(*c.connecting).failed(), "NdkConnect is refused");
  establish(ndk, check, c);
  arranged_by(check, "NdkReceive", c.b.receive(1));
  arranged_by(check, "NdkSend", c.a.send(1));
  ends_as(ndk, check, c.b, "a message over the second attempt", {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_the_active_side_completes, "ndk.connector.complete", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.reply();
  says(check, "NdkCompleteConnect", ndk.finish(ndk.begin_complete(c)), {STATUS_SUCCESS});
  says(check, "NdkAccept", ndk.finish(*c.accepting), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_what_has_no_reply_is_not_completed, "ndk.connector.complete-early", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  refused(check, "NdkCompleteConnect before the reply", ndk.finish(ndk.begin_complete(c)));
}

CONFORMANCE_CASE(ndk_private_data_of_replies_comes, "ndk.connector.reply-data", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const std::string said = "it is me";
  NdkConnection& c = ndk.reply({.reply_data = said});
  begins_with(check, data_from_peer(check, c.a.connector), said);
}

CONFORMANCE_CASE(ndk_accept_waits_for_the_other_side, "ndk.connector.accept-waits", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.reply();
  ndk.pass(Duration::ms(1));
  check.that(!c.accepting->done(), "NdkAccept pends before NdkCompleteConnect", "it has ended");
  says(check, "NdkCompleteConnect", ndk.finish(ndk.begin_complete(c)), {STATUS_SUCCESS});
  says(check, "NdkAccept", ndk.finish(*c.accepting), {STATUS_SUCCESS});
}

CONFORMANCE_CASE(ndk_a_reply_may_be_rejected, "ndk.connector.accept-aborted", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.reply();
  check.require(reject(c.a.connector) == STATUS_SUCCESS, "NdkReject of a reply is taken");
  refused(check, "NdkAccept of what the other side rejected", ndk.finish(*c.accepting));
}

CONFORMANCE_CASE(ndk_private_data_of_rejections_comes, "ndk.connector.reject-data", roles::provider) {
  NdkBench& ndk = bench.ndk();
  const std::string said = "not today";
  NdkConnection& c = ndk.ask();
  check.require(reject(c.b.connector, said) == STATUS_SUCCESS, "NdkReject is taken");
  ndk.finish(*c.connecting);
  begins_with(check, data_from_peer(check, c.a.connector), said);
}

CONFORMANCE_CASE(ndk_a_request_is_rejected_once, "ndk.connector.reject-twice", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  says(check, "NdkReject", reject(c.b.connector), {STATUS_SUCCESS});
  refused(check, "NdkReject once more", reject(c.b.connector));
}

CONFORMANCE_CASE(ndk_read_limits_are_the_peers, "ndk.connector.read-limits", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask({.inbound_a = 2, .outbound_a = 5});
  ULONG inbound = 0, outbound = 0, length = 0;
  says(check, "NdkGetConnectionData", data_of(c.b.connector, &inbound, &outbound, nullptr, &length), {STATUS_SUCCESS});
  check.equal("inbound limit", inbound, ULONG{5});
  check.equal("outbound limit", outbound, ULONG{2});
}

CONFORMANCE_CASE(ndk_read_limits_are_clipped, "ndk.connector.read-limits-clipped", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.reply({.inbound_a = 6, .outbound_a = 6, .inbound_b = 3, .outbound_b = 2});
  ULONG inbound = 0, outbound = 0, length = 0;
  says(check, "NdkGetConnectionData", data_of(c.a.connector, &inbound, &outbound, nullptr, &length), {STATUS_SUCCESS});
  check.equal("inbound limit", inbound, ULONG{2});
  check.equal("outbound limit", outbound, ULONG{3});
}

CONFORMANCE_CASE(ndk_the_length_of_data_is_told, "ndk.connector.data-query", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask({.request_data = "twelve bytes"});
  ULONG length = 0;
  says(check, "NdkGetConnectionData without a buffer", data_of(c.b.connector, nullptr, nullptr, nullptr, &length), {STATUS_SUCCESS});
  check.that(length >= 12, "the length is at least that of the data", "it is " + words(length));
}

CONFORMANCE_CASE(ndk_a_short_buffer_gets_what_fits, "ndk.connector.data-cut", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask({.request_data = "twelve bytes"});
  std::string data(8, '.');
  ULONG length = 6;
  says(check, "NdkGetConnectionData with six bytes", data_of(c.b.connector, nullptr, nullptr, data.data(), &length),
       {STATUS_BUFFER_TOO_SMALL});
  check.equal("what fits", data, std::string("twelve.."));
}

CONFORMANCE_CASE(ndk_data_goes_with_the_reply, "ndk.connector.data-after", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  ULONG length = 0;
  refused(check, "NdkGetConnectionData of the active side", data_of(c.a.connector, nullptr, nullptr, nullptr, &length));
  refused(check, "NdkGetConnectionData of the passive side", data_of(c.b.connector, nullptr, nullptr, nullptr, &length));
}

CONFORMANCE_CASE(ndk_a_queue_pair_serves_one_connection, "ndk.connector.one", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.connect();
  const NdkAddress from(ndk.a().address()), to(ndk.b().address(), c.port);
  refused(check, "NdkConnect with a queue pair that is connected", connect_from(ndk, ndk.a().connector(), c.a.qp, from, to).said);
}

CONFORMANCE_CASE(ndk_source_ports_are_not_shared, "ndk.connector.source-port", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask({.source_port = 50123});
  const NdkAddress from(ndk.a().address(), 50123), to(ndk.b().address(), ndk.fresh_port());
  refused(check, "NdkConnect from a port that is in use",
          connect_from(ndk, ndk.a().connector(), ndk.a().queue_pair(*c.a.queue), from, to).said);
}

CONFORMANCE_CASE(ndk_private_data_of_replies_has_a_limit, "ndk.connector.reply-data-limit", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  const ULONG most = ndk.b().info().MaxCalleeData;
  refused(check, "NdkAccept with too much private data", ndk.begin_accept(c, {.reply_data = std::string(most + 1, 'x')}).said);
}

CONFORMANCE_CASE(ndk_private_data_of_rejections_has_a_limit, "ndk.connector.reject-data-limit", roles::provider) {
  NdkBench& ndk = bench.ndk();
  NdkConnection& c = ndk.ask();
  const ULONG most = ndk.b().info().MaxCalleeData;
  refused(check, "NdkReject with too much private data", reject(c.b.connector, std::string(most + 1, 'x')));
}

}  // namespace fb::conformance
