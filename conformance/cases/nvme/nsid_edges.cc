// Every command that names a namespace, with identifiers at both sides of every limit; and namespaces that go while commands for
// them are under way.
#include <fmt/format.h>

#include <functional>
#include <vector>

#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"
#include "wire/nvme/directives.h"

namespace fb::conformance {

namespace {

using nvme::FeatureId;

struct NamedCommand {
  std::string_view name;
  std::function<host::RawReply(std::uint32_t nsid)> send;
};

/// NSID 1 is not active, nor is the last that there may be.
const furnished namespaces_with_gaps{[](EmbeddedSetup& setup) {
  setup.subsystem.namespaces_max = 40;
  setup.namespaces.clear();
  for (const std::uint32_t nsid : {3u, 4u, 7u}) setup.namespaces.push_back({.nsid = nsid});
}};

std::vector<NamedCommand> commands_of(IoScene& scene) {
  host::RawQueue& admin = scene.association.admin();
  host::RawQueue& io = scene.io;
  const std::size_t block = scene.block_bytes;
  const auto get = [&admin](auto make, std::size_t bytes) {
    return [&admin, make, bytes](std::uint32_t nsid) { return admin.send(make(nsid), bytes).wait(); };
  };
  const auto tell = [&admin](auto make) { return [&admin, make](std::uint32_t nsid) { return admin.send(make(nsid)).wait(); }; };
  const auto read = [&io](auto make, std::size_t bytes) {
    return [&io, make, bytes](std::uint32_t nsid) { return io.send(make(nsid), bytes).wait(); };
  };
  const auto write = [&io](auto make, Bytes data) {
    return [&io, make, data](std::uint32_t nsid) { return io.send(make(nsid), ByteView{data}).wait(); };
  };
  const auto plain = [&io](auto make) { return [&io, make](std::uint32_t nsid) { return io.send(make(nsid)).wait(); }; };
  using nvme::Cns;
  const auto identify = [&](Cns cns) { return get([cns](std::uint32_t nsid) { return host::identify(cns, nsid); }, nvme::kIdentifySize); };
  constexpr auto kIdentifyDirective = nvme::DirectiveType::identify;
  return {
      {"Read", read([](std::uint32_t nsid) { return host::read(nsid, 0, 1); }, block)},
      {"Write", write([](std::uint32_t nsid) { return host::write(nsid, 0, 1); }, Bytes(block))},
      {"Flush", plain([](std::uint32_t nsid) { return host::flush(nsid); })},
      {"Compare", write([](std::uint32_t nsid) { return host::compare(nsid, 0, 1); }, Bytes(block))},
      {"Write Zeroes", plain([](std::uint32_t nsid) { return host::write_zeroes(nsid, 0, 1); })},
      {"Write Uncorrectable", plain([](std::uint32_t nsid) { return host::write_uncorrectable(nsid, 0, 1); })},
      {"Verify", plain([](std::uint32_t nsid) { return host::verify(nsid, 0, 1); })},
      {"Dataset Management", write([](std::uint32_t nsid) { return host::deallocate(nsid, 1); }, Bytes(16))},
      {"Copy", write([](std::uint32_t nsid) { return host::copy(nsid, 0, 1); }, Bytes(32))},
      {"Reservation Report", read([](std::uint32_t nsid) { return host::reservation_report(nsid, 64); }, 64)},
      {"Identify Namespace", identify(Cns::identify_namespace)},
      {"Identify, namespace identification descriptors", identify(Cns::namespace_id_descriptors)},
      {"Identify, CNS 05h", identify(Cns::command_set_namespace)},
      {"Identify, CNS 08h", identify(Cns::independent_namespace)},
      {"Identify, CNS 11h", identify(Cns::allocated_namespace)},
      {"Format NVM", tell([](std::uint32_t nsid) { return host::format_nvm(nsid, 0); })},
      {"Namespace Management, delete", tell([](std::uint32_t nsid) { return host::delete_namespace(nsid); })},
      {"Device Self-test", tell([](std::uint32_t nsid) { return host::device_self_test(nvme::SelfTestCode::short_test, nsid); })},
      {"Directive Receive",
       get([](std::uint32_t nsid) { return host::directive_receive(nsid, kIdentifyDirective, 1, 4096); }, nvme::kIdentifySize)},
      {"Get LBA Status", get([](std::uint32_t nsid) { return host::get_lba_status(nsid, nvme::LbaStatusAction::tracked, 0, 1, 64); }, 64)},
      {"Get Features, Namespace Write Protection Config", tell([](std::uint32_t nsid) {
         auto command = host::get_features(FeatureId::namespace_write_protection);
         command.set(nvme::sqe::nsid, nsid);
         return command;
       })},
  };
}

/// The scene is in a namespace that must stay as it is, which those of the table are not.
void alike(Check& check, const NamedCommand& command, const std::vector<std::uint32_t>& nsids, std::string_view kind) {
  const nvme::Status first = command.send(nsids.front()).status();
  for (const std::uint32_t nsid : nsids)
    check.status(command.send(nsid), first,
                 fmt::format("{} for {} namespace {:X}h, as for {:X}h", command.name, kind, nsid, nsids.front()));
}

}  // namespace

CONFORMANCE_CASE(namespaces_that_are_not_there_are_alike, "nvme.nsid.alike", roles::controller, needs(has_namespace),
                 namespaces_with_gaps) {
  IoScene scene(bench);
  const auto list = scene.association.admin().send(host::identify(nvme::Cns::active_namespace_list), 4096).wait();
  check.precondition_success(list, "Identify, active namespace list");
  const std::uint32_t most = bench.declared().identify().get(nvme::id_ctrl::nn);
  std::vector<std::uint32_t> inactive;
  const auto active = nvme::read_namespace_list(list.data);
  for (const std::uint32_t nsid : {most, 1u, active.back() + 1, active.back() - 1, most - 1}) {
    const bool there = std::find(active.begin(), active.end(), nsid) != active.end();
    if (!there && nsid != 0 && nsid <= most) inactive.push_back(nsid);
  }
  const std::vector<std::uint32_t> invalid = {0xFFFFFFFE, most + 1};
  for (const NamedCommand& command : commands_of(scene)) {
    if (!inactive.empty()) alike(check, command, inactive, "the inactive");
    if (most < 0xFFFFFFF0) alike(check, command, invalid, "the invalid");
  }
}

namespace {

constexpr std::uint32_t kGoes = 9;

/// Slow enough that a namespace can go before the command is executed.
const arranged a_slow_product{"a namespace that is deleted inside the product while commands for it are under way",
                              [](EmbeddedSetup& setup) {
                                setup.subsystem.io_latency = Duration::us(20);
                                setup.subsystem.copy = {};
                              }};

}  // namespace

CONFORMANCE_CASE(commands_end_when_their_namespace_goes, "nvme.namespace.gone-meanwhile", roles::controller, needs(has_namespace),
                 a_slow_product) {
  IoScene scene(bench);
  host::RawQueue& io = scene.io;
  constexpr std::uint32_t kBlocks = 64;
  const Bytes data(std::size_t{kBlocks} * 512, 0x5A);
  using Start = std::function<std::vector<Op<host::RawReply>>()>;
  const auto one = [](Op<host::RawReply> reply) { return std::vector<Op<host::RawReply>>{std::move(reply)}; };
  Bytes source(32);
  std::vector<std::pair<std::string_view, Start>> starts = {
      {"Write", [&] { return one(io.send(host::write(kGoes, 0, kBlocks), ByteView{data})); }},
      {"Read", [&] { return one(io.send(host::read(kGoes, 0, kBlocks), data.size())); }},
      {"Compare", [&] { return one(io.send(host::compare(kGoes, 0, kBlocks), ByteView{data})); }},
      {"Dataset Management", [&] { return one(io.send(host::deallocate(kGoes, 1), ByteView{data}.first(16))); }},
      {"Copy", [&] { return one(io.send(host::copy(kGoes, 8, 1), ByteView{source})); }},
      {"Write Zeroes", [&] { return one(io.send(host::write_zeroes(kGoes, 0, kBlocks))); }},
      {"Flush", [&] { return one(io.send(host::flush(kGoes))); }},
  };
  if (!fuses_compare_and_write(bench.declared())) {
    starts.emplace_back("a fused pair", [&] {
      auto compare = host::compare(kGoes, 0, kBlocks), write = host::write(kGoes, 0, kBlocks);
      compare.set(nvme::sqe::fuse, nvme::Fuse::first);
      write.set(nvme::sqe::fuse, nvme::Fuse::second);
      std::vector<Op<host::RawReply>> both = one(io.send(compare, ByteView{data}));
      both.push_back(io.send(write, ByteView{data}));
      return both;
    });
  }
  for (const auto& [name, start] : starts) {
    for (unsigned after = 0; after < 48; after += 3) {
      const std::string when = fmt::format("{} whose namespace goes {} us later", name, after);
      check.precondition(bench.subsystem().add_namespace({.nsid = kGoes}).ok(), "one more namespace");
      auto replies = start();
      bench.world().run_for(Duration::us(after));
      check.precondition(bench.subsystem().remove_namespace(kGoes), "the namespace goes");
      for (auto& reply : replies) {
        const auto ended = reply.wait_for(kSoon);
        if (!check.that(ended.has_value() && ended->answered(), when + " is completed", "it is not")) return;
      }
    }
  }
  check.success(scene.read(0, 1), "Read of a namespace that stays");
}

}  // namespace fb::conformance
