// A host at a key value namespace: every command, with keys of every length and values of many, against what is stored.
#include <fmt/format.h>

#include <map>

#include "conformance/cases/nvme/host_scene.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/kv.h"

namespace fb::conformance {

namespace {

using nvme::KvKey;
namespace sb = nvme::store_bits;

constexpr std::uint32_t kNsid = 5;
constexpr std::size_t kValueMax = 9000;
constexpr unsigned kSteps = 200;

void with_key_values(EmbeddedSetup& setup) {
  setup.subsystem.key_value = {.supported = true, .formats = {{.value_max = kValueMax}}};
  setup.subsystem.mdts = 1;
  setup.connect.transfer_max_bytes = host::ConnectOptions{}.transfer_max_bytes;
  setup.subsystem.version = std::max(setup.subsystem.version, fabrics::version(2, 0, 0));  // the first with several command sets
  setup.namespaces.push_back({.nsid = kNsid, .key_value_bytes = 1 << 20});
}
const arranged a_user_of_key_values{"a key value namespace, and a user who asks for every command", &with_key_values};

host::Namespace& pairs_of(HostBench& bench, Check& check) {
  for (host::Namespace* one : bench.emulated_host().namespaces()) {
    if (one->nsid() == kNsid && !one->paths().all().empty()) return *one;
  }
  check.fails("the key value namespace", {"one that the user can use"}, "none");
  throw CannotArrange{"the host does not use the key value namespace"};
}

class Diary {
 public:
  Diary(HostBench& bench, Check& check, host::Namespace& space)
      : check_(check), space_(space), there_(*bench.subsystem().find_namespace(kNsid)->pairs()), draw_(bench.random("case.pairs")) {}

  void step(unsigned number) {
    // Few keys, of every length, so that they meet again.
    Bytes key(1 + draw_.below(nvme::kKvKeyMax), static_cast<std::uint8_t>(0xA0 + draw_.below(2)));
    key.back() = static_cast<std::uint8_t>(draw_.below(3));
    where_ = fmt::format(", key of {} bytes, step {}", key.size(), number);
    switch (draw_.below(6)) {
      case 0:
      case 1:
        return store(key);
      case 2:
        return retrieve(key);
      case 3:
        return check_.status(ended(space_.exists(key)), found(key), "Exist" + where_), void();
      case 4:
        check_.status(ended(space_.delete_key(key)), sc::success, "Delete" + where_);
        content_.erase(key);
        break;
      default:
        return list(key);
    }
    agrees(key);
  }

 private:
  template <class T>
  T ended(Op<T> op) {
    const auto result = op.wait_for(30_s);
    check_.require(result.has_value(), "the command ends" + where_, "it does not");
    return *result;
  }
  nvme::Status found(const Bytes& key) const { return content_.contains(key) ? nvme::Status() : nvme::Status(sc::key_does_not_exist); }

  void store(const Bytes& key) {
    constexpr std::size_t kSizes[] = {0, 1, 511, 512, 513, 4096, 4097, 8192};
    const std::size_t size = kSizes[draw_.below(std::size(kSizes))];
    Bytes value(size);
    for (std::size_t i = 0; i < size; ++i) value[i] = static_cast<std::uint8_t>(marks_ + i * 7 + i / 256);
    ++marks_;
    constexpr std::uint8_t kOptions[] = {0, 0, sb::must_exist, sb::must_not_exist};
    const std::uint8_t options = kOptions[draw_.below(std::size(kOptions))];
    const bool exists = content_.contains(key);
    const nvme::Status wanted = (options & sb::must_exist) != 0 && !exists      ? nvme::Status(sc::key_does_not_exist)
                                : (options & sb::must_not_exist) != 0 && exists ? nvme::Status(sc::key_exists)
                                                                                : nvme::Status();
    check_.status(ended(space_.store(key, value, options)), wanted, fmt::format("Store of {} bytes, options {}{}", size, options, where_));
    if (wanted.ok()) content_[key] = value;
    agrees(key);
  }

  void retrieve(const Bytes& key) {
    constexpr std::size_t kRooms[] = {4, 512, 4095, 8192};
    const std::size_t room = kRooms[draw_.below(std::size(kRooms))];
    const host::Retrieved got = ended(space_.retrieve(key, room));
    const std::string what = fmt::format("Retrieve of {} bytes{}", room, where_);
    check_.status(got.status, found(key), what);
    const auto known = content_.find(key);
    if (!got.status.ok() || known == content_.end()) return;
    check_.equal("size of " + what, std::size_t{got.size}, known->second.size());
    check_.bytes(what, got.value, ByteView{known->second}.first(std::min(room, known->second.size())));
  }

  void list(const Bytes& from) {
    const host::KeyList got = ended(space_.list_keys(from, 4096));
    check_.status(got.status, sc::success, "List" + where_);
    std::vector<KvKey> wanted = there_.keys_from(KvKey::of(from));
    check_.that(got.keys == wanted, "List reports the keys that are there" + where_,
                fmt::format("{} of {}", got.keys.size(), wanted.size()));
  }

  /// What is stored is what the user has stored.
  void agrees(const Bytes& key) {
    check_.equal("keys that are there" + where_, there_.count(), content_.size());
    const Bytes* const value = there_.find(KvKey::of(key));
    const auto known = content_.find(key);
    check_.equal("the key is there" + where_, value != nullptr, known != content_.end());
    if (value != nullptr && known != content_.end()) check_.bytes("the value that is there" + where_, *value, known->second);
  }

  Check& check_;
  host::Namespace& space_;
  subsystem::KeyValueStore& there_;
  Rng draw_;
  std::map<Bytes, Bytes> content_;
  std::string where_;
  std::uint8_t marks_ = 1;
};

}  // namespace

CONFORMANCE_CASE(host_carries_out_every_key_value_command, "nvme.host.key-values.data", roles::host, a_user_of_key_values) {
  bench.connect_product({.io_queues = 2});
  Diary diary(bench, check, pairs_of(bench, check));
  for (unsigned number = 1; number <= kSteps; ++number) diary.step(number);
}

CONFORMANCE_CASE(host_refuses_key_value_commands_that_cannot_be, "nvme.host.key-values.refused", roles::host, a_user_of_key_values) {
  bench.connect_product();
  host::Namespace& pairs = pairs_of(bench, check);
  host::Namespace* const found = bench.emulated_host().find(bench.nqn(), bench.nsid());
  check.precondition(found != nullptr, "a namespace of blocks");
  host::Namespace& blocks = *found;
  bench.forget_seen();
  const Bytes key(4, 1), longest(nvme::kKvKeyMax, 2), longer(nvme::kKvKeyMax + 1, 3);
  const auto judge = [&](std::string_view what, nvme::Status expected, auto op) {
    const auto ended = op.wait_for(30_s);
    check.require(ended.has_value(), std::string(what) + " ends", "it does not");
    if constexpr (requires { ended->status; }) {
      check.status(ended->status, expected, what);
    } else {
      check.status(*ended, expected, what);
    }
  };
  for (const auto& [space, bytes, why] :
       {std::tuple{&blocks, &key, nvme::Status(sc::invalid_opcode)}, std::tuple{&pairs, &longer, nvme::Status(sc::invalid_key_size)}}) {
    const std::string which = space == &pairs ? " with a key of 17 bytes" : " in a namespace of blocks";
    judge("Store" + which, why, space->store(*bytes, key));
    judge("Retrieve" + which, why, space->retrieve(*bytes, 512));
    judge("Delete" + which, why, space->delete_key(*bytes));
    judge("Exist" + which, why, space->exists(*bytes));
    judge("List" + which, why, space->list_keys(*bytes, 512));
  }
  // MDTS is 8 KiB.
  judge("Store of 8193 bytes", sc::invalid_value_size, pairs.store(longest, Bytes(8193)));
  for (const SeenCommand& seen : bench.commands())
    check.that(seen.qid == 0, "no I/O command is sent", fmt::format("opcode {:02X}h is", seen.opcode()));
  judge("Store of 8192 bytes", nvme::Status(), pairs.store(longest, Bytes(8192)));
  for (const std::uint8_t options : {std::uint8_t{0}, sb::must_not_exist}) {
    // Once executed, and the answer lost: whoever names a condition must not try again.
    unsigned stores = 0;
    bench.script.completion = [&](const CommandContext& command, MutableBytes) {
      if (command.qid == 0 || command.sqe[0] != nvme::opcode_of(nvme::KvOpcode::store)) return Answer::send;
      return ++stores == 1 ? Answer::disconnect_instead : Answer::send;
    };
    const Bytes other{options, 9, 9};
    const auto ended = pairs.store(other, key, options).wait_for(120_s);
    check.require(ended.has_value(), "a Store whose association is lost ends", "it does not");
    const bool conditional = options != 0;
    check.equal(fmt::format("attempts of a Store with options {}", options), stores, conditional ? 1u : 2u);
    check.equal(fmt::format("success of a Store with options {}", options), ended->ok(), !conditional);
    bench.script = {};
    bench.run_until([&] { return !bench.emulated_host().controllers().empty() && bench.emulated_host().controllers().front()->live(); },
                    60_s);
  }
}

}  // namespace fb::conformance
