// The verifier in a library of its own: what a process is told by its exports, and the provider behind it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "networkdirect/ndutil/library.h"
#include "networkdirect/verifier/library/report.h"

namespace fb::networkdirect::verifier {

struct WatchOptions {
  std::filesystem::path provider;  ///< the library behind
  std::filesystem::path report;    ///< empty: standard error
  std::filesystem::path self;      ///< this library
  std::set<Rule> without;          ///< rules that are left out
};

/// What the environment says: FABRICBENCH_ND_VERIFY_INNER, otherwise the project's provider beside this library;
/// FABRICBENCH_ND_VERIFY_REPORT; and FABRICBENCH_ND_VERIFY_WITHOUT, names with commas. What is no rule leaves none out.
WatchOptions options_of_environment();

class Watch {
 public:
  explicit Watch(const WatchOptions& options);

  /// This process's. A child that was forked begins anew: what its parent holds is not its own. It is never destroyed: the program
  /// may call up to its last instruction, and objects that were released are still known when the provider is gone.
  static Watch& instance();
  /// Null: the process has not asked for the provider.
  static Watch* existing();

  HRESULT class_object(REFCLSID id, REFIID iid, VOID** out);
  /// A provider for the consumer.
  HRESULT provider(REFCLSID id, REFIID iid, VOID** out);
  HRESULT can_unload_now();
  void process_ends();

 private:
  class Factory;
  ndutil::Library* library(REFCLSID id);
  HRESULT load(ndutil::Library& library);
  void tell_end();

  const WatchOptions options_;
  const DWORD process_;
  Report report_;
  Verifier verifier_;
  std::atomic<std::size_t> factories_{0};
  std::mutex lock_;                                          // of what follows; not held while the provider makes objects
  std::vector<std::unique_ptr<ndutil::Library>> libraries_;  // one a class, all of one file
  bool opened_ = false;                                      ///< since the last end that was told
  bool refused_ = false;
  std::uint64_t calls_told_ = 0;
};

}  // namespace fb::networkdirect::verifier
