// How the requester's calls make an answer of a reply. For its own sources.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "model/mi/requester.h"

namespace fb::mi {

/// The reply breaks a rule: no value.
template <class T>
std::optional<T> violate(Reply& reply, const Violation& violation) {
  reply.violation = violation;
  reply.outcome = Outcome::violation;
  return std::nullopt;
}

/// RDL says how much data there is, and it must be there. A length of the structure's own is checked too.
inline bool data_length_ok(Reply& reply, std::size_t length) {
  const std::size_t told = reply.nmresp() & 0xFFFF;
  if (told == reply.data().size() && told == length) return true;
  reply.violation = Violation{"data_structure.length", response::nmresp.offset, told, reply.data().size()};
  reply.outcome = Outcome::violation;
  return false;
}

/// The data of an Admin command that succeeded.
inline std::optional<Bytes> admin_bytes(Reply& reply, std::size_t length) {
  if (!reply.nvme_status().ok()) return std::nullopt;
  const ByteView data = reply.admin_data();
  if (data.size() != length) return violate<Bytes>(reply, {"admin.data.size", 0, data.size(), length});
  return Bytes(data.begin(), data.end());
}

/// Settles with `parse` of the reply when it is a success, with the reply alone otherwise.
template <class T>
Op<Answer<T>> read_reply(World& world, Op<Reply> op, std::function<std::optional<T>(Reply&)> parse) {
  auto made = make_op<Answer<T>>(world, op.what());
  auto promise = std::make_shared<Promise<Answer<T>>>(std::move(made.promise));
  // The requester holds the promise below, and with it what is told here: nothing of this holds itself.
  op.on_settled([promise, parse = std::move(parse)](const Reply& reply) {
    Answer<T> answer{reply, std::nullopt};
    if (reply.ok()) answer.value = parse(answer.reply);
    promise->settle(std::move(answer));
  });
  return made.op;
}

}  // namespace fb::mi
