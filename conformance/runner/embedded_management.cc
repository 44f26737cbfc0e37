// The management of an emulated controller: it needs no bus, since hosts ask for it in band.
#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/managed_setup.h"
#include "model/mi/in_band.h"

namespace fb::conformance {

struct EmbeddedController::Management {
  Management(subsystem::Subsystem& subsystem, const ManagedSetup& setup, std::unique_ptr<mi::EndpointHooks> with)
      : hooks(std::move(with)), device(subsystem, setup.drive.device), tunnel(device, setup.drive.endpoint, hooks.get()) {}
  std::unique_ptr<mi::EndpointHooks> hooks;
  mi::Device device;
  mi::InBand tunnel;
};

void EmbeddedController::manage(const ManagedSetup& setup, std::unique_ptr<mi::EndpointHooks> hooks) {
  management_ = std::make_shared<Management>(*subsystem_, setup, std::move(hooks));
}

mi::Device& EmbeddedController::managed() {
  BENCH_ASSERT(management_ != nullptr, "setup.managed->in_band");
  return management_->device;
}

}  // namespace fb::conformance
