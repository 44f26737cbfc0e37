// How values look in findings. words() is overloaded for what cases compare; anything with a
// to_string or name_of found by its arguments works too.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "wire/nvme/status.h"

namespace fb::conformance {

/// "17 (11h)", "-3", "5".
std::string words_of_unsigned(std::uint64_t value);
std::string words_of_signed(std::int64_t value);
std::string words_of_bytes(ByteView bytes);

inline std::string words(bool value) { return value ? "yes" : "no"; }
inline std::string words(std::string_view value) { return "'" + std::string(value) + "'"; }
inline std::string words(const char* value) { return words(std::string_view(value)); }
inline std::string words(const std::string& value) { return words(std::string_view(value)); }
inline std::string words(nvme::Status value) { return nvme::to_string(value); }
inline std::string words(const Bytes& value) { return words_of_bytes(value); }
inline std::string words(ByteView value) { return words_of_bytes(value); }
inline std::string words(Duration value) { return to_string(value); }

template <class T>
requires(std::integral<T> && !std::same_as<T, bool>) std::string words(T value) {
  if constexpr (std::is_signed_v<T>) return words_of_signed(value);
  return words_of_unsigned(static_cast<std::uint64_t>(value));
}

template <class T>
concept HasToString = requires(const T& value) {
  { to_string(value) } -> std::convertible_to<std::string>;
};
template <class T>
concept HasNameOf = requires(const T& value) {
  std::string(name_of(value));
};

template <class T>
requires(!std::integral<T> && !std::convertible_to<T, std::string_view> && !std::convertible_to<T, ByteView>) std::string
    words(const T& value) {
  if constexpr (HasNameOf<T>) {
    return std::string(name_of(value));
  } else if constexpr (HasToString<T>) {
    return to_string(value);
  } else {
    static_assert(std::is_enum_v<T>, "give the type a to_string or a name_of");
    return words_of_unsigned(static_cast<std::uint64_t>(value));
  }
}

/// A set of legal answers: one_of(sc::invalid_field, sc::invalid_opcode).
template <class T>
struct OneOf {
  std::vector<T> legal;
};

template <class First, class... Rest>
OneOf<std::common_type_t<First, Rest...>> one_of(First first, Rest... rest) {
  using T = std::common_type_t<First, Rest...>;
  return {{static_cast<T>(first), static_cast<T>(rest)...}};
}

}  // namespace fb::conformance
