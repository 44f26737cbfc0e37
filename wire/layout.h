// The kit in which every structure on a wire is declared: a field is a type with a name, an offset,
// a storage type, a value type and a bit range; a layout is a list of fields with a size. Fields
// that leave the structure or overlap, and questions for another layout's field, do not compile.
//
//   inline constexpr Le<"sqsize", 44, std::uint16_t, ZeroBased<std::uint16_t>> sqsize{};
//   using ConnectSqe = Layout<64, opcode, cid, sqsize>;
//   View<ConnectSqe> sqe{bytes};      auto depth = sqe.get(sqsize);
//   Record<ConnectSqe> made;          made.set(opcode, 0x7F).set(cid, 3);
//
// One declaration serves reading, writing, printing and the check of reserved bits.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/bytes.h"

namespace fb {

template <std::size_t N>
struct FixedString {
  char text[N] = {};
  constexpr FixedString(const char (&from)[N]) { std::copy_n(from, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

/// A count that the wire carries minus one. Constructed from the count; raw() is what is sent.
template <std::unsigned_integral T>
class ZeroBased {
 public:
  static constexpr ZeroBased from_raw(T raw) { return ZeroBased{raw}; }
  /// `count` entries. A count of 0 cannot be said in a 0's based field.
  static constexpr ZeroBased of(std::uint64_t count) {
    BENCH_ASSERT(count > 0, "a 0's based field cannot say zero");
    return ZeroBased{static_cast<T>(count - 1)};
  }
  constexpr T raw() const { return raw_; }
  constexpr std::uint64_t count() const { return std::uint64_t{raw_} + 1; }
  constexpr bool operator==(const ZeroBased&) const = default;

 private:
  constexpr explicit ZeroBased(T raw) : raw_(raw) {}
  T raw_ = 0;
};

/// Storage tag of a three-byte integer.
struct U24 {};

namespace wire_detail {

template <class S>
struct StorageOf {
  using Raw = S;
  static constexpr std::size_t size = sizeof(S);
  static constexpr Raw load(const std::uint8_t* p, std::endian order) { return fb::load<S>(p, order); }
  static constexpr void store(std::uint8_t* p, Raw v, std::endian order) { fb::store<S>(p, v, order); }
};
template <>
struct StorageOf<U24> {
  using Raw = std::uint32_t;
  static constexpr std::size_t size = 3;
  static constexpr Raw load(const std::uint8_t* p, std::endian order) {
    const std::uint32_t a = p[0], b = p[1], c = p[2];
    return order == std::endian::little ? (a | b << 8 | c << 16) : (c | b << 8 | a << 16);
  }
  static constexpr void store(std::uint8_t* p, Raw v, std::endian order) {
    const bool little = order == std::endian::little;
    p[little ? 0 : 2] = static_cast<std::uint8_t>(v);
    p[1] = static_cast<std::uint8_t>(v >> 8);
    p[little ? 2 : 0] = static_cast<std::uint8_t>(v >> 16);
  }
};

template <class V, class Raw>
constexpr V to_value(Raw raw) {
  if constexpr (requires { V::from_raw(static_cast<decltype(V::from_raw(0).raw())>(raw)); }) {
    return V::from_raw(static_cast<decltype(V::from_raw(0).raw())>(raw));
  } else {
    return static_cast<V>(raw);
  }
}
template <class V>
constexpr std::uint64_t to_raw(V value) {
  if constexpr (requires { value.raw(); }) {
    return value.raw();
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

}  // namespace wire_detail

/// An integer, flag or enumeration at byte `Offset`, bits `High`..`Low` of its storage.
template <FixedString Name, std::size_t Offset, class Storage, class V, unsigned High, unsigned Low, std::endian Order>
struct Field {
  using Value = V;
  using Access = wire_detail::StorageOf<Storage>;
  using Raw = typename Access::Raw;
  static constexpr std::string_view name = Name.view();
  static constexpr std::size_t offset = Offset;
  static constexpr std::size_t size = Access::size;
  static constexpr bool is_bytes = false;
  static constexpr unsigned width = High - Low + 1;
  static_assert(High >= Low && High < size * 8, "bit range outside the storage");

  static constexpr std::uint64_t mask() { return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1; }
  static constexpr Value get(const std::uint8_t* base) {
    const std::uint64_t raw = (std::uint64_t{Access::load(base + Offset, Order)} >> Low) & mask();
    return wire_detail::to_value<Value>(raw);
  }
  static constexpr std::uint64_t get_raw(const std::uint8_t* base) {
    return (std::uint64_t{Access::load(base + Offset, Order)} >> Low) & mask();
  }
  static constexpr void set_raw(std::uint8_t* base, std::uint64_t raw) {
    std::uint64_t word = Access::load(base + Offset, Order);
    word = (word & ~(mask() << Low)) | ((raw & mask()) << Low);
    Access::store(base + Offset, static_cast<Raw>(word), Order);
  }
  static constexpr void set(std::uint8_t* base, Value value) { set_raw(base, wire_detail::to_raw(value)); }
  /// Which bits of byte `at` of the structure belong to this field.
  static constexpr std::uint8_t covers(std::size_t at) {
    if (at < Offset || at >= Offset + size) return 0;
    const std::size_t index = Order == std::endian::little ? at - Offset : size - 1 - (at - Offset);
    return static_cast<std::uint8_t>((mask() << Low) >> (index * 8) & 0xFF);
  }
};

/// A run of bytes: identifiers, strings, nested structures.
template <FixedString Name, std::size_t Offset, std::size_t Size>
struct BytesField {
  using Value = std::span<const std::uint8_t, Size>;
  static constexpr std::string_view name = Name.view();
  static constexpr std::size_t offset = Offset;
  static constexpr std::size_t size = Size;
  static constexpr bool is_bytes = true;

  static constexpr Value get(const std::uint8_t* base) { return Value{base + Offset, Size}; }
  /// Copies `value`, cut to the field; the rest of the field becomes zero.
  static constexpr void set(std::uint8_t* base, ByteView value) {
    const std::size_t n = std::min(value.size(), Size);
    std::copy_n(value.begin(), n, base + Offset);
    std::fill_n(base + Offset + n, Size - n, std::uint8_t{0});
  }
  static constexpr std::uint8_t covers(std::size_t at) { return at >= Offset && at < Offset + Size ? 0xFF : 0; }
};

/// Little-endian field (NVMe) and its bit-range form.
template <FixedString Name, std::size_t Offset, class Storage, class V = typename wire_detail::StorageOf<Storage>::Raw>
using Le = Field<Name, Offset, Storage, V, wire_detail::StorageOf<Storage>::size * 8 - 1, 0, std::endian::little>;
template <FixedString Name, std::size_t Offset, class Storage, unsigned High, unsigned Low,
          class V = typename wire_detail::StorageOf<Storage>::Raw>
using LeBits = Field<Name, Offset, Storage, V, High, Low, std::endian::little>;

/// Big-endian field (InfiniBand, IP) and its bit-range form.
template <FixedString Name, std::size_t Offset, class Storage, class V = typename wire_detail::StorageOf<Storage>::Raw>
using Be = Field<Name, Offset, Storage, V, wire_detail::StorageOf<Storage>::size * 8 - 1, 0, std::endian::big>;
template <FixedString Name, std::size_t Offset, class Storage, unsigned High, unsigned Low,
          class V = typename wire_detail::StorageOf<Storage>::Raw>
using BeBits = Field<Name, Offset, Storage, V, High, Low, std::endian::big>;

template <std::size_t Size, auto... Fields>
struct Layout {
  static constexpr std::size_t size = Size;

  static consteval bool fits() { return ((decltype(Fields)::offset + decltype(Fields)::size <= Size) && ...); }
  static consteval bool disjoint() {
    std::array<std::uint8_t, Size> taken = {};
    bool clash = false;
    const auto claim = [&](auto field) {
      using F = decltype(field);
      for (std::size_t at = F::offset; at < F::offset + F::size && at < Size; ++at) {
        const std::uint8_t bits = F::covers(at);
        clash = clash || (taken[at] & bits) != 0;
        taken[at] = static_cast<std::uint8_t>(taken[at] | bits);
      }
    };
    (claim(Fields), ...);
    return !clash;
  }
  static_assert(fits(), "a field leaves the structure");
  static_assert(disjoint(), "two fields overlap");

  template <class F>
  static constexpr bool has = (std::is_same_v<std::remove_cv_t<decltype(Fields)>, std::remove_cv_t<F>> || ...);

  template <class Visitor>
  static constexpr void for_each(Visitor&& visit) {
    (visit(Fields), ...);
  }
  /// Bits of byte `at` that no field claims.
  static constexpr std::uint8_t reserved_bits(std::size_t at) {
    unsigned taken = 0;
    ((taken |= decltype(Fields)::covers(at)), ...);
    return static_cast<std::uint8_t>(~taken);
  }
};

/// Reads a structure in somebody else's bytes. The bytes must hold at least L::size of them.
template <class L>
class View {
 public:
  constexpr explicit View(ByteView bytes) : data_(bytes.data()) { BENCH_ASSERT(bytes.size() >= L::size, "view over too few bytes"); }
  /// Nothing when the bytes are too few.
  static constexpr std::optional<View> over(ByteView bytes) {
    if (bytes.size() < L::size) return std::nullopt;
    return View{bytes};
  }
  template <class F>
  requires(L::template has<F>) constexpr typename F::Value get(const F&) const { return F::get(data_); }
  constexpr ByteView bytes() const { return {data_, L::size}; }

 private:
  const std::uint8_t* data_;
};

/// Writes a structure into somebody else's bytes. set() accepts any value: a bench must be able to
/// say what is illegal.
template <class L>
class MutableView {
 public:
  constexpr explicit MutableView(MutableBytes bytes) : data_(bytes.data()) {
    BENCH_ASSERT(bytes.size() >= L::size, "view over too few bytes");
  }
  template <class F>
  requires(L::template has<F>) constexpr typename F::Value get(const F&) const { return F::get(data_); }
  template <class F, class V>
  requires(L::template has<F>) constexpr MutableView& set(const F&, const V& value) {
    if constexpr (F::is_bytes) {
      F::set(data_, ByteView{value});
    } else if constexpr (std::is_same_v<V, typename F::Value>) {
      F::set(data_, value);
    } else {
      F::set_raw(data_, wire_detail::to_raw(value));
    }
    return *this;
  }

 private:
  std::uint8_t* data_;
};

/// A structure that owns its bytes; all zero to begin with. Setting a ZeroBased field with a plain
/// number sets the raw value that is sent.
template <class L>
class Record {
 public:
  constexpr Record() = default;
  constexpr explicit Record(ByteView from) { std::copy_n(from.begin(), std::min(from.size(), L::size), bytes_.begin()); }
  template <class F>
  requires(L::template has<F>) constexpr typename F::Value get(const F&) const { return F::get(bytes_.data()); }
  template <class F, class V>
  requires(L::template has<F>) constexpr Record& set(const F& field, const V& value) {
    MutableView<L>{bytes_}.set(field, value);
    return *this;
  }
  template <class M>
  constexpr View<M> as() const {
    return View<M>{bytes_};
  }
  /// The same bytes seen as another structure, to write: the command fields of a submission entry.
  template <class M>
  constexpr MutableView<M> edit() {
    return MutableView<M>{bytes_};
  }
  constexpr View<L> view() const { return View<L>{bytes_}; }
  constexpr ByteView bytes() const { return bytes_; }
  constexpr MutableBytes mutable_bytes() { return bytes_; }
  constexpr bool operator==(const Record&) const = default;

 private:
  std::array<std::uint8_t, L::size> bytes_ = {};
};

/// Offset of the first byte with a reserved bit set, or nothing.
template <class L>
constexpr std::optional<std::size_t> first_reserved_set(ByteView bytes) {
  for (std::size_t at = 0; at < L::size; ++at) {
    if ((bytes[at] & L::reserved_bits(at)) != 0) return at;
  }
  return std::nullopt;
}

void append_field(std::string& out, std::string_view name, std::uint64_t raw);
void append_field(std::string& out, std::string_view name, ByteView bytes);

/// "opcode=0x7f cid=3 ...": every field in declared order.
template <class L>
std::string describe(ByteView bytes) {
  if (bytes.size() < L::size) return "(truncated)";
  std::string out;
  L::for_each([&](auto field) {
    using F = decltype(field);
    if constexpr (F::is_bytes) {
      append_field(out, F::name, ByteView{F::get(bytes.data())});
    } else {
      append_field(out, F::name, F::get_raw(bytes.data()));
    }
  });
  return out;
}

/// ASCII text in a fixed field, without trailing NULs and spaces.
std::string text_of(ByteView field);

/// Fills `field` with text padded by `pad`.
void put_text(MutableBytes field, std::string_view text, char pad);

/// Fills a text field of a record; what does not fit is cut.
template <class L, class F>
requires(L::template has<F>) void set_text(Record<L>& record, const F&, std::string_view text, char pad) {
  put_text(record.mutable_bytes().subspan(F::offset, F::size), text, pad);
}

/// Element `index` of the array that fills the bytes field `F` of a structure.
template <class Element, class F>
constexpr View<Element> element(ByteView structure, const F&, std::size_t index) {
  BENCH_ASSERT((index + 1) * Element::size <= F::size, "index outside the array");
  return View<Element>{structure.subspan(F::offset + index * Element::size, Element::size)};
}
template <class Element, class F>
constexpr MutableView<Element> edit_element(MutableBytes structure, const F&, std::size_t index) {
  BENCH_ASSERT((index + 1) * Element::size <= F::size, "index outside the array");
  return MutableView<Element>{structure.subspan(F::offset + index * Element::size, Element::size)};
}

/// A little-endian register or command dword as a record, and back.
template <class L>
requires(L::size <= 8) constexpr Record<L> record_from_integer(std::uint64_t value) {
  Record<L> record;
  for (std::uint8_t& byte : record.mutable_bytes()) {
    byte = static_cast<std::uint8_t>(value & 0xFF);
    value >>= 8;
  }
  return record;
}
template <class L>
requires(L::size <= 8) constexpr std::uint64_t integer_of(const Record<L>& record) {
  std::uint64_t value = 0;
  for (std::size_t at = L::size; at-- > 0;) value = value << 8 | record.bytes()[at];
  return value;
}

}  // namespace fb
