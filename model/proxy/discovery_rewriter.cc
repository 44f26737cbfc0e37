#include "model/proxy/discovery_rewriter.h"

#include <algorithm>
#include <iterator>

#include "base/ip_scope.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/nvme/cqe.h"
#include "wire/nvme/opcodes.h"
#include "wire/nvme/sqe.h"

namespace fb::proxy {

namespace {

namespace de = fabrics::discovery_entry;

constexpr std::uint8_t kDiscoveryLog = 0x70;
constexpr std::size_t kLogBytesMax = 4u << 20;  // a longer one is passed on as it is

template <class F>
MutableBytes part_of(MutableBytes entry, const F&) {
  return entry.subspan(F::offset, F::size);
}

/// The field keeps its kind of padding.
template <class F>
void write_text(MutableBytes entry, const F& field, const std::string& text) {
  const MutableBytes part = part_of(entry, field);
  put_text(part, text, part.back() == 0 ? '\0' : ' ');
}

/// The data of a PDU that belongs to a command, without its digest; empty if it has none, or lies about its length.
MutableBytes data_of(Bytes& pdu) {
  const View<tcp::DataPdu> header{pdu};
  const std::size_t begin = header.get(tcp::pdu::pdo);
  const bool digest = (header.get(tcp::pdu::flags) & tcp::pdu_flags::ddgstf) != 0;
  const std::size_t end = pdu.size() - std::min(pdu.size(), digest ? tcp::kDigestBytes : 0);
  if (begin < tcp::DataPdu::size || begin > end) return {};
  return MutableBytes(pdu).subspan(begin, end - begin);
}

bool is_data(ByteView pdu) { return pdu.size() >= tcp::DataPdu::size && pdu[0] == static_cast<std::uint8_t>(tcp::PduType::c2h_data); }

}  // namespace

std::size_t rename_entries(MutableBytes page, std::uint64_t offset, fabrics::TransportType of, const std::vector<Renamed>& names,
                           std::vector<std::string>* past) {
  constexpr std::size_t kEntry = fabrics::DiscoveryEntry::size;
  // The header is as long as an entry, so that entries begin at multiples of their length.
  std::size_t at = offset == 0 ? kEntry : static_cast<std::size_t>((kEntry - offset % kEntry) % kEntry);
  std::size_t changed = 0;
  for (; at + kEntry <= page.size(); at += kEntry) {
    const MutableBytes entry = page.subspan(at, kEntry);
    const View<fabrics::TcpDiscoveryEntry> view{entry};
    if (view.get(de::trtype) != of) continue;
    const auto address = IpAddress::parse(text_of(part_of(entry, de::traddr)));
    const auto port = fabrics::decimal_port(part_of(entry, de::trsvcid));
    if (!address || !port) continue;
    const auto known = std::ranges::find_if(
        names, [&](const Renamed& one) { return without_scope(one.from.address) == *address && one.from.port == *port; });
    if (known == names.end()) {
      const std::string text = to_string(Endpoint{*address, *port});
      if (past != nullptr && std::ranges::find(*past, text) == past->end()) past->push_back(text);
      continue;
    }
    write_text(entry, de::traddr, to_string(without_scope(known->to.address)));
    write_text(entry, de::trsvcid, std::to_string(known->to.port));
    const auto family = known->to.address.is_v4() ? fabrics::AddressFamily::ipv4 : fabrics::AddressFamily::ipv6;
    entry[decltype(de::adrfam)::offset] = static_cast<std::uint8_t>(family);
    ++changed;
  }
  return changed;
}

std::optional<DiscoveryLogRange> discovery_log_range(ByteView sqe) {
  const View<nvme::GetLogPageSqe> command{sqe};
  if (sqe[0] != static_cast<std::uint8_t>(nvme::AdminOpcode::get_log_page)) return std::nullopt;
  if (command.get(nvme::get_log_sqe::lid) != kDiscoveryLog) return std::nullopt;
  // Entries of the extended format have lengths of their own.
  if ((command.get(nvme::get_log_sqe::lsp) & fabrics::discovery_lsp_bits::extended) != 0) return std::nullopt;
  const std::uint64_t bytes = nvme::log_length(command);
  if (bytes > kLogBytesMax) return std::nullopt;
  return DiscoveryLogRange{command.get(nvme::sqe::cid), nvme::log_offset(command), bytes};
}

void DiscoveryRewriter::on_command(ByteView sqe) {
  if (const auto range = discovery_log_range(sqe)) open_[range->cid] = {range->offset, static_cast<std::size_t>(range->bytes), 0};
}

void DiscoveryRewriter::take(Bytes pdu, std::vector<Bytes>& out) {
  std::optional<std::uint16_t> ended;
  if (is_data(pdu)) {
    const View<tcp::DataPdu> header{pdu};
    const std::uint16_t cid = header.get(tcp::data_pdu::cccid);
    if (const auto log = open_.find(cid); log != open_.end()) {
      log->second.arrived += data_of(pdu).size();
      const bool last = (header.get(tcp::pdu::flags) & tcp::pdu_flags::last_pdu) != 0;
      if (last || log->second.arrived >= log->second.bytes) ended = cid;
    }
  } else if (pdu.size() >= tcp::CapsuleResp::size && pdu[0] == static_cast<std::uint8_t>(tcp::PduType::capsule_resp)) {
    const std::uint16_t cid = View<nvme::CqeLayout>{View<tcp::CapsuleResp>{pdu}.get(tcp::capsule_resp::cqe)}.get(nvme::cqe::cid);
    if (open_.contains(cid)) ended = cid;
  }
  const bool is_log = is_data(pdu) && open_.contains(View<tcp::DataPdu>{pdu}.get(tcp::data_pdu::cccid));
  if (waiting_.empty() && !is_log) {
    if (ended) open_.erase(*ended);  // without data
    out.push_back(std::move(pdu));
    return;
  }
  waiting_.push_back(std::move(pdu));
  if (ended) finish(*ended);
  const bool more = std::ranges::any_of(open_, [](const auto& one) { return one.second.arrived > 0; });
  if (!more) release(out);
}

void DiscoveryRewriter::finish(std::uint16_t cid) {
  const Log log = open_.at(cid);
  open_.erase(cid);
  std::vector<Bytes*> pdus;
  Bytes page(log.bytes);
  const auto each_part = [&](auto&& copy) {
    for (Bytes* pdu : pdus) {
      const std::size_t at = View<tcp::DataPdu>{*pdu}.get(tcp::data_pdu::offset);
      const MutableBytes data = data_of(*pdu);
      if (at <= page.size() && data.size() <= page.size() - at) copy(data, MutableBytes(page).subspan(at, data.size()), *pdu);
    }
  };
  for (Bytes& pdu : waiting_) {
    if (is_data(pdu) && View<tcp::DataPdu>{pdu}.get(tcp::data_pdu::cccid) == cid) pdus.push_back(&pdu);
  }
  each_part([](MutableBytes data, MutableBytes in_page, Bytes&) { std::ranges::copy(data, in_page.begin()); });
  const std::size_t changed = rename_entries(page, log.offset, fabrics::TransportType::tcp, names_, &past_);
  renamed_ += changed;
  if (changed == 0) return;
  each_part([](MutableBytes data, MutableBytes in_page, Bytes& pdu) {
    if (std::ranges::equal(data, in_page)) return;
    std::ranges::copy(in_page, data.begin());
    tcp::refresh_digests(pdu);
  });
}

void DiscoveryRewriter::release(std::vector<Bytes>& out) {
  std::ranges::move(waiting_, std::back_inserter(out));
  waiting_.clear();
}

}  // namespace fb::proxy
