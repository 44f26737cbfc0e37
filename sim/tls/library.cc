#include "sim/tls/library.h"

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rand.h>

#include <utility>
#include <vector>

#include "base/assert.h"

namespace fb::tls {

namespace {

// A provider of OpenSSL with one random generator, "WORLD": all its instances (OpenSSL keeps several, and
// some for each thread) draw from the one stream of the provider, in the order in which they are asked.
// There is no way to hand the stream to a built-in provider when it is loaded; a parameter of the
// generator brings its seed.
constexpr const char* kProvider = "fabricbench";
constexpr const char* kGenerator = "WORLD";
constexpr const char* kOurs = "provider=fabricbench";
constexpr const char* kSeed = "fb-seed";
constexpr unsigned kStrength = 256;
constexpr std::size_t kRequestMax = 1u << 30;

struct Source {
  Rng stream{0};
};

struct Generator {
  Source* source;
  int state = EVP_RAND_STATE_UNINITIALISED;
};

using Function = void (*)(void);
template <class F>
Function entry(F* function) {
  return reinterpret_cast<Function>(function);
}

void* generator_new(void* provider, void*, const OSSL_DISPATCH*) { return new Generator{static_cast<Source*>(provider)}; }
void generator_free(void* generator) { delete static_cast<Generator*>(generator); }

int instantiate(void* generator, unsigned, int, const unsigned char*, std::size_t, const OSSL_PARAM*) {
  static_cast<Generator*>(generator)->state = EVP_RAND_STATE_READY;
  return 1;
}
int uninstantiate(void* generator) {
  static_cast<Generator*>(generator)->state = EVP_RAND_STATE_UNINITIALISED;
  return 1;
}
int generate(void* generator, unsigned char* out, std::size_t size, unsigned, int, const unsigned char*, std::size_t) {
  static_cast<Generator*>(generator)->source->stream.fill({out, size});
  return 1;
}
int reseed(void*, int, const unsigned char*, std::size_t, const unsigned char*, std::size_t) { return 1; }
// One world, one thread: nothing to lock.
int enable_locking(void*) { return 1; }
int lock(void*) { return 1; }
void unlock(void*) {}

const OSSL_PARAM* gettable(void*, void*) {
  static const OSSL_PARAM known[] = {OSSL_PARAM_int(OSSL_RAND_PARAM_STATE, nullptr), OSSL_PARAM_uint(OSSL_RAND_PARAM_STRENGTH, nullptr),
                                     OSSL_PARAM_size_t(OSSL_RAND_PARAM_MAX_REQUEST, nullptr), OSSL_PARAM_END};
  return known;
}
int get_params(void* generator, OSSL_PARAM* wanted) {
  OSSL_PARAM* p = OSSL_PARAM_locate(wanted, OSSL_RAND_PARAM_STATE);
  if (p != nullptr && OSSL_PARAM_set_int(p, static_cast<Generator*>(generator)->state) == 0) return 0;
  p = OSSL_PARAM_locate(wanted, OSSL_RAND_PARAM_STRENGTH);
  if (p != nullptr && OSSL_PARAM_set_uint(p, kStrength) == 0) return 0;
  p = OSSL_PARAM_locate(wanted, OSSL_RAND_PARAM_MAX_REQUEST);
  if (p != nullptr && OSSL_PARAM_set_size_t(p, kRequestMax) == 0) return 0;
  return 1;
}
const OSSL_PARAM* settable(void*, void*) {
  static const OSSL_PARAM known[] = {OSSL_PARAM_uint64(kSeed, nullptr), OSSL_PARAM_END};
  return known;
}
int set_params(void* generator, const OSSL_PARAM* given) {
  const OSSL_PARAM* p = OSSL_PARAM_locate_const(given, kSeed);
  std::uint64_t seed = 0;
  if (p == nullptr) return 1;
  if (OSSL_PARAM_get_uint64(p, &seed) == 0) return 0;
  static_cast<Generator*>(generator)->source->stream = Rng(seed);
  return 1;
}

const OSSL_ALGORITHM* query(void*, int operation, int* no_cache) {
  static const OSSL_DISPATCH functions[] = {{OSSL_FUNC_RAND_NEWCTX, entry(generator_new)},
                                            {OSSL_FUNC_RAND_FREECTX, entry(generator_free)},
                                            {OSSL_FUNC_RAND_INSTANTIATE, entry(instantiate)},
                                            {OSSL_FUNC_RAND_UNINSTANTIATE, entry(uninstantiate)},
                                            {OSSL_FUNC_RAND_GENERATE, entry(generate)},
                                            {OSSL_FUNC_RAND_RESEED, entry(reseed)},
                                            {OSSL_FUNC_RAND_ENABLE_LOCKING, entry(enable_locking)},
                                            {OSSL_FUNC_RAND_LOCK, entry(lock)},
                                            {OSSL_FUNC_RAND_UNLOCK, entry(unlock)},
                                            {OSSL_FUNC_RAND_GETTABLE_CTX_PARAMS, entry(gettable)},
                                            {OSSL_FUNC_RAND_GET_CTX_PARAMS, entry(get_params)},
                                            {OSSL_FUNC_RAND_SETTABLE_CTX_PARAMS, entry(settable)},
                                            {OSSL_FUNC_RAND_SET_CTX_PARAMS, entry(set_params)},
                                            {0, nullptr}};
  static const OSSL_ALGORITHM generators[] = {{kGenerator, kOurs, functions, "the random stream of a simulated world"},
                                              {nullptr, nullptr, nullptr, nullptr}};
  *no_cache = 0;
  return operation == OSSL_OP_RAND ? generators : nullptr;
}

void teardown(void* provider) { delete static_cast<Source*>(provider); }

int provider_init(const OSSL_CORE_HANDLE*, const OSSL_DISPATCH*, const OSSL_DISPATCH** out, void** provider) {
  static const OSSL_DISPATCH functions[] = {
      {OSSL_FUNC_PROVIDER_TEARDOWN, entry(teardown)}, {OSSL_FUNC_PROVIDER_QUERY_OPERATION, entry(query)}, {0, nullptr}};
  *out = functions;
  *provider = new Source;
  return 1;
}

class VirtualLibrary {
 public:
  VirtualLibrary() : context_(OSSL_LIB_CTX_new()) {
    bool good = context_ != nullptr && OSSL_PROVIDER_add_builtin(context_, kProvider, provider_init) == 1;
    ours_ = good ? OSSL_PROVIDER_load(context_, kProvider) : nullptr;
    default_ = good ? OSSL_PROVIDER_load(context_, "default") : nullptr;
    good = ours_ != nullptr && default_ != nullptr && RAND_set_DRBG_type(context_, kGenerator, kOurs, nullptr, nullptr) == 1 &&
           RAND_set_seed_source_type(context_, kGenerator, kOurs) == 1;
    // Generators are made when they are first asked, and draw then: before the first world does.
    std::uint8_t byte = 0;
    good = good && RAND_bytes_ex(context_, &byte, 1, kStrength) == 1 && RAND_priv_bytes_ex(context_, &byte, 1, kStrength) == 1;
    BENCH_ASSERT(good, "OpenSSL takes a random generator of ours");
  }
  VirtualLibrary(const VirtualLibrary&) = delete;
  VirtualLibrary& operator=(const VirtualLibrary&) = delete;
  ~VirtualLibrary() {
    OSSL_PROVIDER_unload(default_);
    OSSL_PROVIDER_unload(ours_);
    OSSL_LIB_CTX_free(context_);
  }
  void seed(std::uint64_t value) {
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_uint64(kSeed, &value), OSSL_PARAM_construct_end()};
    EVP_RAND_CTX* const primary = RAND_get0_primary(context_);
    BENCH_ASSERT(primary != nullptr && EVP_RAND_CTX_set_params(primary, parameters) == 1, "OpenSSL takes the world's random stream");
  }
  OSSL_LIB_CTX* context() const { return context_; }

 private:
  OSSL_LIB_CTX* context_;
  OSSL_PROVIDER* ours_ = nullptr;
  OSSL_PROVIDER* default_ = nullptr;
};

/// Library contexts of this thread that no world uses. One takes milliseconds to make; beyond its random
/// stream, which every world seeds, it holds nothing of the world before.
std::vector<std::unique_ptr<VirtualLibrary>>& idle_libraries() {
  thread_local std::vector<std::unique_ptr<VirtualLibrary>> idle;
  return idle;
}

class WorldLibrary final : public Library {
 public:
  explicit WorldLibrary(std::uint64_t seed) {
    auto& idle = idle_libraries();
    if (idle.empty()) {
      library_ = std::make_unique<VirtualLibrary>();
    } else {
      library_ = std::move(idle.back());
      idle.pop_back();
    }
    library_->seed(seed);
  }
  ~WorldLibrary() override { idle_libraries().push_back(std::move(library_)); }
  OSSL_LIB_CTX* context() const override { return library_->context(); }

 private:
  std::unique_ptr<VirtualLibrary> library_;
};

class SystemLibrary final : public Library {
 public:
  OSSL_LIB_CTX* context() const override { return nullptr; }
};

}  // namespace

std::unique_ptr<Library> make_library(World& world, std::string_view name) {
  if (world.real_loop() != nullptr) return std::make_unique<SystemLibrary>();
  return std::make_unique<WorldLibrary>(world.stream(name).next());
}

}  // namespace fb::tls
