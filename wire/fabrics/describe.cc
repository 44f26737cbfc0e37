#include "wire/fabrics/describe.h"

#include <array>
#include <iterator>

#include <fmt/format.h>

#include "wire/fabrics/auth.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/disconnect.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify.h"
#include "wire/nvme/logs.h"

namespace fb::fabrics {

namespace {

using nvme::AdminOpcode;
using nvme::IoOpcode;

/// What the head of every command says; it is not repeated among a command's own fields.
constexpr std::array<std::string_view, 9> kHeader = {"opcode", "fuse", "psdt", "cid", "nsid", "cdw2", "cdw3", "mptr", "fctype"};
/// Worth saying although zero.
constexpr std::array<std::string_view, 11> kAlways = {"qid", "sqsize", "slba", "nlb",       "cns", "fid",
                                                      "lid", "ofst",   "sqid", "abort_cid", "nr"};

constexpr std::uint64_t kDecimalMax = 0xFFFF;

template <std::size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void append_value(std::string& out, std::string_view name, std::uint64_t value) {
  if (value <= kDecimalMax) {
    fmt::format_to(std::back_inserter(out), " {}={}", name, value);
  } else {
    fmt::format_to(std::back_inserter(out), " {}={:#x}", name, value);
  }
}

/// The fields of `L` behind the common head.
template <class L>
void append_own_fields(std::string& out, ByteView sqe) {
  L::for_each([&](auto field) {
    using F = decltype(field);
    if constexpr (!F::is_bytes) {
      if (among(kHeader, F::name)) return;
      const std::uint64_t value = F::get_raw(sqe.data());
      if (value != 0 || among(kAlways, F::name)) append_value(out, F::name, value);
    }
  });
}

void append_named(std::string& out, std::string_view name, unsigned value, std::string_view text) {
  fmt::format_to(std::back_inserter(out), " {}={:02X}h ({})", name, value, text);
}

void append_property(std::string& out, std::uint32_t offset) { fmt::format_to(std::back_inserter(out), " {}", property_name(offset)); }

void append_fabrics(std::string& out, ByteView sqe) {
  switch (View<AnyFabricsSqe>{sqe}.get(sqe::fctype)) {
    case FabricsType::connect:
      return append_own_fields<ConnectSqe>(out, sqe);
    case FabricsType::property_get:
      append_property(out, View<PropertyGetSqe>{sqe}.get(property_sqe::ofst));
      return append_own_fields<PropertyGetSqe>(out, sqe);
    case FabricsType::property_set:
      append_property(out, View<PropertySetSqe>{sqe}.get(property_sqe::ofst));
      return append_own_fields<PropertySetSqe>(out, sqe);
    case FabricsType::disconnect:
      return append_own_fields<DisconnectSqe>(out, sqe);
    case FabricsType::authentication_send:
    case FabricsType::authentication_receive:
      return append_own_fields<AuthSqe>(out, sqe);
  }
  append_value(out, "fctype", sqe[4]);
}

void append_admin(std::string& out, ByteView sqe) {
  switch (static_cast<AdminOpcode>(sqe[0])) {
    case AdminOpcode::identify: {
      const std::uint8_t cns = View<nvme::IdentifySqe>{sqe}.get(nvme::identify_sqe::cns);
      append_named(out, "cns", cns, nvme::cns_name(cns));
      return append_own_fields<
          nvme::CommandSqe<nvme::identify_sqe::cntid, nvme::identify_sqe::cnssid, nvme::identify_sqe::csi, nvme::identify_sqe::uidx>>(out,
                                                                                                                                      sqe);
    }
    case AdminOpcode::get_log_page: {
      const View<nvme::GetLogPageSqe> view{sqe};
      const std::uint8_t lid = view.get(nvme::get_log_sqe::lid);
      append_named(out, "lid", lid, nvme::log_page_name(lid));
      append_value(out, "length", nvme::log_length(view));
      append_value(out, "offset", nvme::log_offset(view));
      return append_own_fields<nvme::CommandSqe<nvme::get_log_sqe::lsp, nvme::get_log_sqe::rae, nvme::get_log_sqe::lsi,
                                                nvme::get_log_sqe::uidx, nvme::get_log_sqe::ot, nvme::get_log_sqe::csi>>(out, sqe);
    }
    case AdminOpcode::get_features:
    case AdminOpcode::set_features: {
      const std::uint8_t fid = View<nvme::SetFeaturesSqe>{sqe}.get(nvme::features_sqe::fid);
      append_named(out, "fid", fid, nvme::feature_name(fid));
      return append_own_fields<
          nvme::CommandSqe<nvme::features_sqe::sel, nvme::features_sqe::sv, nvme::features_sqe::cdw11, nvme::features_sqe::cdw12,
                           nvme::features_sqe::cdw13, nvme::features_sqe::uidx, nvme::features_sqe::cdw15>>(out, sqe);
    }
    case AdminOpcode::abort:
      return append_own_fields<nvme::AbortSqe>(out, sqe);
    default:
      return append_own_fields<nvme::SqeLayout>(out, sqe);
  }
}

void append_io(std::string& out, ByteView sqe) {
  switch (static_cast<IoOpcode>(sqe[0])) {
    case IoOpcode::read:
    case IoOpcode::write:
    case IoOpcode::compare:
    case IoOpcode::verify:
    case IoOpcode::write_zeroes:
    case IoOpcode::write_uncorrectable:
      return append_own_fields<nvme::ReadWriteSqe>(out, sqe);
    case IoOpcode::dataset_management:
      return append_own_fields<nvme::DatasetManagementSqe>(out, sqe);
    case IoOpcode::reservation_register:
    case IoOpcode::reservation_acquire:
    case IoOpcode::reservation_release:
      return append_own_fields<nvme::ReservationSqe>(out, sqe);
    case IoOpcode::reservation_report:
      return append_own_fields<nvme::ReservationReportSqe>(out, sqe);
    default:
      return append_own_fields<nvme::SqeLayout>(out, sqe);
  }
}

std::string_view fuse_text(nvme::Fuse fuse) {
  switch (fuse) {
    case nvme::Fuse::normal:
      return "";
    case nvme::Fuse::first:
      return " fused-first";
    case nvme::Fuse::second:
      return " fused-second";
    case nvme::Fuse::reserved:
      return " fuse=3";
  }
  return "";
}

bool any_set(ByteView bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b != 0; });
}

}  // namespace

std::string_view command_name(ByteView sqe, bool admin) {
  if (sqe.size() < nvme::kSqeSize) return "truncated command";
  if (sqe[0] == kFabricsOpcode) {
    const std::string_view name = nvme::fabrics_type_name(sqe[4]);
    return name == "Reserved" || name == "Vendor Specific" ? "Fabrics" : name;
  }
  return admin ? nvme::admin_opcode_name(sqe[0]) : nvme::io_opcode_name(sqe[0]);
}

std::string describe_command(ByteView sqe, bool admin) {
  if (sqe.size() < nvme::kSqeSize) return fmt::format("truncated command ({} bytes)", sqe.size());
  const View<nvme::SqeLayout> common{sqe};
  std::string out{command_name(sqe, admin)};
  if (out == "Reserved" || out == "Vendor Specific") {
    out += fmt::format(" opcode {:02X}h", sqe[0]);
  }
  const bool fabrics = sqe[0] == kFabricsOpcode;
  if (fabrics) {
    append_fabrics(out, sqe);
  } else {
    if (const std::uint32_t nsid = common.get(nvme::sqe::nsid); nsid != 0) {
      append_value(out, "nsid", nsid);
    }
    admin ? append_admin(out, sqe) : append_io(out, sqe);
  }
  append_value(out, "cid", common.get(nvme::sqe::cid));
  out += fuse_text(common.get(nvme::sqe::fuse));
  const auto psdt = common.get(nvme::sqe::psdt);
  if (psdt != nvme::Psdt::sgl) append_value(out, "psdt", static_cast<std::uint64_t>(psdt));
  const auto sgl1 = common.get(nvme::sqe::sgl1);
  if (any_set(sgl1)) out += ' ' + describe_sgl(nvme::SglDescriptor::parse(sgl1));
  return out;
}

std::string describe_completion(ByteView cqe, nvme::StatusFamily family) {
  if (cqe.size() < nvme::CqeLayout::size) {
    return fmt::format("truncated completion ({} bytes)", cqe.size());
  }
  const View<nvme::CqeLayout> view{cqe};
  const nvme::Status status = view.get(nvme::cqe::status);
  std::string out = fmt::format("cid={} sqhd={} ", view.get(nvme::cqe::cid), view.get(nvme::cqe::sqhd));
  out += status.ok() ? std::string{"Success"} : nvme::to_string(status.of(family));
  if (status.crd() != 0) out += fmt::format(" CRD{}", status.crd());
  if (status.more()) out += " M";
  if (status.dnr()) out += " DNR";
  const std::uint32_t dw0 = view.get(nvme::cqe::dw0);
  const std::uint32_t dw1 = view.get(nvme::cqe::dw1);
  if (dw0 != 0 || dw1 != 0) out += fmt::format(" dw0={:#x}", dw0);
  if (dw1 != 0) out += fmt::format(" dw1={:#x}", dw1);
  return out;
}

std::string describe_sgl(const nvme::SglDescriptor& d) {
  using nvme::SglType;
  namespace subtype = nvme::sgl_subtype;
  if (d.type == SglType::keyed_data_block && (d.subtype == subtype::address || d.subtype == subtype::invalidate_key)) {
    return fmt::format("keyed(addr={:#x} len={} key={:#x}{})", d.address, d.length, d.key,
                       d.subtype == subtype::invalidate_key ? " invalidate" : "");
  }
  if (d.type == SglType::data_block && d.subtype == subtype::offset) {
    return fmt::format("in-capsule(offset={} len={})", d.address, d.length);
  }
  if (d.type == SglType::transport_data_block && d.subtype == subtype::tcp_data_buffer) {
    return fmt::format("transport(len={})", d.length);
  }
  return fmt::format("sgl{:02X}h(addr={:#x} len={} key={:#x})", d.type_byte(), d.address, d.length, d.key);
}

std::string_view property_name(std::uint32_t offset) {
  switch (offset) {
    case property::cap:
      return "CAP";
    case property::vs:
      return "VS";
    case property::cc:
      return "CC";
    case property::csts:
      return "CSTS";
    case property::nssr:
      return "NSSR";
    case property::nssd:
      return "NSSD";
    case property::crto:
      return "CRTO";
    default:
      return "reserved";
  }
}

}  // namespace fb::fabrics
