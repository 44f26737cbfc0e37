// What a judge knows of each queue, flow or direction, by the dense index that the dissector gives it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace fb::monitors {

template <class State>
class PerIndex {
 public:
  /// Made when first asked for; stays where it is.
  State& operator[](std::size_t index) {
    if (index >= states_.size()) [[unlikely]]
      grow(index);
    return *states_[index];
  }

  /// The one that is there; an empty one where none was asked for.
  const State* find(std::size_t index) const {
    static const State kNone;
    return index < states_.size() ? states_[index].get() : &kNone;
  }

 private:
  // Apart: what is asked for with every packet is to be a comparison and a load in its caller.
  [[gnu::noinline]] void grow(std::size_t index) {
    while (states_.size() <= index) states_.push_back(std::make_unique<State>());
  }
  std::vector<std::unique_ptr<State>> states_;
};

}  // namespace fb::monitors
