// Vital product data, enclosures, Reset and Shutdown in band.
#include "conformance/cases/mi/in_band.h"
#include "conformance/runner/embedded_controller.h"
#include "model/mi/device.h"
#include "model/subsystem/subsystem.h"

namespace fb::conformance {
namespace {

using mi::Opcode;
using mi::Status;

InBandAnswer vpd_read(InBandScene& scene, std::size_t offset, std::size_t length, std::size_t room) {
  return scene.receive(Opcode::vpd_read, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(length), {.room = room});
}
/// Every VPD has so many bytes at least.
constexpr std::size_t kVpdLeast = 256;
constexpr std::size_t kVpdMost = 4096;

/// The whole of it: its size is where a byte more is refused.
Bytes whole_vpd(InBandScene& scene, Check& check) {
  std::size_t low = kVpdLeast, high = kVpdMost + 1;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (vpd_read(scene, middle - 1, 1, 4).ok() ? low : high) = middle;
  }
  const InBandAnswer answer = vpd_read(scene, 0, low, in_dwords(low));
  check.require(tunneled_success(check, answer, fmt::format("VPD Read of all {} bytes", low)), "the VPD can be read whole",
                answer.describe());
  const ByteView data = answer.data(low);
  return {data.begin(), data.end()};
}

void refused_behind(Check& check, const InBandAnswer& answer, const std::string& what) {
  if (!tunneled_is(check, answer, one_of(Status::invalid_parameter), what)) return;
  check.equal("parameter error location of " + what, answer.error_at(), one_of(mi::ParameterError{12, 0}, mi::ParameterError{8, 0}));
}

}  // namespace

CONFORMANCE_CASE(vpd_in_band_is_the_same_in_any_pieces, "mi.in-band.vpd.read", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench), second(bench);
  const Bytes image = whole_vpd(scene, check);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{250}, image.size() - 1}) {
    // Single bytes of both ends alone.
    for (std::size_t at = 0; at < image.size(); at += piece) {
      if (piece == 1 && at == 16) at = image.size() - 16;
      const std::size_t size = std::min(piece, image.size() - at);
      const std::string what = fmt::format("VPD Read of {} bytes from {}", size, at);
      const InBandAnswer answer = vpd_read(at % 2 == 0 ? scene : second, at, size, in_dwords(size));
      if (!tunneled_success(check, answer, what) || !check.bytes(what, answer.data(size), ByteView{image}.subspan(at, size))) return;
    }
  }
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, image.size() - 1}) {
    const InBandAnswer nothing = vpd_read(scene, at, 0, 16);
    tunneled_success(check, nothing, fmt::format("VPD Read of no bytes from {}", at));
    check.bytes("the buffer after that", nothing.reply.data, Bytes(16, kUntouched));
  }
  refused_behind(check, vpd_read(scene, 0, image.size() + 1, kVpdMost), "VPD Read of one byte more than there is");
  refused_behind(check, vpd_read(scene, image.size() - 1, 2, 4), "VPD Read of two bytes from the last one");
  refused_behind(check, vpd_read(scene, image.size(), 1, 4), "VPD Read of the byte behind the last one");
  refused_behind(check, vpd_read(scene, 1, 0xFFFF, kVpdMost), "VPD Read of FFFFh bytes from 1");
  refused_behind(check, vpd_read(scene, 0xFFFF, 1, 4), "VPD Read of a byte from FFFFh");
}

CONFORMANCE_CASE(the_vpd_in_band_has_a_header, "mi.in-band.vpd.image", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  const InBandAnswer answer = vpd_read(scene, 0, 8, 8);
  if (!tunneled_success(check, answer, "VPD Read of the common header")) return;
  std::uint8_t sum = 0;
  for (const std::uint8_t byte : answer.reply.data) sum = static_cast<std::uint8_t>(sum + byte);
  check.equal("format version of the common header", answer.reply.data[0], 1);
  check.equal("sum of the bytes of the common header", sum, 0);
}

namespace {

void written(InBandScene& scene, InBandScene& other, Check& check, Bytes& image, std::size_t offset, std::size_t length) {
  Bytes data(image.begin() + static_cast<std::ptrdiff_t>(offset), image.begin() + static_cast<std::ptrdiff_t>(offset + length));
  for (std::uint8_t& byte : data) byte = static_cast<std::uint8_t>(byte ^ 0xFF);
  const std::string what = fmt::format("VPD Write of {} bytes at {}", length, offset);
  const auto answer = scene.send(Opcode::vpd_write, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(length), data);
  if (!tunneled_success(check, answer, what)) return;
  check.equal("NMRESP of " + what, answer.nmresp(), 0u);
  std::copy(data.begin(), data.end(), image.begin() + static_cast<std::ptrdiff_t>(offset));
  check.bytes("the VPD after " + what, whole_vpd(scene, check), image);
  check.bytes("the VPD after " + what + ", through another controller", whole_vpd(other, check), image);
}

}  // namespace

CONFORMANCE_CASE(vpd_in_band_is_written_where_told, "mi.in-band.vpd.write", roles::controller,
                 arranged("a VPD that may be overwritten", [](EmbeddedSetup& setup) { setup.managed->in_band = true; })) {
  InBandScene scene(bench), second(bench);
  Bytes image = whole_vpd(scene, check);
  const std::size_t size = image.size();
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4}, std::size_t{5}, std::size_t{64}, std::size_t{255}}) {
    written(scene, second, check, image, size - length, length);
  }
  written(second, scene, check, image, 0, size);
  written(scene, second, check, image, 1, 6);
  tunneled_success(check, scene.send(Opcode::vpd_write, 0, 0), "VPD Write of no bytes");
  const Bytes data(16, 0x3C);
  for (const auto& [offset, length] : std::initializer_list<std::pair<std::size_t, std::size_t>>{{size, 1}, {size - 1, 2}, {size - 8, 9}}) {
    const auto answer =
        scene.send(Opcode::vpd_write, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(length), ByteView{data}.first(length));
    refused_behind(check, answer, fmt::format("VPD Write of {} bytes at {}, of {}", length, offset, size));
  }
  check.bytes("the VPD after the refusals", whole_vpd(scene, check), image);
}

// ---- enclosures ----

namespace {

void set_enclosure(EmbeddedSetup& setup) {
  setup.managed->in_band = true;
  setup.managed->drive.device.enclosure = true;
}
const furnished an_enclosure{&set_enclosure};
constexpr std::uint32_t kSupportedPages = 0, kStatusPage = 2;

/// A page whole; the case ends without it.
Bytes page_of(InBandScene& scene, Check& check, std::uint32_t code) {
  const InBandAnswer answer = scene.receive(Opcode::ses_receive, code, kMostRoom);
  check.require(tunneled_success(check, answer, fmt::format("SES page {:02x}h", code)), "the page is returned", answer.describe());
  const ByteView data = answer.data(answer.nmresp() & 0xFFFF);
  check.require(data.size() >= 4 && data.size() == 4u + load_be<std::uint16_t>(&data[2]), "the page is as long as it says",
                words(data.size()));
  check.equal("page code", data[0], code);
  return {data.begin(), data.end()};
}

}  // namespace

CONFORMANCE_CASE(ses_pages_come_in_band, "mi.in-band.ses.receive", roles::controller, needs(tunnels), needs(is_subsystem<kEnclosure>),
                 an_enclosure) {
  InBandScene scene(bench);
  for (const std::uint32_t code : {kSupportedPages, kStatusPage}) {
    const Bytes page = page_of(scene, check, code);
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{1}, std::size_t{4}, page.size() - 1, page.size(), page.size() + 1, std::size_t{0xFFFF}}) {
      const std::string what = fmt::format("SES page {:02x}h with an allocation length of {}", code, length);
      const std::size_t comes = std::min(length, page.size());
      const InBandAnswer answer = scene.receive(Opcode::ses_receive, code, static_cast<std::uint32_t>(length));
      if (!tunneled_success(check, answer, what)) continue;
      check.equal("NMRESP of " + what, answer.nmresp(), comes);
      check.bytes(what, answer.data(comes), ByteView{page}.first(comes));
      check.bytes("the buffer behind it", answer.data(kMostRoom).subspan(in_dwords(comes)),
                  Bytes(kMostRoom - in_dwords(comes), kUntouched));
    }
  }
  tunneled_is(check, scene.receive(Opcode::ses_receive, 0x3F, 64), one_of(Status::invalid_parameter), "SES page 3Fh");
}

CONFORMANCE_CASE(ses_pages_go_in_band, "mi.in-band.ses.send", roles::controller, needs(tunnels), needs(is_subsystem<kEnclosure>),
                 an_enclosure) {
  InBandScene scene(bench);
  tunneled_success(check, scene.send(Opcode::ses_send), "SES Send of no bytes");
  // The status page with nothing selected is a control page that changes nothing.
  Bytes page = page_of(scene, check, kStatusPage);
  for (std::size_t at = 8; at < page.size(); at += 4) std::fill_n(page.begin() + static_cast<std::ptrdiff_t>(at), 4, std::uint8_t{0});
  const auto length = static_cast<std::uint32_t>(page.size());
  tunneled_success(check, scene.send(Opcode::ses_send, 0, length, page), "SES Send of a control page");
  // What follows a page is ignored.
  page.resize(300);
  tunneled_success(check, scene.send(Opcode::ses_send, 0, 300, page), "SES Send of a control page with more behind it");
  page[0] = 0x3F;
  tunneled_is(check, scene.send(Opcode::ses_send, 0, length, ByteView{page}.first(length)), one_of(Status::invalid_parameter),
              "SES Send of page 3Fh");
}

CONFORMANCE_CASE(no_enclosure_has_no_pages_in_band, "mi.in-band.ses.prohibited", roles::controller, needs(tunnels), having_in_band) {
  check.precondition((bench.declared().identify().get(nvme::id_ctrl::nvmsr) & kEnclosure) == 0, "no enclosure");
  InBandScene scene(bench);
  for (std::uint32_t page = 0; page < 3; ++page) {
    not_done(check, scene.receive(Opcode::ses_receive, page, 64), fmt::format("SES Receive of page {}", page));
  }
  not_done(check, scene.send(Opcode::ses_send), "SES Send");
}

// ---- Reset and Shutdown ----

CONFORMANCE_CASE(reserved_types_of_reset_are_refused_in_band, "mi.in-band.reset.type", roles::controller, needs(tunnels), having_in_band) {
  InBandScene scene(bench);
  for (const Opcode opcode : {Opcode::reset, Opcode::shutdown}) {
    for (const std::uint32_t type : {0x03u, 0x10u, 0x80u, 0xFFu}) {
      const InBandAnswer answer = scene.send(opcode, type << 24);
      if (answer.missing()) break;
      const std::string what = fmt::format("{} of type {:02x}h", mi::name_of(opcode), type);
      if (!tunneled_is(check, answer, one_of(Status::invalid_parameter), what)) continue;
      check.equal("parameter error location of " + what, answer.error_at(), mi::ParameterError{11, 0});
    }
  }
  check.equal("CSTS.RDY and CSTS.SHST afterwards", scene.association.property(fabrics::property::csts) & 0x0D, 1u);
}

CONFORMANCE_CASE(shutdown_in_band_is_of_all_controllers, "mi.in-band.shutdown", roles::controller,
                 arranged("a subsystem that may be shut down", [](EmbeddedSetup& setup) { setup.managed->in_band = true; })) {
  for (const std::uint32_t type : {0u, 1u}) {
    InBandScene scene(bench), second(bench), third(bench);
    if (!tunneled_success(check, scene.send(Opcode::shutdown, type << 24), fmt::format("Shutdown of type {}", type))) return;
    for (InBandScene* one : {&scene, &second, &third}) {
      const bool done = one->association.wait_csts(0x0C, 0x08, 1_s);
      check.that(done, fmt::format("controller {} is shut down", one->association.cntlid()));
    }
    for (InBandScene* one : {&scene, &second, &third}) one->association.admin().disconnect();
    bench.world().run_for(100_ms);
  }
}

CONFORMANCE_CASE(reset_in_band_is_of_the_subsystem, "mi.in-band.reset.subsystem", roles::controller,
                 arranged("a subsystem that may be reset", [](EmbeddedSetup& setup) { setup.managed->in_band = true; })) {
  InBandScene scene(bench), second(bench);
  bench.subsystem().set_temperature(350);
  composite_of(scene, check);
  auto sent = scene.association.admin().send_command(in_band_command(true, static_cast<std::uint8_t>(Opcode::reset), 0, 0, {}));
  bench.world().run_for(2_s);
  const InBandAnswer answer{sent.wait()};
  check.that(!answer.reply.answered() || answer.ok(), "Reset is not answered with an error", answer.describe());
  for (InBandScene* one : {&scene, &second}) {
    check.that(!one->association.admin().connected(), fmt::format("the association of controller {} has ended", one->association.cntlid()));
  }
  InBandScene next(bench);
  tunneled_success(check, next.receive(Opcode::vpd_read, 0, 16, {.room = 16}), "VPD Read after the reset");
}

}  // namespace fb::conformance
