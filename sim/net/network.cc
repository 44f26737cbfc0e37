#include "sim/net/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/net/sim_stream_end.h"

namespace fb::net {

namespace {

constexpr std::uint16_t kFirstEphemeral = 49152;
constexpr std::size_t kIpv4Overhead = 28;  // IP and UDP headers
constexpr std::size_t kIpv6Overhead = 48;
constexpr std::size_t kMtuMax = 65535;

std::size_t overhead(const IpAddress& address) { return address.is_v4() ? kIpv4Overhead : kIpv6Overhead; }

}  // namespace

Duration network_detail::wire_time(std::size_t bytes, std::int64_t bits_per_second) {
  const auto bits = static_cast<unsigned __int128>(bytes) * 8 * 1'000'000'000;
  const auto rate = static_cast<unsigned __int128>(bits_per_second);
  return Duration::ns(static_cast<std::int64_t>((bits + rate - 1) / rate));
}

using network_detail::wire_time;

LinkCounters& LinkCounters::operator+=(const LinkCounters& other) {
  sent += other.sent;
  sent_bytes += other.sent_bytes;
  delivered += other.delivered;
  duplicated += other.duplicated;
  delayed += other.delayed;
  corrupted += other.corrupted;
  dropped_by_filter += other.dropped_by_filter;
  dropped_queue_full += other.dropped_queue_full;
  dropped_no_receiver += other.dropped_no_receiver;
  dropped_no_route += other.dropped_no_route;
  return *this;
}

// ---------------------------------------------------------------------------------------- ports

class SimPort final : public DatagramPort {
 public:
  SimPort(SimHost& host, const Endpoint& local) : host_(host), local_(local), overhead_(overhead(local.address)) {
    host_.ports_.emplace(local_, this);
  }
  ~SimPort() override {
    host_.ports_.erase(local_);
    if (host_.last_found_ == this) host_.last_found_ = nullptr;
    if (current_ != nullptr) host_.network_.release(*current_);
  }

  Outgoing begin(const Endpoint& to, std::size_t size) override {
    BENCH_ASSERT(size + overhead_ <= host_.mtu_, "a datagram is never longer than max_payload()");
    if (current_ == nullptr) current_ = &host_.network_.acquire();
    current_->reserve(host_.mtu_);
    current_->size = size;
    current_->source = local_;
    current_->destination = to;
    return {current_->payload(), IpFacts{}};
  }

  void commit() override {
    BENCH_ASSERT(current_ != nullptr, "commit() follows begin()");
    auto& packet = *std::exchange(current_, nullptr);
    if (route_ == nullptr || packet.destination.address != route_address_) {
      route_ = host_.network_.route(host_, packet.destination.address);
      route_address_ = packet.destination.address;
    }
    host_.network_.send(route_, packet, host_);
  }

  void set_receiver(DatagramReceiver* receiver) override { receiver_ = receiver; }
  Endpoint local() const override { return local_; }
  std::size_t mtu() const override { return host_.mtu_; }

  bool accepts() const { return receiver_ != nullptr; }
  void take(const Arrival& arrival) {
    // Behind all that arrives at this instant, which is on the loop already. Scheduled before the
    // call, because the receiver may close this port.
    if (!batch_end_.scheduled()) host_.network_.world().loop().schedule_after(batch_end_, {});
    receiver_->on_datagram(arrival);
  }

 private:
  void end_batch() {
    if (receiver_ != nullptr) receiver_->on_batch_end();
  }

  SimHost& host_;
  Endpoint local_;
  std::size_t overhead_;
  DatagramReceiver* receiver_ = nullptr;
  network_detail::Packet* current_ = nullptr;
  network_detail::Link* route_ = nullptr;
  IpAddress route_address_;
  Timer<SimPort, &SimPort::end_batch> batch_end_{"net.batch_end", *this};
};

// ---------------------------------------------------------------------------------------- hosts

void SimHost::add_address(const IpAddress& address) {
  const bool fresh = network_.by_address_.emplace(address, this).second;
  BENCH_ASSERT(fresh, "an address belongs to one host");
  addresses_.push_back(address);
}

SimPort* SimHost::find_port(const Endpoint& local) {
  if (last_found_ != nullptr && last_found_->local() == local) return last_found_;
  const auto found = ports_.find(local);
  if (found == ports_.end()) return nullptr;
  return last_found_ = found->second;
}

std::uint16_t SimHost::free_port(const IpAddress& address) {
  constexpr int kCount = 0x10000 - kFirstEphemeral;
  for (int tries = 0; tries < kCount; ++tries) {
    const std::uint16_t port = next_ephemeral_;
    next_ephemeral_ = port == 0xFFFF ? kFirstEphemeral : static_cast<std::uint16_t>(port + 1);
    if (!ports_.contains({address, port})) return port;
  }
  return 0;
}

Result<std::unique_ptr<DatagramPort>> SimHost::open(const Endpoint& local) {
  if (std::find(addresses_.begin(), addresses_.end(), local.address) == addresses_.end()) {
    return Failure{Problem{fmt::format("UDP {}: host {} does not have this address", to_string(local), name_)}};
  }
  Endpoint bound = local;
  if (bound.port == 0) bound.port = free_port(bound.address);
  if (bound.port == 0) {
    return Failure{Problem{fmt::format("UDP {}: no free port", to_string(local))}};
  }
  if (ports_.contains(bound)) {
    return Failure{Problem{fmt::format("UDP {}: address already in use", to_string(bound))}};
  }
  return std::unique_ptr<DatagramPort>(std::make_unique<SimPort>(*this, bound));
}

// -------------------------------------------------------------------------------------- network

SimNetwork::SimNetwork(World& world, const LinkOptions& defaults)
    : world_(world), defaults_(defaults), streams_(std::make_unique<stream_detail::Streams>(*this)) {}

SimNetwork::~SimNetwork() = default;

SimHost& SimNetwork::add_host(std::string name, const IpAddress& address) {
  BENCH_ASSERT(find_host(name) == nullptr, "a host's name is its own");
  const std::size_t index = hosts_.size();
  hosts_.push_back(std::unique_ptr<SimHost>(new SimHost(*this, std::move(name), index)));
  SimHost& host = *hosts_.back();
  host.add_address(address);
  links_.emplace_back();
  const auto add_link = [this](const SimHost& from, SimHost& to) {
    auto link = std::make_unique<Link>();
    link->to = &to;
    link->name = from.name() + "->" + to.name();
    link->index = link_count_++;
    apply(*link, defaults_);
    links_[from.index_].push_back(std::move(link));  // columns come in the order of the hosts
  };
  for (std::size_t i = 0; i < index; ++i) {
    add_link(*hosts_[i], host);
    add_link(host, *hosts_[i]);
    refresh_mtu(*hosts_[i]);
  }
  add_link(host, host);
  refresh_mtu(host);
  return host;
}

SimHost* SimNetwork::find_host(std::string_view name) {
  for (const auto& host : hosts_) {
    if (host->name() == name) return host.get();
  }
  return nullptr;
}

network_detail::Link& SimNetwork::link_of(const SimHost& from, const SimHost& to) const { return *links_[from.index_][to.index_]; }

void SimNetwork::apply(Link& link, const LinkOptions& options) {
  BENCH_ASSERT(options.mtu >= 1280 && options.mtu <= kMtuMax, "an IP MTU of 1280 to 65535 bytes");
  BENCH_ASSERT(options.bandwidth >= 0 && options.latency >= Duration{}, "links run forward");
  link.options = options;
  link.queue_limit = options.bandwidth == 0 ? Duration{} : wire_time(options.queue_bytes, options.bandwidth);
}

void SimNetwork::refresh_mtu(const SimHost& from) {
  // The link to itself counts only for a host that has no other.
  const auto& row = links_[from.index_];
  std::size_t mtu = row.size() == 1 ? row[0]->options.mtu : kMtuMax;
  for (std::size_t to = 0; to < row.size(); ++to) {
    if (to != from.index_) mtu = std::min(mtu, row[to]->options.mtu);
  }
  hosts_[from.index_]->mtu_ = mtu;
}

void SimNetwork::set_link(const SimHost& from, const SimHost& to, const LinkOptions& options) {
  apply(link_of(from, to), options);
  refresh_mtu(from);
}

void SimNetwork::set_links(const SimHost& a, const SimHost& b, const LinkOptions& options) {
  set_link(a, b, options);
  set_link(b, a, options);
}

const LinkOptions& SimNetwork::link(const SimHost& from, const SimHost& to) const { return link_of(from, to).options; }

void SimNetwork::set_filter(const SimHost& from, const SimHost& to, LinkFilter* filter) { link_of(from, to).filter = filter; }

const LinkCounters& SimNetwork::counters(const SimHost& from, const SimHost& to) const { return link_of(from, to).counters; }

LinkCounters SimNetwork::counters() const {
  LinkCounters sum;
  for (const auto& row : links_) {
    for (const auto& link : row) sum += link->counters;
  }
  sum.sent += dropped_no_route_;
  sum.dropped_no_route = dropped_no_route_;
  return sum;
}

network_detail::Packet& SimNetwork::acquire() {
  if (first_free_ == nullptr) return pool_.emplace_back(*this);
  Packet& packet = *first_free_;
  first_free_ = std::exchange(packet.next_free, nullptr);
  return packet;
}

void SimNetwork::release(Packet& packet) {
  packet.next_free = first_free_;
  first_free_ = &packet;
}

network_detail::Link* SimNetwork::route(const SimHost& from, const IpAddress& to) {
  const auto found = by_address_.find(to);
  if (found == by_address_.end()) return nullptr;
  return &link_of(from, *found->second);
}

void SimNetwork::trace(Packet& packet, const SimHost& from, TraceKind kind, std::string_view text, ByteView as_sent) {
  if (!world_.trace().hears_wire()) return;
  TraceEvent event;
  event.kind = kind;
  event.time = world_.now();
  event.actor = from.name();
  event.label = "udp";
  event.text = text;
  event.bytes = packet.payload();
  event.sent = as_sent;
  event.source = packet.source;
  event.destination = packet.destination;
  world_.trace().emit(event);
}

void SimNetwork::send(Link* link, Packet& packet, const SimHost& from) {
  if (link == nullptr) {
    ++dropped_no_route_;
    trace(packet, from, TraceKind::fault, "dropped: no host has this address", {});
    release(packet);
    return;
  }
  packet.link = link;
  ++link->counters.sent;
  link->counters.sent_bytes += packet.size;
  // Who listens wants to know what a filter made different; nobody pays for it unheard.
  if (world_.trace().hears_wire() && (link->filter != nullptr || filter_ != nullptr)) {
    as_sent_.assign(packet.payload().begin(), packet.payload().end());
  }
  const Verdict verdict = judge(*link, packet);
  // The tail holds the integrity check of the whole packet, so that these words stand for all of it.
  const MutableBytes bytes = packet.payload();
  const std::uint64_t tail = bytes.size() >= 8 ? load_le<std::uint64_t>(bytes.data() + bytes.size() - 8) : 0;
  world_.loop().fold(tail ^ (static_cast<std::uint64_t>(packet.size) << 32) ^ (static_cast<std::uint64_t>(packet.source.port) << 16) ^
                     packet.destination.port);
  const bool damaged = verdict.corrupted || verdict.cut > 0;
  const ByteView as_sent = damaged ? ByteView{as_sent_} : ByteView{};
  if (verdict.drop) {
    ++link->counters.dropped_by_filter;
    trace(packet, from, TraceKind::fault, "dropped by filter", as_sent);
    release(packet);
    return;
  }
  const bool late = verdict.delay > Duration{};
  packet.size -= std::min(packet.size, verdict.cut);
  if (damaged) ++link->counters.corrupted;
  if (late) ++link->counters.delayed;
  const bool sent = put_on_wire(packet, from, verdict.delay, damaged ? "corrupted by filter" : (late ? "delayed by filter" : ""), as_sent);
  for (std::uint32_t i = 0; i < verdict.duplicates; ++i) {
    Packet& copy = acquire();
    copy.reserve(from.mtu_);
    copy.size = packet.size;
    copy.source = packet.source;
    copy.destination = packet.destination;
    copy.link = link;
    std::copy_n(bytes.begin(), packet.size, copy.payload().begin());
    ++link->counters.sent;
    ++link->counters.duplicated;
    link->counters.sent_bytes += packet.size;
    const std::string_view what = damaged ? "corrupted by filter, duplicated by filter" : "duplicated by filter";
    if (!put_on_wire(copy, from, verdict.duplicate_delay, what, {})) release(copy);
  }
  if (!sent) release(packet);
}

Verdict SimNetwork::judge(Link& link, Packet& packet) {
  const std::uint64_t ordinal = link.ordinal++;
  LinkFilter* const filter = link.filter != nullptr ? link.filter : filter_;
  if (filter == nullptr) return Verdict::pass();
  PacketContext context{link.name, link.index, ordinal, world_.now(), packet.source, packet.destination, packet.payload()};
  return filter->on_packet(context);
}

bool SimNetwork::put_on_wire(Packet& packet, const SimHost& from, Duration delay, std::string_view text, ByteView as_sent) {
  Link& link = *packet.link;
  Instant sent = world_.now();
  if (link.options.bandwidth != 0) {
    const Duration wire = wire_time(packet.size + overhead(packet.source.address), link.options.bandwidth);
    const Instant start = std::max(sent, link.wire_free);
    // An idle wire takes any packet; a busy one what its queue has room for.
    if (start > sent && start - sent + wire > link.queue_limit) {
      ++link.counters.dropped_queue_full;
      trace(packet, from, TraceKind::fault, "dropped: the link's queue is full", as_sent);
      return false;
    }
    link.wire_free = sent = start + wire;
  }
  trace(packet, from, TraceKind::packet, text, as_sent);
  world_.loop().schedule(packet, sent + link.options.latency + delay);
  return true;
}

void network_detail::Packet::fire() { network_.deliver(*this); }

void SimNetwork::deliver(Packet& packet) {
  SimPort* const port = packet.link->to->find_port(packet.destination);
  if (port == nullptr || !port->accepts()) {
    ++packet.link->counters.dropped_no_receiver;
  } else {
    ++packet.link->counters.delivered;
    port->take({packet.source, packet.destination, packet.payload(), IpFacts{}});
  }
  release(packet);
}

}  // namespace fb::net
