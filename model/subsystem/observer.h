// What others hear of a subsystem's life: management endpoints keep their changed flags by it.
#pragma once

#include <cstdint>

namespace fb::subsystem {

/// What has changed. Where it says so of one controller, its identifier comes along; otherwise 0.
enum class Change : std::uint8_t {
  ready,            ///< CSTS.RDY, of one controller
  fatal,            ///< CSTS.CFS, of one
  shutdown,         ///< CSTS.SHST, of one
  enable,           ///< CC.EN was written and differs, of one
  subsystem_reset,  ///< NVM subsystem reset
  namespaces,       ///< a namespace came, went or changed
  temperature,      ///< the composite temperature
  warning,          ///< the critical warning, of one or of all (0)
  life_used,        ///< the percentage used
  spare,            ///< the available spare
  firmware,         ///< other firmware runs
  controller_list,  ///< a controller came or went
  sanitize,         ///< a sanitize operation began or ended
};

class SubsystemObserver {
 public:
  virtual void on_change(Change what, std::uint16_t cntlid) = 0;

 protected:
  ~SubsystemObserver() = default;
};

}  // namespace fb::subsystem
