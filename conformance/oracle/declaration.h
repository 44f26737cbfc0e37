// What a product said of itself before what the oracle hears began.
#pragma once

#include <string>

#include "base/bytes.h"

namespace fb::oracle {

/// In most cases nobody asks again.
struct Declaration {
  std::string nqn = {};
  Bytes controller = {};  ///< Identify Controller of any of its controllers
};

}  // namespace fb::oracle
