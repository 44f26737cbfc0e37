// What namespaces say of their own about atomicity.
#include "conformance/cases/nvme/scene.h"
#include "conformance/runner/embedded_controller.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {

namespace {

namespace id = nvme::id_ns;

constexpr std::uint32_t kOwn = 8;
constexpr std::uint32_t kBoundary = 64;

void with_limits(EmbeddedSetup& setup) {
  setup.subsystem.volatile_write_cache = setup.subsystem.power_loss_forgets = true;
  setup.subsystem.atomic_power_fail_blocks = 1;
  setup.subsystem.fused_compare_and_write = setup.subsystem.compare = true;
  setup.subsystem.atomic_compare_write_blocks = 4;
  setup.namespaces.front().limits = {
      .atomic_power_fail = kOwn, .atomic_compare_write = kOwn, .boundary = kBoundary, .boundary_power_fail = kBoundary};
}

bool says_atomic(const Declared& declared) {
  return (declared.identify_namespace().get(id::nsfeat) & nvme::nsfeat_bits::atomic_fields) != 0;
}
std::optional<std::string> has_limits(const Declared& declared) {
  if (!declared.known || declared.nsid == 0 || says_atomic(declared)) return {};
  return "NSFEAT bit 1 is clear: the namespace has no atomicity of its own";
}

/// A unit in the form of the fields, where 0 leaves it to the controller.
template <class Field>
std::uint64_t raw(const View<nvme::IdentifyNamespace>& ns, const Field& field) {
  return load_le<std::uint16_t>(ns.bytes().data() + field.offset);
}

}  // namespace

CONFORMANCE_CASE(namespace_is_no_less_atomic_than_its_controller, "nvme.limits.atomic", roles::controller, needs(has_namespace),
                 needs(has_limits), furnished{&with_limits}) {
  const auto reply = bench.associate().admin().send(host::identify(nvme::Cns::identify_namespace, bench.nsid()), 4096).wait();
  check.precondition_success(reply, "Identify Namespace");
  const View<nvme::IdentifyNamespace> ns{reply.data};
  const auto controller = bench.declared().identify();
  const auto compare = [&](std::string_view name, std::uint64_t own, std::uint64_t all) {
    check.that(own == 0 || own >= all, std::string(name) + " is 0 or no less than the controller's",
               std::to_string(own) + " and " + std::to_string(all));
  };
  compare("NAWUN", raw(ns, id::nawun), controller.get(nvme::id_ctrl::awun).raw());
  compare("NAWUPF", raw(ns, id::nawupf), controller.get(nvme::id_ctrl::awupf).raw());
  compare("NACWU", raw(ns, id::nacwu), controller.get(nvme::id_ctrl::acwu).raw());
}

CONFORMANCE_CASE(namespace_boundaries_hold_atomic_writes, "nvme.limits.boundary", roles::controller, needs(has_namespace),
                 needs(has_limits), furnished{&with_limits}) {
  const auto reply = bench.associate().admin().send(host::identify(nvme::Cns::identify_namespace, bench.nsid()), 4096).wait();
  check.precondition_success(reply, "Identify Namespace");
  const View<nvme::IdentifyNamespace> ns{reply.data};
  const std::uint64_t normal = ns.get(id::nabsn), power = ns.get(id::nabspf), offset = ns.get(id::nabo);
  check.that(power == 0 || power >= raw(ns, id::nawupf), "NABSPF is 0 or no less than NAWUPF", std::to_string(power));
  check.that(normal == 0 || normal >= raw(ns, id::nawun), "NABSN is 0 or no less than NAWUN", std::to_string(normal));
  if (normal != 0) check.that(offset <= normal, "NABO is not above NABSN", std::to_string(offset));
  if (power != 0) check.that(offset <= power, "NABO is not above NABSPF", std::to_string(offset));
}

CONFORMANCE_CASE(writes_within_the_namespace_limit_are_not_torn, "nvme.limits.power-fail", roles::controller,
                 arranged("a loss of power", &with_limits)) {
  constexpr std::uint64_t kFirst = 512;
  constexpr unsigned kWrites = 32;
  {
    IoScene scene(bench);
    for (unsigned i = 0; i < kWrites; ++i) scene.prepare(check, kFirst + std::uint64_t{i} * kOwn, 0x11, kOwn);
    check.precondition_success(scene.io.send(host::flush(scene.nsid)).wait(), "Flush");
    for (unsigned i = 0; i < kWrites; ++i) scene.prepare(check, kFirst + std::uint64_t{i} * kOwn, 0x83, kOwn);
  }
  bench.subsystem().power_cycle();
  IoScene scene(bench);
  for (unsigned i = 0; i < kWrites; ++i) {
    const auto reply = scene.read(kFirst + std::uint64_t{i} * kOwn, kOwn);
    check.require_success(reply, "Read");
    const bool whole = reply.data == pattern(0x11, kOwn, scene.block_bytes) || reply.data == pattern(0x83, kOwn, scene.block_bytes);
    check.that(whole, "write " + std::to_string(i) + " is there wholly or not at all", "it is torn");
  }
}

CONFORMANCE_CASE(compare_and_write_within_the_namespace_limit, "nvme.limits.compare-write", roles::controller, needs(has_namespace),
                 needs(has_limits), needs(fuses_compare_and_write), furnished{&with_limits}) {
  IoScene scene(bench);
  const auto ns = bench.declared().identify_namespace();
  const std::uint64_t unit = raw(ns, id::nacwu) + 1;
  check.precondition(raw(ns, id::nacwu) != 0, "NACWU says something");
  check.precondition(unit <= 64, "NACWU is small enough to be tried");
  const std::uint64_t boundary = ns.get(id::nabsn);
  check.precondition(boundary == 0 || raw(ns, id::nacwu) <= boundary, "so much lies within a boundary");
  const std::uint64_t first = ns.get(id::nabo);
  const Bytes old = scene.prepare(check, first, 0x21, unit);
  auto compare = host::compare(scene.nsid, scene.at(first), static_cast<std::uint32_t>(unit));
  compare.set(nvme::sqe::fuse, nvme::Fuse::first);
  auto write = host::write(scene.nsid, scene.at(first), static_cast<std::uint32_t>(unit));
  write.set(nvme::sqe::fuse, nvme::Fuse::second);
  auto compared = scene.io.send(compare, old);
  auto written = scene.io.send(write, pattern(0x77, unit, scene.block_bytes));
  check.success(compared.wait(), "Compare");
  check.success(written.wait(), "Write");
}

}  // namespace fb::conformance
