#include "conformance/runner/ndk_bench.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "conformance/runner/nd_names.h"
#include "networkdirect/ndk/provider/behaviour.h"

namespace fb::conformance {

namespace {

void arrange(NdkStatus status, std::string_view call) {
  if (status != STATUS_SUCCESS) throw CannotArrange{std::string(call) + " answered " + words(status)};
}

/// fd00::N for 10.0.0.N.
IpAddress ipv6_of(const IpAddress& at) {
  std::array<std::uint8_t, 16> bytes = {0xFD};
  bytes[15] = at.bytes()[15];
  return IpAddress::v6(bytes);
}

PVOID data_of(const std::string& text) { return text.empty() ? nullptr : const_cast<char*>(text.data()); }

/// The hooks of both providers.
class BenchHooks final : public ndk::ProviderHooks {
 public:
  BenchHooks(std::vector<std::string_view> points, const CaseMemory& memory) : points_(std::move(points)), memory_(memory) {}
  bool departs(std::string_view point) override { return std::ranges::find(points_, point) != points_.end(); }
  std::uint64_t on_the_wire(std::uint64_t address) override { return memory_.on_the_wire(address); }

 private:
  std::vector<std::string_view> points_;
  const CaseMemory& memory_;
};

}  // namespace

std::string words(NdkStatus status) {
  // The codes of both interfaces are those of the system; here they have its names.
  std::string_view name = nd_status_name(status.code);
  if (name.starts_with("STATUS_")) return std::string(name);
  if (name.starts_with("ND_")) return "STATUS_" + std::string(name.substr(3));
  return fmt::format("0x{:08X}", static_cast<std::uint32_t>(status.code));
}

// ---------------------------------------------------------------- what the provider calls back

void NdkAnswer::called(NTSTATUS s, NDK_OBJECT_HEADER* made) {
  ++calls;
  status = s;
  object = made;
  irql = kernel->irql();
  if (then) then();
}

VOID NdkQueue::on_notify(PVOID context, NTSTATUS status) {
  auto& self = *static_cast<NdkQueue*>(context);
  ++self.notified;
  self.status = status;
  self.irql = self.kernel->irql();
  if (self.then) self.then();
}

VOID NdkShared::on_notify(PVOID context, NTSTATUS) {
  auto& self = *static_cast<NdkShared*>(context);
  ++self.notified;
  self.irql = self.kernel->irql();
}

VOID NdkListening::on_connect(PVOID context, NDK_CONNECTOR* connector) {
  auto& self = *static_cast<NdkListening*>(context);
  self.irql = self.kernel->irql();
  if (self.then) return self.then(connector);
  self.asked.push_back(connector);
}

VOID NdkSide::on_disconnect(PVOID context) { on_disconnect_ex(context, 0); }

VOID NdkSide::on_disconnect_ex(PVOID context, ULONG) {
  auto& self = *static_cast<NdkSide*>(context);
  ++self.disconnected;
  self.event_irql = self.kernel->irql();
}

// ---------------------------------------------------------------- memory and addresses

NdkMemory::NdkMemory(MutableBytes pages) : bytes(pages) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  MmInitializeMdl(&mdl, bytes.data(), bytes.size());
}

NDK_SGE NdkMemory::sge(std::size_t offset, ULONG length) const {
  NDK_SGE made = {};
  made.VirtualAddress = at(offset);
  made.Length = length;
  made.MemoryRegionToken = local;
  return made;
}

NdkAddress::NdkAddress(const IpAddress& address, std::uint16_t port) {
  if (address.is_v4()) {
    SOCKADDR_IN to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    std::memcpy(&to.sin_addr, &address.bytes()[12], 4);
    std::memcpy(&storage_, &to, length = sizeof to);
  } else {
    SOCKADDR_IN6 to = {};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    std::memcpy(&to.sin6_addr, address.bytes().data(), 16);
    std::memcpy(&storage_, &to, length = sizeof to);
  }
}

std::uint16_t NdkAddress::port() const {
  SOCKADDR_IN from;  // the port lies in one place in both families
  std::memcpy(&from, &storage_, sizeof from);
  return ntohs(from.sin_port);
}

IpAddress NdkAddress::address() const {
  std::array<std::uint8_t, 16> bytes = {};
  if (storage_.ss_family == AF_INET6) {
    SOCKADDR_IN6 from;
    std::memcpy(&from, &storage_, sizeof from);
    std::memcpy(bytes.data(), &from.sin6_addr, 16);
    return IpAddress::v6(bytes);
  }
  SOCKADDR_IN from;
  std::memcpy(&from, &storage_, sizeof from);
  std::memcpy(bytes.data(), &from.sin_addr, 4);
  return IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]);
}

// ---------------------------------------------------------------- results and requests

void NdkQueue::look() {
  // Far more than any queue of a case holds.
  constexpr int kTurns = 64;
  for (int turn = 0; turn < kTurns; ++turn) {
    NDK_RESULT_EX taken[8];
    ULONG count = 0;
    if (cq->Dispatch->NdkGetCqResultsEx != nullptr) {
      count = cq->Dispatch->NdkGetCqResultsEx(cq, taken, 8);
    } else {
      NDK_RESULT plain[8];
      count = cq->Dispatch->NdkGetCqResults(cq, plain, 8);
      for (ULONG i = 0; i < std::min<ULONG>(count, 8); ++i) {
        taken[i] = {};
        taken[i].Status = plain[i].Status;
        taken[i].BytesTransferred = plain[i].BytesTransferred;
        taken[i].QPContext = plain[i].QPContext;
        taken[i].RequestContext = plain[i].RequestContext;
      }
    }
    results.insert(results.end(), taken, taken + std::min<ULONG>(count, 8));
    if (count < 8) return;
  }
}

NdkStatus NdkSide::receive(std::uintptr_t tag, std::size_t offset, ULONG length) {
  const NDK_SGE one = memory->sge(offset, length);
  if (shared != nullptr) return shared->srq->Dispatch->NdkSrqReceive(shared->srq, ndk_tag(tag), &one, 1);
  return qp->Dispatch->NdkReceive(qp, ndk_tag(tag), &one, 1);
}

NdkStatus NdkSide::send(std::uintptr_t tag, std::size_t offset, ULONG length, ULONG flags) {
  const NDK_SGE one = memory->sge(offset, length);
  return qp->Dispatch->NdkSend(qp, ndk_tag(tag), &one, 1, flags);
}

NdkStatus NdkSide::read(std::uintptr_t tag, std::size_t offset, ULONG length, UINT64 from, UINT32 token, ULONG flags) {
  const NDK_SGE one = memory->sge(offset, length);
  return qp->Dispatch->NdkRead(qp, ndk_tag(tag), &one, 1, from, token, flags);
}

NdkStatus NdkSide::write(std::uintptr_t tag, std::size_t offset, ULONG length, UINT64 to, UINT32 token, ULONG flags) {
  const NDK_SGE one = memory->sge(offset, length);
  return qp->Dispatch->NdkWrite(qp, ndk_tag(tag), &one, 1, to, token, flags);
}

// ---------------------------------------------------------------- an end

NdkEnd::NdkEnd(NdkBench& bench, ndk::Provider& provider, const IpAddress& address, NDK_VERSION version)
    : bench_(bench), provider_(provider), address_(address) {
  arrange(provider.open(version, &adapter_), "OpenNDKAdapterHandler");
}

NDK_ADAPTER_INFO NdkEnd::info() {
  NDK_ADAPTER_INFO info = {};
  ULONG bytes = sizeof info;
  arrange(adapter_->Dispatch->NdkQueryAdapterInfo(adapter_, &info, &bytes), "NdkQueryAdapterInfo");
  return info;
}

NDK_PD* NdkEnd::pd() {
  if (pd_ == nullptr) {
    pd_ =
        bench_.make<NDK_PD>("NdkCreatePd", [&](auto c, PVOID x, NDK_PD** p) { return adapter_->Dispatch->NdkCreatePd(adapter_, c, x, p); });
  }
  return pd_;
}

NdkQueue& NdkEnd::queue(ULONG depth) {
  NdkQueue& made = bench_.keep(std::make_unique<NdkQueue>());
  made.kernel = &bench_.kernel();
  made.cq = bench_.make<NDK_CQ>("NdkCreateCq", [&](auto c, PVOID x, NDK_CQ** p) {
    return adapter_->Dispatch->NdkCreateCq(adapter_, depth, &NdkQueue::on_notify, &made, nullptr, c, x, p);
  });
  return made;
}

NDK_MR* NdkEnd::region(bool fast) {
  NDK_PD* const domain = pd();
  return bench_.make<NDK_MR>("NdkCreateMr",
                             [&](auto c, PVOID x, NDK_MR** p) { return domain->Dispatch->NdkCreateMr(domain, fast ? 1 : 0, c, x, p); });
}

NDK_MR* NdkEnd::fast_region(ULONG pages, bool remote) {
  NDK_MR* const made = region(true);
  arrange(bench_.request([&](auto c, PVOID x) { return made->Dispatch->NdkInitializeFastRegisterMr(made, pages, remote ? 1 : 0, c, x); }),
          "NdkInitializeFastRegisterMr");
  return made;
}

NdkMemory& NdkEnd::plain_memory(std::size_t bytes) { return bench_.keep(std::make_unique<NdkMemory>(bench_.memory().take(bytes))); }

NdkMemory& NdkEnd::memory(std::size_t bytes, ULONG flags) {
  NdkMemory& made = plain_memory(bytes);
  made.region = region();
  const NDK_MR_DISPATCH& table = *made.region->Dispatch;
  arrange(bench_.request([&](auto c, PVOID x) { return table.NdkRegisterMr(made.region, &made.mdl, bytes, flags, c, x); }),
          "NdkRegisterMr");
  made.local = table.NdkGetLocalTokenFromMr(made.region);
  made.remote = table.NdkGetRemoteTokenFromMr(made.region);
  return made;
}

NDK_MW* NdkEnd::window() {
  NDK_PD* const domain = pd();
  return bench_.make<NDK_MW>("NdkCreateMw", [&](auto c, PVOID x, NDK_MW** p) { return domain->Dispatch->NdkCreateMw(domain, c, x, p); });
}

NDK_QP* NdkEnd::queue_pair(NdkQueue& queue, const NdkQueueTerms& terms) {
  NDK_PD* const domain = pd();
  NDK_CQ* const cq = queue.cq;
  return bench_.make<NDK_QP>("NdkCreateQp", [&](auto c, PVOID x, NDK_QP** p) {
    if (terms.shared != nullptr) {
      return domain->Dispatch->NdkCreateQpWithSrq(domain, cq, cq, terms.shared->srq, terms.context, terms.depth, terms.sges,
                                                  terms.inline_bytes, c, x, p);
    }
    return domain->Dispatch->NdkCreateQp(domain, cq, cq, terms.context, terms.depth, terms.depth, terms.sges, terms.sges,
                                         terms.inline_bytes, c, x, p);
  });
}

NdkShared& NdkEnd::shared_receive_queue(ULONG depth, ULONG threshold) {
  NDK_PD* const domain = pd();
  NdkShared& made = bench_.keep(std::make_unique<NdkShared>());
  made.kernel = &bench_.kernel();
  made.srq = bench_.make<NDK_SRQ>("NdkCreateSrq", [&](auto c, PVOID x, NDK_SRQ** p) {
    return domain->Dispatch->NdkCreateSrq(domain, depth, 2, threshold, &NdkShared::on_notify, &made, nullptr, c, x, p);
  });
  return made;
}

NDK_CONNECTOR* NdkEnd::connector() {
  return bench_.make<NDK_CONNECTOR>(
      "NdkCreateConnector", [&](auto c, PVOID x, NDK_CONNECTOR** p) { return adapter_->Dispatch->NdkCreateConnector(adapter_, c, x, p); });
}

NdkListening& NdkEnd::idle_listener() {
  NdkListening& made = bench_.keep(std::make_unique<NdkListening>());
  made.kernel = &bench_.kernel();
  made.listener = bench_.make<NDK_LISTENER>("NdkCreateListener", [&](auto c, PVOID x, NDK_LISTENER** p) {
    return adapter_->Dispatch->NdkCreateListener(adapter_, &NdkListening::on_connect, &made, c, x, p);
  });
  return made;
}

NdkListening& NdkEnd::listener(std::uint16_t port) {
  NdkListening& made = idle_listener();
  NdkAddress at(address_, port);
  arrange(bench_.request([&](auto c, PVOID x) { return made.listener->Dispatch->NdkListen(made.listener, at.get(), at.length, c, x); }),
          "NdkListen");
  return made;
}

NDK_SHARED_ENDPOINT* NdkEnd::endpoint(std::uint16_t port) {
  NdkAddress at(address_, port);
  return bench_.make<NDK_SHARED_ENDPOINT>("NdkCreateSharedEndpoint", [&](auto c, PVOID x, NDK_SHARED_ENDPOINT** p) {
    return adapter_->Dispatch->NdkCreateSharedEndpoint(adapter_, at.get(), at.length, c, x, p);
  });
}

// ---------------------------------------------------------------- the bench

struct NdkBench::Simulated {
  Simulated(World& world, ndk::Kernel& kernel, const Environment& environment, const NdkTerms& terms, const CaseMemory& memory)
      : network(world, environment.setup()),
        hooks(environment.deviations->points(deviations::Product::ndk_provider), memory),
        device_a(open(world, environment, terms, "active", network.bench, environment.setup().bench_address)),
        device_b(open(world, environment, terms, "passive", network.product, environment.setup().product_address)),
        a(world, kernel, *device_a, options("active", terms)),
        b(world, kernel, *device_b, options("passive", terms)) {}
  std::unique_ptr<softroce::SoftRoceDevice> open(World& world, const Environment& environment, const NdkTerms& terms, const char* name,
                                                 net::SimHost& host, const IpAddress& at) {
    if (!terms.ipv6 || !at.is_v4()) return open_device(world, host, {name, at}, environment.setup());
    const IpAddress at6 = ipv6_of(at);
    return open_device(world, network.network.add_host(std::string(name) + "6", at6), {name, at6}, environment.setup());
  }
  ndk::ProviderOptions options(std::string_view name, const NdkTerms& terms) {
    ndk::ProviderOptions made;
    made.name = name;
    made.version = terms.version;
    made.answers = terms.answers;
    made.hooks = &hooks;
    return ndk::parse_behaviour(terms.behaviour, made).value();
  }
  EmbeddedNetwork network;
  BenchHooks hooks;
  std::unique_ptr<softroce::SoftRoceDevice> device_a, device_b;
  ndk::Provider a, b;
};

NdkBench::NdkBench(World& world, const Environment& environment, const NdkTerms& terms)
    : world_(world),
      terms_(terms),
      simulated_(std::make_unique<Simulated>(world, kernel_, environment, terms, memory_)),
      a_(std::make_unique<NdkEnd>(*this, simulated_->a, simulated_->device_a->address(), terms.version)),
      b_(std::make_unique<NdkEnd>(*this, simulated_->b, simulated_->device_b->address(), terms.version)) {
  if (environment.around().other_connection) connect();
}

NdkBench::~NdkBench() = default;

std::optional<NDK_RESULT_EX> NdkBench::result(NdkSide& side, Duration limit) {
  const auto look = [&] {
    if (side.queue->results.empty()) side.queue->look();
    return !side.queue->results.empty();
  };
  if (!wait_until(look, limit)) return std::nullopt;
  const NDK_RESULT_EX first = side.queue->results.front();
  side.queue->results.pop_front();
  return first;
}

// ---------------------------------------------------------------- connections

NdkConnection& NdkBench::prepare(const NdkConnectTerms& terms) {
  NdkConnection& made = keep(std::make_unique<NdkConnection>());
  for (auto [side, end, queue] : {std::tuple{&made.a, a_.get(), &terms.a}, std::tuple{&made.b, b_.get(), &terms.b}}) {
    side->kernel = &kernel_;
    side->end = end;
    side->queue = &end->queue(terms.queue_depth);
    side->memory = &end->memory();
    side->shared = queue->shared;
    side->qp = end->queue_pair(*side->queue, *queue);
  }
  made.a.connector = a_->connector();
  made.port = fresh_port();
  made.listening = &b_->listener(made.port);
  return made;
}

NdkAnswer& NdkBench::begin_connect(NdkConnection& c, const NdkConnectTerms& terms) {
  NdkAddress from(a_->address(), terms.source_port), to(b_->address(), c.port);
  NDK_CONNECTOR* const connector = c.a.connector;
  c.connecting = &begin([&](auto done, PVOID x) {
    return connector->Dispatch->NdkConnect(connector, c.a.qp, from.get(), from.length, to.get(), to.length, terms.inbound_a,
                                           terms.outbound_a, data_of(terms.request_data), static_cast<ULONG>(terms.request_data.size()),
                                           done, x);
  });
  return *c.connecting;
}

NdkAnswer& NdkBench::begin_accept(NdkConnection& c, const NdkConnectTerms& terms) {
  NDK_CONNECTOR* const connector = c.b.connector;
  const auto bytes = static_cast<ULONG>(terms.reply_data.size());
  c.accepting = &begin([&](auto done, PVOID x) {
    if (connector->Dispatch->NdkAcceptEx != nullptr) {
      return connector->Dispatch->NdkAcceptEx(connector, c.b.qp, terms.inbound_b, terms.outbound_b, data_of(terms.reply_data), bytes,
                                              &NdkSide::on_disconnect_ex, &c.b, done, x);
    }
    return connector->Dispatch->NdkAccept(connector, c.b.qp, terms.inbound_b, terms.outbound_b, data_of(terms.reply_data), bytes,
                                          &NdkSide::on_disconnect, &c.b, done, x);
  });
  return *c.accepting;
}

NdkAnswer& NdkBench::begin_complete(NdkConnection& c) {
  NDK_CONNECTOR* const connector = c.a.connector;
  c.completing = &begin(
      [&](auto done, PVOID x) { return connector->Dispatch->NdkCompleteConnect(connector, &NdkSide::on_disconnect, &c.a, done, x); });
  return *c.completing;
}

bool NdkBench::asked(NdkConnection& c) {
  if (!wait_until([&] { return !c.listening->asked.empty(); })) return false;
  c.b.connector = c.listening->asked.front();
  c.listening->asked.pop_front();
  return true;
}

NdkConnection& NdkBench::ask(const NdkConnectTerms& terms) {
  NdkConnection& c = prepare(terms);
  if (const NdkAnswer& connecting = begin_connect(c, terms); NdkStatus(connecting.said).failed()) arrange(connecting.said, "NdkConnect");
  if (!asked(c)) throw CannotArrange{"no request reached the listener"};
  return c;
}

NdkConnection& NdkBench::reply(const NdkConnectTerms& terms) {
  NdkConnection& c = ask(terms);
  if (const NdkAnswer& accepting = begin_accept(c, terms); NdkStatus(accepting.said).failed()) arrange(accepting.said, "NdkAccept");
  arrange(finish(*c.connecting), "NdkConnect");
  return c;
}

NdkConnection& NdkBench::connect(const NdkConnectTerms& terms) {
  NdkConnection& c = reply(terms);
  begin_complete(c);
  arrange(finish(*c.completing), "NdkCompleteConnect");
  arrange(finish(*c.accepting), "NdkAccept");
  return c;
}

}  // namespace fb::conformance
