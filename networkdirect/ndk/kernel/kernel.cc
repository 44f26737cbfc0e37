#include "networkdirect/ndk/kernel/kernel.h"

#include <fmt/format.h>

namespace fb::ndk {

std::string name_of_irql(KIRQL irql) {
  switch (irql) {
    case PASSIVE_LEVEL:
      return "PASSIVE_LEVEL";
    case APC_LEVEL:
      return "APC_LEVEL";
    case DISPATCH_LEVEL:
      return "DISPATCH_LEVEL";
    default:
      return fmt::format("IRQL {}", unsigned{irql});
  }
}

void Kernel::report(std::string_view rule, std::string_view function, std::string text) {
  findings_.push_back({rule, function, irql_, std::move(text)});
  if (sink_ != nullptr) sink_->on_finding(findings_.back());
}

void Kernel::too_high(KIRQL most, std::string_view function) {
  report(kernel_rule::kIrql, function,
         fmt::format("{} was called at {} and permits {}", function, name_of_irql(irql_), name_of_irql(most)));
}

}  // namespace fb::ndk
