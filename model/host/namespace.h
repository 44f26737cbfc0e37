// A namespace as a block device, over one controller or several.
//
// Two faces. Operations (read, write ...) take any length, split it to what the controllers transfer,
// and are waited for. IoRequest is for benchmarks and I/O loops: one command, owned by the caller, no
// allocation, told by a call when it is done.
//
// A command that got no answer because its association ended is sent again: at once when it changes
// nothing; a writing one not before the old controller has certainly stopped
// (Controller::resubmit_after), since a late copy of it could destroy what was written afterwards.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "model/host/multipath.h"
#include "model/host/queue.h"
#include "sim/core/op.h"

namespace fb::host {

class Namespace;

/// One I/O command. Set the fields, then Namespace::submit(); on_done() follows once.
class IoRequest : public Command {
 public:
  nvme::IoOpcode opcode = nvme::IoOpcode::read;
  std::uint64_t lba = 0;
  std::uint32_t blocks = 0;
  /// Read: where to. Write, Compare: what. Dataset Management: the ranges. Of Compare always whole blocks, tags
  /// and all.
  MutableBytes data;
  /// Zone Management Send and Receive: CDW13. Set Zone Descriptor Extension brings data.
  std::uint32_t zone_order = 0;
  /// Of a key value namespace; `data` is the value or the list.
  nvme::KvKey key = {};
  std::uint8_t key_value_options = 0;
  /// Zone Append: where the blocks are. Retrieve: the size of the value.
  std::uint64_t result = 0;

  /// May submit the request again, or destroy it.
  virtual void on_done(nvme::Status status) = 0;

 private:
  friend class Namespace;
  void on_complete(const nvme::Cqe& cqe, bool answered) final;
  bool changes() const;

  Namespace* owner_ = nullptr;
  Controller* controller_ = nullptr;  ///< the one that it was sent to last
  IoRequest* next_ = nullptr;         ///< in the list of those that wait
  IoRequest* previous_ = nullptr;
  Instant not_before_;
  unsigned attempts_ = 0;
  unsigned losses_ = 0;
  nvme::Status last_status_;
};

struct BlockRun {
  std::uint64_t lba = 0;
  std::uint64_t blocks = 0;
};

/// The answer to a Zone Append.
struct ZoneAppended {
  nvme::Status status;
  std::uint64_t lba = 0;
};

struct ZoneReport {
  nvme::Status status;
  std::vector<nvme::ZoneFacts> zones;
};

/// The answer to a Retrieve: how long the whole value is, and as much of it as there was room for.
struct Retrieved {
  nvme::Status status;
  std::uint32_t size = 0;
  Bytes value = {};
};

struct KeyList {
  nvme::Status status;
  std::vector<nvme::KvKey> keys;
};

class Namespace {
 public:
  Namespace(World& world, std::string subnqn, const NamespaceFacts& facts, PathPolicy policy);
  ~Namespace();

  std::uint32_t nsid() const { return facts_.nsid; }
  const std::string& subnqn() const { return subnqn_; }
  std::uint64_t blocks() const { return facts_.blocks; }
  std::uint32_t block_bytes() const { return facts_.block_bytes; }
  const NamespaceFacts& facts() const { return facts_; }
  /// The most that one IoRequest moves, in bytes: MDTS of the most modest path, whole blocks.
  std::uint32_t max_transfer() const;

  /// Writes from now on carry this placement identifier (Flexible Data Placement); without one they say nothing. It counts where the
  /// Data Placement directive is enabled in the namespace.
  void set_placement(std::optional<std::uint16_t> identifier) { placement_ = identifier; }

  void submit(IoRequest& request);

  /// The memory must stay until the operation is settled. A length that is no multiple of the block
  /// size is answered with Invalid Field, a command that no controller claims with Invalid Command Opcode; neither
  /// is sent. Where the host makes the protection information, it writes it into
  /// the buffers of write() and compare().
  Op<nvme::Status> read(std::uint64_t lba, MutableBytes data);
  Op<nvme::Status> write(std::uint64_t lba, MutableBytes data);
  Op<nvme::Status> compare(std::uint64_t lba, MutableBytes data);
  Op<nvme::Status> flush();
  Op<nvme::Status> write_zeroes(std::uint64_t lba, std::uint64_t blocks);
  Op<nvme::Status> verify(std::uint64_t lba, std::uint64_t blocks);
  Op<nvme::Status> write_uncorrectable(std::uint64_t lba, std::uint64_t blocks);
  Op<nvme::Status> deallocate(std::uint64_t lba, std::uint64_t blocks);
  /// The runs one behind the other to `to`, in as many commands as the limits of Copy ask for. Where blocks are
  /// protected, the controller checks the tags and makes new ones. A destination that overlaps a source is answered
  /// with Overlapping I/O Range and not sent.
  Op<nvme::Status> copy(const std::vector<BlockRun>& from, std::uint64_t to);
  // Of a zoned namespace; of others they are answered with Invalid Command Opcode. `start` is the first block of a
  // zone. Writes to a zone go out one after the other, and none crosses a boundary of zones.

  /// Not more than one Zone Append moves, or Invalid Field. After a loss without an answer it is not repeated (then
  /// Host Pathing Error): the first attempt may have been executed.
  Op<ZoneAppended> zone_append(std::uint64_t start, MutableBytes data);
  /// All zones from the one with block `lba` on that fit the option, in as many commands as it takes.
  Op<ZoneReport> report_zones(std::uint64_t lba = 0, nvme::ZoneReporting option = nvme::ZoneReporting::all, bool extended = false);
  /// Flush Explicit ZRWA Range takes the last block that is to be committed in place of a start.
  Op<nvme::Status> zone_send(nvme::ZoneSendAction action, std::uint64_t start, bool all = false, bool random = false);
  /// As long as the descriptor extension.
  Op<nvme::Status> set_zone_extension(std::uint64_t start, MutableBytes data);
  /// Most bytes of one Zone Append; 0: no controller has it.
  std::uint64_t max_append() const;

  // Of a key value namespace; of others they are answered with Invalid Command Opcode. A key of more than 16 bytes is answered
  // with Invalid Key Size, and nothing is sent.

  /// `options`: store_bits. After a loss without an answer a Store with options is not repeated (then Host Pathing Error): the first
  /// attempt may have made what the second one would find.
  Op<nvme::Status> store(ByteView key, ByteView value, std::uint8_t options = 0);
  /// Up to `room` bytes of the value.
  Op<Retrieved> retrieve(ByteView key, std::size_t room, std::uint8_t options = 0);
  Op<nvme::Status> delete_key(ByteView key);
  /// Success, or KV Key Does Not Exist.
  Op<nvme::Status> exists(ByteView key);
  /// Keys from this one on, as many as fit into `room` bytes; of an empty key from where the controller likes.
  Op<KeyList> list_keys(ByteView from, std::size_t room);

  /// Fused Compare and Write of one range, on one queue. Two statuses: of the Compare and the Write. Where the controller
  /// has no fused commands, or queues of two entries, the answer is Invalid Field, and nothing is sent.
  /// Not repeated after a loss (then Host Pathing Error): a second attempt could compare with what the
  /// first one wrote.
  Op<std::pair<nvme::Status, nvme::Status>> compare_and_write(std::uint64_t lba, MutableBytes expected, MutableBytes data);

  const PathSet& paths() const { return paths_; }
  std::size_t waiting() const { return waiting_count_; }
  std::uint64_t retries() const { return retries_; }

  // For the host, which knows the controllers.
  void add_path(Controller& controller, const NamespaceFacts& facts);
  bool remove_path(const Controller& controller);
  /// A controller's state or ANA log has changed.
  void paths_changed();
  /// Of a controller that was lost nothing is executed any more: what waits for that waits no longer.
  void on_stopped(const Controller& controller);
  bool has_path(const Controller& controller) const;
  /// Takes all ways away: what runs or waits is answered with Host Pathing Error.
  void close();
  bool matches(const std::string& subnqn, const NamespaceFacts& facts) const;

 private:
  friend class IoRequest;
  struct Split;
  struct Fused;
  class Chunk;
  class FusedHalf;
  struct ZoneCall;
  struct KeyValueCall;

  void build(IoRequest& request) const;
  /// Descriptors as wide as the namespace's guards.
  unsigned copy_format() const;
  nvme::Sqe copy_command(const IoRequest& request) const;
  // protection.cc
  void order_protection(nvme::Sqe& sqe, nvme::IoOpcode opcode, std::uint64_t lba) const;
  bool brings_tags(const IoRequest& request) const;
  void write_tags(std::uint64_t lba, MutableBytes blocks) const;
  Bytes with_tags(std::uint64_t lba, ByteView data) const;
  nvme::Status check_tags(const IoRequest& request) const;
  void dispatch(IoRequest& request);
  void finished(IoRequest& request, const nvme::Cqe& cqe, bool answered);
  void failed(IoRequest& request, nvme::Status status, bool answered);
  void wait(IoRequest& request, Instant not_before);
  void link(IoRequest& request);
  void unlink(IoRequest& request);
  void kick();
  void schedule_kick();
  nvme::Status no_path_status() const;
  Op<nvme::Status> split(nvme::IoOpcode opcode, std::uint64_t lba, std::uint64_t blocks, MutableBytes data, std::uint64_t chunk_blocks);
  Op<nvme::Status> send_all(Split& split, nvme::IoOpcode opcode, Op<nvme::Status> op);
  void chunk_done(Split& split, nvme::Status status);
  /// Blocks from `lba` on that one command may move: up to the end of its zone where there are zones.
  std::uint64_t blocks_at(nvme::IoOpcode opcode, std::uint64_t lba, std::uint64_t chunk_blocks) const;
  bool departs(std::string_view name) const;
  // namespace_zones.cc
  ZoneCall& start_zone_call(nvme::IoOpcode opcode);
  void zone_call_done(ZoneCall& call, nvme::Status status);
  // namespace_key_values.cc
  void build_key_value(IoRequest& request) const;
  KeyValueCall& start_key_value_call(nvme::KvOpcode opcode, ByteView key);
  nvme::Status key_value_refusal(ByteView key) const;
  void key_value_call_done(KeyValueCall& call, nvme::Status status);
  void continue_report(ZoneCall& call);
  void fused_done(Fused& fused);
  /// Some path's controller has the optional commands of this ONCS bit.
  bool claimed(std::uint16_t oncs_bit) const;
  /// Blocks of one command, where the controllers limit it by `limit` bytes (0: they do not).
  std::uint64_t limit_blocks(std::uint64_t ControllerFacts::*limit) const;

  World& world_;
  std::string subnqn_;
  NamespaceFacts facts_;
  PathSet paths_;
  IoRequest* first_waiting_ = nullptr;
  IoRequest* last_waiting_ = nullptr;
  std::size_t waiting_count_ = 0;
  std::optional<std::uint16_t> placement_;
  bool closed_ = false;
  bool stalled_ = false;  ///< no path, and no controller on its way back
  Instant stalled_until_;
  std::uint64_t retries_ = 0;
  std::list<std::unique_ptr<Split>> splits_;
  std::list<std::unique_ptr<Fused>> fused_;
  std::list<std::unique_ptr<IoRequest>> zone_calls_;
  std::list<std::unique_ptr<IoRequest>> key_value_calls_;
  Timer<Namespace, &Namespace::kick> timer_{"host.namespace.retry", *this};
};

}  // namespace fb::host
