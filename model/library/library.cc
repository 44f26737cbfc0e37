#include "model/library/library.h"

#include <dlfcn.h>

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

/// What is missing in the table, or "".
std::string missing(const fb_product& table) {
  if (table.subnqn == nullptr || !fabrics::valid_nqn(table.subnqn)) return "'subnqn' is no NQN";
  if (table.admin_entries < 32 || table.admin_entries > 4096) return "'admin_entries' is not 32 to 4096";
  if (table.io_entries < 2 || table.io_entries > 65536) return "'io_entries' is not 2 to 65536";
  if (table.io_queues == 0 || table.io_queues > 65534) return "'io_queues' is not 1 to 65534";
  if (table.in_capsule_bytes > 1u << 20) return "'in_capsule_bytes' is more than 1048576";
  const std::pair<const char*, bool> functions[] = {
      {"create", table.create != nullptr},
      {"destroy", table.destroy != nullptr},
      {"connect", table.connect != nullptr},
      {"queue_gone", table.queue_gone != nullptr},
      {"property_get", table.property_get != nullptr},
      {"property_set", table.property_set != nullptr},
      {"command", table.command != nullptr},
      {"on_data", table.on_data != nullptr},
  };
  for (const auto& [name, there] : functions) {
    if (!there) return "'" + std::string(name) + "' is missing";
  }
  return "";
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
  const std::string crash = guarded([&] { made->table_ = function(); });
  if (!crash.empty()) return wrong(path, "fabricbench_product() " + crash);
  if (made->table_ == nullptr) return wrong(path, "fabricbench_product() returned NULL");
  if (made->table_->abi != FB_PRODUCT_ABI) {
    return wrong(path, "is built for version " + std::to_string(made->table_->abi) +
                           " of fabricbench/product.h; this program has version " + std::to_string(FB_PRODUCT_ABI));
  }
  if (made->table_->size < sizeof(fb_product)) {
    return wrong(path, "'size' of its table is " + std::to_string(made->table_->size) + ", not " + std::to_string(sizeof(fb_product)) +
                           " (sizeof(fb_product))");
  }
  if (const std::string why = missing(*made->table_); !why.empty()) return wrong(path, "its table is wrong: " + why);
  return made;
}

}  // namespace fb::library
