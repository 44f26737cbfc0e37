// Connect: command, data and response.
#pragma once

#include "wire/fabrics/nqn.h"
#include "wire/fabrics/sqe.h"
#include "wire/nvme/cqe.h"

namespace fb::fabrics {

namespace connect_sqe {
inline constexpr Le<"recfmt", 40, std::uint16_t> recfmt{};
inline constexpr Le<"qid", 42, std::uint16_t> qid{};
inline constexpr Le<"sqsize", 44, std::uint16_t, ZeroBased<std::uint16_t>> sqsize{};
inline constexpr Le<"cattr", 46, std::uint8_t> cattr{};
inline constexpr Le<"kato", 48, std::uint32_t> kato{};
inline constexpr Le<"nvmsetid", 52, std::uint16_t> nvmsetid{};
}  // namespace connect_sqe
using ConnectSqe =
    FabricsSqe<connect_sqe::recfmt, connect_sqe::qid, connect_sqe::sqsize, connect_sqe::cattr, connect_sqe::kato, connect_sqe::nvmsetid>;

namespace cattr_bits {
inline constexpr std::uint8_t priority_mask = 0x03;
inline constexpr std::uint8_t disable_sq_flow_control = 1u << 2;
inline constexpr std::uint8_t individual_queue_deletion = 1u << 3;
inline constexpr std::uint8_t connecting_entity_is_discovery = 1u << 4;
}  // namespace cattr_bits

inline constexpr std::uint16_t kAdminQueue = 0;
inline constexpr std::uint16_t kConnectRecordFormat = 0;

namespace connect_data {
inline constexpr BytesField<"hostid", 0, 16> hostid{};
inline constexpr Le<"cntlid", 16, std::uint16_t> cntlid{};
inline constexpr BytesField<"subnqn", 256, kNqnFieldSize> subnqn{};
inline constexpr BytesField<"hostnqn", 512, kNqnFieldSize> hostnqn{};
}  // namespace connect_data
using ConnectData = Layout<1024, connect_data::hostid, connect_data::cntlid, connect_data::subnqn, connect_data::hostnqn>;

/// Dynamic model: the controller is the subsystem's choice.
inline constexpr std::uint16_t kAnyController = 0xFFFF;
/// Static model: any free controller of the subsystem.
inline constexpr std::uint16_t kAnyStaticController = 0xFFFE;
/// Identifiers from here on are never allocated.
inline constexpr std::uint16_t kFirstReservedController = 0xFFF0;

/// Names of the response's fields: cntlid and authreq on success; ipo and ips with Connect Invalid
/// Parameters.
namespace connect_reply {
inline constexpr Le<"cntlid", 0, std::uint16_t> cntlid{};
inline constexpr Le<"authreq", 2, std::uint16_t> authreq{};
inline constexpr Le<"ipo", 0, std::uint16_t> ipo{};
inline constexpr LeBits<"ips", 2, std::uint8_t, 0, 0, bool> ips{};
inline constexpr Le<"dw1", 4, std::uint32_t> dw1{};
}  // namespace connect_reply
using ConnectReply = nvme::CommandCqe<connect_reply::cntlid, connect_reply::authreq, connect_reply::dw1>;
using ConnectRefusal = nvme::CommandCqe<connect_reply::ipo, connect_reply::ips, connect_reply::dw1>;

namespace authreq_bits {
inline constexpr std::uint16_t authentication_transaction = 1u << 1;
inline constexpr std::uint16_t secure_channel = 1u << 2;
}  // namespace authreq_bits

/// Where the parameter stands that Connect Invalid Parameters complains of.
struct InvalidParameter {
  std::uint16_t offset = 0;
  bool in_data = false;
  constexpr bool operator==(const InvalidParameter&) const = default;

  constexpr std::uint32_t dw0() const { return offset | std::uint32_t{in_data} << 16; }
  static constexpr InvalidParameter from_dw0(std::uint32_t dw0) { return {static_cast<std::uint16_t>(dw0 & 0xFFFF), (dw0 >> 16 & 1) != 0}; }
  template <class F>
  requires(ConnectSqe::has<F>) static constexpr InvalidParameter in_command(const F&) { return {F::offset, false}; }
  template <class F>
  requires(ConnectData::has<F>) static constexpr InvalidParameter in_connect_data(const F&) { return {F::offset, true}; }
};

}  // namespace fb::fabrics
