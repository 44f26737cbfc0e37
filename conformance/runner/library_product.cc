#include "conformance/runner/library_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "conformance/runner/case.h"
#include "model/drive/options.h"
#include "model/library/front.h"
#include "model/transport/transfer_limit.h"

namespace fb::conformance {

namespace {

/// Nothing happens to a library but what its interface says.
class LibraryArranger : public Arranger {
 public:
  void ana_state(std::uint32_t, nvme::AnaState) override { refuse(); }
  void resize_namespace(std::uint32_t) override { refuse(); }
  void attach_namespace(std::uint32_t, std::uint16_t) override { refuse(); }
  void detach_namespace(std::uint32_t, std::uint16_t) override { refuse(); }
  void write_protect(std::uint32_t, bool) override { refuse(); }
  void media_error(std::uint32_t, std::uint64_t, std::uint32_t, bool) override { refuse(); }
  void temperature(std::uint16_t) override { refuse(); }
  void warmer() override { refuse(); }
  void critical_warning(std::uint8_t) override { refuse(); }
  void available_spare(std::uint8_t) override { refuse(); }
  void percentage_used(std::uint8_t) override { refuse(); }
  void power_cycle() override { refuse(); }
  void subsystem_reset() override { refuse(); }
  void allow_host(const std::string&) override { refuse(); }
  void disallow_host(const std::string&) override { refuse(); }
  void allow_any_host(bool) override { refuse(); }
  void hide_subsystem() override { refuse(); }
  void add_referral() override { refuse(); }
  void remove_referral() override { refuse(); }
  void link(std::uint8_t, bool) override { refuse(); }
  void command_time(Duration) override { refuse(); }

 protected:
  static void finish(library::Front& front) {
    front.end();
    if (!front.fault().empty()) throw LibraryFault{front.fault()};
  }

 private:
  [[noreturn]] static void refuse() { throw CannotArrange{"a product that is a library cannot be arranged"}; }
};

class LibraryController final : public LibraryArranger {
 public:
  LibraryController(World& world, const ControllerPlace& place, EmbeddedSetup& setup, const Product& product)
      : front_(world, library_of(product)) {
    const fb_product& table = library_of(product)->table();
    transport::ControllerFabricOptions options;
    options.port = kNvmePort;
    options.admin_entries_max = table.admin_entries;
    options.io_entries_max = table.io_entries;
    options.io_queues_max = table.io_queues;
    options.in_capsule_bytes = table.in_capsule_bytes;
    options.transfer_bytes_max = transport::kLargestTransfer;
    if (setup.transport == fabrics::kRdma) {
      device_ = std::make_unique<DeviceStack>(world, *place.datagrams, place.device, setup);
      take(transport::RdmaControllerFabric::start(world, device_->top(), options, front_, nullptr));
    } else {
      take(transport::TcpControllerFabric::start(world, *place.streams, place.device.address, options, {}, front_, nullptr));
    }
    front_.begin(listener_->facts(), transport::kLargestTransfer);
  }

  Endpoint at() const { return listener_->local(); }

  void end() override { finish(front_); }

 private:
  template <class Fabric>
  void take(Result<std::unique_ptr<Fabric>> started) {
    if (!started) throw UserError(started.error().text);
    listener_ = std::move(started).value();
  }

  std::unique_ptr<DeviceStack> device_;
  std::unique_ptr<transport::ControllerFabric> listener_;  // outlives the front's channels
  library::Front front_;
};

/// A management endpoint; MCTP and its control messages are the bench's.
class LibraryEndpoint final : public LibraryArranger {
 public:
  LibraryEndpoint(World& world, mctp::Binding& binding, std::string_view medium, const Product& product)
      : node_(world, binding, mi::drive_node_options(), {.name = "product"}), front_(world, library_of(product)) {
    front_.begin(node_.endpoint(), medium == "pcie" ? FB_MI_PCIE : FB_MI_TWO_WIRE, [this](bool keep_eid) {
      if (keep_eid) {
        node_.endpoint().reset();
      } else {
        node_.reset();
      }
    });
  }
  void end() override { finish(front_); }

 private:
  mctp::SimpleDevice node_;
  library::Front front_;
};

}  // namespace

const std::shared_ptr<library::Library>& library_of(const Product& product) {
  static auto& loaded = *new std::map<std::string, std::shared_ptr<library::Library>>;
  auto& library = loaded[product.path];
  if (library != nullptr) return library;
  auto made = library::Library::load(product.path);
  if (!made) throw UserError(made.error().text);
  library = std::move(made).value();
  return library;
}

void load_library(Product& product) {
  const library::Library& library = *library_of(product);
  if (library.has_commands()) {
    product.nqn = library.table().subnqn;
  } else {
    product.transport = kMedia.front();
  }
}

void choose_transport(Product& product, const std::string& transport) {
  const library::Library& library = *library_of(product);
  const bool fabric = transport == fabrics::kTcp || transport == fabrics::kRdma;
  const bool medium = std::ranges::find(kMedia, transport) != kMedia.end();
  if (!fabric && !medium)
    throw UserError("--transport " + transport + ": a library is tested over tcp or rdma, its NVMe-MI over " +
                    fmt::format("{}", fmt::join(kMedia, ", ")));
  if (fabric && !library.has_commands())
    throw UserError("--transport " + transport + ": " + product.url + " has no command(), NVMe-MI alone");
  if (medium && !library.has_messages()) throw UserError("--transport " + transport + ": " + product.url + " has no mi_message()");
  product.transport = transport;
}

std::unique_ptr<Arranger> start_library(World& world, const ControllerPlace& place, EmbeddedSetup& setup, const Product& product,
                                        Endpoint& at) {
  auto made = std::make_unique<LibraryController>(world, place, setup, product);
  at = made->at();
  return made;
}

std::unique_ptr<Arranger> start_library_endpoint(World& world, mctp::Binding& binding, std::string_view medium, const Product& product) {
  return std::make_unique<LibraryEndpoint>(world, binding, medium, product);
}

}  // namespace fb::conformance
