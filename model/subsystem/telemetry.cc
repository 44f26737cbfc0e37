#include "model/subsystem/telemetry.h"

#include <algorithm>
#include <string>

#include "model/subsystem/fault_points.h"
#include "model/subsystem/subsystem.h"

namespace fb::subsystem {

namespace tm = nvme::telemetry;

void Telemetry::fill(Capture& capture, std::string_view reason) const {
  const std::size_t count = subsystem_.options().telemetry.area_3_end;
  if (!subsystem_.departs(departure::telemetry_generation)) ++capture.generation;
  capture.reason.assign(reason.begin(), reason.begin() + static_cast<std::ptrdiff_t>(std::min(reason.size(), tm::reason.size)));
  capture.blocks.assign(count * nvme::kTelemetryBlock, 0);
  const std::string state = "capture " + std::to_string(capture.generation) + " at " + std::to_string(subsystem_.world().now().count_ns()) +
                            " ns, " + std::to_string(subsystem_.temperature()) + " K, " + std::to_string(subsystem_.namespaces().size()) +
                            " namespaces, " + std::to_string(subsystem_.controllers().size()) + " controllers";
  for (std::size_t block = 0; block < count; ++block) {
    const std::string line = "block " + std::to_string(block + 1) + ", " + state + "\n";
    std::copy_n(line.begin(), std::min(line.size(), nvme::kTelemetryBlock),
                capture.blocks.begin() + static_cast<std::ptrdiff_t>(block * nvme::kTelemetryBlock));
  }
}

void Telemetry::capture_for_host() {
  fill(host_, "asked for by a host");
  const Bytes log = host_log();
  subsystem_.persistent_log().add(nvme::PersistentEventType::telemetry_created, ByteView{log}.first(nvme::TelemetryHeader::size));
}

void Telemetry::capture_by_controller(std::string_view reason) {
  fill(controller_, reason);
  available_ = true;
  if (subsystem_.departs(departure::telemetry_silent)) return;
  for (const auto& [id, controller] : subsystem_.controllers()) controller->on_telemetry();
}

/// For a deviation.
void Telemetry::forget() {
  controller_ = {};
  available_ = false;
}

Bytes Telemetry::log(const Capture& capture, std::uint8_t lid) const {
  const TelemetryOptions& options = subsystem_.options().telemetry;
  Record<nvme::TelemetryHeader> header;
  header.set(tm::lid, lid).set(tm::tcda, available_ ? 1u : 0u).set(tm::tcdgn, controller_.generation);
  if (lid == static_cast<std::uint8_t>(nvme::LogPage::telemetry_host)) {
    header.set(tm::ths, nvme::kTelemetryOfSubsystem).set(tm::thdgn, capture.generation);
  } else {
    header.set(tm::thdgn, nvme::kTelemetryOfSubsystem);  // the scope, in this page
  }
  if (!capture.blocks.empty()) {
    header.set(tm::da1lb, options.area_1_end).set(tm::da2lb, options.area_2_end).set(tm::da3lb, options.area_3_end);
  }
  Bytes page(nvme::TelemetryHeader::size + capture.blocks.size());
  std::copy(header.bytes().begin(), header.bytes().end(), page.begin());
  std::copy(capture.reason.begin(), capture.reason.end(), page.begin() + tm::reason.offset);
  std::copy(capture.blocks.begin(), capture.blocks.end(), page.begin() + nvme::TelemetryHeader::size);
  return page;
}

Bytes Telemetry::host_log() const { return log(host_, static_cast<std::uint8_t>(nvme::LogPage::telemetry_host)); }

Bytes Telemetry::controller_log() const { return log(controller_, static_cast<std::uint8_t>(nvme::LogPage::telemetry_controller)); }

}  // namespace fb::subsystem
