// Lanes: surroundings that every case which can run in them is given, without a change of the case. A lane moves the first I/O
// queue, the namespace, the controller, the port, the address family, or what happened before the case. `run --lanes` repeats
// the suite in them; "plain" is the run without.
//
// What a case leaves open, its bench supplies: bench.nsid(), RawAssociation::open_io(), bench.io_qid(). A case that names a
// queue or a namespace itself is the same in each lane. One that cannot run in a lane has a row in lane_exceptions.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fb::conformance {

struct CaseInfo;
struct Declared;
struct EmbeddedSetup;
struct Product;

/// What benches supply where a case leaves it open. The defaults are those of the plain lane.
struct Surroundings {
  static constexpr std::uint16_t kLastQueue = 0xFFFF;
  /// How an association of the same host ended before that of the case.
  enum class Earlier : std::uint8_t { none, shut_down, lost };

  std::uint16_t io_queue = 1;  ///< the first I/O queue of a case; kLastQueue: the last one that the product grants
  bool other_namespace = false;
  Earlier earlier = Earlier::none;
  /// Another host has an association with the product before the case begins.
  bool neighbour = false;
  /// It sends commands while the case runs.
  bool busy = false;
  /// CC.EN goes 1, 0, 1 before the case is handed an association.
  bool reset = false;
  /// The case comes to a further port of the product.
  bool second_port = false;
  /// I/O goes to the last blocks of the namespace instead of the first.
  bool last_blocks = false;
  /// Queues are used until their heads are about to wrap, identifiers begin near their end.
  bool near_wrap = false;
  /// Transfers of a case that leaves their length open are so many bytes and one block; 0: as short as the case likes;
  /// kMdts: the longest that the product takes.
  std::uint32_t transfer_bytes = 0;
  static constexpr std::uint32_t kMdts = 0xFFFFFFFF;
  /// I/O queues of a host under test that is told to have one.
  std::uint16_t host_queues = 1;
  /// The host loses its association and makes a new one before the case goes on.
  bool reconnect = false;
  /// RDMA: another connection of the device is up before the case begins.
  bool other_connection = false;
  /// NVMe-MI: the two command slots change places.
  bool other_slot = false;
  std::uint8_t eid = 0;  ///< that a management endpoint is given; 0: the usual one
  /// NDK: how calls that may pend are answered, where the case leaves it open; a value of ndk::Answers.
  std::uint8_t answers = 0;
};

struct Lane {
  std::string_view name;
  std::string_view text;
  /// Whether the case over this transport meets anything different in the lane.
  bool (*concerns)(const CaseInfo& info, std::string_view transport) = nullptr;
  Surroundings around = {};
  /// Changes the emulated product and network: before and after the case has arranged its own.
  void (*vary)(EmbeddedSetup&) = nullptr;
  void (*settle)(EmbeddedSetup&) = nullptr;
  /// Why a product that declares this cannot be tested in the lane, or nothing.
  std::optional<std::string> (*needs)(const Declared&) = nullptr;
  /// A third-party product can be given these surroundings too.
  bool third_party = false;

  bool plain() const { return concerns == nullptr; }
  /// What the product declares differs from the plain lane.
  bool redeclares() const { return vary != nullptr || settle != nullptr || around.other_namespace; }
};

/// The lane of a run without lanes.
const Lane& plain_lane();
/// All, the plain one first.
const std::vector<Lane>& all_lanes();

/// By name, "all" for every lane that the product allows. A Problem names what is unknown, or what the product does not allow.
Result<std::vector<const Lane*>> select_lanes(const std::vector<std::string>& names, const Product& product);

/// Cases that cannot run in some lanes: each of the cases in each of the lanes.
struct LaneException {
  std::vector<std::string_view> lanes, cases;
  std::string_view transport;  ///< empty: each
  std::string_view reason;
};
const std::vector<LaneException>& lane_exceptions();
/// Why the case does not run in the lane, or nothing.
std::optional<std::string> excepted(const Lane& lane, const CaseInfo& info, std::string_view transport);

}  // namespace fb::conformance
