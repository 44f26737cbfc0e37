// Hosts that build wrong commands.
#include "base/bytes.h"
#include "model/deviations/deviation.h"

namespace fb::deviations {

namespace {

constexpr std::uint8_t kFabrics = 0x7F;
constexpr std::uint8_t kGetLog = 0x02, kIdentify = 0x06, kSetFeatures = 0x09;  // admin
constexpr std::uint8_t kWrite = 0x01, kRead = 0x02;                            // I/O

std::uint32_t dword(ByteView sqe, unsigned index) { return load_le<std::uint32_t>(sqe.data() + 4 * index); }
void set_dword(MutableBytes sqe, unsigned index, std::uint32_t value) { store_le<std::uint32_t>(sqe.data() + 4 * index, value); }

/// Changes commands of one opcode, admin or I/O.
template <bool Io, std::uint8_t Opcode>
class Changes : public host::HostHooks {
 public:
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes) final {
    if ((qid != 0) == Io && sqe[0] == Opcode) change(sqe);
  }

 private:
  virtual void change(MutableBytes sqe) = 0;
};

class FillsIdentify final : public Changes<false, kIdentify> {
  void change(MutableBytes sqe) override { set_dword(sqe, 15, 1); }
};
class FillsFlags final : public Changes<false, kIdentify> {
  void change(MutableBytes sqe) override { sqe[1] |= 0x04; }
};
class ReadsAllNamespaces final : public Changes<true, kRead> {
  void change(MutableBytes sqe) override { set_dword(sqe, 1, 0xFFFFFFFF); }
};
/// Asynchronous Event Configuration, which comes behind the I/O queues, becomes Number of Queues.
class CountsQueuesLate final : public Changes<false, kSetFeatures> {
  void change(MutableBytes sqe) override {
    if ((dword(sqe, 10) & 0xFF) != 0x0B) return;
    set_dword(sqe, 10, 0x07);
    set_dword(sqe, 11, 0);
  }
};
class SavesFeatures final : public Changes<false, kSetFeatures> {
  void change(MutableBytes sqe) override { set_dword(sqe, 10, dword(sqe, 10) | 0x80000000); }
};
class ReadsFromAnOffset final : public Changes<false, kGetLog> {
  void change(MutableBytes sqe) override { set_dword(sqe, 12, 4); }
};
/// NUMD says twice as much as there is room for.
class ReadsMoreThanFits final : public Changes<false, kGetLog> {
  void change(MutableBytes sqe) override {
    const std::uint32_t dwords = (dword(sqe, 10) >> 16) + 1;
    set_dword(sqe, 10, (dword(sqe, 10) & 0xFFFF) | (dwords * 2 - 1) << 16);
  }
};
/// NLB as if it began with 1.
class CountsFromOne final : public Changes<true, kWrite> {
  void change(MutableBytes sqe) override { set_dword(sqe, 12, dword(sqe, 12) + 1); }
};
/// SLBA of the next block.
class BeginsOneLater final : public Changes<true, kWrite> {
  void change(MutableBytes sqe) override { set_dword(sqe, 10, dword(sqe, 10) + 1); }
};
/// Reads whole groups of eight blocks.
class ReadsAhead final : public Changes<true, kRead> {
  void change(MutableBytes sqe) override {
    const std::uint32_t blocks = ((dword(sqe, 12) & 0xFFFF) + 8) / 8 * 8;
    set_dword(sqe, 12, (dword(sqe, 12) & 0xFFFF0000) | (blocks - 1));
  }
};

/// Commands without data have a descriptor of 4 KiB.
class DescribesNothing final : public host::HostHooks {
 public:
  void capsule_out(std::uint16_t, Bytes& capsule) override {
    if (capsule.size() >= 64 && capsule[0] != kFabrics && (capsule[0] & 3) == 0) capsule[33] = 0x10;
  }
};

}  // namespace

#define HOST(name, requirement, what, point) DEVIATION(name, requirement, Product::host, what, Departs{point})
#define HOST_HOOKS(name, requirement, what, ...) DEVIATION(name, requirement, Product::host, what, hooks<__VA_ARGS__>())

HOST(host_reuses_admin_identifiers, "nvme.host.cid-admin", "the identifier of an outstanding command is used again",
     "host.queue.cid.reused");
HOST(host_uses_cid_ffffh, "nvme.host.cid-reserved", "every command is called FFFFh", "host.queue.cid.reserved");
HOST(host_fuses_single_commands, "nvme.host.fuse", "single commands say that they are the first of a fused pair", "host.sqe.fuse");
HOST(host_names_unused_namespace, "nvme.host.nsid.unused", "NSID is set in commands that do not use it", "host.sqe.nsid.unused");
HOST(host_names_namespace_0, "nvme.host.nsid.active", "I/O commands name namespace 0", "host.sqe.nsid.zero");
HOST_HOOKS(host_reads_all_namespaces, "nvme.host.nsid.active", "Read names all namespaces", ReadsAllNamespaces);
HOST(host_fills_dword_2, "nvme.host.reserved", "dword 2 is not 0", "host.sqe.reserved");
HOST_HOOKS(host_fills_identify, "nvme.host.reserved", "dword 15 of Identify is not 0", FillsIdentify);
HOST_HOOKS(host_fills_flags, "nvme.host.reserved", "reserved bits beside FUSE are not 0", FillsFlags);
HOST(host_points_to_metadata, "nvme.host.mptr", "MPTR is used over Fabrics", "host.sqe.mptr");
HOST(host_wants_65536_queues, "nvme.host.number-of-queues.value", "Number of Queues asks for FFFFh", "host.queues.number.reserved");
HOST_HOOKS(host_counts_queues_late, "nvme.host.number-of-queues.time", "the number of queues is set when they are connected",
           CountsQueuesLate);
HOST_HOOKS(host_reads_logs_from_an_offset, "nvme.host.log.extended", "reads a log page from an offset", ReadsFromAnOffset);
HOST_HOOKS(host_saves_features, "nvme.host.features.save", "every feature is to be saved", SavesFeatures);
HOST(host_sends_unclaimed_commands, "nvme.host.optional-commands", "optional commands are sent to any controller",
     "host.command.unclaimed");
HOST(host_identifies_into_512_bytes, "nvme.host.sgl-length", "Identify with a buffer of 512 bytes", "host.identify.short");
HOST_HOOKS(host_log_longer_than_room, "nvme.host.sgl-length", "a log page is asked for that the buffer does not hold", ReadsMoreThanFits);
HOST_HOOKS(host_describes_nothing, "nvme.host.no-data", "commands without data have a descriptor of 4 KiB", DescribesNothing);
HOST_HOOKS(host_counts_blocks_from_one, "nvme.host.blocks", "NLB is not 0's based", CountsFromOne);
HOST_HOOKS(host_writes_one_block_later, "nvme.host.blocks", "writes begin a block too late", BeginsOneLater);
HOST_HOOKS(host_reads_beyond_the_end, "nvme.host.lba-range", "reads in groups of eight blocks, whatever the size", ReadsAhead);
HOST(host_compares_beyond_mdts, "nvme.host.mdts-compare", "Compare is not split to MDTS", "host.io.mdts.ignored");
HOST(host_zeroes_beyond_wzsl, "nvme.host.command-limits", "Write Zeroes and Verify are not split", "host.command.limits");
HOST(host_copies_beyond_limits, "nvme.host.copy-limits", "Copy is not split", "host.copy.limits");

#undef HOST
#undef HOST_HOOKS

}  // namespace fb::deviations
