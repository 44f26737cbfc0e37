// Closing as it should be done, and the small steps beyond the rules that need a call of their own.
#pragma once

#include <string>

#include "networkdirect/ndk/consumer/objects.h"

namespace fb::ndk::consumer {

using CloseFunction = NDK_FN_CLOSE_OBJECT;

/// Closes an object of the provider; `done` runs when it has called back for the last time. `kind` names the object in
/// the departure KIND.closed_twice.
inline void close_object(Shared& s, std::string_view kind, CloseFunction function, NDK_OBJECT_HEADER& object, std::function<void()> done) {
  const bool twice = s.options.hooks != nullptr && s.departs(std::string(kind) + ".closed_twice");
  if (s.departs("close.no_completion")) {
    // Nobody will say when it is over.
    function(&object, nullptr, nullptr);
    return done();
  }
  if (twice) close(function, object, [] {});
  close(function, object, std::move(done));
}

}  // namespace fb::ndk::consumer
