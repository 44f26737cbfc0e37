#include "conformance/runner/bus_bench.h"

#include <utility>

namespace fb::conformance {

using mctp::control::Command;
using mctp::control::Completion;

PlayedDevice::PlayedDevice(World& world, mctp::Binding& binding, const mctp::control::Uuid& uuid)
    : raw_(world, binding, mctp::kNullEid), uuid_(uuid) {
  raw_.on_message = [this](const SeenMessage& message) { return on_message(message); };
}

std::vector<const SeenMessage*> PlayedDevice::requests_of(Command command) const {
  std::vector<const SeenMessage*> found;
  for (const SeenMessage& request : requests_) {
    if (request.body[2] == static_cast<std::uint8_t>(command)) found.push_back(&request);
  }
  return found;
}

Bytes PlayedDevice::good_answer(const SeenMessage& request) {
  Bytes answer = {0x00, static_cast<std::uint8_t>(request.body[1] & 0x1F), request.body[2], 0x00};
  const auto add = [&](std::initializer_list<std::uint8_t> bytes) { answer.insert(answer.end(), bytes); };
  switch (static_cast<Command>(request.body[2])) {
    case Command::set_endpoint_id:
      if (request.body.size() < 5) break;
      raw_.set_eid(request.body[4]);
      discovered_ = true;
      add({0x00, request.body[4], 0x00});
      return answer;
    case Command::get_endpoint_id:
      add({raw_.eid(), 0x00, 0x00});
      return answer;
    case Command::get_endpoint_uuid:
      answer.insert(answer.end(), uuid_.begin(), uuid_.end());
      return answer;
    case Command::get_version_support:
      add({0x01, 0xF1, 0xF3, 0xF1, 0x00});
      return answer;
    case Command::get_message_type_support:
      add({static_cast<std::uint8_t>(types.size())});
      answer.insert(answer.end(), types.begin(), types.end());
      return answer;
    case Command::prepare_for_discovery:
      discovered_ = false;
      return answer;
    case Command::endpoint_discovery:
      if (discovered_) return {};
      return answer;
    default:
      break;
  }
  answer[3] = static_cast<std::uint8_t>(Completion::unsupported_command);
  return answer;
}

bool PlayedDevice::on_message(const SeenMessage& message) {
  if (message.type() != 0 || message.body.size() < mctp::control::kRequestHeader || !message.owner) return false;
  requests_.push_back(message);
  const mctp::Eid before = raw_.eid();
  Bytes answer = good_answer(message);
  if (script) {
    answer = script(message, std::move(answer));
    // A device that does not say so has not taken an EID.
    const bool took = answer.size() > 5 && answer[3] == 0;
    if (message.body[2] == static_cast<std::uint8_t>(Command::set_endpoint_id)) raw_.set_eid(took ? answer[5] : before);
  }
  if (answer.empty()) return true;
  MctpPacket reply;
  reply.destination = message.source;
  reply.source = message.destination != mctp::kNullEid && message.destination != mctp::kBroadcastEid ? message.destination : raw_.eid();
  reply.owner = false;
  reply.tag = message.tag;
  reply.payload = std::move(answer);
  raw_.set_product(message.source, message.from);
  raw_.send(reply);
  return true;
}

BusBench::BusBench(World& world, const Environment& environment) : Bench(world), medium_(environment.transport) {
  if (!environment.product->embedded) throw UserError("no adapter for a bus owner at " + environment.product->url);
  EmbeddedSetup setup = environment.setup();
  hooks_ = environment.deviations->mctp_hooks(deviations::Product::bus);
  network_ = std::make_unique<mctp::Network>(world, setup.managed->network);
  // The bus of a case may be the second one; nobody is on the first.
  if (environment.around().second_port) {
    if (medium_behind() == "pcie") {
      network_->add_pcie();
    } else {
      network_->add_smbus();
    }
  }
  if (medium_ == "serial") {
    segment_ = network_->add_serial(setup.managed->serial);
  } else if (medium_ == "pcie") {
    segment_ = network_->add_pcie(setup.managed->pcie);
  } else {
    segment_ = network_->add_smbus(setup.managed->smbus);
  }
  network_->owner().endpoint(segment_).set_hooks(hooks_.get());
  add_device();
}

BusBench::~BusBench() {
  // Played devices are on the network's media.
  devices_.clear();
}

PlayedDevice& BusBench::add_device() {
  BENCH_ASSERT(medium_ != "serial" || devices_here_ == 0, "several devices are for cases over_buses");
  return play(medium_, segment_, devices_here_++, 0x2E);
}

PlayedDevice& BusBench::add_device_behind() {
  BENCH_ASSERT(bridge_ != nullptr, "the bridge comes first");
  return play(medium_behind(), behind_, devices_behind_++, 0x2F);
}

PlayedDevice& BusBench::add_device_on_another_bus() {
  const std::size_t segment = medium_behind() == "pcie" ? network_->add_pcie() : network_->add_smbus();
  return play(medium_behind(), segment, 0, 0x30);
}

PlayedDevice& BusBench::play(std::string_view medium, std::size_t segment, unsigned number, std::uint8_t mark) {
  const std::string name = (mark == 0x2E ? "played " : "played behind ") + std::to_string(number + 1);
  mctp::Binding& binding = network_->segment(segment).attach(name, product_address_on(medium, number));
  mctp::control::Uuid uuid{0x91, 0x4d, mark};
  uuid[15] = static_cast<std::uint8_t>(number + 1);
  return *devices_.emplace_back(std::make_unique<PlayedDevice>(world(), binding, uuid));
}

mctp::PhysicalAddress BusBench::bridge_address() const {
  constexpr unsigned kPlace = 10;  // behind those of played devices
  return product_address_on(medium_, kPlace);
}

mctp::Bridge& BusBench::add_bridge(std::uint8_t pool) {
  BENCH_ASSERT(medium_ != "serial" && bridge_ == nullptr, "one bridge, on media with several devices");
  mctp::BridgeOptions options;
  options.pool_size = pool;
  bridge_ = &network_->add_bridge(segment_, bridge_address(), options);
  behind_ = medium_behind() == "pcie" ? network_->add_pcie_behind(*bridge_) : network_->add_smbus_behind(*bridge_);
  for (std::size_t port = 0; port < bridge_->bridge->ports(); ++port) bridge_->bridge->endpoint(port).set_hooks(hooks_.get());
  return *bridge_->bridge;
}

mctp::EnumerationReport BusBench::enumerate() { return network_->enumerate(); }

}  // namespace fb::conformance
