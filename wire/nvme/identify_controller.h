// Identify Controller (CNS 01h) and the NVM command set's addition to it (CNS 06h).
#pragma once

#include "wire/layout.h"
#include "wire/nvme/identify.h"

namespace fb::nvme {

enum class ControllerType : std::uint8_t {
  not_reported = 0,
  io = 1,
  discovery = 2,
  administrative = 3,
};

enum class DiscoveryControllerType : std::uint8_t { not_reported = 0, direct = 1, central = 2 };

namespace id_ctrl {
inline constexpr Le<"vid", 0, std::uint16_t> vid{};
inline constexpr Le<"ssvid", 2, std::uint16_t> ssvid{};
inline constexpr BytesField<"sn", 4, 20> sn{};
inline constexpr BytesField<"mn", 24, 40> mn{};
inline constexpr BytesField<"fr", 64, 8> fr{};
inline constexpr Le<"rab", 72, std::uint8_t> rab{};
inline constexpr Le<"ieee", 73, U24> ieee{};
inline constexpr Le<"cmic", 76, std::uint8_t> cmic{};
inline constexpr Le<"mdts", 77, std::uint8_t> mdts{};
inline constexpr Le<"cntlid", 78, std::uint16_t> cntlid{};
inline constexpr Le<"ver", 80, std::uint32_t> ver{};
inline constexpr Le<"rtd3r", 84, std::uint32_t> rtd3r{};
inline constexpr Le<"rtd3e", 88, std::uint32_t> rtd3e{};
inline constexpr Le<"oaes", 92, std::uint32_t> oaes{};
inline constexpr Le<"ctratt", 96, std::uint32_t> ctratt{};
inline constexpr Le<"rrls", 100, std::uint16_t> rrls{};
inline constexpr Le<"cntrltype", 111, std::uint8_t, ControllerType> cntrltype{};
inline constexpr BytesField<"fguid", 112, 16> fguid{};
inline constexpr Le<"crdt1", 128, std::uint16_t> crdt1{};
inline constexpr Le<"crdt2", 130, std::uint16_t> crdt2{};
inline constexpr Le<"crdt3", 132, std::uint16_t> crdt3{};
/// Controller instance: a number that each becoming ready increments, and a random one; 0: not told apart.
inline constexpr Le<"ciu", 135, std::uint8_t> ciu{};
inline constexpr Le<"cirn", 136, std::uint64_t> cirn{};
inline constexpr Le<"nvmsr", 253, std::uint8_t> nvmsr{};
inline constexpr Le<"vwci", 254, std::uint8_t> vwci{};
inline constexpr Le<"mec", 255, std::uint8_t> mec{};
inline constexpr Le<"oacs", 256, std::uint16_t> oacs{};
inline constexpr Le<"acl", 258, std::uint8_t, ZeroBased<std::uint8_t>> acl{};
inline constexpr Le<"aerl", 259, std::uint8_t, ZeroBased<std::uint8_t>> aerl{};
inline constexpr Le<"frmw", 260, std::uint8_t> frmw{};
inline constexpr Le<"lpa", 261, std::uint8_t> lpa{};
inline constexpr Le<"elpe", 262, std::uint8_t, ZeroBased<std::uint8_t>> elpe{};
inline constexpr Le<"npss", 263, std::uint8_t, ZeroBased<std::uint8_t>> npss{};
inline constexpr Le<"avscc", 264, std::uint8_t> avscc{};
inline constexpr Le<"apsta", 265, std::uint8_t> apsta{};
inline constexpr Le<"wctemp", 266, std::uint16_t> wctemp{};
inline constexpr Le<"cctemp", 268, std::uint16_t> cctemp{};
inline constexpr Le<"mtfa", 270, std::uint16_t> mtfa{};
inline constexpr Le<"hmpre", 272, std::uint32_t> hmpre{};
inline constexpr Le<"hmmin", 276, std::uint32_t> hmmin{};
inline constexpr BytesField<"tnvmcap", 280, 16> tnvmcap{};
inline constexpr BytesField<"unvmcap", 296, 16> unvmcap{};
inline constexpr Le<"rpmbs", 312, std::uint32_t> rpmbs{};
inline constexpr Le<"edstt", 316, std::uint16_t> edstt{};
inline constexpr Le<"dsto", 318, std::uint8_t> dsto{};
inline constexpr Le<"fwug", 319, std::uint8_t> fwug{};
/// Granularity of the keep alive timer in units of 100 ms; 0 without keep alive.
inline constexpr Le<"kas", 320, std::uint16_t> kas{};
inline constexpr Le<"hctma", 322, std::uint16_t> hctma{};
inline constexpr Le<"mntmt", 324, std::uint16_t> mntmt{};
inline constexpr Le<"mxtmt", 326, std::uint16_t> mxtmt{};
inline constexpr Le<"sanicap", 328, std::uint32_t> sanicap{};
inline constexpr Le<"hmminds", 332, std::uint32_t> hmminds{};
inline constexpr Le<"hmmaxd", 336, std::uint16_t> hmmaxd{};
inline constexpr Le<"nsetidmax", 338, std::uint16_t> nsetidmax{};
inline constexpr Le<"endgidmax", 340, std::uint16_t> endgidmax{};
/// Seconds.
inline constexpr Le<"anatt", 342, std::uint8_t> anatt{};
inline constexpr Le<"anacap", 343, std::uint8_t> anacap{};
inline constexpr Le<"anagrpmax", 344, std::uint32_t> anagrpmax{};
inline constexpr Le<"nanagrpid", 348, std::uint32_t> nanagrpid{};
inline constexpr Le<"pels", 352, std::uint32_t> pels{};
inline constexpr Le<"domainid", 356, std::uint16_t> domainid{};
inline constexpr BytesField<"megcap", 368, 16> megcap{};
inline constexpr Le<"tmpthha", 384, std::uint8_t> tmpthha{};
/// Command quiesce time, milliseconds.
inline constexpr Le<"cqt", 386, std::uint16_t> cqt{};
inline constexpr LeBits<"sqes_min", 512, std::uint8_t, 3, 0> sqes_min{};
inline constexpr LeBits<"sqes_max", 512, std::uint8_t, 7, 4> sqes_max{};
inline constexpr LeBits<"cqes_min", 513, std::uint8_t, 3, 0> cqes_min{};
inline constexpr LeBits<"cqes_max", 513, std::uint8_t, 7, 4> cqes_max{};
inline constexpr Le<"maxcmd", 514, std::uint16_t> maxcmd{};
inline constexpr Le<"nn", 516, std::uint32_t> nn{};
inline constexpr Le<"oncs", 520, std::uint16_t> oncs{};
inline constexpr Le<"fuses", 522, std::uint16_t> fuses{};
inline constexpr Le<"fna", 524, std::uint8_t> fna{};
inline constexpr Le<"vwc", 525, std::uint8_t> vwc{};
inline constexpr Le<"awun", 526, std::uint16_t, ZeroBased<std::uint16_t>> awun{};
inline constexpr Le<"awupf", 528, std::uint16_t, ZeroBased<std::uint16_t>> awupf{};
inline constexpr Le<"icsvscc", 530, std::uint8_t> icsvscc{};
inline constexpr Le<"nwpc", 531, std::uint8_t> nwpc{};
/// Atomic compare and write unit; 0's based where fused Compare and Write is claimed.
inline constexpr Le<"acwu", 532, std::uint16_t, ZeroBased<std::uint16_t>> acwu{};
/// Copy descriptor formats, a bit each.
inline constexpr Le<"cdfs", 534, std::uint16_t> cdfs{};
inline constexpr Le<"sgls", 536, std::uint32_t> sgls{};
inline constexpr Le<"mnan", 540, std::uint32_t> mnan{};
inline constexpr BytesField<"maxdna", 544, 16> maxdna{};
inline constexpr Le<"maxcna", 560, std::uint32_t> maxcna{};
inline constexpr BytesField<"subnqn", 768, 256> subnqn{};
/// Capsule sizes in units of 16 bytes.
inline constexpr Le<"ioccsz", 1792, std::uint32_t> ioccsz{};
inline constexpr Le<"iorcsz", 1796, std::uint32_t> iorcsz{};
inline constexpr Le<"icdoff", 1800, std::uint16_t> icdoff{};
inline constexpr Le<"fcatt", 1802, std::uint8_t> fcatt{};
inline constexpr Le<"msdbd", 1803, std::uint8_t> msdbd{};
inline constexpr Le<"ofcs", 1804, std::uint16_t> ofcs{};
inline constexpr Le<"dctype", 1806, std::uint8_t, DiscoveryControllerType> dctype{};
/// Cross-Controller Reset operations at a time; 0: no such command.
inline constexpr Le<"ccrl", 1807, std::uint8_t> ccrl{};
inline constexpr BytesField<"psd", 2048, 1024> psd{};
inline constexpr BytesField<"vs", 3072, 1024> vs{};
}  // namespace id_ctrl

using IdentifyController =
    Layout<kIdentifySize, id_ctrl::vid, id_ctrl::ssvid, id_ctrl::sn, id_ctrl::mn, id_ctrl::fr, id_ctrl::rab, id_ctrl::ieee, id_ctrl::cmic,
           id_ctrl::mdts, id_ctrl::cntlid, id_ctrl::ver, id_ctrl::rtd3r, id_ctrl::rtd3e, id_ctrl::oaes, id_ctrl::ctratt, id_ctrl::rrls,
           id_ctrl::cntrltype, id_ctrl::fguid, id_ctrl::crdt1, id_ctrl::crdt2, id_ctrl::crdt3, id_ctrl::ciu, id_ctrl::cirn, id_ctrl::nvmsr,
           id_ctrl::vwci, id_ctrl::mec, id_ctrl::oacs, id_ctrl::acl, id_ctrl::aerl, id_ctrl::frmw, id_ctrl::lpa, id_ctrl::elpe,
           id_ctrl::npss, id_ctrl::avscc, id_ctrl::apsta, id_ctrl::wctemp, id_ctrl::cctemp, id_ctrl::mtfa, id_ctrl::hmpre, id_ctrl::hmmin,
           id_ctrl::tnvmcap, id_ctrl::unvmcap, id_ctrl::rpmbs, id_ctrl::edstt, id_ctrl::dsto, id_ctrl::fwug, id_ctrl::kas, id_ctrl::hctma,
           id_ctrl::mntmt, id_ctrl::mxtmt, id_ctrl::sanicap, id_ctrl::hmminds, id_ctrl::hmmaxd, id_ctrl::nsetidmax, id_ctrl::endgidmax,
           id_ctrl::anatt, id_ctrl::anacap, id_ctrl::anagrpmax, id_ctrl::nanagrpid, id_ctrl::pels, id_ctrl::domainid, id_ctrl::megcap,
           id_ctrl::tmpthha, id_ctrl::cqt, id_ctrl::sqes_min, id_ctrl::sqes_max, id_ctrl::cqes_min, id_ctrl::cqes_max, id_ctrl::maxcmd,
           id_ctrl::nn, id_ctrl::oncs, id_ctrl::fuses, id_ctrl::fna, id_ctrl::vwc, id_ctrl::awun, id_ctrl::awupf, id_ctrl::icsvscc,
           id_ctrl::nwpc, id_ctrl::acwu, id_ctrl::cdfs, id_ctrl::sgls, id_ctrl::mnan, id_ctrl::maxdna, id_ctrl::maxcna, id_ctrl::subnqn,
           id_ctrl::ioccsz, id_ctrl::iorcsz, id_ctrl::icdoff, id_ctrl::fcatt, id_ctrl::msdbd, id_ctrl::ofcs, id_ctrl::dctype, id_ctrl::ccrl,
           id_ctrl::psd, id_ctrl::vs>;

// Bits of the fields above.

namespace cmic_bits {
inline constexpr std::uint8_t multiple_ports = 1u << 0;
inline constexpr std::uint8_t multiple_controllers = 1u << 1;
inline constexpr std::uint8_t sr_iov = 1u << 2;
inline constexpr std::uint8_t ana_reporting = 1u << 3;
}  // namespace cmic_bits

namespace ctratt_bits {
inline constexpr std::uint32_t host_id_128 = 1u << 0;
inline constexpr std::uint32_t nvm_sets = 1u << 2;
inline constexpr std::uint32_t endurance_groups = 1u << 4;
inline constexpr std::uint32_t traffic_based_keep_alive = 1u << 6;
inline constexpr std::uint32_t namespace_granularity = 1u << 7;
inline constexpr std::uint32_t sq_associations = 1u << 8;
inline constexpr std::uint32_t uuid_list = 1u << 9;
inline constexpr std::uint32_t multi_domain = 1u << 10;
inline constexpr std::uint32_t fixed_capacity_management = 1u << 11;
inline constexpr std::uint32_t variable_capacity_management = 1u << 12;
inline constexpr std::uint32_t delete_endurance_group = 1u << 13;
inline constexpr std::uint32_t delete_nvm_set = 1u << 14;
inline constexpr std::uint32_t extended_lba_formats = 1u << 15;
inline constexpr std::uint32_t flexible_data_placement = 1u << 19;
}  // namespace ctratt_bits

namespace oacs_bits {
inline constexpr std::uint16_t security = 1u << 0;
inline constexpr std::uint16_t format_nvm = 1u << 1;
inline constexpr std::uint16_t firmware = 1u << 2;
inline constexpr std::uint16_t namespace_management = 1u << 3;
inline constexpr std::uint16_t self_test = 1u << 4;
inline constexpr std::uint16_t directives = 1u << 5;
inline constexpr std::uint16_t nvme_mi = 1u << 6;
inline constexpr std::uint16_t virtualization = 1u << 7;
inline constexpr std::uint16_t doorbell_buffer = 1u << 8;
inline constexpr std::uint16_t get_lba_status = 1u << 9;
inline constexpr std::uint16_t lockdown = 1u << 10;
}  // namespace oacs_bits

namespace sanicap_bits {
inline constexpr std::uint32_t crypto_erase = 1u << 0;
inline constexpr std::uint32_t block_erase = 1u << 1;
inline constexpr std::uint32_t overwrite = 1u << 2;
inline constexpr std::uint32_t verification = 1u << 3;
inline constexpr std::uint32_t no_deallocate_inhibited = 1u << 29;
/// Bits 31:30: the media are not modified after the operation; or they are, unless NDAS denies it.
inline constexpr std::uint32_t not_modified_after = 1u << 30;
inline constexpr std::uint32_t modified_after = 2u << 30;
}  // namespace sanicap_bits

namespace dsto_bits {
/// One self-test at a time in the subsystem; clear: one for each controller.
inline constexpr std::uint8_t one_in_subsystem = 1u << 0;
}  // namespace dsto_bits

namespace frmw_bits {
inline constexpr std::uint8_t slot_1_read_only = 1u << 0;
inline constexpr std::uint8_t slots_shift = 1;  // bits 3:1, number of slots
inline constexpr std::uint8_t activation_without_reset = 1u << 4;
}  // namespace frmw_bits

namespace lpa_bits {
inline constexpr std::uint8_t smart_per_namespace = 1u << 0;
inline constexpr std::uint8_t commands_effects = 1u << 1;
inline constexpr std::uint8_t extended_data = 1u << 2;
inline constexpr std::uint8_t telemetry = 1u << 3;
inline constexpr std::uint8_t persistent_event = 1u << 4;
/// Log pages 00h, 05h, 12h and 13h have their command-effects meaning.
inline constexpr std::uint8_t supported_pages = 1u << 5;
}  // namespace lpa_bits

namespace anacap_bits {
inline constexpr std::uint8_t optimized = 1u << 0;
inline constexpr std::uint8_t non_optimized = 1u << 1;
inline constexpr std::uint8_t inaccessible = 1u << 2;
inline constexpr std::uint8_t persistent_loss = 1u << 3;
inline constexpr std::uint8_t change = 1u << 4;
inline constexpr std::uint8_t group_id_fixed = 1u << 6;
inline constexpr std::uint8_t group_id_managed = 1u << 7;
}  // namespace anacap_bits

namespace oncs_bits {
inline constexpr std::uint16_t compare = 1u << 0;
inline constexpr std::uint16_t write_uncorrectable = 1u << 1;
inline constexpr std::uint16_t dataset_management = 1u << 2;
inline constexpr std::uint16_t write_zeroes = 1u << 3;
inline constexpr std::uint16_t save_and_select = 1u << 4;
inline constexpr std::uint16_t reservations = 1u << 5;
inline constexpr std::uint16_t timestamp = 1u << 6;
inline constexpr std::uint16_t verify = 1u << 7;
inline constexpr std::uint16_t copy = 1u << 8;
}  // namespace oncs_bits

namespace fuses_bits {
inline constexpr std::uint16_t compare_and_write = 1u << 0;
}  // namespace fuses_bits

namespace fna_bits {
inline constexpr std::uint8_t format_all_namespaces = 1u << 0;
inline constexpr std::uint8_t erase_all_namespaces = 1u << 1;
inline constexpr std::uint8_t crypto_erase = 1u << 2;
inline constexpr std::uint8_t no_broadcast_format = 1u << 3;
}  // namespace fna_bits

namespace vwc_bits {
inline constexpr std::uint8_t present = 1u << 0;
/// Bits 2:1, Flush to all namespaces: 10b not supported, 11b supported.
inline constexpr std::uint8_t flush_all_unsupported = 2u << 1;
inline constexpr std::uint8_t flush_all_supported = 3u << 1;
}  // namespace vwc_bits

namespace nwpc_bits {
inline constexpr std::uint8_t write_protect = 1u << 0;
inline constexpr std::uint8_t until_power_cycle = 1u << 1;
inline constexpr std::uint8_t permanent = 1u << 2;
}  // namespace nwpc_bits

namespace sgls_bits {
inline constexpr std::uint32_t supported = 1u << 0;
inline constexpr std::uint32_t supported_dword_aligned = 2u << 0;
inline constexpr std::uint32_t keyed = 1u << 2;
inline constexpr std::uint32_t bit_bucket = 1u << 16;
inline constexpr std::uint32_t metadata_byte_aligned = 1u << 17;
inline constexpr std::uint32_t larger_than_transfer = 1u << 18;
inline constexpr std::uint32_t metadata_sgl = 1u << 19;
inline constexpr std::uint32_t offset_address = 1u << 20;
inline constexpr std::uint32_t transport_data_block = 1u << 21;
}  // namespace sgls_bits

namespace fcatt_bits {
inline constexpr std::uint8_t static_controllers = 1u << 0;
}  // namespace fcatt_bits

namespace ofcs_bits {
inline constexpr std::uint16_t disconnect = 1u << 0;
}  // namespace ofcs_bits

/// One of the 32 power states in id_ctrl::psd: element<PowerState>(data, id_ctrl::psd, 0).
namespace power_state {
inline constexpr Le<"mp", 0, std::uint16_t> mp{};
inline constexpr Le<"flags", 3, std::uint8_t> flags{};
inline constexpr Le<"enlat", 4, std::uint32_t> enlat{};
inline constexpr Le<"exlat", 8, std::uint32_t> exlat{};
inline constexpr Le<"rrt", 12, std::uint8_t> rrt{};
inline constexpr Le<"rrl", 13, std::uint8_t> rrl{};
inline constexpr Le<"rwt", 14, std::uint8_t> rwt{};
inline constexpr Le<"rwl", 15, std::uint8_t> rwl{};
inline constexpr Le<"idlp", 16, std::uint16_t> idlp{};
inline constexpr Le<"ips", 18, std::uint8_t> ips{};
inline constexpr Le<"actp", 20, std::uint16_t> actp{};
inline constexpr Le<"apws", 22, std::uint8_t> apws{};
}  // namespace power_state
using PowerState =
    Layout<32, power_state::mp, power_state::flags, power_state::enlat, power_state::exlat, power_state::rrt, power_state::rrl,
           power_state::rwt, power_state::rwl, power_state::idlp, power_state::ips, power_state::actp, power_state::apws>;

/// CNS 06h, NVM command set: size limits of commands, as powers of two in units of CAP.MPSMIN (VSL,
/// WZSL, WUSL), 0 for none.
namespace id_ctrl_nvm {
inline constexpr Le<"vsl", 0, std::uint8_t> vsl{};
inline constexpr Le<"wzsl", 1, std::uint8_t> wzsl{};
inline constexpr Le<"wusl", 2, std::uint8_t> wusl{};
inline constexpr Le<"dmrl", 3, std::uint8_t> dmrl{};
inline constexpr Le<"dmrsl", 4, std::uint32_t> dmrsl{};
inline constexpr Le<"dmsl", 8, std::uint64_t> dmsl{};
}  // namespace id_ctrl_nvm
using IdentifyControllerNvm =
    Layout<kIdentifySize, id_ctrl_nvm::vsl, id_ctrl_nvm::wzsl, id_ctrl_nvm::wusl, id_ctrl_nvm::dmrl, id_ctrl_nvm::dmrsl, id_ctrl_nvm::dmsl>;

}  // namespace fb::nvme
