#include "model/subsystem/lockdown.h"

#include <algorithm>

namespace fb::subsystem {

using nvme::LockdownContents;
using nvme::LockdownInterface;
using nvme::LockdownScope;

bool Lockdown::prohibitable(LockdownScope scope, std::uint8_t code) const {
  const auto holds = [code](const std::vector<std::uint8_t>& codes) { return std::find(codes.begin(), codes.end(), code) != codes.end(); };
  if (scope == LockdownScope::admin_command) return holds(options_.commands);
  return scope == LockdownScope::set_features && holds(options_.features);
}

void Lockdown::set(LockdownScope scope, std::uint8_t code, LockdownInterface where, bool prohibit) {
  if (scope != LockdownScope::admin_command && scope != LockdownScope::set_features) return;
  Codes* const codes = prohibited_[scope == LockdownScope::set_features ? 1 : 0];
  if (where != LockdownInterface::out_of_band) codes[0].set(code, prohibit);
  if (where != LockdownInterface::admin_queue) codes[1].set(code, prohibit);
  any_ = any_ || prohibit;
}

void Lockdown::lift_all() {
  for (Codes(&codes)[2] : prohibited_) codes[0].reset(), codes[1].reset();
  any_ = false;
}

std::vector<std::uint8_t> Lockdown::list(LockdownScope scope, LockdownContents contents) const {
  std::vector<std::uint8_t> codes;
  if (scope != LockdownScope::admin_command && scope != LockdownScope::set_features) return codes;
  for (unsigned code = 0; code < 256; ++code) {
    const auto one = static_cast<std::uint8_t>(code);
    const bool listed = contents == LockdownContents::prohibitable
                            ? prohibitable(scope, one)
                            : set_of(scope, contents == LockdownContents::prohibited_out_of_band).test(code);
    if (listed) codes.push_back(one);
  }
  return codes;
}

}  // namespace fb::subsystem
