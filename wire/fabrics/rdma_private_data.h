// NVMe/RDMA: what the private data of the connection manager's messages says. Little endian, unlike
// the messages that carry it.
#pragma once

#include "wire/layout.h"

namespace fb::fabrics {

inline constexpr std::uint16_t kRdmaRecordFormat = 0;
/// Reject reason of the connection manager ("consumer defined") with which RdmaReject is sent.
inline constexpr std::uint16_t kRdmaConsumerReject = 28;

namespace rdma_request {
inline constexpr Le<"recfmt", 0, std::uint16_t> recfmt{};
inline constexpr Le<"qid", 2, std::uint16_t> qid{};
/// Receive entries of the host, a plain count.
inline constexpr Le<"hrqsize", 4, std::uint16_t> hrqsize{};
/// Entries of the submission queue, as Connect's SQSIZE.
inline constexpr Le<"hsqsize", 6, std::uint16_t, ZeroBased<std::uint16_t>> hsqsize{};
inline constexpr Le<"cntlid", 8, std::uint16_t> cntlid{};
}  // namespace rdma_request
using RdmaRequest = Layout<32, rdma_request::recfmt, rdma_request::qid, rdma_request::hrqsize, rdma_request::hsqsize, rdma_request::cntlid>;

namespace rdma_accept {
inline constexpr Le<"recfmt", 0, std::uint16_t> recfmt{};
inline constexpr Le<"crqsize", 2, std::uint16_t> crqsize{};
}  // namespace rdma_accept
using RdmaAccept = Layout<32, rdma_accept::recfmt, rdma_accept::crqsize>;

enum class RdmaRejectStatus : std::uint16_t {
  invalid_private_data_length = 1,
  invalid_recfmt = 2,
  invalid_qid = 3,
  invalid_hsqsize = 4,
  invalid_hrqsize = 5,
  no_resources = 6,
  invalid_ird = 7,
  invalid_ord = 8,
  invalid_cntlid = 9,
};

/// "Invalid HSQSIZE"; "Reserved" for others.
std::string_view name_of(RdmaRejectStatus status);

namespace rdma_reject {
inline constexpr Le<"recfmt", 0, std::uint16_t> recfmt{};
inline constexpr Le<"sts", 2, std::uint16_t, RdmaRejectStatus> sts{};
}  // namespace rdma_reject
using RdmaReject = Layout<4, rdma_reject::recfmt, rdma_reject::sts>;

}  // namespace fb::fabrics
