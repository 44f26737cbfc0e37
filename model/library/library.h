// A product that is a library of include/fabricbench/product.h: loading it, and calling it so that a crash stays there.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "include/fabricbench/product.h"

namespace fb::library {

class Front;
struct Services;

/// Loaded until it is destroyed. One thread uses it, as the header promises its author.
class Library {
 public:
  /// Fails with one line: no such file, no entry, another version of the interface, a table with something missing.
  static Result<std::shared_ptr<Library>> load(const std::string& path);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// What an older table does not have is null here.
  const fb_product& table() const { return table_; }
  bool has_commands() const { return table_.command != nullptr; }
  bool has_messages() const { return table_.mi_message != nullptr; }
  /// What an instance of the product is given as its bench.
  Services& serve(Front& front);
  /// A service was called for an instance that is gone, "" if none was; and forgets it.
  void blame_late(std::string what) { late_ = std::move(what); }
  std::string take_late() { return std::exchange(late_, {}); }

 private:
  Library();
  std::vector<std::unique_ptr<Services>> served_;
  std::string late_;
  void* handle_ = nullptr;
  fb_product table_ = {};
};

/// Calls into a library. Empty: it returned. Otherwise why it did not: the signal that it got, an exception that it threw, or that
/// it used a processor for longer than any honest call does. What it had on the stack is lost then. Not from inside itself.
std::string guarded(void (*call)(void* context), void* context);
template <class Call>
std::string guarded(Call&& call) {
  return guarded([](void* context) { (*static_cast<std::remove_reference_t<Call>*>(context))(); }, &call);
}

}  // namespace fb::library
