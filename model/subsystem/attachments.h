// Which controllers a namespace is attached to. Usually to all there are, without a list of them; what a host changed
// by command is an exception from that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fb::subsystem {

class Attachments {
 public:
  /// `all`: to every controller that is there or comes. Otherwise to none at first; `offered` then says that the first
  /// controller that comes gets it.
  explicit Attachments(bool all, bool offered = false) : all_(all), offered_(offered) {}

  bool has(std::uint16_t cntlid) const {
    if (exceptions_.empty()) return all_;
    return all_ != std::binary_search(exceptions_.begin(), exceptions_.end(), cntlid);
  }
  /// No controller has it, nor will those that come.
  bool none() const { return !all_ && exceptions_.empty(); }
  bool offered() const { return offered_; }
  /// The first controller that came has it, or a host gave it away.
  void withdraw() { offered_ = false; }

  void set(std::uint16_t cntlid, bool attached) {
    const auto at = std::lower_bound(exceptions_.begin(), exceptions_.end(), cntlid);
    const bool there = at != exceptions_.end() && *at == cntlid;
    if (attached != all_ && !there) exceptions_.insert(at, cntlid);
    if (attached == all_ && there) exceptions_.erase(at);
  }
  /// The controller is gone for ever: another one may get its identifier.
  void forget(std::uint16_t cntlid) { set(cntlid, all_); }

  // What a host had on its controllers, so that it has it again when it comes back and gets another controller.

  bool host_has(const std::string& hostnqn) const { return all_ != hosts_.contains(hostnqn); }
  void set_host(const std::string& hostnqn, bool attached) {
    if (attached == all_) {
      hosts_.erase(hostnqn);
    } else {
      hosts_.insert(hostnqn);
    }
  }

 private:
  bool all_;
  bool offered_;
  std::vector<std::uint16_t> exceptions_;  ///< ascending
  std::set<std::string> hosts_;
};

}  // namespace fb::subsystem
