// SES Receive and SES Send.
#include <algorithm>

#include "model/mi/agent.h"

namespace fb::mi {

void Agent::ses_receive(Exchange& exchange) {
  const auto asked = exchange.as<SesRequest>();
  Enclosure& enclosure = *device_.enclosure();
  if (!enclosure.available() && refuse(exchange, check::ses_unavailable)) return;
  const std::optional<Bytes> page = enclosure.page(asked.get(ses_request::pcode));
  if (!page) {
    if (!refuse(exchange, check::ses_page)) finish(exchange, 0, {});
    return;
  }
  const std::size_t length = std::min<std::size_t>(page->size(), asked.get(ses_request::length));
  finish(exchange, static_cast<std::uint32_t>(length), ByteView{*page}.first(length));
}

void Agent::ses_send(Exchange& exchange) {
  Enclosure& enclosure = *device_.enclosure();
  const std::size_t length = exchange.as<SesRequest>().get(ses_request::length);
  Bytes data;
  if (!request_data(exchange, MiRequest::size, length, check::ses_data, data)) return;
  if (!enclosure.available() && refuse(exchange, check::ses_unavailable)) return;
  if (data.empty()) return finish(exchange, 0, {});
  const Enclosure::Result result = enclosure.control(data);
  // The code stands in the page.
  constexpr ParameterError kCode{MiRequest::size, 0};
  if (result == Enclosure::Result::unsupported_page && refuse(exchange, check::ses_page, kCode)) return;
  if (result == Enclosure::Result::refused && refuse(exchange, check::ses_refused)) return;
  finish(exchange, 0, {});
}

}  // namespace fb::mi
