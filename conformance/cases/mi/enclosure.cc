// SES Receive and SES Send: the diagnostic pages of an enclosure. The pages themselves are those of SES-3.
#include <algorithm>

#include "conformance/cases/mi/commands.h"
#include "model/drive/drive.h"

namespace fb::conformance {
namespace {

using mi::Opcode;

constexpr std::uint8_t kSupportedPages = 0x00, kConfiguration = 0x01, kStatus = 0x02;
constexpr std::uint8_t kArraySlot = 0x17, kCooling = 0x03;
constexpr std::size_t kPageHeader = 4, kElement = 4, kGeneration = 4;
constexpr std::uint16_t kMost = 4096;

/// A device with an enclosure.
const furnished an_enclosure([](EmbeddedSetup& setup) { setup.managed->drive.device.enclosure = true; });

MiAnswer receive(EndpointBench& bench, std::uint8_t page, std::uint16_t length, const MiTerms& terms = {}) {
  return bench.command(Opcode::ses_receive, page, length, {}, terms);
}
MiAnswer send(EndpointBench& bench, ByteView page, std::optional<std::size_t> length = {}) {
  return bench.command(Opcode::ses_send, 0, static_cast<std::uint32_t>(length.value_or(page.size())), page);
}

/// A page, as long as it says; the case ends without it.
Bytes page_of(EndpointBench& bench, Check& check, std::uint8_t code) {
  const MiAnswer answer = receive(bench, code, kMost);
  const std::string what = fmt::format("SES page {:02x}h", code);
  check.require(success(check, answer, what) && answer.data().size() >= kPageHeader, what + " is returned", answer.describe());
  const ByteView data = answer.data();
  check.equal("code of " + what, data[0], code);
  check.require(check.equal("bytes of " + what, data.size(), kPageHeader + load_be<std::uint16_t>(&data[2])), what + " is whole");
  check.equal("RDL of " + what, answer.nmresp(), static_cast<std::uint32_t>(data.size()));
  return {data.begin(), data.end()};
}
std::vector<std::uint8_t> listed_pages(EndpointBench& bench, Check& check) {
  const Bytes page = page_of(bench, check, kSupportedPages);
  return {page.begin() + kPageHeader, page.end()};
}

/// The elements of the configuration page: for each type its code and how many there are.
std::vector<std::pair<std::uint8_t, unsigned>> element_types(EndpointBench& bench, Check& check) {
  const Bytes page = page_of(bench, check, kConfiguration);
  std::vector<std::pair<std::uint8_t, unsigned>> types;
  check.require(page.size() >= kPageHeader + kGeneration + 4, "the configuration page has a descriptor", words(page.size()));
  const unsigned enclosures = page[1] + 1u;
  std::size_t at = kPageHeader + kGeneration;
  unsigned headers = 0;
  for (unsigned i = 0; i < enclosures; ++i) {
    check.require(at + 4 <= page.size(), "as many enclosure descriptors as are counted", words(page.size()));
    headers += page[at + 2];
    at += 4u + page[at + 3];
  }
  for (unsigned i = 0; i < headers; ++i, at += 4) {
    check.require(at + 4 <= page.size(), "as many type descriptors as are counted", words(page.size()));
    types.emplace_back(page[at], page[at + 1]);
  }
  return types;
}
/// Where the elements of a type begin in a status or control page, behind the overall one.
std::size_t place_of(const std::vector<std::pair<std::uint8_t, unsigned>>& types, std::uint8_t type) {
  std::size_t at = kPageHeader + kGeneration;
  for (const auto& [code, count] : types) {
    if (code == type) return at + kElement;
    at += kElement * (1 + count);
  }
  throw CannotArrange{"the enclosure has no such element"};
}
/// A control page that selects nothing.
Bytes control_page(EndpointBench& bench, Check& check) {
  Bytes page = page_of(bench, check, kStatus);
  std::fill(page.begin() + kPageHeader + kGeneration, page.end(), std::uint8_t{0});
  page[1] = 0;
  return page;
}

}  // namespace

CONFORMANCE_CASE(ses_pages_are_returned_whole, "mi.ses.receive", roles::endpoint, needs(offers<Opcode::ses_receive>), an_enclosure) {
  const auto listed = listed_pages(bench, check);
  check.that(std::is_sorted(listed.begin(), listed.end(), std::less_equal<>()), "pages are listed in ascending order");
  check.that(!listed.empty() && listed.front() == kSupportedPages, "the list of pages has itself");
  for (const std::uint8_t code : listed) page_of(bench, check, code);
  const auto types = element_types(bench, check);
  const Bytes status = page_of(bench, check, kStatus), configuration = page_of(bench, check, kConfiguration);
  std::size_t elements = 0;
  for (const auto& [type, count] : types) elements += 1 + count;
  check.equal("bytes of the status page", status.size(), kPageHeader + kGeneration + kElement * elements);
  check.bytes("generation code of the status page", ByteView{status}.subspan(kPageHeader, kGeneration),
              ByteView{configuration}.subspan(kPageHeader, kGeneration));
}

CONFORMANCE_CASE(ses_pages_are_cut_at_the_allocation_length, "mi.ses.receive.length", roles::endpoint, needs(offers<Opcode::ses_receive>),
                 an_enclosure) {
  for (const std::uint8_t code : listed_pages(bench, check)) {
    const Bytes page = page_of(bench, check, code);
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{4}, std::size_t{5}, page.size() - 1,
                                     page.size(), page.size() + 1, std::size_t{kMost}}) {
      const MiAnswer answer = receive(bench, code, static_cast<std::uint16_t>(length));
      const std::string what = fmt::format("SES page {:02x}h with ALENGTH {}", code, length);
      if (!success(check, answer, what)) continue;
      const std::size_t expected = std::min(length, page.size());
      check.bytes(what, answer.data(), ByteView{page}.first(expected));
      check.equal("RDL of " + what, answer.nmresp(), static_cast<std::uint32_t>(expected));
    }
  }
}

CONFORMANCE_CASE(other_ses_pages_are_refused, "mi.ses.receive.page", roles::endpoint, needs(offers<Opcode::ses_receive>), an_enclosure) {
  const auto listed = listed_pages(bench, check);
  for (unsigned code = 0; code < 256; ++code) {
    if (std::find(listed.begin(), listed.end(), code) != listed.end()) continue;
    if (!refused_at(check, receive(bench, static_cast<std::uint8_t>(code), kMost), 8, fmt::format("SES page {:02x}h", code))) return;
  }
}

CONFORMANCE_CASE(ses_pages_go_to_the_buffer, "mi.ses.receive.buffer", roles::endpoint, needs(offers<Opcode::ses_receive>),
                 needs(endpoint_buffer), an_enclosure) {
  for (const std::uint8_t code : listed_pages(bench, check)) {
    const Bytes page = page_of(bench, check, code);
    const std::string what = fmt::format("SES page {:02x}h into the buffer", code);
    for (const std::size_t length : {page.size(), page.size() - 1}) {
      const MiAnswer answer = receive(bench, code, static_cast<std::uint16_t>(length), {.in_buffer = true});
      if (!success_with(check, answer, 0, what)) continue;
      check.equal("RDL of " + what, answer.nmresp(), static_cast<std::uint32_t>(length));
      const MiAnswer buffer = buffer_read(bench, 0, static_cast<std::uint32_t>(length));
      if (success(check, buffer, "Management Endpoint Buffer Read")) check.bytes(what, buffer.data(), ByteView{page}.first(length));
    }
  }
}

CONFORMANCE_CASE(ses_control_pages_act_on_what_they_select, "mi.ses.send", roles::endpoint, needs(offers<Opcode::ses_send>), an_enclosure) {
  constexpr std::uint8_t kSelect = 0x80, kIdentify = 0x02, kOff = 0x10;
  const auto types = element_types(bench, check);
  const std::size_t slots = place_of(types, kArraySlot), fans = place_of(types, kCooling);
  const Bytes none = control_page(bench, check);
  const auto count_of = [&](std::uint8_t type) {
    return std::find_if(types.begin(), types.end(), [&](const auto& one) { return one.first == type; })->second;
  };
  // What is not selected stays as it is.
  Bytes unselected = none;
  for (std::size_t at = kPageHeader + kGeneration; at + kElement <= unselected.size(); at += kElement) {
    unselected[at + 2] = kIdentify;
    unselected[at + 3] = kOff | 0x01;
  }
  const Bytes before = page_of(bench, check, kStatus);
  success_with(check, send(bench, unselected), 0, "SES Send that selects nothing");
  check.bytes("the status page behind it", page_of(bench, check, kStatus), before);
  for (unsigned i = 0; i < count_of(kArraySlot); ++i) {
    const std::size_t at = slots + kElement * i;
    for (const bool on : {true, false}) {
      Bytes page = none;
      page[at] = kSelect;
      page[at + 2] = on ? kIdentify : 0;
      page[at + 3] = on ? kOff : 0;
      Bytes expected = page_of(bench, check, kStatus);
      expected[at + 2] = static_cast<std::uint8_t>((expected[at + 2] & ~kIdentify) | page[at + 2]);
      expected[at + 3] = static_cast<std::uint8_t>((expected[at + 3] & ~kOff) | page[at + 3]);
      success_with(check, send(bench, page), 0, fmt::format("SES Send for slot {}", i));
      check.bytes(fmt::format("the status page after slot {} was turned {}", i, on ? "on" : "off"), page_of(bench, check, kStatus),
                  expected);
    }
  }
  for (unsigned i = 0; i < count_of(kCooling); ++i) {
    const std::size_t at = fans + kElement * i;
    for (const unsigned speed : {1u, 4u, 7u}) {
      Bytes page = none;
      page[at] = kSelect;
      page[at + 3] = static_cast<std::uint8_t>(speed);
      Bytes expected = page_of(bench, check, kStatus);
      expected[at + 3] = static_cast<std::uint8_t>((expected[at + 3] & 0xF8) | speed);
      success_with(check, send(bench, page), 0, fmt::format("SES Send for fan {}", i));
      check.bytes(fmt::format("the status page with fan {} at {}", i, speed), page_of(bench, check, kStatus), expected);
    }
  }
}

CONFORMANCE_CASE(ses_control_pages_are_as_long_as_told, "mi.ses.send.data", roles::endpoint, needs(offers<Opcode::ses_send>),
                 an_enclosure) {
  const Bytes page = control_page(bench, check);
  success_with(check, send(bench, {}), 0, "SES Send of nothing");
  const std::size_t whole = page.size();
  for (const auto& [length, given] :
       {std::pair{whole, whole - 4}, {whole - 4, whole}, {whole, std::size_t{0}}, {std::size_t{0}, std::size_t{4}}}) {
    refused(check, send(bench, ByteView{page}.first(given), length), mi::Status::invalid_data_size,
            fmt::format("SES Send with DLEN {} and {} bytes", length, given));
  }
  // What is behind the page is ignored; a page that is cut short counts as far as it goes.
  Bytes longer = page;
  longer.resize(page.size() + 12, 0x5A);
  success_with(check, send(bench, longer), 0, "SES Send with data behind the page");
  success_with(check, send(bench, ByteView{page}.first(page.size() - 8)), 0, "SES Send of a page without its end");
}

CONFORMANCE_CASE(other_ses_control_pages_are_refused, "mi.ses.send.page", roles::endpoint, needs(offers<Opcode::ses_send>), an_enclosure) {
  Bytes page = control_page(bench, check);
  for (const std::uint8_t code : {kConfiguration, std::uint8_t{0x3F}, std::uint8_t{0xFE}}) {
    page[0] = code;
    refused_at(check, send(bench, page), 16, fmt::format("SES control page {:02x}h", code));
  }
}

CONFORMANCE_CASE(an_enclosure_may_be_unavailable, "mi.ses.unavailable", roles::endpoint, needs(offers<Opcode::ses_receive>),
                 arranged("an enclosure whose services are unavailable",
                          [](EmbeddedSetup& setup) { setup.managed->drive.device.enclosure = true; })) {
  bench.drive().device().enclosure()->set_available(false);
  for (const std::uint8_t code : {kSupportedPages, kConfiguration, kStatus}) {
    refused(check, receive(bench, code, kMost), mi::Status::enclosure_unavailable, fmt::format("SES page {:02x}h", code));
  }
  const Bytes page(48, 0);
  refused(check, send(bench, page), mi::Status::enclosure_unavailable, "SES Send");
  serves(bench, check, "another request");
}

}  // namespace fb::conformance
