#include "sim/capture/pcapng.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/capture/frame.h"

namespace fb::capture {

namespace {

constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kInterfaceStatistics = 5;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kDecryptionSecrets = 10;
constexpr std::uint32_t kTlsKeyLog = 0x544C534B;
constexpr std::uint32_t kByteOrderMagic = 0x1A2B3C4D;
constexpr std::uint16_t kOptionEnd = 0;
constexpr std::uint16_t kOptionComment = 1;
constexpr std::uint16_t kOptionUserApplication = 4;
constexpr std::uint16_t kOptionInterfaceName = 2;
constexpr std::uint16_t kOptionTimeResolution = 9;
constexpr std::uint32_t kMctpInterface = 1;  // the fabric's is 0
constexpr std::size_t kCommentMax = 4000;    // bytes a packet
constexpr std::size_t kHexMax = 32;          // bytes of an event without words

void append_le16(Bytes& out, std::uint16_t value) {
  out.resize(out.size() + 2);
  store_le(&out[out.size() - 2], value);
}

void append_le32(Bytes& out, std::uint32_t value) {
  out.resize(out.size() + 4);
  store_le(&out[out.size() - 4], value);
}

void pad(Bytes& out) { out.resize((out.size() + 3) / 4 * 4); }

void append_option(Bytes& out, std::uint16_t code, std::string_view value) {
  append_le16(out, code);
  append_le16(out, static_cast<std::uint16_t>(value.size()));
  out.insert(out.end(), value.begin(), value.end());
  pad(out);
}

std::size_t begin_block(Bytes& out, std::uint32_t type) {
  const std::size_t start = out.size();
  append_le32(out, type);
  append_le32(out, 0);  // length, filled in by end_block()
  return start;
}

// Ends the options and the block. All blocks here start at a multiple of four.
void end_block(Bytes& out, std::size_t start) {
  append_le16(out, kOptionEnd);
  append_le16(out, 0);
  const auto length = static_cast<std::uint32_t>(out.size() + 4 - start);
  append_le32(out, length);
  store_le(&out[start + 4], length);
}

// Comments are read by people and by tools that want UTF-8.
std::string printable(std::string_view text) {
  std::string clean(text.substr(0, kCommentMax));
  for (char& c : clean) {
    const auto byte = static_cast<std::uint8_t>(c);
    if ((byte < 0x20 && c != '\n') || byte >= 0x7F) c = '?';
  }
  return clean;
}

std::string_view name_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::packet:
      return "packet";
    case TraceKind::capsule:
      return "capsule";
    case TraceKind::message:
      return "message";
    case TraceKind::state:
      return "state";
    case TraceKind::fault:
      return "fault";
    case TraceKind::note:
      return "note";
    case TraceKind::verdict:
      return "verdict";
  }
  return "event";
}

std::string words_of(const TraceEvent& event, const Trace* decoders) {
  if (!event.text.empty()) return std::string(event.text);
  if (decoders != nullptr && event.bytes.size() > 0) return decoders->describe(event);
  std::string words = to_hex(event.bytes.first(std::min(event.bytes.size(), kHexMax)));
  if (event.bytes.size() > kHexMax) words += "...";
  return words;
}

}  // namespace

PcapngWriter::PcapngWriter(const PcapngOptions& options) : options_(options) {
  const std::size_t block = begin_block(file_, kSectionHeader);
  append_le32(file_, kByteOrderMagic);
  append_le16(file_, 1);  // version 1.0
  append_le16(file_, 0);
  append_le32(file_, 0xFFFFFFFF);  // section length: not given
  append_le32(file_, 0xFFFFFFFF);
  if (!options_.title.empty()) append_option(file_, kOptionComment, printable(options_.title));
  append_option(file_, kOptionUserApplication, "fabricbench");
  end_block(file_, block);

  add_interface(link_type::ethernet, options_.interface);
  preface_ = file_.size();
}

void PcapngWriter::add_interface(std::uint32_t link, std::string_view name) {
  const std::size_t block = begin_block(file_, kInterface);
  append_le16(file_, static_cast<std::uint16_t>(link));
  append_le16(file_, 0);
  append_le32(file_, 0);  // no limit on a packet's length
  append_option(file_, kOptionInterfaceName, printable(name));
  append_option(file_, kOptionTimeResolution, "\x09");
  if (!options_.title.empty()) append_option(file_, kOptionComment, printable(options_.title));
  end_block(file_, block);
}

void PcapngWriter::add_tls_keys(std::string_view keylog_line) {
  tls_keys_ += keylog_line;
  if (!tls_keys_.ends_with('\n')) tls_keys_ += '\n';
}

void PcapngWriter::comment(std::string_view text) {
  if (pending_.size() + text.size() + 1 > kCommentMax && !pending_.empty()) {
    ++pending_lost_;
    return;
  }
  if (!pending_.empty()) pending_ += '\n';
  pending_ += printable(text);
}

void PcapngWriter::on_event(const TraceEvent& event) {
  const bool on_the_wire = event.kind == TraceKind::packet || (event.kind == TraceKind::fault && event.destination.port != 0);
  if (on_the_wire) {
    if (!event.text.empty()) comment(fmt::format("{} {}", event.actor, event.text));
    add_packet(event);
    return;
  }
  if (event.label == kTlsKeylogLabel) {
    // Both sides of a connection tell the same.
    if (tls_keys_.find(event.text) == std::string::npos) add_tls_keys(event.text);
    return;
  }
  comment(fmt::format("{} {} {}: {}", name_of(event.kind), event.actor, event.label, words_of(event, options_.decoders)));
}

void PcapngWriter::add_packet(const TraceEvent& event) {
  if (file_.size() + event.bytes.size() + kCommentMax > options_.bytes_max) {
    ++left_out_;
    return;
  }
  if (event.mctp != nullptr) return add_mctp(event);
  if (event.tcp != nullptr) {
    add_segments(event);
    return;
  }
  add_frame(event, [&] {
    append_frame(file_, event.source, event.destination, event.ip, event.bytes.first(std::min(event.bytes.size(), kPayloadMax)));
  });
}

// Few files have such packets: their interface is described in front of the first.
void PcapngWriter::add_mctp(const TraceEvent& event) {
  if (!has_mctp_) add_interface(link_type::linux_sll2, "mctp");
  has_mctp_ = true;
  add_frame(
      event, [&] { append_mctp_frame(file_, *event.mctp, event.bytes); }, kMctpInterface);
}

// As many frames as IP needs: a socket's trace shows what one call moved.
void PcapngWriter::add_segments(const TraceEvent& event) {
  TcpFacts tcp = *event.tcp;
  constexpr auto kAtTheEnd = static_cast<std::uint8_t>(tcp_flag::fin | tcp_flag::psh);
  ByteView rest = event.bytes;
  do {
    const ByteView part = rest.first(std::min(rest.size(), kPayloadMax));
    rest = rest.subspan(part.size());
    tcp.flags = rest.empty() ? event.tcp->flags : static_cast<std::uint8_t>(event.tcp->flags & ~kAtTheEnd);
    add_frame(event, [&] { append_frame(file_, event.source, event.destination, event.ip, tcp, part); });
    tcp.seq += static_cast<std::uint32_t>(part.size());
  } while (!rest.empty());
}

template <class Append>
void PcapngWriter::add_frame(const TraceEvent& event, Append&& append, std::uint32_t interface) {
  const std::size_t block = begin_block(file_, kEnhancedPacket);
  const auto time = static_cast<std::uint64_t>(event.time.count_ns() + options_.epoch_ns);
  append_le32(file_, interface);
  append_le32(file_, static_cast<std::uint32_t>(time >> 32));
  append_le32(file_, static_cast<std::uint32_t>(time & 0xFFFFFFFF));
  const std::size_t lengths = file_.size();
  append_le32(file_, 0);
  append_le32(file_, 0);
  const std::size_t frame = file_.size();
  append();
  const auto length = static_cast<std::uint32_t>(file_.size() - frame);
  store_le(&file_[lengths], length);
  store_le(&file_[lengths + 4], length);
  pad(file_);
  if (pending_lost_ > 0) pending_ += fmt::format("\n({} more events)", pending_lost_);
  if (!pending_.empty()) append_option(file_, kOptionComment, pending_);
  end_block(file_, block);
  pending_.clear();
  pending_lost_ = 0;
  last_packet_ = block;
  ++packets_;
}

Bytes PcapngWriter::bytes() const {
  Bytes out = file_;
  std::string last = pending_;
  if (left_out_ > 0) {
    last += fmt::format("{}capture full: {} more packets left out", last.empty() ? "" : "\n", left_out_);
  }
  if (!last.empty() && last_packet_ != 0) {
    out.resize(out.size() - 8);  // the end of options, and the length behind them
    append_option(out, kOptionComment, "afterwards: " + last);
    end_block(out, last_packet_);
  }
  // Whoever reads the file sees that nothing is missing at its end.
  const std::size_t statistics = begin_block(out, kInterfaceStatistics);
  append_le32(out, has_mctp_ ? 1 : 0);
  append_le32(out, static_cast<std::uint32_t>(static_cast<std::uint64_t>(options_.epoch_ns) >> 32));
  append_le32(out, static_cast<std::uint32_t>(options_.epoch_ns & 0xFFFFFFFF));
  append_option(out, kOptionComment, fmt::format("end of the capture, {} packets", packets_));
  end_block(out, statistics);
  if (tls_keys_.empty()) return out;
  Bytes keys;
  const std::size_t block = begin_block(keys, kDecryptionSecrets);
  append_le32(keys, kTlsKeyLog);
  append_le32(keys, static_cast<std::uint32_t>(tls_keys_.size()));
  keys.insert(keys.end(), tls_keys_.begin(), tls_keys_.end());
  pad(keys);
  end_block(keys, block);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(preface_), keys.begin(), keys.end());
  return out;
}

Bytes PcapngWriter::take() {
  last_packet_ = preface_ = 0;
  return std::exchange(file_, {});
}

Result<void> PcapngWriter::write_file(const std::string& path) const { return write_atomically(path, bytes()); }

Result<void> write_atomically(const std::string& path, ByteView bytes) {
  std::error_code unknown;
  const auto target = std::filesystem::canonical(path, unknown);
  const std::string whole = unknown ? path : target.string();
  const bool in_place = !unknown && !std::filesystem::is_regular_file(target, unknown);
  const std::string partial = in_place ? whole : whole + ".partial";
  const auto problem = [&](int error) {
    if (!in_place) std::remove(partial.c_str());
    return Failure{Problem{fmt::format("cannot write {}: {}", path, std::strerror(error))}};
  };
  std::FILE* const file = std::fopen(partial.c_str(), "wb");
  if (file == nullptr) return problem(errno);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int write_error = errno;
  if (std::fclose(file) != 0) return problem(errno);
  if (!written) return problem(write_error);
  if (!in_place && std::rename(partial.c_str(), whole.c_str()) != 0) return problem(errno);
  return {};
}

}  // namespace fb::capture
