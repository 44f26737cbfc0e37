// What an endpoint says of itself in the control protocol: EIDs, identity, versions, types.
#include <algorithm>

#include "model/deviations/catalogue/mctp_shapes.h"

namespace fb::deviations {

namespace {

using mctp::control::Command;
using mctp::control::Completion;
using shape::is;
using shape::succeeded;

bool sets_eid(ByteView request) { return is(request, Command::set_endpoint_id) && request.size() > 4; }
unsigned operation(ByteView request) { return request[3] & 3u; }

// ---- Set Endpoint ID ----

/// Changes answers to Set Endpoint ID that were successes, seven bytes long.
template <auto Change>
void of_set_eid(ByteView request, Bytes& answer) {
  if (sets_eid(request) && succeeded(answer) && answer.size() >= 7) Change(request, answer);
}

void hides_rejection(ByteView, Bytes& answer) { answer[4] &= 0xCF; }
void says_rejected(ByteView, Bytes& answer) { answer[4] |= 0x10; }
void says_another_eid(ByteView, Bytes& answer) { ++answer[5]; }
void says_seven_bits(ByteView, Bytes& answer) { answer[5] &= 0x7F; }
void cuts_the_pool_size(ByteView, Bytes& answer) { answer.pop_back(); }
void wants_a_pool(ByteView, Bytes& answer) { answer[4] |= 0x01; }
void has_a_pool(ByteView, Bytes& answer) { answer[6] = 16; }
void reserved_status_bit(ByteView, Bytes& answer) { answer[4] |= 0x80; }
void inner_reserved_status_bit(ByteView, Bytes& answer) { answer[4] |= 0x08; }
void refuses_force(ByteView request, Bytes& answer) {
  if (operation(request) == 1) answer = shape::refusal(request, Completion::invalid_data);
}

Bytes accepted(ByteView request, std::uint8_t eid) {
  const std::uint8_t data[] = {0, eid, 0};
  return mctp::control::make_response(request, Completion::success, data);
}
void claims_low_eids(ByteView request, Bytes& answer) {
  if (sets_eid(request) && request[4] < 8 && request[4] > 0) answer = accepted(request, request[4]);
}
void claims_the_null_eid(ByteView request, Bytes& answer) {
  if (sets_eid(request) && operation(request) < 2 && request[4] == 0) answer = accepted(request, 0);
}
void claims_the_broadcast_eid(ByteView request, Bytes& answer) {
  if (sets_eid(request) && operation(request) == 1 && request[4] == 0xFF) answer = accepted(request, 0xFF);
}
void resets_without_static(ByteView request, Bytes& answer) {
  if (sets_eid(request) && operation(request) == 2 && !succeeded(answer)) answer = accepted(request, 9);
}
void refuses_static(ByteView request, Bytes& answer) {
  if (sets_eid(request) && operation(request) == 2) answer = shape::refusal(request, Completion::invalid_data);
}
void claims_discovered(ByteView request, Bytes& answer) {
  if (sets_eid(request) && operation(request) == 3) answer = accepted(request, 9);
}

/// Rejects an EID when it has one already, forced or not.
class HoldsOnToItsEid final : public mctp::EndpointHooks {
 public:
  explicit HoldsOnToItsEid(unsigned operation) : operation_(operation) {}
  void packet_in(const mctp::PhysicalAddress&, Bytes& packet) override {
    if (packet.size() < 9 || !shape::starts_control(packet) || packet[6] != 0x01) return;
    if ((packet[7] & 3u) != operation_) return;
    // Told the EID that it has, it says success and changes nothing.
    if (had_ != 0) packet[8] = had_;
    had_ = packet[8];
  }

 private:
  unsigned operation_;
  std::uint8_t had_ = 0;
};

/// Takes no EID above 127.
void takes_seven_bits(Bytes& packet) {
  if (packet.size() >= 9 && shape::starts_control(packet) && packet[6] == 0x01) packet[8] &= 0x7F;
}

// ---- Get Endpoint ID ----

template <auto Change>
void of_get_eid(ByteView request, Bytes& answer) {
  if (is(request, Command::get_endpoint_id) && succeeded(answer) && answer.size() >= 7) Change(answer);
}
void next_eid(Bytes& answer) { ++answer[4]; }
void low_eid(Bytes& answer) { answer[4] &= 0x7F; }
void eid_8_at_first(Bytes& answer) {
  if (answer[4] == 0) answer[4] = 8;
}
void two_bytes(Bytes& answer) { answer.pop_back(); }
void four_bytes(Bytes& answer) { answer.push_back(0); }
void says_bridge(Bytes& answer) { answer[5] |= 0x10; }
void says_type_2(Bytes& answer) { answer[5] |= 0x20; }
void reserved_type_bit(Bytes& answer) { answer[5] |= 0x40; }
void inner_reserved_type_bit(Bytes& answer) { answer[5] |= 0x04; }
void medium_bits(Bytes& answer) { answer[6] |= 0x80; }
void says_static(Bytes& answer) { answer[5] = static_cast<std::uint8_t>((answer[5] & 0xFC) | 1); }
void says_dynamic(Bytes& answer) { answer[5] &= 0xFC; }
void says_same_always(Bytes& answer) {
  if ((answer[5] & 3) != 0) answer[5] = static_cast<std::uint8_t>((answer[5] & 0xFC) | 2);
}

// ---- UUID ----

template <auto Change>
void of_uuid(ByteView request, Bytes& answer) {
  if (is(request, Command::get_endpoint_uuid) && succeeded(answer) && answer.size() >= 20) Change(request, answer);
}
void nil(ByteView, Bytes& answer) { std::fill(answer.begin() + 4, answer.end(), std::uint8_t{0}); }
void all_ones(ByteView, Bytes& answer) { std::fill(answer.begin() + 4, answer.end(), std::uint8_t{0xFF}); }
void fails(ByteView request, Bytes& answer) { answer = shape::refusal(request, Completion::error); }
void unsupported(ByteView request, Bytes& answer) { answer = shape::refusal(request, Completion::unsupported_command); }
void fifteen_bytes(ByteView, Bytes& answer) { answer.pop_back(); }
void with_a_format(ByteView, Bytes& answer) { answer.insert(answer.begin() + 4, std::uint8_t{0}); }
void with_the_instance(ByteView request, Bytes& answer) { answer.back() ^= static_cast<std::uint8_t>(request[1] & 0x1F); }
class AnotherUuidEachTime final : public mctp::EndpointHooks {
 public:
  bool control_answer(ByteView request, Bytes& answer) override {
    if (is(request, Command::get_endpoint_uuid) && answer.size() >= 20) answer[19] = ++asked_;
    return true;
  }

 private:
  std::uint8_t asked_ = 0;
};
class UuidOfTheEid final : public mctp::EndpointHooks {
 public:
  bool control_answer(ByteView request, Bytes& answer) override {
    if (sets_eid(request) && succeeded(answer)) eid_ = request[4];
    if (is(request, Command::get_endpoint_uuid) && answer.size() >= 20) answer[19] = eid_;
    return true;
  }

 private:
  std::uint8_t eid_ = 0;
};

// ---- versions, types, vendors, interfaces ----

template <std::uint8_t Type, auto Change>
void of_version(ByteView request, Bytes& answer) {
  if (is(request, Command::get_version_support) && request.size() > 3 && request[3] == Type && succeeded(answer)) {
    Change(request, answer);
  }
}
void one_too_many(ByteView, Bytes& answer) { ++answer[4]; }
void counts_from_0(ByteView, Bytes& answer) { --answer[4]; }
void no_versions(ByteView, Bytes& answer) {
  answer.resize(5);
  answer[4] = 0;
}
void not_in_digits(ByteView, Bytes& answer) { answer[6] = 0x0A; }
void control_letter(ByteView, Bytes& answer) { answer[8] = 0x1B; }
void version_2(ByteView, Bytes& answer) {
  for (std::size_t at = 5; at + 3 < answer.size(); at += 4) answer[at] = 0xF2;
}
void low_nibble_first(ByteView, Bytes& answer) { answer[5] = 0x1F; }
void not_supported(ByteView request, Bytes& answer) { answer = shape::refusal(request, Completion::command_specific); }
void refuses_for_the_data(ByteView, Bytes& answer) {
  if (is(answer, Command::get_version_support) && answer[3] == 0x80) answer[3] = 0x02;
}
void knows_spdm(ByteView request, Bytes& answer) {
  if (is(request, Command::get_version_support) && request.size() > 3 && request[3] == 0x05) {
    const std::uint8_t data[] = {1, 0xF1, 0xF0, 0xFF, 0};
    answer = mctp::control::make_response(request, Completion::success, data);
  }
}
void versions_of_fe(ByteView request, Bytes& answer) {
  if (is(request, Command::get_version_support) && request.size() > 3 && request[3] == 0xFE) answer[3] = 0;
}

template <auto Change>
void of_types(ByteView request, Bytes& answer) {
  if (is(request, Command::get_message_type_support) && succeeded(answer) && answer.size() >= 5) Change(answer);
}
void counts_control(Bytes& answer) { ++answer[4]; }
void lists_control(Bytes& answer) {
  ++answer[4];
  answer.insert(answer.begin() + 5, std::uint8_t{0});
}
void lists_twice(Bytes& answer) {
  ++answer[4];
  answer.push_back(0x04);
}
void lists_pldm_instead(Bytes& answer) {
  if (answer.size() > 5) answer[5] = 0x01;
}
void lists_ic(Bytes& answer) {
  if (answer.size() > 5) answer[5] = 0x84;
}
void lists_pldm(Bytes& answer) {
  ++answer[4];
  answer.push_back(0x01);
}

void selectors_for_ever(ByteView request, Bytes& answer) {
  if (!is(request, Command::get_vendor_support)) return;
  const std::uint8_t data[] = {request.size() > 3 ? request[3] : std::uint8_t{0}, 0, 0x14, 0x4D, 0, 1};
  answer = mctp::control::make_response(request, Completion::success, data);
}
void long_vendor_ids(ByteView request, Bytes& answer) {
  if (!is(request, Command::get_vendor_support)) return;
  const std::uint8_t data[] = {0xFF, 0, 0, 0, 0x14, 0x4D, 0, 1};
  answer = mctp::control::make_response(request, Completion::success, data);
}
void another_format(ByteView request, Bytes& answer) {
  if (!is(request, Command::get_vendor_support)) return;
  const std::uint8_t data[] = {0xFF, 2, 0x14, 0x4D, 0, 1};
  answer = mctp::control::make_response(request, Completion::success, data);
}
void vendors_fail(ByteView request, Bytes& answer) {
  if (is(request, Command::get_vendor_support)) answer = shape::refusal(request, Completion::error);
}

template <auto Change>
void of_interfaces(ByteView request, Bytes& answer) {
  if (is(request, Command::query_supported_interfaces) && succeeded(answer) && answer.size() >= 7) Change(answer);
}
void counts_one_more(Bytes& answer) { ++answer[4]; }
void no_eid(Bytes& answer) { answer[6] = 0; }
void allocates(ByteView request, Bytes& answer) {
  if (is(request, Command::allocate_endpoint_ids)) answer[3] = 0x02;
}

// ---- lists ----

void first_vendor_alone(ByteView request, Bytes& answer) {
  if (is(request, Command::get_vendor_support) && succeeded(answer) && answer.size() > 5) answer[4] = 0xFF;
}
void vendors_low_byte_first(ByteView request, Bytes& answer) {
  if (is(request, Command::get_vendor_support) && succeeded(answer) && answer.size() > 8) {
    std::reverse(answer.begin() + 6, answer.end() - 2);
  }
}
void three_versions(ByteView request, Bytes& answer) {
  if (!is(request, Command::get_version_support) || !succeeded(answer) || answer[4] <= 3) return;
  answer[4] = 3;
  answer.resize(5 + 3 * 4);
}
void networks_are_zero(ByteView request, Bytes& answer) {
  if (is(request, Command::get_network_id) && succeeded(answer)) std::fill(answer.begin() + 4, answer.end(), std::uint8_t{0});
}
void networks_are_missing(ByteView request, Bytes& answer) {
  if (is(request, Command::get_network_id)) answer = shape::refusal(request, Completion::success);
}
void rates_of_any_size(ByteView request, Bytes& answer) {
  if (!is(request, Command::request_tx_rate_limit) || succeeded(answer) || request.size() < 10) return;
  Bytes data = {0};
  data.insert(data.end(), request.begin() + 3, request.begin() + 10);
  answer = mctp::control::make_response(request, Completion::success, data);
}

}  // namespace

DEVIATION(says_that_it_rejects_an_eid, "mctp.control.set-eid.accepted", Product::endpoint, "takes an EID and says that it rejects it (F21)",
          hooks<ControlAnswers<of_set_eid<says_rejected>>>());
DEVIATION(says_another_eid_than_it_takes, "mctp.control.set-eid.accepted", Product::endpoint,
          "answers Set Endpoint ID with another EID (F21)", hooks<ControlAnswers<of_set_eid<says_another_eid>>>());
DEVIATION(says_seven_bits_of_its_eid, "mctp.control.set-eid.accepted", Product::endpoint,
          "answers Set Endpoint ID with seven bits of the EID", hooks<ControlAnswers<of_set_eid<says_seven_bits>>>());
DEVIATION(accepts_an_eid_and_keeps_the_old, "mctp.control.set-eid.accepted", Product::endpoint,
          "accepts an EID and goes on with the old one", Departs{mctp::departure::kControlEidKept});
DEVIATION(takes_seven_bits_of_an_eid, "mctp.control.set-eid.accepted", Product::endpoint, "takes seven bits of the EID that it is given",
          hooks<PacketsIn<takes_seven_bits>>());
DEVIATION(answers_set_endpoint_id_without_a_pool_size, "mctp.control.set-eid.accepted", Product::endpoint,
          "answers Set Endpoint ID without a pool size", hooks<ControlAnswers<of_set_eid<cuts_the_pool_size>>>());
DEVIATION(asks_for_a_pool, "mctp.control.set-eid.pool", Product::endpoint, "asks for EIDs and is no bridge",
          hooks<ControlAnswers<of_set_eid<wants_a_pool>>>());
DEVIATION(says_a_pool_size, "mctp.control.set-eid.pool", Product::endpoint, "says a pool size and is no bridge",
          hooks<ControlAnswers<of_set_eid<has_a_pool>>>());
DEVIATION(sets_bit_7_of_the_assignment, "mctp.control.set-eid.reserved", Product::endpoint, "sets bit 7 of the status of Set Endpoint ID",
          hooks<ControlAnswers<of_set_eid<reserved_status_bit>>>());
DEVIATION(sets_bit_3_of_the_assignment, "mctp.control.set-eid.reserved", Product::endpoint, "sets bit 3 of the status of Set Endpoint ID",
          hooks<ControlAnswers<of_set_eid<inner_reserved_status_bit>>>());
DEVIATION(takes_eid_0, "mctp.control.set-eid.null", Product::endpoint, "takes any EID, 0 included",
          Departs{mctp::departure::kControlEidRange});
DEVIATION(claims_to_take_eid_0, "mctp.control.set-eid.null", Product::endpoint, "says success to EID 0",
          hooks<ControlAnswers<claims_the_null_eid>>());
DEVIATION(takes_eid_255, "mctp.control.set-eid.broadcast", Product::endpoint, "takes any EID, 255 included",
          Departs{mctp::departure::kControlEidRange});
DEVIATION(claims_to_take_eid_255_when_forced, "mctp.control.set-eid.broadcast", Product::endpoint,
          "says success to EID 255 when it is forced", hooks<ControlAnswers<claims_the_broadcast_eid>>());
DEVIATION(claims_to_take_reserved_eids, "mctp.control.set-eid.low", Product::endpoint, "says success to EIDs 1 to 7 and keeps its own",
          hooks<ControlAnswers<claims_low_eids>>());
DEVIATION(refuses_forced_eids, "mctp.control.set-eid.force", Product::endpoint, "refuses an EID that is forced",
          hooks<ControlAnswers<of_set_eid<refuses_force>>>());
DEVIATION(keeps_its_eid_against_force, "mctp.control.set-eid.force", Product::endpoint, "keeps its EID when another is forced",
          hooks<HoldsOnToItsEid, 1u>());
DEVIATION(keeps_the_first_eid_that_it_was_given, "mctp.control.set-eid.again", Product::endpoint, "keeps the first EID that it was given",
          hooks<HoldsOnToItsEid, 0u>());
DEVIATION(resets_to_a_static_eid_that_it_does_not_have, "mctp.control.set-eid.reset", Product::endpoint,
          "says success to reset to a static EID and has none", hooks<ControlAnswers<resets_without_static>>());
DEVIATION(refuses_to_reset_to_its_static_eid, "mctp.control.set-eid.static", Product::endpoint, "refuses to go back to its static EID",
          hooks<ControlAnswers<refuses_static>>());
DEVIATION(says_no_static_eid, "mctp.control.set-eid.static", Product::endpoint, "says that it has no static EID",
          hooks<ControlAnswers<of_get_eid<says_dynamic>>>());
DEVIATION(says_static_eid_whatever_it_has, "mctp.control.set-eid.static", Product::endpoint,
          "says that it has its static EID when it has another", hooks<ControlAnswers<of_get_eid<says_same_always>>>());
DEVIATION(takes_eids_from_a_second_owner, "mctp.control.set-eid.second-owner", Product::endpoint,
          "takes an EID from a second bus owner, unforced", Departs{mctp::departure::kControlForeignOwner});
DEVIATION(hides_that_it_keeps_its_first_owners_eid, "mctp.control.set-eid.second-owner", Product::endpoint,
          "rejects the EID of a second bus owner and says that it was accepted", hooks<ControlAnswers<of_set_eid<hides_rejection>>>());
DEVIATION(says_discovered_on_smbus, "mctp.smbus.set-discovered", Product::endpoint, "says success to the Discovered flag on SMBus",
          hooks<ControlAnswers<claims_discovered>>());
DEVIATION(says_the_next_eid, "mctp.control.get-eid.value", Product::endpoint, "says an EID that is one above its own",
          hooks<ControlAnswers<of_get_eid<next_eid>>>());
DEVIATION(says_seven_bits_when_asked, "mctp.control.get-eid.value", Product::endpoint, "says seven bits of its EID",
          hooks<ControlAnswers<of_get_eid<low_eid>>>());
DEVIATION(says_8_before_any_was_assigned, "mctp.control.get-eid.unassigned", Product::endpoint, "says EID 8 before any was assigned",
          hooks<ControlAnswers<of_get_eid<eid_8_at_first>>>());
DEVIATION(answers_get_endpoint_id_without_the_medium, "mctp.control.get-eid.size", Product::endpoint,
          "answers Get Endpoint ID in two bytes", hooks<ControlAnswers<of_get_eid<two_bytes>>>());
DEVIATION(answers_get_endpoint_id_in_four_bytes, "mctp.control.get-eid.size", Product::endpoint, "answers Get Endpoint ID in four bytes",
          hooks<ControlAnswers<of_get_eid<four_bytes>>>());
DEVIATION(says_that_it_is_a_bridge, "mctp.control.get-eid.type", Product::endpoint, "says that it is a bridge",
          hooks<ControlAnswers<of_get_eid<says_bridge>>>());
DEVIATION(says_a_reserved_endpoint_type, "mctp.control.get-eid.type", Product::endpoint, "says a reserved endpoint type",
          hooks<ControlAnswers<of_get_eid<says_type_2>>>());
DEVIATION(sets_bit_6_of_the_types, "mctp.control.get-eid.reserved", Product::endpoint, "sets bit 6 of the types in Get Endpoint ID",
          hooks<ControlAnswers<of_get_eid<reserved_type_bit>>>());
DEVIATION(sets_bit_2_of_the_types, "mctp.control.get-eid.reserved", Product::endpoint, "sets bit 2 of the types in Get Endpoint ID",
          hooks<ControlAnswers<of_get_eid<inner_reserved_type_bit>>>());
DEVIATION(sets_bits_of_the_medium, "mctp.control.get-eid.reserved", Product::endpoint, "sets a bit of the medium's byte in Get Endpoint ID",
          hooks<ControlAnswers<of_get_eid<medium_bits>>>());
DEVIATION(says_static_and_cannot_reset, "mctp.control.get-eid.static", Product::endpoint,
          "says that it supports a static EID and refuses to reset to it", hooks<ControlAnswers<of_get_eid<says_static>>>());
DEVIATION(resets_and_says_dynamic, "mctp.control.get-eid.static", Product::endpoint,
          "says that it has dynamic EIDs alone and resets to a static one", hooks<ControlAnswers<resets_without_static>>());
DEVIATION(has_no_uuid, "mctp.control.uuid.offered", Product::endpoint, "does not know Get Endpoint UUID (F19)",
          hooks<ControlAnswers<of_uuid<unsupported>>>());
DEVIATION(fails_to_say_its_uuid, "mctp.control.uuid.answered", Product::endpoint, "says error to Get Endpoint UUID (F19)",
          hooks<ControlAnswers<of_uuid<fails>>>());
DEVIATION(says_fifteen_bytes_of_its_uuid, "mctp.control.uuid.size", Product::endpoint, "says fifteen bytes of its UUID",
          hooks<ControlAnswers<of_uuid<fifteen_bytes>>>());
DEVIATION(says_a_byte_before_its_uuid, "mctp.control.uuid.size", Product::endpoint, "says a byte of its own in front of its UUID",
          hooks<ControlAnswers<of_uuid<with_a_format>>>());
DEVIATION(has_a_nil_uuid, "mctp.control.uuid.value", Product::endpoint, "has a UUID of zeros (F18)", hooks<ControlAnswers<of_uuid<nil>>>());
DEVIATION(has_a_uuid_of_ones, "mctp.control.uuid.value", Product::endpoint, "has a UUID of ones, as erased memory does",
          hooks<ControlAnswers<of_uuid<all_ones>>>());
DEVIATION(says_another_uuid_each_time, "mctp.control.uuid.stable", Product::endpoint, "says another UUID each time",
          hooks<AnotherUuidEachTime>());
DEVIATION(makes_its_uuid_of_its_eid, "mctp.control.uuid.stable", Product::endpoint, "has another UUID with another EID",
          hooks<UuidOfTheEid>());
DEVIATION(makes_its_uuid_of_the_request, "mctp.control.uuid.stable", Product::endpoint, "mixes the instance ID into its UUID",
          hooks<ControlAnswers<of_uuid<with_the_instance>>>());
DEVIATION(counts_a_version_too_many, "mctp.control.version.base", Product::endpoint, "counts more control versions than it lists",
          hooks<ControlAnswers<of_version<0x00, one_too_many>>>());
DEVIATION(counts_versions_from_0, "mctp.control.version.base", Product::endpoint, "counts base versions from 0",
          hooks<ControlAnswers<of_version<0xFF, counts_from_0>>>());
DEVIATION(lists_no_base_version, "mctp.control.version.base", Product::endpoint, "lists no version of the base",
          hooks<ControlAnswers<of_version<0xFF, no_versions>>>());
DEVIATION(lists_versions_in_binary, "mctp.control.version.base", Product::endpoint, "writes version numbers in binary",
          hooks<ControlAnswers<of_version<0x00, not_in_digits>>>());
DEVIATION(lists_versions_with_nibbles_swapped, "mctp.control.version.base", Product::endpoint,
          "writes version numbers with their digits swapped", hooks<ControlAnswers<of_version<0xFF, low_nibble_first>>>());
DEVIATION(lists_versions_with_a_strange_letter, "mctp.control.version.base", Product::endpoint,
          "has something else than a letter behind a version", hooks<ControlAnswers<of_version<0xFF, control_letter>>>());
DEVIATION(lists_version_2_of_the_base, "mctp.control.version.base", Product::endpoint, "lists 2.x as the only versions of the base",
          hooks<ControlAnswers<of_version<0xFF, version_2>>>());
DEVIATION(has_no_version_of_nvme_mi, "mctp.control.version.nvme-mi", Product::endpoint, "refuses to say its version of NVMe-MI",
          hooks<ControlAnswers<of_version<0x04, not_supported>>>());
DEVIATION(lists_the_version_of_nvme_mi_in_binary, "mctp.control.version.nvme-mi", Product::endpoint,
          "writes its version of NVMe-MI in binary", hooks<ControlAnswers<of_version<0x04, not_in_digits>>>());
DEVIATION(counts_versions_of_nvme_mi_from_0, "mctp.control.version.nvme-mi", Product::endpoint, "counts versions of NVMe-MI from 0",
          hooks<ControlAnswers<of_version<0x04, counts_from_0>>>());
DEVIATION(has_a_version_for_any_type, "mctp.control.version.unsupported", Product::endpoint, "gives a version for any message type",
          Departs{mctp::departure::kControlVersionType});
DEVIATION(has_a_version_of_spdm, "mctp.control.version.unsupported", Product::endpoint, "gives a version for SPDM, which it does not list",
          hooks<ControlAnswers<knows_spdm>>());
DEVIATION(has_a_version_of_feh, "mctp.control.version.unsupported", Product::endpoint, "says success to versions of FEh",
          hooks<ControlAnswers<versions_of_fe>>());
DEVIATION(refuses_unsupported_types_for_their_data, "mctp.control.version.unsupported", Product::endpoint,
          "refuses versions of unsupported types with 02h", hooks<ControlAnswers<refuses_for_the_data>>());
DEVIATION(counts_control_among_its_types, "mctp.control.types.count", Product::endpoint,
          "counts control among its message types and does not list it", hooks<ControlAnswers<of_types<counts_control>>>());
DEVIATION(lists_control_among_its_types, "mctp.control.types.list", Product::endpoint, "lists control among its message types",
          hooks<ControlAnswers<of_types<lists_control>>>());
DEVIATION(lists_a_type_twice, "mctp.control.types.list", Product::endpoint, "lists a message type twice",
          hooks<ControlAnswers<of_types<lists_twice>>>());
DEVIATION(does_not_list_nvme_mi, "mctp.control.types.list", Product::endpoint, "lists PLDM in the place of NVMe-MI",
          hooks<ControlAnswers<of_types<lists_pldm_instead>>>());
DEVIATION(lists_types_with_ic, "mctp.control.types.list", Product::endpoint, "lists NVMe-MI as 84h",
          hooks<ControlAnswers<of_types<lists_ic>>>());
DEVIATION(lists_a_type_without_a_version, "mctp.control.types.versions", Product::endpoint,
          "lists a message type that it has no version of", hooks<ControlAnswers<of_types<lists_pldm>>>());
DEVIATION(repeats_vendor_selectors_for_ever, "mctp.control.vendor", Product::endpoint,
          "gives the same vendor selector again and again (F25)", hooks<ControlAnswers<selectors_for_ever>>());
DEVIATION(says_vendor_ids_of_a_wrong_length, "mctp.control.vendor", Product::endpoint, "says PCI vendor IDs in four bytes (F25)",
          hooks<ControlAnswers<long_vendor_ids>>());
DEVIATION(says_a_reserved_vendor_format, "mctp.control.vendor", Product::endpoint, "says a reserved format of vendor IDs",
          hooks<ControlAnswers<another_format>>());
DEVIATION(fails_to_say_its_vendors, "mctp.control.vendor", Product::endpoint, "says error to Get Vendor Defined Message Support",
          hooks<ControlAnswers<vendors_fail>>());
DEVIATION(has_commands_of_bridges, "mctp.control.bridge-only", Product::endpoint, "says success to a bridge's commands",
          Departs{mctp::departure::kControlBridgeOnly});
DEVIATION(refuses_allocation_for_its_data, "mctp.control.bridge-only", Product::endpoint, "refuses Allocate Endpoint IDs with 02h",
          hooks<ControlAnswers<allocates>>());
DEVIATION(counts_an_interface_too_many, "mctp.control.interfaces", Product::endpoint, "counts more interfaces than it lists",
          hooks<ControlAnswers<of_interfaces<counts_one_more>>>());
DEVIATION(lists_its_interface_without_an_eid, "mctp.control.interfaces", Product::endpoint, "lists its interface with EID 0",
          hooks<ControlAnswers<of_interfaces<no_eid>>>());
DEVIATION(vendors_end_at_the_first, "mctp.control.vendor.list", Product::endpoint, "ends its list of vendors at the first",
          hooks<ControlAnswers<first_vendor_alone>>());
DEVIATION(vendor_ids_low_byte_first, "mctp.control.vendor.list", Product::endpoint, "says vendor IDs with the low byte first",
          hooks<ControlAnswers<vendors_low_byte_first>>());
DEVIATION(versions_end_at_three, "mctp.control.version.list", Product::endpoint, "lists three versions at most",
          hooks<ControlAnswers<three_versions>>());
DEVIATION(network_id_of_zeros, "mctp.control.network", Product::endpoint, "says zeros for the network's identifier",
          hooks<ControlAnswers<networks_are_zero>>());
DEVIATION(network_id_of_no_bytes, "mctp.control.network.none", Product::endpoint, "answers Get Network ID without an identifier",
          hooks<ControlAnswers<networks_are_missing>>());
DEVIATION(rates_beyond_the_limits_taken, "mctp.control.rate", Product::endpoint, "takes rates beyond its limits",
          hooks<ControlAnswers<rates_of_any_size>>());

}  // namespace fb::deviations
