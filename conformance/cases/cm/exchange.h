// What the cases on the connection manager share.
#pragma once

#include "conformance/cases/rdma/exchange.h"

namespace fb::conformance {

inline cm::Attribute attribute_of(const cm::Mad& mad) { return View<cm::MadHeader>{mad.bytes()}.get(cm::mad::attribute); }
inline std::uint64_t tid_of(const cm::Mad& mad) { return View<cm::MadHeader>{mad.bytes()}.get(cm::mad::tid); }
template <class L>
View<L> seen_as(const cm::Mad& mad) {
  return cm::message_of<L>(mad.bytes());
}
inline std::string words_of_mad(const std::optional<cm::Mad>& mad) {
  if (!mad) return "silence";
  std::string text(cm::name_of(attribute_of(*mad)));
  if (attribute_of(*mad) == cm::Attribute::rej) {
    text += " " + std::to_string(seen_as<cm::Rej>(*mad).get(cm::rej::reason));
  }
  return text;
}

/// The next MAD, which must be of this attribute.
inline std::optional<cm::Mad> mad_of(RdmaBench& bench, Check& check, cm::Attribute attribute, std::string_view what,
                                     Duration limit = kAnswerTime) {
  std::optional<cm::Mad> mad = bench.peer().wait_mad(limit);
  // A program that takes its time may say so first, once a message.
  if (mad && attribute != cm::Attribute::mra && attribute_of(*mad) == cm::Attribute::mra) mad = bench.peer().wait_mad(limit);
  const bool holds = mad && attribute_of(*mad) == attribute;
  expect(check, holds, what, std::string(cm::name_of(attribute)), words_of_mad(mad));
  if (!holds) mad.reset();
  return mad;
}

inline bool no_mad(RdmaBench& bench, Check& check, std::string_view what) {
  const auto mad = bench.peer().wait_mad(kAnswerTime);
  return expect(check, !mad, what, "silence", words_of_mad(mad));
}

/// `req` is answered with a REJ of one of these reasons, and nobody was asked to accept it.
inline void rejected_with(RdmaBench& bench, Check& check, const cm::Mad& req, std::initializer_list<std::uint16_t> reasons,
                          std::string_view what) {
  bench.peer().send_mad(req);
  const auto rej = mad_of(bench, check, cm::Attribute::rej, what);
  if (!rej) return;
  const auto said = seen_as<cm::Rej>(*rej);
  check.equal(what, said.get(cm::rej::reason), OneOf<std::uint16_t>{reasons});
  check.equal("comm ID in the REJ", said.get(cm::rej::remote_comm_id), seen_as<cm::Req>(req).get(cm::req::local_comm_id));
  check.equal("transaction of the REJ", tid_of(*rej), tid_of(req));
}

/// A DREQ of our side of a connection, that may be spoilt before it is sent.
inline cm::Mad make_dreq(RdmaBench& bench, const RawConnectionFacts& connection) {
  cm::Mad mad(cm::Attribute::dreq, std::uint64_t{bench.peer().fresh_id()} << 32);
  mad.message<cm::Dreq>()
      .set(cm::dreq::local_comm_id, connection.local_comm_id)
      .set(cm::dreq::remote_comm_id, connection.remote_comm_id)
      .set(cm::dreq::remote_qpn, connection.remote_qpn);
  return mad;
}

/// Our answer to a DREQ of theirs.
inline cm::Mad make_drep(const cm::Mad& dreq) {
  const auto asked = seen_as<cm::Dreq>(dreq);
  cm::Mad mad(cm::Attribute::drep, tid_of(dreq));
  mad.message<cm::Drep>()
      .set(cm::drep::local_comm_id, asked.get(cm::dreq::remote_comm_id))
      .set(cm::drep::remote_comm_id, asked.get(cm::dreq::local_comm_id));
  return mad;
}

}  // namespace fb::conformance
