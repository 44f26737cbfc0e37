#include "networkdirect/library/own_ports.h"

#include <algorithm>

namespace fb::networkdirect {

namespace {

using Places = std::vector<Endpoint>;

class Port final : public net::DatagramPort, net::DatagramReceiver {
 public:
  Port(std::unique_ptr<net::DatagramPort> port, const Endpoint& local, const Places& places)
      : port_(std::move(port)), local_(local), places_(places) {
    port_->set_receiver(this);
  }
  ~Port() override { port_->set_receiver(nullptr); }

  net::Outgoing begin(const Endpoint& to, std::size_t size) override {
    const auto place = std::ranges::find(places_, to.address, &Endpoint::address);
    return port_->begin(place == places_.end() ? to : *place, size);
  }
  void commit() override { port_->commit(); }
  void flush() override { port_->flush(); }
  void set_receiver(net::DatagramReceiver* receiver) override { receiver_ = receiver; }
  Endpoint local() const override { return local_; }
  std::size_t mtu() const override { return port_->mtu(); }

 private:
  // The port says who sent: Wine's sockets are at all addresses, and send from whichever the system takes.
  void on_datagram(const net::Arrival& arrival) override {
    const auto place = std::ranges::find(places_, arrival.source.port, &Endpoint::port);
    if (receiver_ == nullptr) return;
    net::Arrival told = arrival;
    if (place != places_.end()) told.source = {place->address, local_.port};
    told.destination = local_;
    receiver_->on_datagram(told);
  }
  void on_batch_end() override {
    if (receiver_ != nullptr) receiver_->on_batch_end();
  }

  std::unique_ptr<net::DatagramPort> port_;
  Endpoint local_;
  const Places& places_;
  net::DatagramReceiver* receiver_ = nullptr;
};

class Host final : public net::DatagramHost {
 public:
  Host(std::unique_ptr<net::DatagramHost> host, Places places) : host_(std::move(host)), places_(std::move(places)) {
    std::erase_if(places_, [](const Endpoint& place) { return place.port == 0; });
  }
  Result<std::unique_ptr<net::DatagramPort>> open(const Endpoint& local) override {
    const auto place = std::ranges::find(places_, local.address, &Endpoint::address);
    if (place == places_.end()) return host_->open(local);
    auto port = host_->open(*place);
    if (!port) return port;
    return std::unique_ptr<net::DatagramPort>(std::make_unique<Port>(std::move(port).value(), local, places_));
  }

 private:
  std::unique_ptr<net::DatagramHost> host_;
  Places places_;
};

}  // namespace

std::unique_ptr<net::DatagramHost> with_own_ports(std::unique_ptr<net::DatagramHost> host, std::vector<Endpoint> places) {
  return std::make_unique<Host>(std::move(host), std::move(places));
}

}  // namespace fb::networkdirect
