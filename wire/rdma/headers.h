// The transport headers of RoCEv2, in the order in which they may stand in a packet. All
// big-endian.
#pragma once

#include "wire/layout.h"
#include "wire/rdma/opcodes.h"

namespace fb::roce {

inline constexpr std::uint16_t kUdpPort = 4791;
inline constexpr std::size_t kIcrcBytes = 4;
/// Q_Key of the general services interface, QP1.
inline constexpr std::uint32_t kGsiQkey = 0x80010000;
inline constexpr std::uint32_t kGsiQpn = 1;
inline constexpr std::uint16_t kDefaultPkey = 0xFFFF;
inline constexpr std::uint32_t kMaxMessageBytes = 1u << 31;

/// Base transport header.
namespace bth {
inline constexpr Be<"opcode", 0, std::uint8_t, Opcode> opcode{};
inline constexpr BeBits<"se", 1, std::uint8_t, 7, 7, bool> se{};
inline constexpr BeBits<"migreq", 1, std::uint8_t, 6, 6, bool> migreq{};
inline constexpr BeBits<"padcnt", 1, std::uint8_t, 5, 4> padcnt{};
inline constexpr BeBits<"tver", 1, std::uint8_t, 3, 0> tver{};
inline constexpr Be<"pkey", 2, std::uint16_t> pkey{};
inline constexpr BeBits<"fecn", 4, std::uint8_t, 7, 7, bool> fecn{};
inline constexpr BeBits<"becn", 4, std::uint8_t, 6, 6, bool> becn{};
inline constexpr Be<"destqp", 5, U24> destqp{};
inline constexpr BeBits<"ackreq", 8, std::uint8_t, 7, 7, bool> ackreq{};
inline constexpr Be<"psn", 9, U24> psn{};
}  // namespace bth
using Bth = Layout<12, bth::opcode, bth::se, bth::migreq, bth::padcnt, bth::tver, bth::pkey, bth::fecn, bth::becn, bth::destqp, bth::ackreq,
                   bth::psn>;

/// Datagram extended transport header.
namespace deth {
inline constexpr Be<"qkey", 0, std::uint32_t> qkey{};
inline constexpr Be<"srcqp", 5, U24> srcqp{};
}  // namespace deth
using Deth = Layout<8, deth::qkey, deth::srcqp>;

/// RDMA extended transport header.
namespace reth {
inline constexpr Be<"va", 0, std::uint64_t> va{};
inline constexpr Be<"rkey", 8, std::uint32_t> rkey{};
inline constexpr Be<"dmalen", 12, std::uint32_t> dmalen{};
}  // namespace reth
using Reth = Layout<16, reth::va, reth::rkey, reth::dmalen>;

/// Atomic extended transport header.
namespace atomiceth {
inline constexpr Be<"va", 0, std::uint64_t> va{};
inline constexpr Be<"rkey", 8, std::uint32_t> rkey{};
inline constexpr Be<"swapdt", 12, std::uint64_t> swapdt{};
inline constexpr Be<"cmpdt", 20, std::uint64_t> cmpdt{};
}  // namespace atomiceth
using AtomicEth = Layout<28, atomiceth::va, atomiceth::rkey, atomiceth::swapdt, atomiceth::cmpdt>;

/// ACK extended transport header.
namespace aeth {
inline constexpr Be<"syndrome", 0, std::uint8_t> syndrome{};
inline constexpr Be<"msn", 1, U24> msn{};
}  // namespace aeth
using Aeth = Layout<4, aeth::syndrome, aeth::msn>;

namespace atomicacketh {
inline constexpr Be<"origremdt", 0, std::uint64_t> origremdt{};
}
using AtomicAckEth = Layout<8, atomicacketh::origremdt>;

/// Immediate data.
namespace immdt {
inline constexpr Be<"immdt", 0, std::uint32_t> immdt{};
}
using ImmDt = Layout<4, immdt::immdt>;

/// Invalidate extended transport header.
namespace ieth {
inline constexpr Be<"rkey", 0, std::uint32_t> rkey{};
}
using Ieth = Layout<4, ieth::rkey>;

}  // namespace fb::roce
