#include "model/library/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "model/library/front.h"
#include "wire/fabrics/nqn.h"

namespace fb::library {

namespace {

constexpr const char* kEntry = "fabricbench_product";

Failure<Problem> wrong(const std::string& path, const std::string& why) { return {Problem{"lib:" + path + ": " + why}}; }

std::string loader_error() {
  const char* const text = dlerror();
  return text != nullptr ? text : "no reason is given";
}

/// Of the first interface, whose libraries know nothing of NVMe-MI.
constexpr std::size_t kFirstSize = offsetof(fb_product, mi_message);

using Functions = std::initializer_list<std::pair<const char*, bool>>;

std::string first_missing(Functions functions) {
  for (const auto& [name, there] : functions) {
    if (!there) return "'" + std::string(name) + "' is missing";
  }
  return "";
}

std::string missing_for_commands(const fb_product& table) {
  if (table.subnqn == nullptr || !fabrics::valid_nqn(table.subnqn)) return "'subnqn' is no NQN";
  if (table.admin_entries < 32 || table.admin_entries > 4096) return "'admin_entries' is not 32 to 4096";
  if (table.io_entries < 2 || table.io_entries > 65536) return "'io_entries' is not 2 to 65536";
  if (table.io_queues == 0 || table.io_queues > 65534) return "'io_queues' is not 1 to 65534";
  if (table.in_capsule_bytes > 1u << 20) return "'in_capsule_bytes' is more than 1048576";
  return first_missing({{"connect", table.connect != nullptr},
                        {"queue_gone", table.queue_gone != nullptr},
                        {"property_get", table.property_get != nullptr},
                        {"property_set", table.property_set != nullptr},
                        {"command", table.command != nullptr},
                        {"on_data", table.on_data != nullptr}});
}

/// What is missing in the table, or "".
std::string missing(const fb_product& table) {
  if (auto why = first_missing({{"create", table.create != nullptr}, {"destroy", table.destroy != nullptr}}); !why.empty()) return why;
  constexpr std::uint32_t kMessageMin = 64, kMessageMax = 1u << 16;
  if (table.mi_bytes != 0 && (table.mi_bytes < kMessageMin || table.mi_bytes > kMessageMax)) return "'mi_bytes' is not 0 or 64 to 65536";
  const bool only_messages = table.mi_message != nullptr && table.command == nullptr;
  return only_messages ? "" : missing_for_commands(table);
}

}  // namespace

Library::Library() = default;

Services& Library::serve(Front& front) { return *served_.emplace_back(std::make_unique<Services>(front, *this)); }

Library::~Library() {
  if (handle_ != nullptr) dlclose(handle_);
}

Result<std::shared_ptr<Library>> Library::load(const std::string& path) {
  std::shared_ptr<Library> made(new Library);
  // Without a slash the loader would search its own folders, and not this one.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  dlerror();
  made->handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (made->handle_ == nullptr) return wrong(path, "cannot be loaded: " + loader_error());
  void* const entry = dlsym(made->handle_, kEntry);
  if (entry == nullptr) return wrong(path, "has no function fabricbench_product() (fabricbench/product.h): " + loader_error());
  const auto function = reinterpret_cast<decltype(&fabricbench_product)>(entry);
  const fb_product* table = nullptr;
  const std::string crash = guarded([&] { table = function(); });
  if (!crash.empty()) return wrong(path, "fabricbench_product() " + crash);
  if (table == nullptr) return wrong(path, "fabricbench_product() returned NULL");
  if (table->abi != FB_PRODUCT_ABI) {
    return wrong(path, "is built for version " + std::to_string(table->abi) + " of fabricbench/product.h; this program has version " +
                           std::to_string(FB_PRODUCT_ABI));
  }
  if (table->size < kFirstSize) {
    return wrong(path, "'size' of its table is " + std::to_string(table->size) + ", not " + std::to_string(sizeof(fb_product)) +
                           " (sizeof(fb_product))");
  }
  std::memcpy(&made->table_, table, std::min<std::size_t>(table->size, sizeof(fb_product)));
  if (const std::string why = missing(made->table_); !why.empty()) return wrong(path, "its table is wrong: " + why);
  return made;
}

}  // namespace fb::library
