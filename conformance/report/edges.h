// Coverage of values: which edges of important fields (0, 1, and the two largest that fit) were on the wire.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/evidence/observer.h"
#include "conformance/report/edge_fields.h"

namespace fb::conformance {

/// 0, 1, max - 1, max.
inline constexpr std::size_t kEdgesOfField = 4;

class EdgeCounts {
 public:
  template <class Field>
  void see(EdgeFieldId id, Field, const std::uint8_t* structure) {
    const std::uint64_t value = Field::get_raw(structure);
    auto& counts = counts_[static_cast<std::size_t>(id)];
    if (value <= 1) {
      ++counts[value];
    } else if (value >= Field::mask() - 1) {
      ++counts[value == Field::mask() ? 3 : 2];
    }
  }
  void add(const EdgeCounts& other);
  std::uint64_t of(EdgeFieldId id, std::size_t edge) const { return counts_[static_cast<std::size_t>(id)][edge]; }

 private:
  std::array<std::array<std::uint64_t, kEdgesOfField>, kEdgeFields> counts_{};
};

/// Counts what a dissector tells.
class EdgeObserver final : public evidence::Observer {
 public:
  const EdgeCounts& counts() const { return counts_; }

  void on_roce_packet(const evidence::RocePacketSeen& seen) override;
  void on_cm(const evidence::CmSeen& seen) override;
  void on_pdu(const evidence::PduSeen& seen) override;
  void on_command(const evidence::CommandSeen& seen) override;
  void on_completion(const evidence::CompletionSeen& seen) override;
  void on_mctp_packet(const evidence::MctpPacketSeen& seen) override;
  void on_mctp_message(const evidence::MctpMessageSeen& seen) override;

 private:
  EdgeCounts counts_;
};

struct EdgeFieldFacts {
  std::string_view where;  ///< "Connect"
  std::string_view name;   ///< "sqsize"
  unsigned bits;
};
EdgeFieldFacts facts_of(EdgeFieldId id);
/// "0", "1", "max - 1 (65534)", "max (65535)".
std::string edge_text(unsigned bits, std::size_t edge);

}  // namespace fb::conformance
