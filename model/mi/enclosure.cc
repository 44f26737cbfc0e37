#include "model/mi/enclosure.h"

#include <string_view>

#include "base/assert.h"

namespace fb::mi {

namespace {

// SES pages are big endian, and begin alike: code, one byte, length of what follows.
constexpr std::uint8_t kPageSupported = 0x00, kPageConfiguration = 0x01, kPageStatus = 0x02;
constexpr std::uint8_t kTypeArraySlot = 0x17, kTypeCooling = 0x03, kTypeTemperature = 0x04;
constexpr std::uint8_t kElementOk = 0x01;
constexpr std::size_t kHeader = 4;
constexpr std::size_t kElement = 4;
/// Header, generation, then for each type an overall element ahead of its own.
constexpr std::size_t kStatusSize = kHeader + 4 + kElement * (1 + Enclosure::kSlots + 1 + Enclosure::kFans + 1 + 1);

void finish(Bytes& page) {
  BENCH_ASSERT(page.size() >= kHeader, "an SES page has a header");
  store_be(&page[2], static_cast<std::uint16_t>(page.size() - kHeader));
}

void append_be(Bytes& page, std::uint32_t value) {
  page.resize(page.size() + 4);
  store_be(&page[page.size() - 4], value);
}

}  // namespace

std::optional<Bytes> Enclosure::page(std::uint8_t code) const {
  switch (code) {
    case kPageSupported:
      return supported();
    case kPageConfiguration:
      return configuration();
    case kPageStatus:
      return status();
    default:
      return std::nullopt;
  }
}

Bytes Enclosure::supported() const {
  Bytes page = {kPageSupported, 0, 0, 0, kPageSupported, kPageConfiguration, kPageStatus};
  finish(page);
  return page;
}

Bytes Enclosure::configuration() const {
  Bytes page = {kPageConfiguration, 0, 0, 0};
  append_be(page, generation_);
  Bytes descriptor = {0x11, 0, 3, 36};             // one process, no subenclosures, three types, 36 bytes follow
  descriptor.resize(descriptor.size() + 8, 0x5F);  // logical identifier
  const auto text = [&](std::string_view words, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      descriptor.push_back(i < words.size() ? static_cast<std::uint8_t>(words[i]) : std::uint8_t{' '});
    }
  };
  text("fbench", 8);
  text("emulated chassis", 16);
  text("1", 4);
  page.insert(page.end(), descriptor.begin(), descriptor.end());
  const std::array<std::array<std::uint8_t, 2>, 3> types = {{{kTypeArraySlot, kSlots}, {kTypeCooling, kFans}, {kTypeTemperature, 1}}};
  for (const auto& [type, count] : types) {
    const Bytes header = {type, count, 0, 0};
    page.insert(page.end(), header.begin(), header.end());
  }
  finish(page);
  return page;
}

Bytes Enclosure::status() const {
  Bytes page = {kPageStatus, 0, 0, 0};
  append_be(page, generation_);
  const auto element = [&](std::uint8_t second, std::uint8_t third, std::uint8_t fourth) {
    page.insert(page.end(), {kElementOk, second, third, fourth});
  };
  element(0, 0, 0);
  for (const Slot& slot : slots_) {
    element(0, slot.identify ? 0x02 : 0x00, slot.off ? 0x10 : 0x00);
  }
  element(0, 0, 0);
  for (const std::uint8_t speed : fan_speed_) element(0, 0, static_cast<std::uint8_t>(0x20 | speed));
  element(0, 0, 0);
  element(0, 25 + 20, 0);  // 25 degrees, offset by 20
  finish(page);
  return page;
}

Enclosure::Result Enclosure::control(ByteView page) {
  if (page.empty() || page[0] != kPageStatus) return Result::unsupported_page;
  if (page.size() < kHeader + 4) return Result::refused;
  if (load_be<std::uint16_t>(&page[2]) != kStatusSize - kHeader) return Result::refused;
  if (load_be<std::uint32_t>(&page[kHeader]) != generation_) return Result::refused;
  constexpr std::uint8_t kSelect = 0x80;
  std::size_t at = kHeader + 4 + kElement;
  // A page that is cut short counts as far as it goes.
  const auto selects = [&] { return at + kElement <= page.size() && (page[at] & kSelect) != 0; };
  for (Slot& slot : slots_) {
    if (selects()) {
      slot.identify = (page[at + 2] & 0x02) != 0;
      slot.off = (page[at + 3] & 0x10) != 0;
    }
    at += kElement;
  }
  at += kElement;
  for (std::uint8_t& speed : fan_speed_) {
    if (selects()) speed = page[at + 3] & 0x07;
    at += kElement;
  }
  return Result::done;
}

}  // namespace fb::mi
