// OpenSSL for one world. In virtual time it draws its random numbers from a stream of the world, so that
// the same seed gives the same bytes on the wire; in real time it is the process's own library.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string_view>

#include "sim/core/world.h"

namespace fb::tls {

class Library {
 public:
  virtual ~Library() = default;
  /// Null: the library context of the process.
  virtual OSSL_LIB_CTX* context() const = 0;
};

/// `name` must be its user's own, or two users draw the same. Goes in the thread in which it was made. In
/// virtual time the first few of a thread cost several milliseconds each.
std::unique_ptr<Library> make_library(World& world, std::string_view name);

}  // namespace fb::tls
