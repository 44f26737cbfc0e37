// Properties, Fabrics command types, and the state machine behind CC and CSTS.
#include "model/deviations/catalogue/tolerance.h"

namespace fb::deviations {

namespace {

namespace prop = fabrics::property;

std::uint32_t offset_of(const CommandContext& command) { return load_le<std::uint32_t>(command.sqe.data() + 44); }

/// Properties can be read from the middle, or nowhere can be read: one of the two, not both.
template <bool Inside>
class ReadsOffsets final : public SubsystemHooks {
 public:
  bool refuses(const CommandContext& command, Refusal& refusal) override {
    const bool gets = command.sqe[4] == static_cast<std::uint8_t>(fabrics::FabricsType::property_get);
    if (refusal.check != "property.offset" || !gets) return true;
    const std::uint32_t offset = offset_of(command);
    const bool inside = offset < 0x0C;
    return inside != Inside;
  }
};

/// VS can be written, and reads as written.
class WritableVs final : public SubsystemHooks {
 public:
  bool refuses(const CommandContext&, Refusal& refusal) override { return refusal.check != "property.read_only"; }
  bool property_write(std::uint32_t offset, std::uint64_t& value) override {
    if (offset == prop::vs) vs_ = value;
    return true;
  }
  void property_read(std::uint32_t offset, std::uint64_t& value) override {
    if (offset == prop::vs && vs_) value = *vs_;
  }

 private:
  std::optional<std::uint64_t> vs_;
};

/// PSDT 10b is not known in Fabrics commands.
class RefusesSecondSglForm final : public SubsystemHooks {
 public:
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    if (command.sqe[0] == 0x7F && command.sqe[1] >> 6 == 2) return nvme::sc::invalid_opcode;
    return std::nullopt;
  }
};

/// CSTS.RDY reads 1 until CC.EN is set, and then as it is.
class ReadyTooEarly final : public SubsystemHooks {
 public:
  void property_read(std::uint32_t offset, std::uint64_t& value) override {
    if (offset == prop::csts && !enabled_) value |= 1;
  }
  bool property_write(std::uint32_t offset, std::uint64_t& value) override {
    enabled_ = enabled_ || (offset == prop::cc && (value & 1) != 0);
    return true;
  }

 private:
  bool enabled_ = false;
};

/// CC.EN = 1 works once in the life of a controller.
class EnablesOnce final : public SubsystemHooks {
 public:
  bool property_write(std::uint32_t offset, std::uint64_t& value) override {
    return offset != prop::cc || (value & 1) == 0 || enables_++ == 0;
  }

 private:
  unsigned enables_ = 0;
};

/// CSTS tells of a finished shutdown for ever.
class ShutdownSticks final : public SubsystemHooks {
 public:
  void property_read(std::uint32_t offset, std::uint64_t& value) override {
    if (offset != prop::csts) return;
    if ((value & 0xC) == 0x8) down_ = true;
    if (down_) value = (value & ~std::uint64_t{0xC}) | 0x8;
  }

 private:
  bool down_ = false;
};

}  // namespace

DEVIATION(cap_without_cqr, "fabrics.property.cap", Product::controller, "reports CAP.CQR 0",
          hooks<PropertyReads<prop::cap, 1u << 16, 0>>());
DEVIATION(cap_with_dstrd, "fabrics.property.cap", Product::controller, "reports a doorbell stride",
          hooks<PropertyReads<prop::cap, 0, 1ull << 32>>());
DEVIATION(csts_ready_before_enable, "fabrics.property.vs-cc-csts", Product::controller, "reports CSTS.RDY 1 before it is enabled",
          hooks<ReadyTooEarly>());
DEVIATION(vs_is_zero, "fabrics.property.vs-cc-csts", Product::controller, "reports VS 0", hooks<PropertyReads<prop::vs, 0xFFFFFFFF, 0>>());
DEVIATION(crto_crwmt_too_small, "fabrics.property.crto", Product::controller, "reports a CRWMT below CRIMT",
          hooks<PropertyReads<prop::crto, 0xFFFF, 0x00010000>>());
DEVIATION(property_reads_anywhere, "fabrics.property.unknown-offset", Product::controller, "answers 0 where there is no property",
          hooks<ReadsOffsets<false>>());
DEVIATION(property_reads_inside, "fabrics.property.inside-offset", Product::controller, "lets properties be read from the middle",
          hooks<ReadsOffsets<true>>());
DEVIATION(property_ignores_reserved_size, "fabrics.property.attrib-size", Product::controller, "takes a reserved property size for 4 bytes",
          Tolerate{"property.attrib"});
DEVIATION(property_ignores_width, "fabrics.property.wrong-width", Product::controller, "reads 4-byte properties with 8 bytes",
          Tolerate{"property.size"});
DEVIATION(property_vs_writable, "fabrics.property.read-only", Product::controller, "lets VS be written", hooks<WritableVs>());
DEVIATION(nssr_takes_any_value, "fabrics.property.nssr-value", Product::controller, "resets the subsystem on any value in NSSR",
          Departs{"sub.nssr.any_value"});
DEVIATION(fabrics_refuses_sgl_form, "fabrics.psdt.fabrics-command", Product::controller,
          "takes Fabrics commands with PSDT 10b for unknown ones", hooks<RefusesSecondSglForm>());
DEVIATION(fabrics_takes_reserved_type, "fabrics.command.reserved-fctype", Product::controller,
          "succeeds in Fabrics commands of a reserved type", Tolerate{"fabrics.fctype"});
DEVIATION(fabrics_serves_properties_on_io_queues, "fabrics.command.property-on-io-queue", Product::controller,
          "serves property commands on I/O queues", Tolerate{"fabrics.io_queue"});

DEVIATION(enable_never_ready, "fabrics.enable.ready", Product::controller, "never becomes ready", Departs{"sub.csts.rdy.never"});
DEVIATION(enable_takes_bad_entry_size, "fabrics.enable.bad-entry-size", Product::controller,
          "becomes ready with impossible queue entry sizes", Departs{"sub.csts.cfs.missing"});
DEVIATION(enable_not_needed, "fabrics.enable.admin-before", Product::controller, "executes admin commands before it is enabled",
          Tolerate{"admin.controller.ready"});
DEVIATION(reset_keeps_queues, "fabrics.enable.io-after-disable", Product::controller, "keeps I/O queues across a controller reset",
          Departs{"sub.reset.io_queues"});
DEVIATION(reset_stays_ready, "fabrics.reset.clears-ready", Product::controller, "reports CSTS.RDY 1 after a controller reset",
          Departs{"sub.csts.rdy.stays"});
DEVIATION(reset_ends_association, "fabrics.reset.clears-ready", Product::controller, "drops the admin queue at a controller reset",
          Departs{"sub.reset.admin_queue"});
DEVIATION(reset_is_final, "fabrics.reset.reenable", Product::controller, "cannot be enabled a second time", hooks<EnablesOnce>());
DEVIATION(reset_completes_aer, "fabrics.reset.drops-aer", Product::controller, "completes event requests at a controller reset",
          Departs{"sub.reset.aer"});
DEVIATION(shutdown_never_completes, "fabrics.shutdown.normal", Product::controller, "never reports the end of a shutdown",
          Departs{"sub.csts.shst.never"});
DEVIATION(shutdown_serves_commands, "fabrics.shutdown.only-fabrics", Product::controller, "executes admin commands after a shutdown",
          Departs{"sub.shutdown.commands"});
DEVIATION(shutdown_serves_io, "fabrics.shutdown.only-fabrics", Product::controller, "executes I/O commands after a shutdown",
          Tolerate{"io.controller.ready"});
DEVIATION(shutdown_status_stays, "fabrics.shutdown.restart", Product::controller, "reports a finished shutdown after it was enabled again",
          hooks<ShutdownSticks>());

}  // namespace fb::deviations
