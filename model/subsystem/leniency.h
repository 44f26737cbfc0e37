// What a target may be told to let pass although the specification has it refused: hosts in use do it, and their users want to
// work. And the words for a command that was refused or let pass, for whoever runs the target.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ip.h"
#include "wire/nvme/status.h"

namespace fb::subsystem {

struct Leniency {
  std::string_view name;  ///< as a user gives it: "hostnqn"
  std::string_view what;
  std::vector<std::string_view> checks;  ///< those of checks.h that are left out
};
std::span<const Leniency> leniencies();
/// Null: no such name.
const Leniency* find_leniency(std::string_view name);
/// The one that leaves out this check, or null.
const Leniency* leniency_about(std::string_view check);

/// A command that a check of checks.h refused, or would have.
struct RefusedCommand {
  Endpoint peer;
  std::uint16_t qid = 0;
  ByteView sqe;
  ByteView data;      ///< of a Connect, as far as it has come
  ByteView same_cid;  ///< of Command ID Conflict: the entry of the command that has the identifier
  std::string_view check;
  nvme::Status status;
  std::uint16_t parameter_offset = 0;
  bool parameter_in_data = false;
  bool let_pass = false;
};
/// Whether a user is told of it always: a host that cannot connect, or is not let go, says little of why.
bool worth_a_line(const RefusedCommand& refused);
/// "refused Connect from 192.0.2.1:40000: HOSTNQN is empty; Connect Invalid Parameters (1/82h), offset 512 of the data
/// (--lenient hostnqn takes it)".
std::string line_for(const RefusedCommand& refused);

}  // namespace fb::subsystem
