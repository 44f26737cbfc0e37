#include "bindings/link_control.h"

#include "bindings/convert.h"

namespace fb::python {

void LinkControl::ask(Direction& direction, net::PacketContext& packet, net::Verdict& verdict) {
  call_back(box_, [&] {
    const py::object said = direction.watch(py::int_(packet.ordinal), to_python(packet.payload));
    if (said.is_none()) return;
    if (PyUnicode_Check(said.ptr()) != 0 && said.cast<std::string>() == "drop") {
      verdict.drop = true;
    } else if (PyUnicode_Check(said.ptr()) != 0 && said.cast<std::string>() == "duplicate") {
      ++verdict.duplicates;
    } else if (PyBytes_Check(said.ptr()) != 0 || PyByteArray_Check(said.ptr()) != 0) {
      const Bytes bytes = bytes_of(said, "packet");
      if (bytes.size() > packet.payload.size()) throw py::value_error("packet: what a watcher returns is no longer than the packet");
      std::copy(bytes.begin(), bytes.end(), packet.payload.begin());
      verdict.cut = packet.payload.size() - bytes.size();
      verdict.corrupted = true;
    } else {
      verdict.delay = duration_of(said, "packet delay");
    }
  });
}

net::Verdict LinkControl::on_packet(net::PacketContext& packet) {
  net::Verdict verdict;
  if (next_ != nullptr) verdict = next_->on_packet(packet);
  const auto found = directions_.find(packet.link);
  if (found == directions_.end()) return verdict;
  Direction& direction = found->second;
  if (direction.watch) ask(direction, packet, verdict);
  if (direction.drop > 0) {
    --direction.drop;
    verdict.drop = true;
  }
  if (packet.now < direction.cut_until) verdict.drop = true;
  if (verdict.drop) ++direction.dropped;
  return verdict;
}

net::SegmentVerdict LinkControl::on_segment(const net::SegmentContext& segment) {
  net::SegmentVerdict verdict;
  if (next_stream_ != nullptr) verdict = next_stream_->on_segment(segment);
  const auto found = directions_.find(segment.link);
  if (found == directions_.end()) return verdict;
  Direction& direction = found->second;
  if (direction.drop > 0) {
    --direction.drop;
    ++direction.dropped;
    ++verdict.lost;
  }
  if (segment.now < direction.reset_until) verdict.reset = true;
  if (segment.now < direction.cut_until) {
    // TCP hides the loss: what was sent arrives when the link is back.
    const Duration longest = Duration::s(3600);
    verdict.delay = std::max(verdict.delay, std::min(direction.cut_until - segment.now, longest));
  }
  return verdict;
}

}  // namespace fb::python
