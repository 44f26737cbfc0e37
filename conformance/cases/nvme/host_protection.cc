// A host on a namespace with protection information.
#include "conformance/cases/nvme/host_scene.h"
#include "conformance/evidence/behind_the_wire.h"
#include "wire/nvme/protection.h"

namespace fb::conformance {

namespace {

constexpr std::uint64_t kLba = 500;

/// The first namespace has type 1 in 8 bytes of metadata.
const furnished a_protected_namespace{[](EmbeddedSetup& setup) {
  setup.subsystem.metadata = true;
  setup.namespaces.front().metadata_bytes = 8;
  setup.namespaces.front().protection_type = 1;
}};

/// All types of protection information, in metadata of both sizes, in its last bytes and its first.
void many_tags(EmbeddedSetup& setup) {
  setup.subsystem.metadata = true;
  setup.namespaces.clear();
  setup.namespaces.push_back({.nsid = 1, .blocks = 4000, .metadata_bytes = 8, .protection_type = 1});
  setup.namespaces.push_back({.nsid = 2, .blocks = 4000, .metadata_bytes = 16, .protection_type = 1, .protection_first = true});
  setup.namespaces.push_back({.nsid = 3, .blocks = 4000, .metadata_bytes = 16, .protection_type = 2});
  setup.namespaces.push_back({.nsid = 4, .block_bytes = 4096, .blocks = 4000, .metadata_bytes = 8, .protection_type = 3});
}
const arranged formats_with_tags{"a host that makes and checks the protection information", &many_tags};

const nvme::BlockLayout kLayout{.metadata_bytes = 8, .protection_type = 1};

}  // namespace

CONFORMANCE_CASE(host_begins_reference_tags_with_the_lba, "nvme.host.protection.reference", roles::host, a_protected_namespace) {
  bench.connect_product();
  Bytes& data = bench.keep(host_pattern(4 * 512));
  bench.product().write(bench.nsid(), kLba, data).wait_for(60_s);
  bench.product().read(bench.nsid(), kLba, data).wait_for(60_s);
  std::size_t looked = 0;
  for (const std::uint8_t which : {opcode::kWrite, opcode::kRead}) {
    for (const SeenCommand* seen : io_commands(bench, which)) {
      if (!seen->as<nvme::ReadWriteSqe>().get(nvme::rw_sqe::prchk_ref)) continue;
      ++looked;
      check.equal("first reference tag", seen->cdw(14), static_cast<std::uint32_t>(lba_of(seen->sqe.bytes())));
    }
  }
  if (looked == 0) check.inconclusive("the host asked for no check of reference tags");
}

CONFORMANCE_CASE(host_transfers_tags_as_it_says, "nvme.host.protection.length", roles::host, a_protected_namespace) {
  bench.connect_product();
  Bytes& data = bench.keep(host_pattern(4 * 512));
  const auto written = bench.product().write(bench.nsid(), kLba, data).wait_for(60_s);
  check.require(written.has_value(), "the write ends", "it does not");
  const auto commands = io_commands(bench, opcode::kWrite);
  check.precondition(!commands.empty(), "the host writes to a namespace with protection information");
  check.that(written->ok(), "the controller takes it", "it was refused");
  for (const SeenCommand* seen : commands) {
    const std::size_t block = seen->as<nvme::ReadWriteSqe>().get(nvme::rw_sqe::pract) ? kLayout.data_bytes : kLayout.bytes();
    const auto sgl = nvme::SglDescriptor::parse(seen->sqe.bytes().subspan(nvme::sqe::sgl1.offset, 16));
    check.equal("bytes that the entry offers", std::size_t{sgl.length}, blocks_of(*seen) * block);
  }
}

CONFORMANCE_CASE(host_checks_the_tags_that_it_makes, "nvme.host.protection.checked", roles::host, formats_with_tags) {
  constexpr std::uint64_t kBlocks = 5;
  bench.connect_options().protection = host::ProtectionUse::host;
  bench.connect_product();
  std::size_t looked = 0;
  for (host::Namespace* space : bench.emulated_host().namespaces()) {
    const nvme::BlockLayout layout = space->facts().layout;
    if (space->paths().all().empty() || !layout.is_protected()) continue;
    ++looked;
    const std::string where = " of namespace " + std::to_string(space->nsid());
    Bytes& data = bench.keep(host_pattern(kBlocks * layout.bytes()));
    check.success(space->write(kLba, data).wait(), "write of blocks" + where);
    // A bit of the data, so that the guard is wrong, and one of the reference tag, which type 3 leaves alone.
    for (const std::size_t byte : {std::size_t{7}, std::size_t{layout.tuple_at() + layout.tuple_bytes() - 1}}) {
      const bool tag = byte >= layout.data_bytes;
      for (std::uint64_t bad = 0; bad < kBlocks && !(tag && layout.protection_type == 3); bad += 2) {
        bench.script.data_out = [&](const CommandContext& command, MutableBytes out) {
          const std::uint64_t at = (kLba + bad - lba_of(command.sqe)) * layout.bytes() + byte;
          if (!is_io(command, opcode::kRead) || at >= out.size()) return;
          evidence::behind_the_wire(bench.world());  // what is read is not what was written
          out[static_cast<std::size_t>(at)] ^= 1;
        };
        Bytes& back = bench.keep(Bytes(data.size()));
        const auto read = space->read(kLba, back).wait_for(60_s);
        const std::string what = std::string("a wrong ") + (tag ? "reference tag" : "guard") + " in block " + std::to_string(bad);
        check.that(read.has_value() && !read->ok(), what + where + " is reported", "success");
      }
    }
    bench.script = {};
    evidence::behind_the_wire(bench.world());
    Bytes& back = bench.keep(Bytes(data.size()));
    check.success(space->read(kLba, back).wait(), "read of blocks" + where);
  }
  check.precondition(looked > 0, "a namespace with protection information");
}

CONFORMANCE_CASE(host_reports_protection_errors, "nvme.host.protection.error", roles::host, a_protected_namespace,
                 reaches{"bench.refused"}) {
  bench.connect_product();
  bench.script.admission = [&bench](const CommandContext& command) -> std::optional<nvme::Status> {
    if (!is_io(command, opcode::kRead) || lba_of(command.sqe) != kLba) return std::nullopt;
    bench.mark("bench.refused");
    return sc::reference_tag_check_error.with_dnr();
  };
  Bytes& data = bench.keep(Bytes(512));
  const auto read = bench.product().read(bench.nsid(), kLba, data).wait_for(60_s);
  check.require(read.has_value(), "the read ends", "it does not");
  check.that(!read->ok(), "the host reports that the read failed", "it reports success");
  check.precondition(*read != HostUnderTest::kUntold, "the host tells the status");
  check.status(*read, sc::reference_tag_check_error, "what the host reports");
}

}  // namespace fb::conformance
