// Adapters as the system opens them: by the name of a miniport and by the index of its interface, in each version, and while NDK is
// switched off and on.
#include <ndisndk.h>

#include "networkdirect/cases/ndk/scene.h"
#include "networkdirect/ndk/kernel/registry.h"

namespace fb::conformance {
namespace {

constexpr NET_IFINDEX kFirst = 7, kSecond = 8;

/// Both providers of the bench, as the system knows them.
struct System {
  System(NdkBench& bench, Check& check) : ndk(bench), registry(bench.kernel()) {
    check.precondition(ndk.a().provider().add_to(registry, "first", kFirst), "the first miniport is added");
    check.precondition(ndk.b().provider().add_to(registry, "second", kSecond), "the second miniport is added");
  }
  ~System() {
    registry.remove("first");
    registry.remove("second");
  }
  NDIS_STATUS open(NET_IFINDEX index, NDK_VERSION version, NDK_ADAPTER** adapter) {
    return static_cast<NDIS_STATUS>(ndk::Registry::wsk_dispatch().WskOpenNdkAdapter(registry.wsk_client(), version, index, adapter));
  }
  void close(NDK_ADAPTER* adapter) { ndk::Registry::wsk_dispatch().WskCloseNdkAdapter(registry.wsk_client(), adapter); }
  std::size_t findings() const { return ndk.kernel().findings().size(); }

  NdkBench& ndk;
  ndk::Registry registry;
};

std::string words_of(NDK_VERSION version) { return std::to_string(version.Major) + "." + std::to_string(version.Minor); }

/// What an adapter has that was opened with `asked` on a provider of `own`; nothing when that is no version of it.
std::optional<NDK_VERSION> negotiated(NDK_VERSION own, NDK_VERSION asked) {
  NDK_VERSION given = own;
  if (asked.Major != own.Major) {
    if (own.Major != 2 || asked.Major != 1) return std::nullopt;
    given = {1, 2};  // consumers of the first major version are served as before
  }
  if (asked.Minor > given.Minor) return std::nullopt;
  return given;
}

void judge_versions(NdkBench& ndk, Check& check) {
  System system(ndk, check);
  for (const NDK_VERSION& asked :
       {NDK_VERSION{0, 9}, NDK_VERSION{1, 0}, NDK_VERSION{1, 1}, NDK_VERSION{1, 2}, NDK_VERSION{1, 3}, NDK_VERSION{2, 0}, NDK_VERSION{2, 1},
        NDK_VERSION{2, 2}, NDK_VERSION{2, 9}, NDK_VERSION{3, 0}, NDK_VERSION{3, 1}}) {
    const auto expected = negotiated(ndk.terms().version, asked);
    NDK_ADAPTER* adapter = nullptr;
    const NDIS_STATUS status = system.registry.open("first", asked, &adapter);
    const std::string what = "open of version " + words_of(asked) + " at a provider of " + words_of(ndk.terms().version);
    check.equal(what, NdkStatus(status), NdkStatus(expected ? NDIS_STATUS_SUCCESS : NDIS_STATUS_BAD_VERSION));
    if (status != NDIS_STATUS_SUCCESS) continue;
    if (expected) check.equal("version of the adapter of " + what, words_of(adapter->Header.Version), words_of(*expected));
    const bool later = adapter->Header.Version.Major == 2 && adapter->Header.Version.Minor >= 1;
    const auto& creation = ndk.create<NDK_CONNECTOR>(
        [&](auto c, PVOID x, NDK_CONNECTOR** p) { return adapter->Dispatch->NdkCreateConnector(adapter, c, x, p); });
    says(check, "NdkCreateConnector", creation.end(), {STATUS_SUCCESS});
    NDK_CONNECTOR* const connector = creation.made();
    if (connector != nullptr) {
      check.equal("functions of version 2.1 are there for " + what, connector->Dispatch->NdkAcceptEx != nullptr, later);
      check.equal("functions of version 2.1 are there for " + what, connector->Dispatch->NdkCompleteConnectEx != nullptr, later);
      ndk.finish(ndk.close(connector));
    }
    ULONG size = 0;
    adapter->Dispatch->NdkQueryAdapterInfo(adapter, nullptr, &size);
    check.equal("size of the information of " + what, size,
                adapter->Header.Version.Major >= 2 ? ULONG{sizeof(NDK_ADAPTER_INFO)} : ULONG{NDK_ADAPTER_INFO_SIZE_1});
    // Too little room by one byte, and just enough; what lies behind stays.
    std::vector<std::uint8_t> room(size + 8, 0x5C);
    auto* const info = reinterpret_cast<NDK_ADAPTER_INFO*>(room.data());
    ULONG given = size - 1;
    says(check, "NdkQueryAdapterInfo with a byte too few", adapter->Dispatch->NdkQueryAdapterInfo(adapter, info, &given),
         {STATUS_BUFFER_TOO_SMALL});
    check.equal("the size that it says", given, size);
    says(check, "NdkQueryAdapterInfo with just the size", adapter->Dispatch->NdkQueryAdapterInfo(adapter, info, &given), {STATUS_SUCCESS});
    check.bytes("what lies behind the information", ByteView(room).subspan(size), Bytes(8, 0x5C));
    check.equal("version in the information of " + what, words_of(info->Version), words_of(adapter->Header.Version));
    const bool invalidates = (info->AdapterFlags & NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED) != 0;
    const bool old = adapter->Header.Version.Major == 1 && adapter->Header.Version.Minor < 2;
    check.that(!(old && invalidates), "an adapter of " + words_of(adapter->Header.Version) + " has no flag of version 1.2", "it has");
    system.registry.close(adapter);
  }
  check.equal("findings of the kernel", system.findings(), std::size_t{0});
}

/// Adapters on which there was a connection, and nothing is left: their close has nothing to wait for.
void close_after_use(NdkBench& ndk, Check& check) {
  NdkEnd one(ndk, ndk.a().provider(), ndk.a().address(), {2, 1}), two(ndk, ndk.b().provider(), ndk.b().address(), {2, 1});
  NdkConnection& c = ndk.keep(std::make_unique<NdkConnection>());
  for (auto [side, end] : {std::pair{&c.a, &one}, std::pair{&c.b, &two}}) {
    side->kernel = &ndk.kernel();
    side->end = end;
    side->queue = &end->queue();
    side->memory = &end->memory();
    side->qp = end->queue_pair(*side->queue);
  }
  c.a.connector = one.connector();
  c.port = ndk.fresh_port();
  c.listening = &two.listener(c.port);
  establish(ndk, check, c);
  deliver(ndk, check, c);
  NDK_CONNECTOR* const connector = c.a.connector;
  arranged_by(check, "NdkDisconnect",
              ndk.request([&](auto done, PVOID x) { return connector->Dispatch->NdkDisconnect(connector, done, x); }));
  ndk.pass(kNdkQuiet);
  ndk.finish(ndk.close(c.listening->listener), Duration());
  for (NdkSide* side : {&c.a, &c.b}) {
    ndk.finish(ndk.close(side->connector));
    ndk.finish(ndk.close(side->qp));
    ndk.finish(ndk.close(side->queue->cq));
    NDK_MR* const region = side->memory->region;
    arranged_by(check, "NdkDeregisterMr",
                ndk.request([&](auto done, PVOID x) { return region->Dispatch->NdkDeregisterMr(region, done, x); }));
    ndk.finish(ndk.close(region));
    ndk.finish(ndk.close(side->end->pd()));
  }
  for (NdkEnd* end : {&one, &two}) {
    const std::size_t before = end->provider().open_adapters();
    check.that(end->provider().close(end->adapter()).empty(), "nothing is left when everything was closed", "something is");
    check.equal("adapters that are open when one on which all is closed was closed too", end->provider().open_adapters(), before - 1);
  }
}

}  // namespace

CONFORMANCE_CASE(ndk_versions_are_negotiated_in_pairs, "ndk.adapter.open-minor", roles::provider) { judge_versions(bench.ndk(), check); }

CONFORMANCE_CASE(ndk_older_versions_are_negotiated_in_pairs, "ndk.adapter.open-major", roles::provider) {
  judge_versions(bench.ndk({.version = {1, 2}}), check);
}

CONFORMANCE_CASE(ndk_the_first_version_is_negotiated_in_pairs, "ndk.adapter.open-minor", roles::provider) {
  judge_versions(bench.ndk({.version = {1, 1}}), check);
}

CONFORMANCE_CASE(ndk_a_miniport_tells_what_its_adapters_can, "ndk.adapter.info", roles::provider) {
  NdkBench& ndk = bench.ndk();
  System system(ndk, check);
  const auto known = system.registry.miniports();
  check.require(known.size() == 2, "both miniports are known");
  for (NdkEnd* const end : {&ndk.a(), &ndk.b()}) {
    const NDIS_NDK_CAPABILITIES& said = known[end == &ndk.a() ? 0 : 1].capabilities;
    const NDK_ADAPTER_INFO info = end->info();
    check.equal("version in the information", words_of(info.Version), words_of(end->adapter()->Header.Version));
    for (const ULONG count : {said.MaxQpCount, said.MaxCqCount, said.MaxMrCount, said.MaxPdCount}) {
      check.that(count > 0, "a miniport has objects of each kind", "it has none");
    }
    check.equal("MaxInboundReadLimit of the miniport", said.MaxInboundReadLimit, info.MaxInboundReadLimit);
    check.equal("MaxOutboundReadLimit of the miniport", said.MaxOutboundReadLimit, info.MaxOutboundReadLimit);
    check.require(said.NdkInfo != nullptr, "a miniport has information on its adapters");
    check.equal("MaxTransferLength in it", said.NdkInfo->MaxTransferLength, info.MaxTransferLength);
  }
}

CONFORMANCE_CASE(ndk_adapters_are_found_by_name_and_by_interface, "ndk.adapter.open-highest", roles::provider) {
  NdkBench& ndk = bench.ndk();
  System system(ndk, check);
  ndk::Registry& registry = system.registry;
  check.that(!ndk.b().provider().add_to(registry, "first", 99), "a name is given once", "it is given twice");
  check.that(!ndk.b().provider().add_to(registry, "third", kFirst), "an index is given once", "it is given twice");
  check.that(!ndk.b().provider().add_to(registry, "", 99), "a miniport has a name", "it has none");
  const auto known = registry.miniports();
  check.require(known.size() == 2, "both miniports are known");
  check.equal("name of the first", known[0].name, std::string("first"));
  check.equal("index of the first", known[0].index, kFirst);
  check.equal("name of the second", known[1].name, std::string("second"));
  check.equal("index of the second", known[1].index, kSecond);
  check.that(known[0].enabled && known[1].enabled, "both are enabled", "one is not");
  NDK_ADAPTER* adapter = nullptr;
  check.equal("open of a name that nobody has", NdkStatus(registry.open("firs", {2, 0}, &adapter)),
              NdkStatus(NDIS_STATUS_ADAPTER_NOT_READY));
  check.equal("open of an index that nobody has", NdkStatus(system.open(kSecond + 1, {2, 0}, &adapter)),
              NdkStatus(NDIS_STATUS_ADAPTER_NOT_READY));
  NDK_ADAPTER *by_name = nullptr, *by_index = nullptr;
  check.require(registry.open("second", {2, 0}, &by_name) == NDIS_STATUS_SUCCESS, "a name opens an adapter");
  check.require(system.open(kSecond, {2, 0}, &by_index) == NDIS_STATUS_SUCCESS, "an index opens an adapter");
  for (const NDK_ADAPTER* each : {by_name, by_index})
    check.equal("version of the adapter", words_of(each->Header.Version), std::string("2.1"));
  check.equal("adapters that are open on the second", registry.miniports()[1].open, std::size_t{2});
  check.equal("adapters that are open on the first", registry.miniports()[0].open, std::size_t{0});
  check.that(!registry.remove("second"), "a miniport stays while adapters are open", "it goes");
  // Whoever opened an adapter by one way closes it by that.
  system.close(by_name);
  registry.close(by_index);
  check.equal("findings of the kernel", system.findings(), std::size_t{2});
  check.equal("adapters that are open on the second", registry.miniports()[1].open, std::size_t{2});
  registry.close(by_name);
  registry.close(by_name);
  check.equal("findings of the kernel", system.findings(), std::size_t{3});
  check.equal("adapters that are open on the second", registry.miniports()[1].open, std::size_t{1});
  system.close(by_index);
  check.equal("adapters that are open on the second", registry.miniports()[1].open, std::size_t{0});
  check.equal("findings of the kernel", system.findings(), std::size_t{3});
}

CONFORMANCE_CASE(ndk_adapters_close_before_ndk_is_off, "ndk.adapter.close-waits", roles::provider) {
  NdkBench& ndk = bench.ndk({.answers = ndk::Answers::later});
  System system(ndk, check);
  ndk::Registry& registry = system.registry;
  std::vector<int> told;
  NDK_ADAPTER *one = nullptr, *two = nullptr, *none = nullptr;
  const auto state = [&](bool enabled, int number) {
    return NdkStatus(registry.set_state("first", enabled, [&told, number](bool off) { told.push_back(off ? number : -number); }));
  };
  says(check, "the state of a miniport that nobody has", registry.set_state("nobody", false), {STATUS_INVALID_PARAMETER});
  says(check, "NDK off with nothing open", state(false, 1), {STATUS_SUCCESS});
  check.equal("open when NDK is off", NdkStatus(registry.open("first", {2, 0}, &none)), NdkStatus(NDIS_STATUS_ADAPTER_NOT_READY));
  check.require(registry.open("second", {2, 0}, &none) == NDIS_STATUS_SUCCESS, "the other miniport opens");
  registry.close(none);
  says(check, "NDK on again", state(true, 2), {STATUS_SUCCESS});
  check.require(registry.open("first", {2, 0}, &one) == NDIS_STATUS_SUCCESS && registry.open("first", {2, 0}, &two) == NDIS_STATUS_SUCCESS,
                "it opens twice");
  says(check, "NDK off with adapters open", state(false, 3), {STATUS_PENDING});
  check.that(registry.miniports()[0].disabling && !registry.miniports()[0].enabled, "it is on its way to be off", "it is not");
  check.equal("open while NDK goes off", NdkStatus(registry.open("first", {2, 0}, &none)), NdkStatus(NDIS_STATUS_ADAPTER_NOT_READY));
  says(check, "NDK off once more", state(false, 4), {STATUS_PENDING});
  registry.close(one);
  check.that(told.empty(), "no notification while an adapter is open", "there is one");
  // The close of the last waits for what is on it.
  NDK_PD* const domain =
      ndk.make<NDK_PD>("NdkCreatePd", [&](auto c, PVOID x, NDK_PD** p) { return two->Dispatch->NdkCreatePd(two, c, x, p); });
  const NdkAnswer& closing = ndk.close(domain);
  registry.close(two);
  check.that(closing.done(), "what was on it is closed when the adapter is", "it is not");
  check.that(told == std::vector<int>{3, 4}, "notifications in the order of registration", "in another order");
  check.that(!registry.miniports()[0].disabling && !registry.miniports()[0].enabled, "it is off", "it is on, or on its way");
  says(check, "NDK on at last", state(true, 5), {STATUS_SUCCESS});
  check.require(registry.open("first", {2, 0}, &one) == NDIS_STATUS_SUCCESS, "it opens again");
  says(check, "NDK off", state(false, 6), {STATUS_PENDING});
  says(check, "NDK on while it goes off", state(true, 7), {STATUS_SUCCESS});
  check.equal("client notified that NDK is enabled", told.back(), -6);
  registry.close(one);
  check.equal("findings of the kernel", system.findings(), std::size_t{0});
  // As before: an adapter with objects on it, opened at the provider itself.
  NdkEnd other(ndk, ndk.a().provider(), ndk.a().address(), {2, 1});
  NDK_MR* const region = other.region();
  const NdkAnswer& domain_closed = ndk.close(other.pd());
  const NdkAnswer& region_closed = ndk.close(region);
  const ndk::LeakReport left = other.provider().close(other.adapter());
  check.that(left.empty() && region_closed.done() && domain_closed.done(), "both closes have ended when the adapter is closed",
             "they have not");
  close_after_use(ndk, check);
}

}  // namespace fb::conformance
