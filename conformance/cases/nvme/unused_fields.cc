// What commands of Fabrics have no use for: the forms of data and metadata pointers of PCI Express, and its commands.
#include <fmt/format.h>

#include "conformance/cases/nvme/scene.h"
#include "wire/fabrics/transports.h"

namespace fb::conformance {

namespace {

/// A command that reads, whose data pointer is an SGL descriptor as ever, and whose PSDT says that it is a PRP.
host::RawReply read_with_prp(ControllerBench& bench, host::RawQueue& queue, nvme::Sqe sqe, std::size_t bytes) {
  host::RawCommand command{.sqe = sqe, .keep_dptr = true};
  nvme::SglDescriptor sgl = nvme::SglDescriptor::transport(static_cast<std::uint32_t>(bytes));
  if (bench.transport() == fabrics::kRdma) {
    sgl = queue.expose(Bytes(bytes)).sgl(static_cast<std::uint32_t>(bytes));
  } else {
    command.data = Bytes(bytes);
    command.direction = transport::Direction::from_controller;
  }
  command.sqe.set(nvme::sqe::psdt, nvme::Psdt::prp).set(nvme::sqe::sgl1, ByteView{sgl.bytes()});
  return queue.send_command(std::move(command)).wait();
}

}  // namespace

CONFORMANCE_CASE(prps_are_refused, "nvme.psdt.prp", roles::controller, needs(has_namespace), sends_malformed, reaches{"command.psdt"}) {
  IoScene scene(bench);
  const auto identify = host::as_sqe(host::identify(nvme::Cns::controller));
  check.status(read_with_prp(bench, scene.association.admin(), identify, nvme::kIdentifySize), sc::invalid_field, "Identify with PSDT 00b");
  const auto read = host::as_sqe(host::read(scene.nsid, 0, 1));
  check.status(read_with_prp(bench, scene.io, read, scene.block_bytes), sc::invalid_field, "Read with PSDT 00b");
}

CONFORMANCE_CASE(metadata_pointer_without_metadata_is_not_looked_at, "nvme.mptr.unused", roles::controller, needs(has_namespace)) {
  IoScene scene(bench);
  const Bytes data = scene.prepare(check, 0, 0x31, 1);
  auto read = host::as_sqe(host::read(scene.nsid, scene.at(0), 1));
  read.set(nvme::sqe::mptr, 0x1000u);
  const auto reply = scene.io.send(read, scene.block_bytes).wait();
  // No metadata of the namespace is apart from its data: the pointer is unused, and a controller may refuse what it has no use for.
  if (check.status(reply, one_of(sc::success, sc::invalid_field), "Read with a metadata pointer") && reply.ok()) {
    check.bytes("the data", reply.data, data);
  }
  check.success(scene.read(0, 1), "a Read afterwards");
}

CONFORMANCE_CASE(commands_of_pci_express_do_not_exist, "nvme.opcode.memory-based", roles::controller) {
  RawAssociation& association = bench.associate();
  constexpr auto kDoorbells = static_cast<std::uint8_t>(nvme::AdminOpcode::doorbell_buffer_config);
  const auto page = association.admin().send(host::identify(nvme::Cns::controller), nvme::kIdentifySize).wait();
  check.precondition_success(page, "Identify Controller");
  const unsigned oacs = View<nvme::IdentifyController>{page.data}.get(nvme::id_ctrl::oacs);
  check.equal("OACS.DBCS", (oacs & nvme::oacs_bits::doorbell_buffer) != 0, false);
  check.status(association.admin().send(host::any_command(kDoorbells)).wait(), sc::invalid_opcode, nvme::admin_opcode_name(kDoorbells));
}

}  // namespace fb::conformance
