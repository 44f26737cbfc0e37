// What the cases about directives and streams share.
#pragma once

#include <algorithm>
#include <vector>

#include "conformance/cases/nvme/namespace_scene.h"
#include "wire/nvme/directives.h"

namespace fb::conformance {

inline std::optional<std::string> has_directives(const Declared& declared) {
  if (!declared.known || (declared.identify().get(nvme::id_ctrl::oacs) & nvme::oacs_bits::directives) != 0) return {};
  return "OACS bit 5 (Directives) is clear";
}
inline std::optional<std::string> shares_its_namespace(const Declared& declared) {
  if (!declared.known || (declared.identify_namespace().get(nvme::id_ns::nmic) & nvme::nmic_bits::shared) != 0) return {};
  return "NMIC bit 0 is clear: the namespace has one controller";
}
inline void set_up_directives(EmbeddedSetup& setup) { setup.subsystem.directives = {}; }
inline const furnished having_directives{&set_up_directives};

/// A host that uses directives in the first namespace.
class DirectiveScene {
 public:
  DirectiveScene(ControllerBench& bench, Check& check, const AssociationOptions& options = {})
      : manager(bench, check, options), nsid(bench.nsid()), bench_(bench), check_(check) {
    if (nsid == 0) throw CannotArrange{"the product has no active namespace"};
  }

  host::RawQueue& admin() { return manager.admin(); }
  host::RawReply parameters(std::uint32_t of) {
    constexpr auto kSize = nvme::DirectiveParameters::size;
    return admin()
        .send(host::directive_receive(of, nvme::DirectiveType::identify, nvme::directive_operation::identify_return_parameters, kSize),
              kSize)
        .wait();
  }
  Record<nvme::DirectiveParameters> parameters() {
    const auto reply = parameters(nsid);
    check_.require_success(reply, "Directive Receive, Return Parameters");
    return Record<nvme::DirectiveParameters>{reply.data};
  }
  bool supported(nvme::DirectiveType type) { return has(parameters(), nvme::directive_parameters::supported.offset, type); }
  bool enabled(nvme::DirectiveType type = nvme::DirectiveType::streams) {
    return has(parameters(), nvme::directive_parameters::enabled.offset, type);
  }
  host::RawReply enable(nvme::DirectiveType type, bool on = true) { return admin().send(host::enable_directive(nsid, type, on)).wait(); }
  /// INCONCLUSIVE where there are none.
  void need_streams() { check_.precondition(supported(nvme::DirectiveType::streams), "the product has streams"); }
  /// Streams of the first namespace that the case does not judge the enabling of.
  void enable_streams() {
    need_streams();
    check_.precondition_success(enable(nvme::DirectiveType::streams), "Directive Send, Enable Directive");
  }
  void disable_streams() { check_.precondition_success(enable(nvme::DirectiveType::streams, false), "Directive Send, disabling streams"); }

  host::RawReply streams_of(std::uint32_t of) {
    constexpr auto kSize = nvme::StreamParameters::size;
    return admin()
        .send(host::directive_receive(of, nvme::DirectiveType::streams, nvme::directive_operation::streams_return_parameters, kSize), kSize)
        .wait();
  }
  Record<nvme::StreamParameters> streams() {
    const auto reply = streams_of(nsid);
    check_.require_success(reply, "Directive Receive, Return Parameters of streams");
    return Record<nvme::StreamParameters>{reply.data};
  }
  std::vector<std::uint16_t> open() {
    constexpr std::size_t kSize = 512;
    const auto reply =
        admin()
            .send(host::directive_receive(nsid, nvme::DirectiveType::streams, nvme::directive_operation::streams_get_status, kSize), kSize)
            .wait();
    check_.require_success(reply, "Directive Receive, Get Status");
    const std::size_t count = std::min<std::size_t>(load_le<std::uint16_t>(reply.data.data()), kSize / 2 - 1);
    std::vector<std::uint16_t> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(load_le<std::uint16_t>(reply.data.data() + 2 + 2 * i));
    return ids;
  }
  host::RawReply release(std::uint16_t stream) { return release_in(nsid, stream); }
  host::RawReply release_in(std::uint32_t of, std::uint16_t stream) {
    return admin()
        .send(host::directive_send(of, nvme::DirectiveType::streams, nvme::directive_operation::streams_release_identifier, stream))
        .wait();
  }
  host::RawReply release_resources() {
    return admin()
        .send(host::directive_send(nsid, nvme::DirectiveType::streams, nvme::directive_operation::streams_release_resources))
        .wait();
  }
  host::RawReply allocate(std::uint16_t wanted) { return admin().send(host::allocate_streams(nsid, wanted)).wait(); }
  /// Resources that the case does not judge the granting of; how many.
  unsigned allocated(std::uint16_t wanted) {
    const auto reply = allocate(wanted);
    check_.precondition_success(reply, "Directive Receive, Allocate Resources");
    check_.precondition((reply.dw0() & 0xFFFF) != 0, "stream resources are granted");
    return reply.dw0() & 0xFFFF;
  }

  Bytes some_data(std::uint8_t mark) const { return pattern(mark, 8, bench_.declared().block_bytes); }
  host::RawReply write(unsigned type, std::uint16_t specific, std::uint8_t mark = 0x31) {
    auto command = host::write(nsid, 0, 8);
    command.set(nvme::rw_sqe::dtype, type).set(nvme::rw_sqe::dspec, specific);
    return manager.io().send(command, some_data(mark)).wait();
  }
  host::RawReply write(std::uint16_t stream) { return write(static_cast<unsigned>(nvme::DirectiveType::streams), stream); }
  void open_stream(std::uint16_t stream) { check_.precondition_success(write(stream), "Write with a stream"); }

  static bool has(const Record<nvme::DirectiveParameters>& page, std::size_t offset, nvme::DirectiveType type) {
    const auto bit = static_cast<unsigned>(type);
    return (page.bytes()[offset + bit / 8] >> bit % 8 & 1) != 0;
  }

  Manager manager;
  std::uint32_t nsid;

 private:
  ControllerBench& bench_;
  Check& check_;
};

}  // namespace fb::conformance
