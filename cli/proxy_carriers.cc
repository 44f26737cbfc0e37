#include "cli/proxy_carriers.h"

#include <fmt/format.h>

#include "cli/common.h"
#include "conformance/runner/product.h"
#include "model/proxy/rdma_bridge.h"
#include "model/proxy/rdma_proxy.h"
#include "model/transport/rdma_rules.h"
#include "sim/rdma/softroce/softroce.h"
#include "wire/fabrics/transports.h"

namespace fb::cli {

namespace {

constexpr Duration kProbe = Duration::s(5);  // a controller that is there accepts within
constexpr Duration kProbeEnd = Duration::s(1);
constexpr std::string_view kSockets = "l2:", kInterface = "packet:";

[[noreturn]] void unreachable(const std::string& url, const std::string& why) {
  throw UserError("--to " + url + " cannot be reached: " + why + "; is the controller running?");
}

[[noreturn]] void silent(const std::string& url) {
  throw UserError("--to " + url + ": no answer; is the address right, and the controller running?");
}

class TcpProbe final : net::StreamHandler {
 public:
  static void check(World& world, net::StreamHost& streams, const Endpoint& to) {
    TcpProbe probe;
    const std::string url = conformance::url_text(fabrics::kTcp, to);
    auto stream = streams.connect({IpAddress{}, 0}, to, probe);
    if (!stream) throw UserError("--to " + url + ": " + stream.error().text);
    const bool settled = world.run_until([&] { return probe.connected_ || probe.end_; }, kProbe);
    if (!settled) silent(url);
    if (probe.end_) unreachable(url, probe.end_->text);
    (*stream)->close();
  }

 private:
  void on_connected() override { connected_ = true; }
  void on_readable() override {}
  void on_writable() override {}
  void on_flush() override {}
  void on_end(const net::StreamEnd& end) override { end_ = end; }
  bool connected_ = false;
  std::optional<net::StreamEnd> end_;
};

/// Requests an admin queue and disconnects as soon as it is there. A refusal is an answer too, unless nobody listens.
class RdmaProbe final : rdma::ConnectionHandler {
 public:
  static void check(World& world, net::DatagramHost& machine, const proxy::Route& route) {
    const std::string url = conformance::url_text(fabrics::kRdma, route.to);
    softroce::SoftRoceOptions options;
    options.name = "proxy.probe";
    options.address = route.listen.address;
    options.ca_guid = nonce() | 1;
    const auto device = softroce::make_softroce(world, machine, options);
    if (!device) throw UserError("--listen " + conformance::url_text(fabrics::kRdma, route.listen) + ": " + device.error().text);
    RdmaProbe probe;
    const auto domain = (*device)->allocate_protection_domain();
    const auto completions = (*device)->create_completion_queue(64);
    rdma::QueuePairOptions pair;
    pair.send_queue = pair.receive_queue = completions.get();
    pair.handler = &probe;
    const auto qp = (*device)->create_queue_pair(*domain, pair);
    transport::ChannelOptions queue;
    queue.entries = 32;
    const Bytes request = transport::make_queue_request(queue, nullptr);
    qp->connect(route.to, {.private_data = request});
    if (!world.run_until([&] { return probe.answer_ != Answer::none; }, kProbe)) silent(url);
    if (probe.answer_ == Answer::unreachable) silent(url);
    if (probe.answer_ == Answer::nobody) unreachable(url, "nobody listens at this port");
    if (probe.answer_ != Answer::accepted) return;
    qp->disconnect();
    world.run_until([&] { return probe.answer_ == Answer::ended; }, kProbeEnd);
  }

 private:
  enum class Answer { none, accepted, refused, nobody, unreachable, ended };
  static constexpr std::uint16_t kNoSuchService = 8;  // reject reason of the connection manager

  void on_established(rdma::QueuePair&, const rdma::ConnectionFacts&) override { answer_ = Answer::accepted; }
  void on_rejected(rdma::QueuePair&, std::uint16_t reason, ByteView) override {
    answer_ = reason == kNoSuchService ? Answer::nobody : Answer::refused;
  }
  void on_unreachable(rdma::QueuePair&) override { answer_ = Answer::unreachable; }
  void on_disconnected(rdma::QueuePair&) override { answer_ = Answer::ended; }
  void on_queue_error(rdma::QueuePair&) override {}
  Answer answer_ = Answer::none;
};

std::string passed(std::uint64_t connections, std::uint64_t to_controllers, std::uint64_t to_hosts) {
  return fmt::format("{}, {} to controllers, {} to hosts", counted(connections, "connection"), size_text(to_controllers),
                     size_text(to_hosts));
}

std::string way_text(std::string_view transport, const Endpoint& from, const Endpoint& to) {
  return conformance::url_text(transport, from) + " -> " + conformance::url_text(transport, to);
}

std::string rewritten(std::uint64_t entries) {
  return entries == 0 ? "" : fmt::format(", {} rewritten", counted(entries, "discovery entry", "discovery entries"));
}

class TcpCarrier final : public ProxyCarrier {
 public:
  TcpCarrier(std::unique_ptr<proxy::TcpProxy> between, std::vector<proxy::Route> routes)
      : between_(std::move(between)), routes_(std::move(routes)) {}
  std::vector<std::string> ways() const override {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < routes_.size(); ++i) all.push_back(way_text(fabrics::kTcp, between_->at(i), routes_[i].to));
    return all;
  }
  void close() override { between_->close(); }
  std::string summary(const live::LiveJudge& judge) const override {
    const proxy::ProxyCounters& counters = between_->counters();
    const evidence::Counts& counts = judge.counts();
    std::string text = passed(counters.connections, counters.to_controller_bytes, counters.to_host_bytes);
    text += fmt::format(", {}, {}", counted(counts.pdus, "PDU"), counted(counts.commands, "command"));
    if (counts.encrypted > 0) text += fmt::format(", {} encrypted and not judged", counted(counts.encrypted, "connection"));
    if (judge.unread().other > 0) text += fmt::format(", {} of another protocol", counted(judge.unread().other, "connection"));
    return text + rewritten(counters.renamed_entries);
  }

 private:
  std::unique_ptr<proxy::TcpProxy> between_;
  std::vector<proxy::Route> routes_;
};

class RdmaCarrier final : public ProxyCarrier {
 public:
  RdmaCarrier(std::unique_ptr<proxy::RdmaProxy> between, std::vector<proxy::Route> routes)
      : between_(std::move(between)), routes_(std::move(routes)) {}
  std::vector<std::string> ways() const override {
    std::vector<std::string> all;
    for (const proxy::Route& route : routes_) all.push_back(way_text(fabrics::kRdma, route.listen, route.to));
    return all;
  }
  void close() override { between_->close(); }
  std::string summary(const live::LiveJudge& judge) const override {
    const proxy::RdmaProxyCounters& counters = between_->counters();
    const evidence::Counts& counts = judge.counts();
    std::string text = passed(counters.connections, counters.to_controller_bytes, counters.to_host_bytes);
    text += fmt::format(", {}, {}", counted(counts.rdma_messages, "message"), counted(counts.commands, "command"));
    text += rewritten(counters.renamed_entries);
    const auto add = [&](std::uint64_t packets, std::string_view which) {
      if (packets > 0) text += fmt::format(", {} {}", counted(packets, "packet"), which);
    };
    add(counters.damaged, "with a wrong ICRC not passed on");
    add(counters.strangers, "of no connection not passed on");
    add(counters.too_long, "too long for the other side not passed on");
    return text;
  }

 private:
  std::unique_ptr<proxy::RdmaProxy> between_;
  std::vector<proxy::Route> routes_;
};

class FrameCarrier final : public ProxyCarrier {
 public:
  FrameCarrier(World& world, const std::string& hosts, const std::string& controllers, fault::Points* faults)
      : way_(hosts + " -> " + controllers),
        hosts_(open("--listen", hosts)),
        between_(world, std::move(hosts_), open("--to", controllers), faults) {}
  std::vector<std::string> ways() const override { return {way_}; }
  void close() override {}
  std::string summary(const live::LiveJudge& judge) const override {
    const proxy::RdmaBridgeCounters& counters = between_.counters();
    std::string text = fmt::format("{} ({} of RoCEv2), {} to controllers, {} to hosts, {}, {}", counted(counters.frames, "frame"),
                                   counters.roce, size_text(counters.to_controller_bytes), size_text(counters.to_host_bytes),
                                   counted(judge.counts().rdma_messages, "message"), counted(judge.counts().commands, "command"));
    if (counters.unsent > 0) text += fmt::format(", {} could not be passed on", counted(counters.unsent, "frame"));
    return text;
  }

 private:
  static std::unique_ptr<net::L2Socket> open(const std::string& option, const std::string& text) {
    const std::string_view rest = std::string_view(text).substr(text.find(':') + 1);
    if (text.starts_with(kInterface)) return take(option, net::L2Socket::on_interface(std::string(rest)));
    const std::size_t comma = rest.find(',');
    if (comma == std::string_view::npos || comma == 0 || comma + 1 == rest.size()) {
      throw UserError(option + " " + text + ": takes the form l2:PATH,PEER or packet:INTERFACE");
    }
    return take(option, net::L2Socket::on_unix_sockets(std::string(rest.substr(0, comma)), std::string(rest.substr(comma + 1))));
  }
  static std::unique_ptr<net::L2Socket> take(const std::string& option, Result<std::unique_ptr<net::L2Socket>> made) {
    if (!made) throw UserError(option + ": " + made.error().text);
    return std::move(made).value();
  }

  std::string way_;
  std::unique_ptr<net::L2Socket> hosts_;  // until the bridge has it
  proxy::RdmaBridge between_;
};

}  // namespace

bool is_link(std::string_view text) { return text.starts_with(kSockets) || text.starts_with(kInterface); }

void probe_controllers(World& world, net::RealHost& machine, std::string_view transport, const std::vector<proxy::Route>& routes) {
  for (const proxy::Route& route : routes) {
    transport == fabrics::kRdma ? RdmaProbe::check(world, machine, route) : TcpProbe::check(world, machine, route.to);
  }
}

std::unique_ptr<ProxyCarrier> carry_tcp(World& world, net::RealHost& machine, const proxy::ProxyOptions& options, const Remark& remark) {
  auto made = proxy::TcpProxy::start(world, machine, options);
  if (!made) throw UserError("--listen " + conformance::url_text(fabrics::kTcp, options.routes.front().listen) + ": " + made.error().text);
  (*made)->on_remark = remark;
  return std::make_unique<TcpCarrier>(std::move(made).value(), options.routes);
}

std::unique_ptr<ProxyCarrier> carry_rdma(World& world, net::RealHost& machine, const proxy::ProxyOptions& options, const Remark& remark) {
  auto made = proxy::RdmaProxy::start(world, machine, {options.routes, options.keep_discovery, options.faults});
  if (!made) throw UserError("--listen " + conformance::url_text(fabrics::kRdma, options.routes.front().listen) + ": " + made.error().text);
  (*made)->on_remark = remark;
  return std::make_unique<RdmaCarrier>(std::move(made).value(), options.routes);
}

std::unique_ptr<ProxyCarrier> carry_frames(World& world, const std::string& hosts, const std::string& controllers, fault::Points* faults) {
  return std::make_unique<FrameCarrier>(world, hosts, controllers, faults);
}

}  // namespace fb::cli
