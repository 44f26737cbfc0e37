#include "sim/capture/reader.h"

#include "sim/net/trace_labels.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

namespace fb::capture {

namespace {

constexpr std::uint32_t kPcapMicro = 0xA1B2C3D4;
constexpr std::uint32_t kPcapNano = 0xA1B23C4D;
constexpr std::uint32_t kPcapModified = 0xA1B2CD34;  // eight bytes more in front of each packet
constexpr std::size_t kPcapHeader = 24;
constexpr std::size_t kPcapRecord = 16, kPcapModifiedRecord = 24;
constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;
constexpr std::uint32_t kByteOrderMagic = 0x1A2B3C4D;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kObsoletePacket = 2;
constexpr std::uint32_t kSimplePacket = 3;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kDecryptionSecrets = 10;
constexpr std::uint32_t kTlsKeyLog = 0x544C534B;
constexpr std::size_t kBlockFrame = 12;  // type, length, and the length again
// Nobody's interfaces are more; a file of empty interface blocks must not eat the memory.
constexpr std::size_t kInterfacesMax = 65'536;
constexpr std::size_t kSecretsMax = 16 << 20;
// Of what arrives from a source: no more is waited for because a length asks for it.
constexpr std::size_t kPieceMax = 256 << 20;
constexpr std::size_t kChunk = 64 << 10;

std::int64_t clamp_time(__int128 ns) {
  constexpr __int128 kMax = std::numeric_limits<std::int64_t>::max();
  constexpr __int128 kMin = std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(std::clamp(ns, kMin, kMax));
}

std::int64_t to_ns(std::uint64_t stamp, std::uint8_t resolution, std::int64_t offset_s) {
  const auto wide = static_cast<unsigned __int128>(stamp);
  unsigned __int128 ns = 0;
  const unsigned digits = resolution & 0x7Fu;
  if ((resolution & 0x80) != 0) {
    ns = wide * 1'000'000'000u >> digits;
  } else {
    ns = wide;
    for (unsigned i = digits; i < 9; ++i) ns *= 10;
    for (unsigned i = 9; i < digits && ns != 0; ++i) ns /= 10;
  }
  return clamp_time(static_cast<__int128>(ns) + static_cast<__int128>(offset_s) * 1'000'000'000);
}

}  // namespace

TraceEvent CapturedPacket::as_event(std::int64_t epoch_ns) const {
  TraceEvent event;
  event.kind = TraceKind::packet;
  event.time = Instant::at_ns(clamp_time(static_cast<__int128>(time_ns) - epoch_ns));
  event.actor = "capture";
  event.label = carried.tcp ? net::kTcpLabel : "udp";
  event.bytes = carried.payload;
  event.source = carried.source;
  event.destination = carried.destination;
  event.ip = carried.ip;
  if (carried.tcp) event.tcp = &*carried.tcp;
  if (carried.mctp) {
    event.label = "mctp";
    event.mctp = &*carried.mctp;
  }
  return event;
}

Failure<Problem> CaptureReader::broken(const std::string& what) {
  ended_ = true;
  return Failure{Problem{fmt::format("capture file, byte {}: {}", at_, what)}};
}

Result<bool> CaptureReader::next(CapturedPacket& packet) {
  while (!ended_) {
    Frame frame;
    Result<bool> got = next_frame(frame);
    if (!got || !*got) return got;
    ++frames_;
    if (take(frame, packet)) return true;
  }
  return false;
}

bool CaptureReader::take(const Frame& frame, CapturedPacket& packet) {
  if (!is_known_link_type(frame.link)) {
    ++skipped_.unknown_link;
    return false;
  }
  packet.carried = {};
  switch (parse_frame(frame.link, frame.bytes, packet.carried, frame.original)) {
    case FrameFault::none:
      break;
    case FrameFault::other_protocol:
      ++skipped_.other_protocol;
      return false;
    case FrameFault::fragment:
      ++skipped_.fragments;
      return false;
    case FrameFault::cut_short:
      ++skipped_.cut_short;
      return false;
    case FrameFault::malformed:
      ++skipped_.malformed;
      return false;
  }
  packet.number = frames_;
  packet.time_ns = frame.time_ns;
  packet.comment = frame.comment;
  return true;
}

Result<ByteView> CaptureReader::rest(std::size_t wanted) {
  ByteView here = window_.subspan(static_cast<std::size_t>(at_ - window_at_));
  if (here.size() >= wanted || source_ == nullptr) return here;
  if (wanted > kPieceMax) return broken(fmt::format("a piece of {} bytes", wanted));
  // What was read lies in front; it moves out of the way once in a while.
  buffer_.erase(buffer_.begin(), buffer_.end() - static_cast<std::ptrdiff_t>(here.size()));
  window_at_ = at_;
  std::size_t held = buffer_.size();
  while (held < wanted) {
    buffer_.resize(held + std::max(kChunk, std::min(held, kPieceMax)));
    const Result<std::size_t> got = source_->read(MutableBytes(buffer_).subspan(held));
    buffer_.resize(held + (got ? *got : 0));
    if (!got) {
      window_ = buffer_;
      source_ = nullptr;
      return broken(got.error().text);
    }
    if (*got == 0) {
      source_ = nullptr;
      break;
    }
    held = buffer_.size();
  }
  window_ = buffer_;
  return window_;
}

Result<bool> CaptureReader::detect() {
  const Result<ByteView> begins = rest(kPcapHeader);
  if (!begins) return Failure{begins.error()};
  const ByteView file = *begins;
  if (file.size() < 4) return broken("too short for a pcap or pcapng file");
  const std::uint32_t magic = load_le<std::uint32_t>(file.data());
  if (magic == kSectionHeader) {
    format_ = Format::pcapng;
    return true;
  }
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const std::uint32_t value = load<std::uint32_t>(file.data(), order);
    if (value != kPcapMicro && value != kPcapNano && value != kPcapModified) continue;
    if (file.size() < kPcapHeader) return broken("the pcap header is cut short");
    format_ = Format::pcap;
    order_ = order;
    pcap_unit_ns_ = value == kPcapNano ? 1 : 1000;
    pcap_record_ = value == kPcapModified ? kPcapModifiedRecord : kPcapRecord;
    pcap_link_ = u32(file, 20) & 0x0FFFFFFF;  // above stand bits about the frame check sequence
    if (!is_known_link_type(pcap_link_)) {
      at_ = 20;
      return broken(fmt::format("link type {} is not supported", pcap_link_));
    }
    at_ = kPcapHeader;
    return true;
  }
  return broken(fmt::format("{:#010x} begins neither a pcap nor a pcapng file", magic));
}

Result<bool> CaptureReader::next_frame(Frame& frame) {
  if (format_ == Format::unknown) {
    Result<bool> known = detect();
    if (!known) return known;
  }
  if (format_ == Format::pcap) return next_record(frame);
  for (bool has_frame = false; !has_frame;) {
    Result<bool> got = next_block(frame, has_frame);
    if (!got || !*got) return got;
  }
  return true;
}

Result<bool> CaptureReader::next_record(Frame& frame) {
  const Result<ByteView> header = rest(pcap_record_);
  if (!header) return Failure{header.error()};
  if (header->empty()) {
    ended_ = true;
    return false;
  }
  if (header->size() < pcap_record_) return broken("a packet's header is cut short");
  const std::size_t length = u32(*header, 8);
  const Result<ByteView> whole = rest(pcap_record_ + length);
  if (!whole) return Failure{whole.error()};
  if (length > whole->size() - pcap_record_) {
    return broken(fmt::format("a packet of {} bytes, but {} are left", length, whole->size() - pcap_record_));
  }
  frame.link = pcap_link_;
  frame.time_ns = static_cast<std::int64_t>(u32(*whole, 0)) * 1'000'000'000 + static_cast<std::int64_t>(u32(*whole, 4)) * pcap_unit_ns_;
  frame.bytes = whole->subspan(pcap_record_, length);
  frame.original = u32(*whole, 12);
  at_ += pcap_record_ + length;
  return true;
}

// ----------------------------------------------------------------------------------- pcapng

Result<bool> CaptureReader::next_block(Frame& frame, bool& has_frame) {
  const Result<ByteView> begins = rest(kBlockFrame);
  if (!begins) return Failure{begins.error()};
  if (begins->empty()) {
    ended_ = true;
    return false;
  }
  if (begins->size() < kBlockFrame) return broken("a block is cut short");
  // A section header reads the same in both orders, and says which one the section is in.
  const std::uint32_t type = u32(*begins, 0);
  if (type == kSectionHeader) {
    Result<bool> section = begin_section(*begins);
    if (!section) return section;
  }
  const std::size_t length = u32(*begins, 4);
  if (length < kBlockFrame || length % 4 != 0) {
    return broken(fmt::format("a block cannot be {} bytes long", length));
  }
  const Result<ByteView> block = rest(length);
  if (!block) return Failure{block.error()};
  if (length > block->size()) {
    return broken(fmt::format("a block of {} bytes, but {} are left", length, block->size()));
  }
  if (u32(*block, length - 4) != length) return broken("a block's two lengths differ");
  const ByteView body = block->subspan(8, length - kBlockFrame);
  Result<bool> read = true;
  if (type == kInterfaceBlock) {
    read = add_interface(body);
  } else if (type == kDecryptionSecrets) {
    keep_secrets(body);
  } else if (type == kEnhancedPacket || type == kSimplePacket || type == kObsoletePacket) {
    has_frame = true;
    read = read_packet(type, body, frame);
  }
  if (read) at_ += length;
  return read;
}

Result<bool> CaptureReader::begin_section(ByteView block) {
  const std::uint8_t* const magic = block.data() + 8;
  if (load_le<std::uint32_t>(magic) == kByteOrderMagic) {
    order_ = std::endian::little;
  } else if (load_be<std::uint32_t>(magic) == kByteOrderMagic) {
    order_ = std::endian::big;
  } else {
    return broken("a section header without byte-order magic");
  }
  interfaces_.clear();
  return true;
}

void CaptureReader::keep_secrets(ByteView body) {
  if (body.size() < 8 || u32(body, 0) != kTlsKeyLog) return;
  const std::size_t length = std::min<std::size_t>(u32(body, 4), body.size() - 8);
  if (tls_keys_.size() + length > kSecretsMax) return;
  tls_keys_.append(reinterpret_cast<const char*>(body.data()) + 8, length);
  tls_keys_ += '\n';
}

template <class Visit>
void CaptureReader::each_option(ByteView options, Visit&& visit) const {
  while (options.size() >= 4) {
    const std::uint16_t code = u16(options, 0);
    const std::size_t length = u16(options, 2);
    if (code == 0 || length > options.size() - 4) return;
    visit(code, options.subspan(4, length));
    options = options.subspan(std::min(options.size(), 4 + (length + 3) / 4 * 4));
  }
}

Result<bool> CaptureReader::add_interface(ByteView body) {
  if (body.size() < 8) return broken("an interface block is cut short");
  if (interfaces_.size() == kInterfacesMax) return broken("too many interfaces");
  Interface interface;
  interface.link = u16(body, 0);
  interface.snap = u32(body, 4);
  each_option(body.subspan(8), [&](std::uint16_t code, ByteView value) {
    if (code == 9 && value.size() >= 1) interface.resolution = value[0];
    if (code == 14 && value.size() >= 8) {
      interface.offset_s = static_cast<std::int64_t>(load<std::uint64_t>(value.data(), order_));
    }
  });
  interfaces_.push_back(interface);
  return true;
}

Result<bool> CaptureReader::read_packet(std::uint32_t type, ByteView body, Frame& frame) {
  const std::size_t header = type == kSimplePacket ? 4 : 20;
  if (body.size() < header) return broken("a packet block is cut short");
  std::size_t index = 0;
  if (type == kEnhancedPacket) index = u32(body, 0);
  if (type == kObsoletePacket) index = u16(body, 0);
  if (index >= interfaces_.size()) {
    return broken(fmt::format("a packet of interface {}, which is not described", index));
  }
  const Interface& interface = interfaces_[index];
  std::size_t length = 0;
  if (type == kSimplePacket) {
    frame.original = u32(body, 0);
    length = std::min<std::size_t>(u32(body, 0), body.size() - header);
    if (interface.snap != 0) length = std::min<std::size_t>(length, interface.snap);
  } else {
    length = u32(body, 12);
    frame.original = u32(body, 16);
    const std::uint64_t stamp = static_cast<std::uint64_t>(u32(body, 4)) << 32 | u32(body, 8);
    frame.time_ns = to_ns(stamp, interface.resolution, interface.offset_s);
  }
  if (length > body.size() - header) {
    return broken(fmt::format("a packet of {} bytes in a block that holds {}", length, body.size() - header));
  }
  frame.link = interface.link;
  frame.bytes = body.subspan(header, length);
  if (type == kSimplePacket) return true;
  const std::size_t options = std::min(body.size(), header + (length + 3) / 4 * 4);
  each_option(body.subspan(options), [&frame](std::uint16_t code, ByteView value) {
    if (code == 1 && frame.comment.empty()) {
      frame.comment = {reinterpret_cast<const char*>(value.data()), value.size()};
    }
  });
  return true;
}

Result<Bytes> read_file(const std::string& path) {
  const auto problem = [&path](int error) { return Failure{Problem{fmt::format("cannot read {}: {}", path, std::strerror(error))}}; };
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return problem(errno);
  Bytes bytes;
  constexpr std::size_t kRead = 1 << 20;
  for (;;) {
    const std::size_t had = bytes.size();
    bytes.resize(had + kRead);
    const std::size_t got = std::fread(bytes.data() + had, 1, kRead, file);
    bytes.resize(had + got);
    if (got < kRead) break;
  }
  const int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (error != 0) return problem(error);
  return bytes;
}

}  // namespace fb::capture
