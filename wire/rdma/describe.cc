#include "wire/rdma/cm_messages.h"

#include <fmt/format.h>

namespace fb::cm {

namespace {

struct ReasonName {
  std::uint16_t reason;
  std::string_view name;
};
constexpr ReasonName kReasonNames[] = {
    {1, "no QP available"},
    {2, "no EEC available"},
    {3, "no resources"},
    {4, "timeout"},
    {5, "unsupported request"},
    {6, "invalid communication ID"},
    {7, "invalid communication instance"},
    {8, "invalid service ID"},
    {9, "invalid transport type"},
    {10, "stale connection"},
    {11, "no such RDC"},
    {12, "primary remote GID rejected"},
    {13, "primary remote LID rejected"},
    {14, "invalid primary SL"},
    {15, "invalid primary traffic class"},
    {16, "invalid primary hop limit"},
    {17, "invalid primary packet rate"},
    {18, "alternate remote GID rejected"},
    {19, "alternate remote LID rejected"},
    {20, "invalid alternate SL"},
    {21, "invalid alternate traffic class"},
    {22, "invalid alternate hop limit"},
    {23, "invalid alternate packet rate"},
    {24, "CM redirection"},
    {25, "port redirection"},
    {26, "invalid path MTU"},
    {27, "insufficient responder resources"},
    {28, "consumer reject"},
    {29, "RNR retry count rejected"},
    {30, "duplicate local communication ID"},
    {31, "unsupported class version"},
    {32, "invalid primary flow label"},
    {33, "invalid alternate flow label"},
    {35, "vendor option not supported"},
};

ByteView without_trailing_zeros(ByteView bytes) {
  std::size_t size = bytes.size();
  while (size > 0 && bytes[size - 1] == 0) --size;
  return bytes.first(size);
}

// Zero fields and padding say nothing; a line with all 46 fields of a REQ would hide the rest.
template <class L>
void append_nonzero(std::string& out, ByteView bytes) {
  L::for_each([&](auto field) {
    using F = decltype(field);
    if constexpr (F::is_bytes) {
      const ByteView value = without_trailing_zeros(F::get(bytes.data()));
      if (value.empty()) return;
      if constexpr (F::name.ends_with("gid")) {
        out += fmt::format(" {}={}", F::name, to_string(from_gid(F::get(bytes.data()))));
      } else {
        append_field(out, F::name, value);
      }
    } else if (F::get_raw(bytes.data()) != 0) {
      append_field(out, F::name, F::get_raw(bytes.data()));
    }
  });
}

void append_message(std::string& out, Attribute attribute, ByteView message) {
  switch (attribute) {
    case Attribute::req:
      append_nonzero<Req>(out, message);
      break;
    case Attribute::mra:
      append_nonzero<Mra>(out, message);
      break;
    case Attribute::rej: {
      append_nonzero<Rej>(out, message);
      out += fmt::format(" ({})", name_of_reject_reason(View<Rej>{message}.get(rej::reason)));
      break;
    }
    case Attribute::rep:
      append_nonzero<Rep>(out, message);
      break;
    case Attribute::rtu:
    case Attribute::drep:
      append_nonzero<Rtu>(out, message);
      break;
    case Attribute::dreq:
      append_nonzero<Dreq>(out, message);
      break;
    case Attribute::sidr_req:
      append_nonzero<SidrReq>(out, message);
      break;
    case Attribute::sidr_rep:
      append_nonzero<SidrRep>(out, message);
      break;
    case Attribute::lap:
      append_nonzero<Lap>(out, message);
      break;
    case Attribute::apr:
      append_nonzero<Apr>(out, message);
      break;
    case Attribute::class_port_info:
      append_nonzero<ClassPortInfo>(out, message);
      break;
    default:
      append_field(out, "message", without_trailing_zeros(message));
      break;
  }
}

}  // namespace

std::string_view name_of(Attribute attribute) {
  switch (attribute) {
    case Attribute::class_port_info:
      return "ClassPortInfo";
    case Attribute::req:
      return "REQ";
    case Attribute::mra:
      return "MRA";
    case Attribute::rej:
      return "REJ";
    case Attribute::rep:
      return "REP";
    case Attribute::rtu:
      return "RTU";
    case Attribute::dreq:
      return "DREQ";
    case Attribute::drep:
      return "DREP";
    case Attribute::sidr_req:
      return "SIDR_REQ";
    case Attribute::sidr_rep:
      return "SIDR_REP";
    case Attribute::lap:
      return "LAP";
    case Attribute::apr:
      return "APR";
  }
  return "attribute";
}

std::string_view name_of_reject_reason(std::uint16_t reason) {
  for (const ReasonName& entry : kReasonNames) {
    if (entry.reason == reason) return entry.name;
  }
  return "reserved reason";
}

std::string describe_mad(ByteView mad256) {
  if (mad256.size() < kMadBytes) return fmt::format("MAD of {} bytes (truncated)", mad256.size());
  const View<MadHeader> header{mad256};
  const Attribute attribute = header.get(mad::attribute);
  std::string out{name_of(attribute)};
  if (out == "attribute") append_field(out, "id", static_cast<std::uint64_t>(attribute));
  // Only what departs from an ordinary CM message is worth a word.
  const auto unless = [&](const auto& field, std::uint64_t usual) {
    const std::uint64_t raw = field.get_raw(mad256.data());
    if (raw != usual) append_field(out, field.name, raw);
  };
  unless(mad::base_version, kMadBaseVersion);
  unless(mad::management_class, kCmClass);
  unless(mad::class_version, kCmClassVersion);
  unless(mad::method, static_cast<std::uint64_t>(Method::send));
  unless(mad::status, 0);
  unless(mad::attribute_modifier, 0);
  append_field(out, "tid", header.get(mad::tid));
  append_message(out, attribute, mad256.subspan(kMadHeaderBytes));
  if (mad256.size() > kMadBytes) out += fmt::format(" (+{} bytes)", mad256.size() - kMadBytes);
  return out;
}

}  // namespace fb::cm
