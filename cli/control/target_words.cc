#include "cli/control/target_words.h"

#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "base/ip_scope.h"
#include "base/or_throw.h"
#include "base/size_text.h"
#include "conformance/runner/product.h"
#include "model/subsystem/check_options.h"
#include "wire/fabrics/transports.h"

namespace fb::cli {

namespace {

/// What stands behind SIZE in --namespace, in bytes where it is an amount of data.
struct NamespaceWords {
  std::string file;
  std::uint64_t zone = 0, zone_capacity = 0, area = 0, granule = 0;
};

/// "active=12" and the like: the number behind `key`.
std::optional<std::uint64_t> amount(std::string_view part, std::string_view key) {
  if (!part.starts_with(key) || part.size() == key.size()) return std::nullopt;
  return or_throw(parse_size(part.substr(key.size())));
}

std::uint32_t count_of(std::uint64_t value, std::string_view key) {
  if (value > std::numeric_limits<std::uint32_t>::max())
    throw UserError("--namespace: " + std::string(key) + std::to_string(value) + " is too large");
  return static_cast<std::uint32_t>(value);
}

/// False: the word means nothing.
bool take_zone_word(std::string_view part, NamespaceWords& words, subsystem::ZoneOptions& zones) {
  if (const auto zone = amount(part, "zoned=")) {
    words.zone = *zone;
  } else if (const auto held = amount(part, "zcap=")) {
    words.zone_capacity = *held;
  } else if (const auto active = amount(part, "active=")) {
    zones.max_active = count_of(*active, "active=");
  } else if (const auto open = amount(part, "open=")) {
    zones.max_open = count_of(*open, "open=");
  } else if (const auto extension = amount(part, "zdes="); extension && *extension % 64 == 0 && *extension / 64 < 256) {
    zones.extension_units = static_cast<std::uint8_t>(*extension / 64);
  } else if (const auto area = amount(part, "zrwa=")) {
    words.area = *area;
  } else if (const auto granule = amount(part, "zrwafg=")) {
    words.granule = *granule;
  } else if (const auto areas = amount(part, "numzrwa=")) {
    zones.zrwa_count = count_of(*areas, "numzrwa=");
  } else if (part == "razb") {
    zones.read_across = true;
  } else {
    return false;
  }
  return true;
}

/// Zone Random Write Areas in blocks.
void take_area(const NamespaceWords& words, std::uint32_t block_bytes, subsystem::ZoneOptions& zones,
               const std::function<UserError(const std::string&)>& wrong) {
  if (words.area == 0) {
    if (words.granule != 0 || zones.zrwa_count != 0) throw wrong("zrwafg= and numzrwa= are for Zone Random Write Areas: add zrwa=SIZE");
    return;
  }
  const std::uint64_t granule = words.granule != 0 ? words.granule : block_bytes;
  const bool whole = granule % block_bytes == 0 && words.area % granule == 0;
  if (!whole) throw wrong("zrwa= is a multiple of zrwafg=, and that a multiple of a block");
  if (words.area / block_bytes > std::numeric_limits<std::uint16_t>::max()) throw wrong("zrwa= is at most 65,535 blocks");
  zones.zrwa_blocks = static_cast<std::uint16_t>(words.area / block_bytes);
  zones.zrwa_granularity = static_cast<std::uint16_t>(granule / block_bytes);
}

}  // namespace

subsystem::NamespaceOptions namespace_from(const std::string& text) {
  const auto wrong = [&](const std::string& why) { return UserError("--namespace '" + text + "': " + why); };
  std::string_view rest = text;
  NamespaceWords words;
  subsystem::NamespaceOptions options;
  subsystem::ZoneOptions& zones = options.zones;
  std::set<std::string_view> keys;
  std::size_t comma = rest.find(',');
  const std::uint64_t bytes = or_throw(parse_size(rest.substr(0, comma)));
  while (comma != std::string_view::npos) {
    rest = rest.substr(comma + 1);
    comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::string_view key = part.substr(0, part.find('='));
    if (!keys.insert(key).second) throw wrong("'" + std::string(key) + "' occurs twice");
    if (part.starts_with("file=") && part.size() > 5) {
      words.file = part.substr(5);
    } else if (part == "bs=512" || part == "bs=4096") {
      options.block_bytes = part == "bs=512" ? 512 : 4096;
    } else if (part == "ms=8" || part == "ms=16" || part == "ms=64") {
      options.metadata_bytes = part == "ms=8" ? 8 : part == "ms=16" ? 16 : 64;
    } else if (part == "pi=1" || part == "pi=2" || part == "pi=3") {
      options.protection_type = static_cast<std::uint8_t>(part.back() - '0');
    } else if (part == "kv") {
      options.key_value_bytes = bytes;
    } else if (!take_zone_word(part, words, zones)) {
      throw wrong("'" + std::string(part) +
                  "' is unknown; after the size, valid options are file=PATH, bs=512 or 4096, ms=8, 16 or 64, pi=1, 2 or 3, "
                  "kv for a key value namespace, "
                  "and for a zoned namespace zoned=SIZE, zcap=SIZE, active=N, open=N, zdes=BYTES (a multiple of 64), razb, "
                  "zrwa=SIZE, zrwafg=SIZE and numzrwa=N");
    }
  }
  if (bytes % options.block_bytes != 0) throw wrong("not a whole number of blocks");
  options.blocks = bytes / options.block_bytes;
  zones.zone_blocks = words.zone / options.block_bytes;
  zones.capacity = words.zone_capacity / options.block_bytes;
  if (words.zone == 0) {
    const bool limited = zones.max_active + zones.max_open + zones.extension_units + zones.zrwa_count + words.area + words.granule != 0;
    if (limited || zones.read_across || words.zone_capacity != 0) {
      throw wrong("zcap=, active=, open=, zdes=, razb, zrwa=, zrwafg= and numzrwa= are for zones: add zoned=SIZE");
    }
  } else {
    if (zones.zone_blocks == 0 || options.blocks % zones.zone_blocks != 0) throw wrong("not a whole number of zones");
    if (zones.capacity > zones.zone_blocks) throw wrong("a zone cannot hold more than its size");
    if (zones.max_active != 0 && (zones.max_open == 0 || zones.max_open > zones.max_active)) {
      if (zones.max_open != 0) throw wrong("open= is at most active=");
      zones.max_open = zones.max_active;
    }
    take_area(words, options.block_bytes, zones, wrong);
    // What a file keeps is its blocks: the states of zones would be lost.
    if (!words.file.empty()) throw wrong("a zoned namespace is in memory, not in a file");
  }
  if (options.key_value_bytes != 0 && keys.size() != 1) throw wrong("a key value namespace has a size and no other option");
  if (options.protection_type != 0 && options.metadata_bytes == 0) options.metadata_bytes = 8;
  if (const auto fits = subsystem::check_options(options); !fits) throw wrong(fits.error().text);
  const std::uint64_t stored = options.blocks * (options.block_bytes + options.metadata_bytes);
  if (!words.file.empty()) options.store = or_throw(subsystem::open_file_store(words.file, stored));
  return options;
}

subsystem::AddressFamily family_of(const IpAddress& address) {
  return address.is_v4() ? subsystem::AddressFamily::ipv4 : subsystem::AddressFamily::ipv6;
}

subsystem::Referral referral_from(const std::string& text) {
  const auto url = conformance::parse_fabric_url(text, conformance::UrlPort::known);
  if (!url) throw UserError("referral " + url.error().text);
  subsystem::Referral made;
  if (!url->nqn.empty()) made.subnqn = url->nqn;
  made.traddr = to_string(without_scope(url->to.address));
  made.trsvcid = std::to_string(url->to.port);
  made.family = family_of(url->to.address);
  made.trtype = static_cast<std::uint8_t>(fabrics::transport_named(url->transport).type);
  return made;
}

}  // namespace fb::cli
