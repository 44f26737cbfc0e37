#include "sim/fault/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace fb::fault {

namespace {

bool read_number(std::string_view text, std::uint64_t& value) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && end.ec == std::errc{} && end.ptr == text.data() + text.size();
}

Failure<Problem> wrong(std::string_view text, const std::string& why) {
  return Failure{Problem{fmt::format("no decision: '{}': {}", text, why)}};
}

std::string_view thing_of(Site site) {
  switch (site) {
    case Site::packet:
      return "packet";
    case Site::segment:
      return "segment";
    case Site::pdu:
      return "PDU";
    case Site::receive:
      return "message";
    case Site::key:
      return "key use";
    case Site::admission:
      return "I/O command";
    case Site::admin:
      return "admin command";
    case Site::completion:
      return "the completion of I/O command";
    case Site::media:
      return "media access";
    case Site::frame:
      return "frame";
    case Site::step:
      return "step";
    case Site::passage:
      return "PDU";
  }
  return "thing";
}

std::string place_words(const Place& place) {
  const std::size_t arrow = place.where.find("->");
  if (arrow != std::string::npos) {
    return " from " + place.where.substr(0, arrow) + " to " + place.where.substr(arrow + 2);
  }
  if (place.site == Site::step || place.where.empty()) return {};
  return (place.site == Site::pdu || place.site == Site::passage ? " from " : " at ") + place.where;
}

void replace(std::string& text, std::string_view what, std::string_view with) {
  if (const std::size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), with);
}

/// It fails a command, which is tried again.
bool is_status(Kind kind) { return kind == Kind::status || kind == Kind::media_error || kind == Kind::write_fault; }

/// It ends an association, or may.
bool is_loss(Kind kind) {
  switch (kind) {
    case Kind::segment_reset:
    case Kind::pdu_corrupt:
    case Kind::queue_pair_error:
    case Kind::key_invalidate:
    case Kind::fatal:
    case Kind::withhold:
    case Kind::disconnect:
    case Kind::controller_reset:
    case Kind::subsystem_reset:
    case Kind::power_cycle:
    case Kind::associations_end:
    case Kind::admin_withhold:
    case Kind::half_close:
    case Kind::keep_alive_lost:
      return true;
    default:
      return false;
  }
}

/// It takes a link away for its amount.
bool is_outage(Kind kind) { return kind == Kind::partition || kind == Kind::segment_hold; }

bool is_small_path(const Decision& decision) { return decision.kind == Kind::mtu || decision.kind == Kind::segment_mtu; }

}  // namespace

std::string to_string(const Place& place) {
  return place.where.empty() ? std::string(name_of(place.site)) : fmt::format("{}:{}", name_of(place.site), place.where);
}

std::string to_string(const Decision& decision) {
  std::string text = fmt::format("{}#{} {}", to_string(decision.place), decision.ordinal, name_of(decision.kind));
  if (facts_of(decision.kind).unit != Unit::none) text += fmt::format(" {}", decision.amount);
  return text;
}

Result<Decision> parse_decision(std::string_view text) {
  Decision decision;
  const std::size_t hash = text.find('#');
  const std::size_t space = hash == std::string_view::npos ? hash : text.find(' ', hash);
  if (space == std::string_view::npos) return wrong(text, "it has the form PLACE#NUMBER KIND [AMOUNT]");
  if (!read_number(text.substr(hash + 1, space - hash - 1), decision.ordinal)) return wrong(text, "no number after '#'");
  std::string_view rest = text.substr(space + 1);
  const std::size_t gap = rest.find(' ');
  const KindFacts* const facts = find_kind(rest.substr(0, gap));
  if (facts == nullptr) return wrong(text, fmt::format("unknown kind of fault '{}'", rest.substr(0, gap)));
  decision.kind = facts->kind;
  const std::string_view place = text.substr(0, hash);
  const std::size_t colon = place.find(':');
  if (place.substr(0, colon) != name_of(facts->site)) {
    return wrong(text, fmt::format("{} can occur at a {}, not at a {}", facts->name, name_of(facts->site), place.substr(0, colon)));
  }
  decision.place = {facts->site, std::string(colon == std::string_view::npos ? "" : place.substr(colon + 1))};
  const bool has_amount = gap != std::string_view::npos;
  if (has_amount != (facts->unit != Unit::none)) {
    return wrong(text, has_amount ? "this kind has no amount" : "this kind needs an amount");
  }
  if (!has_amount) return decision;
  if (!read_number(rest.substr(gap + 1), decision.amount)) return wrong(text, "its amount is not a number");
  if (decision.amount < facts->low || decision.amount > facts->high) {
    return wrong(text, fmt::format("its amount lies outside of {} to {}", facts->low, facts->high));
  }
  return decision;
}

std::string tell(const Decision& decision) {
  const KindFacts& facts = facts_of(decision.kind);
  std::string text(facts.story);
  replace(text, "{thing}", fmt::format("{} {}{}", thing_of(facts.site), decision.ordinal, place_words(decision.place)));
  std::string amount = amount_text(facts.unit, decision.amount);
  if (decision.kind == Kind::segment_lose) amount += decision.amount == 1 ? " time" : " times";
  replace(text, "{amount}", amount);
  return text;
}

std::string Schedule::beyond(const Budget& budget) const {
  unsigned statuses = 0, losses = 0, frames = 0;
  bool path_changes = false, answer_lost = false;
  std::uint64_t outage = 0;
  for (const Decision& decision : decisions) {
    if (is_status(decision.kind)) ++statuses;
    if (is_loss(decision.kind)) ++losses;
    if (decision.place.site == Site::frame) ++frames;
    path_changes = path_changes || decision.kind == Kind::ana || (decision.kind == Kind::status && decision.amount >> 8 == 3);
    answer_lost = answer_lost || decision.kind == Kind::admin_withhold;
    if (is_outage(decision.kind)) outage += decision.amount;
  }
  if (const auto small = std::find_if(decisions.begin(), decisions.end(), is_small_path); small != decisions.end())
    return fmt::format("a path loses every packet above {}: whatever needs larger ones is never delivered",
                       amount_text(Unit::bytes, small->amount));
  if (lies()) return "bytes are changed behind the checks that would notice it";
  if (statuses > budget.statuses) {
    return fmt::format("{} failed attempts; a host makes {} good", statuses, budget.statuses);
  }
  if (losses > budget.losses) return fmt::format("{} lost associations; a command survives {}", losses, budget.losses);
  if (frames > budget.frames) return fmt::format("{} spoilt frames; a question is asked {} times", frames, budget.frames + 1);
  if (path_changes && answer_lost) return "a path changes and an answer that tells of it may be lost: a host takes it as gone";
  if (outage > budget.outage_ns) {
    return fmt::format("links are down for {} in all; {} are survived", amount_text(Unit::nanoseconds, outage),
                       amount_text(Unit::nanoseconds, budget.outage_ns));
  }
  return {};
}

bool Schedule::lies() const {
  return std::any_of(decisions.begin(), decisions.end(), [](const Decision& decision) { return facts_of(decision.kind).lies; });
}

}  // namespace fb::fault
