// A product that is a library (model/library): where it stands between the embedded product, in whose kind of world it runs, and a
// real one, into which nobody can look.
#pragma once

#include <memory>
#include <string>

#include "conformance/runner/arranger.h"
#include "conformance/runner/embedded_controller.h"
#include "conformance/runner/product.h"

namespace fb::library {
class Library;
}
namespace fb::mctp {
class Binding;
}

namespace fb::conformance {

/// "lib:PATH".
inline constexpr std::string_view kLibraryProduct = "lib:";
inline bool is_library(const Product& product) { return product.url.starts_with(kLibraryProduct); }
/// Every case has a world of its own in virtual time, for which the product is made anew; the bench sees all that is sent there.
inline bool is_virtual(const Product& product) { return product.embedded || is_library(product); }

/// The product's library, loaded once in a process. UserError where that is impossible.
const std::shared_ptr<library::Library>& library_of(const Product& product);
/// Loads it, and takes over the name of its subsystem. Of a library with NVMe-MI alone the transport is a medium.
void load_library(Product& product);
/// The product is reached over that transport: a fabric for NVMe commands, a medium for NVMe-MI. UserError where it is not.
void choose_transport(Product& product, const std::string& transport);

/// What the library did that its interface does not allow: thrown at the end of a case.
struct LibraryFault {
  std::string why;
};
/// In front of it, where it kept the product from being asked what it declares.
inline constexpr std::string_view kLibraryFault = "the library broke the rules of fabricbench/product.h: ";

/// The product as a listener of a simulated network; `at` is where. Its end() destroys the product, and throws a LibraryFault if
/// there is one. Nothing can be arranged.
std::unique_ptr<Arranger> start_library(World& world, const ControllerPlace& place, EmbeddedSetup& setup, const Product& product,
                                        Endpoint& at);

/// The same for a management endpoint on a simulated medium; binding and medium outlive it.
std::unique_ptr<Arranger> start_library_endpoint(World& world, mctp::Binding& binding, std::string_view medium, const Product& product);

}  // namespace fb::conformance
