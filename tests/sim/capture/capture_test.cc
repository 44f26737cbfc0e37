#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sim/capture/pcapng.h"
#include "sim/capture/reader.h"

namespace fb::capture {
namespace {

const Endpoint kHost{IpAddress::v4(10, 0, 0, 1), 0xC0DE};
const Endpoint kTarget{IpAddress::v4(10, 0, 0, 2), 4791};
const Endpoint kHost6{*IpAddress::parse("fd00::1"), 0xC0DE};
const Endpoint kTarget6{*IpAddress::parse("fd00::2"), 4791};

// A RoCEv2 SEND_ONLY of "hello" with its integrity check, from 10.0.0.1 to 10.0.0.2.
const std::string kRocePacket =
    "4500003400004000401126b70a0000010a000002c0de12b70020000004b0ffff000000128012345668656c6c6f000000"
    "4a4d3ddb";
// An acknowledgement.
const std::string kAckPacket = "45000030424240004011e4780a0000020a000001d1ce12b7001c00001100ffff00000011001234561f00000136a96fd6";
// The first one's kind over IPv6: an RDMA READ request.
const std::string kReadPacket6 =
    "6000000000281140fd000000000000000000000000000001fd000000000000000000000000000002c0de12b700280000"
    "0c00ffff000000128000000100007f000000100000001234000020005933b7e5";

TraceEvent packet_event(const Endpoint& from, const Endpoint& to, ByteView payload, std::int64_t time_ns = 0) {
  TraceEvent event;
  event.kind = TraceKind::packet;
  event.time = Instant::at_ns(time_ns);
  event.actor = "host";
  event.label = "udp";
  event.bytes = payload;
  event.source = from;
  event.destination = to;
  return event;
}

TraceEvent word_event(TraceKind kind, std::string_view text) {
  TraceEvent event;
  event.kind = kind;
  event.actor = "host";
  event.label = "qp.state";
  event.text = text;
  return event;
}

struct Read {
  std::vector<CapturedPacket> packets;
  std::string problem;
  SkippedFrames skipped;
  std::uint64_t frames = 0;
};

Read read_all(ByteView file) {
  Read read;
  CaptureReader reader(file);
  CapturedPacket packet;
  for (;;) {
    const Result<bool> got = reader.next(packet);
    if (!got) read.problem = got.error().text;
    if (!got || !*got) break;
    read.packets.push_back(packet);
  }
  CapturedPacket after;
  const Result<bool> again = reader.next(after);
  EXPECT_TRUE(again.ok() && !*again) << "after the end there is nothing more";
  read.skipped = reader.skipped();
  read.frames = reader.frames();
  return read;
}

Bytes bytes_of(ByteView view) { return {view.begin(), view.end()}; }

TEST(Frame, HeadersAreThoseOfTheVectors) {
  const Bytes ip4 = from_hex(kRocePacket);
  Bytes frame;
  append_frame(frame, kHost, kTarget, {}, ByteView(ip4).subspan(28));
  EXPECT_EQ(to_hex(frame), "02fb0a00000202fb0a0000010800" + kRocePacket);

  Bytes frame6;
  append_frame(frame6, kHost6, kTarget6, {}, ByteView(from_hex(kReadPacket6)).subspan(48));
  std::string expected = kReadPacket6;
  // The vector has no UDP checksum; a capture needs one on IPv6.
  expected.replace((40 + 6) * 2, 4, to_hex(ByteView(frame6).subspan(14 + 40 + 6, 2)));
  EXPECT_EQ(to_hex(ByteView(frame6).subspan(14)), expected);
  EXPECT_NE(load_be<std::uint16_t>(&frame6[14 + 40 + 6]), 0);
}

TEST(Pcapng, RoundTripKeepsEverything) {
  PcapngWriter writer({.title = "rc.send.basic", .epoch_ns = 1'000'000'000'000'000'000});
  Rng rng(3);
  std::vector<Bytes> payloads;
  for (std::size_t i = 0; i < 40; ++i) {
    Bytes payload(i * 7);
    rng.fill(payload);
    TraceEvent event =
        packet_event(i % 2 == 0 ? kHost : kHost6, i % 2 == 0 ? kTarget : kTarget6, payload, static_cast<std::int64_t>(i) * 1'000'003);
    event.ip = {.id = static_cast<std::uint16_t>(i % 2 == 0 ? i : 0),
                .dont_fragment = true,
                .tos = static_cast<std::uint8_t>(i),
                .ttl = static_cast<std::uint8_t>(200 - i)};
    writer.on_event(event);
    payloads.push_back(std::move(payload));
  }
  const Bytes file = writer.bytes();
  const Read read = read_all(file);
  EXPECT_EQ(read.problem, "");
  ASSERT_EQ(read.packets.size(), 40u);
  for (std::size_t i = 0; i < 40; ++i) {
    const CapturedPacket& packet = read.packets[i];
    EXPECT_EQ(bytes_of(packet.carried.payload), payloads[i]);
    EXPECT_EQ(packet.carried.source, i % 2 == 0 ? kHost : kHost6);
    EXPECT_EQ(packet.carried.destination, i % 2 == 0 ? kTarget : kTarget6);
    EXPECT_EQ(packet.carried.ip.id, i % 2 == 0 ? i : 0);
    EXPECT_EQ(packet.carried.ip.tos, i);
    EXPECT_EQ(packet.carried.ip.ttl, 200 - i);
    EXPECT_EQ(packet.number, i + 1);
    EXPECT_EQ(packet.time_ns, 1'000'000'000'000'000'000 + static_cast<std::int64_t>(i) * 1'000'003);
    EXPECT_EQ(packet.as_event(1'000'000'000'000'000'000).time, Instant::at_ns(static_cast<std::int64_t>(i) * 1'000'003));
  }
}

TEST(Pcapng, EventsBecomeCommentsOfTheNextPacket) {
  PcapngWriter writer({.title = "case"});
  const Bytes payload(8);
  writer.on_event(word_event(TraceKind::state, "init -> ready"));
  writer.comment("step 2");
  writer.on_event(packet_event(kHost, kTarget, payload));
  writer.on_event(packet_event(kTarget, kHost, payload));
  TraceEvent lost = packet_event(kHost, kTarget, payload);
  lost.kind = TraceKind::fault;
  lost.text = "dropped by filter";
  writer.on_event(lost);
  writer.on_event(word_event(TraceKind::verdict, "PASS \x01\xFF"));
  const Bytes file = writer.bytes();
  const Read read = read_all(file);
  ASSERT_EQ(read.packets.size(), 3u);
  EXPECT_EQ(read.packets[0].comment, "state host qp.state: init -> ready\nstep 2");
  EXPECT_EQ(read.packets[1].comment, "");
  EXPECT_EQ(read.packets[2].comment, "host dropped by filter");
  const std::string text(file.begin(), file.end());
  EXPECT_NE(text.find("afterwards: verdict host qp.state: PASS ??"), std::string::npos);
}

TEST(Pcapng, CommentsAreBounded) {
  PcapngWriter writer;
  const std::string word(300, 'x');
  for (int i = 0; i < 1000; ++i) writer.comment(word);
  writer.comment(std::string(100'000, 'y'));
  writer.on_event(packet_event(kHost, kTarget, Bytes(4)));
  const Bytes file = writer.bytes();
  const Read read = read_all(file);
  ASSERT_EQ(read.packets.size(), 1u);
  EXPECT_LT(read.packets[0].comment.size(), 4100u);
  EXPECT_NE(read.packets[0].comment.find("(988 more events)"), std::string_view::npos);
}

TEST(Pcapng, FullCaptureSaysSo) {
  PcapngWriter writer({.bytes_max = 20'000});
  for (int i = 0; i < 100; ++i) writer.on_event(packet_event(kHost, kTarget, Bytes(1000)));
  EXPECT_EQ(writer.packets() + writer.packets_left_out(), 100u);
  EXPECT_LT(writer.bytes().size(), 21'000u);
  EXPECT_EQ(read_all(writer.bytes()).packets.size(), writer.packets());
  const Bytes file = writer.bytes();
  EXPECT_NE(std::string(file.begin(), file.end()).find("capture full"), std::string::npos);
}

TEST(Pcapng, DecodersGiveWords) {
  Trace trace;
  trace.set_decoder("nvme.command", [](ByteView bytes) { return "Read " + to_hex(bytes); });
  PcapngWriter writer({.decoders = &trace});
  const Bytes command = {1, 2};
  TraceEvent event;
  event.kind = TraceKind::capsule;
  event.actor = "host";
  event.label = "nvme.command";
  event.bytes = command;
  writer.on_event(event);
  writer.on_event(packet_event(kHost, kTarget, Bytes(4)));
  const Bytes file = writer.bytes();
  EXPECT_EQ(read_all(file).packets[0].comment, "capsule host nvme.command: Read 0102");
}

struct TemporaryFolder {
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "fb-capture-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

TEST(Pcapng, WritesFilesWholeOrNotAtAll) {
  const TemporaryFolder folder;
  PcapngWriter writer;
  writer.on_event(packet_event(kHost, kTarget, Bytes(100)));
  const std::string path = (folder.path / "a.pcapng").string();
  ASSERT_TRUE(writer.write_file(path).ok());
  const Result<Bytes> back = read_file(path);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, writer.bytes());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);
  const std::string nowhere = (folder.path / "missing/a.pcapng").string();
  const auto refused = writer.write_file(nowhere);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text, "cannot write " + nowhere + ": No such file or directory");
  EXPECT_EQ(read_file(nowhere).error().text, "cannot read " + nowhere + ": No such file or directory");
  EXPECT_FALSE(read_file(folder.path.string()).ok());
}

TEST(Pcapng, WritesThroughLinksAndIntoDevices) {
  const TemporaryFolder folder;
  const Bytes old(10, std::uint8_t{1}), fresh(20, std::uint8_t{2});
  const std::string file = (folder.path / "file").string(), link = (folder.path / "link").string();
  const std::string full = (folder.path / "full").string(), pipe = (folder.path / "pipe").string();
  ASSERT_TRUE(write_atomically(file, old).ok());
  std::filesystem::create_symlink(file, link);
  ASSERT_TRUE(write_atomically(link, fresh).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(*read_file(file), fresh);
  std::filesystem::create_symlink("/dev/full", full);
  const auto refused = write_atomically(full, old);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().text, "cannot write " + full + ": No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(write_atomically(pipe, fresh).ok());
  std::uint8_t heard[32];
  EXPECT_EQ(::read(reader, heard, sizeof heard), 20);
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_FALSE(write_atomically(folder.path.string(), old).ok());
}

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "cannot start";
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  return pclose(pipe) == 0 ? text : "failed: " + text;
}

// tshark is in the project's package list, like the compilers.
// (It takes any five bytes of a SEND for RPC over RDMA, and those for malformed: hence an ACK.)
TEST(Pcapng, TsharkReadsItWithNothingMalformed) {
  const TemporaryFolder folder;
  PcapngWriter writer({.title = "tshark reads this"});
  const Bytes ack = from_hex(kAckPacket), read = from_hex(kReadPacket6);
  for (int i = 0; i < 3; ++i) {
    writer.on_event(word_event(TraceKind::note, "step"));
    writer.on_event(packet_event({kTarget.address, 0xD1CE}, {kHost.address, 4791}, ByteView(ack).subspan(28), 1'500'000'123));
    writer.on_event(packet_event(kHost6, kTarget6, ByteView(read).subspan(48), 2'000'000'000));
  }
  writer.on_event(word_event(TraceKind::verdict, "PASS"));
  const std::string path = (folder.path / "a.pcapng").string();
  ASSERT_TRUE(writer.write_file(path).ok());
  const std::string tshark = "LC_ALL=C tshark -n -r '" + path + "' ";
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  EXPECT_EQ(lines(output_of(tshark + "-Y udp 2>/dev/null")), 6);
  EXPECT_EQ(lines(output_of(tshark + "-Y infiniband.bth 2>/dev/null")), 6);
  EXPECT_EQ(output_of(tshark + "-o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -Y '_ws.malformed || "
                               "ip.checksum.status == 0 || udp.checksum.status == 0' 2>/dev/null"),
            "");
  EXPECT_EQ(output_of(tshark + "-T fields -e frame.time_epoch -e frame.comment -c 1 2>/dev/null"),
            "1.500000123\tnote host qp.state: step\n");
}

// ---------------------------------------------------------------------------- files of others

struct Builder {
  explicit Builder(std::endian o) : order(o) {}
  void u16(std::uint16_t value) {
    bytes.resize(bytes.size() + 2);
    store<std::uint16_t>(&bytes[bytes.size() - 2], value, order);
  }
  void u32(std::uint32_t value) {
    bytes.resize(bytes.size() + 4);
    store<std::uint32_t>(&bytes[bytes.size() - 4], value, order);
  }
  void raw(ByteView more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
  void block(std::uint32_t type, const Builder& body) {
    const auto padded = static_cast<std::uint32_t>((body.bytes.size() + 3) / 4 * 4);
    u32(type);
    u32(padded + 12);
    raw(body.bytes);
    bytes.resize(bytes.size() + padded - body.bytes.size());
    u32(padded + 12);
  }
  std::endian order;
  Bytes bytes;
};

Bytes pcap_file(std::endian order, bool nano, std::uint32_t link, const std::vector<Bytes>& frames) {
  Builder file(order);
  file.u32(nano ? 0xA1B23C4D : 0xA1B2C3D4);
  file.u16(2);
  file.u16(4);
  file.u32(0);
  file.u32(0);
  file.u32(262144);
  file.u32(link);
  for (const Bytes& frame : frames) {
    file.u32(1000);
    file.u32(500);
    file.u32(static_cast<std::uint32_t>(frame.size()));
    file.u32(static_cast<std::uint32_t>(frame.size()));
    file.raw(frame);
  }
  return file.bytes;
}

Bytes with_prefix(const std::string& hex, const std::string& packet) { return from_hex(hex + packet); }

TEST(Reader, PcapOfEveryLinkTypeOrderAndResolution) {
  const Bytes payload = from_hex(kRocePacket.substr(56));
  const struct {
    std::uint32_t link;
    std::string prefix;
  } kinds[] = {
      {link_type::ethernet, "0000000000010000000000020800"},
      {link_type::ethernet, "0000000000010000000000028100000a0800"},
      {link_type::ethernet, "00000000000100000000000288a8000a8100000b0800"},
      {link_type::raw, ""},
      {link_type::ipv4, ""},
      {link_type::null, "02000000"},
      {link_type::linux_sll, "00000001000600000000000200000800"},
      {link_type::linux_sll2, "0800000000000001000100060000000000020000"},
  };
  for (const auto& kind : kinds) {
    for (const std::endian order : {std::endian::little, std::endian::big}) {
      for (const bool nano : {false, true}) {
        Bytes frame = with_prefix(kind.prefix, kRocePacket);
        frame.resize(frame.size() + 6);  // padding behind the packet
        const Bytes file = pcap_file(order, nano, kind.link, {frame});
        const Read read = read_all(file);
        EXPECT_EQ(read.problem, "");
        ASSERT_EQ(read.packets.size(), 1u) << kind.link << " " << kind.prefix;
        EXPECT_EQ(bytes_of(read.packets[0].carried.payload), payload);
        EXPECT_EQ(to_hex(read.packets[0].carried.ip_packet), kRocePacket);
        EXPECT_EQ(read.packets[0].carried.source, kHost);
        EXPECT_EQ(read.packets[0].time_ns, 1'000'000'000'000 + (nano ? 500 : 500'000));
      }
    }
  }
}

TEST(Reader, SkipsWhatIsNotAWholeUdpDatagram) {
  const std::string ether = "0000000000010000000000020800";
  Bytes icmp = with_prefix(ether, kRocePacket);
  icmp[14 + 9] = 1;
  Bytes fragment = with_prefix(ether, kRocePacket);
  fragment[14 + 6] = 0x20;
  Bytes cut = with_prefix(ether, kRocePacket);
  cut.resize(cut.size() - 1);
  Bytes short_udp = with_prefix(ether, kRocePacket);
  short_udp[14 + 25] = 7;
  const Bytes arp = from_hex("0000000000010000000000020806" + std::string(56, '0'));
  const Bytes file = pcap_file(std::endian::little, true, link_type::ethernet,
                               {icmp, fragment, cut, short_udp, arp, Bytes{}, with_prefix(ether, kRocePacket)});
  const Read read = read_all(file);
  ASSERT_EQ(read.packets.size(), 1u);
  EXPECT_EQ(read.packets[0].number, 7u);
  EXPECT_EQ(read.frames, 7u);
  EXPECT_EQ(read.skipped.other_protocol, 2u);
  EXPECT_EQ(read.skipped.fragments, 1u);
  EXPECT_EQ(read.skipped.cut_short, 2u);
  EXPECT_EQ(read.skipped.malformed, 1u);
}

TEST(Reader, Ipv6WithExtensionHeaders) {
  // Destination options between the IPv6 header and UDP.
  const std::string extended = "6000000000303c40" + kReadPacket6.substr(16, 64) + "1100010400000000" + kReadPacket6.substr(80);
  const Bytes file = pcap_file(std::endian::big, false, link_type::raw, {from_hex(extended)});
  const Read read = read_all(file);
  ASSERT_EQ(read.packets.size(), 1u);
  EXPECT_EQ(to_hex(read.packets[0].carried.payload), kReadPacket6.substr(96));
}

TEST(Reader, PcapngOfOtherWriters) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const Bytes packet = from_hex(kRocePacket);
    Builder file(order), section(order), milli(order), binary(order), simple(order), enhanced(order), obsolete(order), unknown(order);
    section.u32(0x1A2B3C4D);
    section.u16(1);
    section.u16(0);
    section.u32(0xFFFFFFFF);
    section.u32(0xFFFFFFFF);
    file.block(0x0A0D0D0A, section);
    milli.u16(101);
    milli.u16(0);
    milli.u32(0);
    milli.u16(9);
    milli.u16(1);
    milli.raw(Bytes{3, 0, 0, 0});
    file.block(1, milli);
    binary.u16(101);
    binary.u16(0);
    binary.u32(0);
    binary.u16(9);
    binary.u16(1);
    binary.raw(Bytes{0x8A, 0, 0, 0});  // units of 1/1024 s
    binary.u16(14);
    binary.u16(8);
    binary.u32(order == std::endian::big ? 0 : 100);
    binary.u32(order == std::endian::big ? 100 : 0);
    file.block(1, binary);
    unknown.raw(Bytes(12, 0x55));
    file.block(0x0BAD, unknown);
    simple.u32(static_cast<std::uint32_t>(packet.size()));
    simple.raw(packet);
    file.block(3, simple);
    enhanced.u32(1);
    enhanced.u32(0);
    enhanced.u32(1536);
    enhanced.u32(static_cast<std::uint32_t>(packet.size()));
    enhanced.u32(static_cast<std::uint32_t>(packet.size()));
    enhanced.raw(packet);
    file.block(6, enhanced);
    obsolete.u16(0);
    obsolete.u16(7);
    obsolete.u32(0);
    obsolete.u32(2500);
    obsolete.u32(static_cast<std::uint32_t>(packet.size()));
    obsolete.u32(static_cast<std::uint32_t>(packet.size()));
    obsolete.raw(packet);
    file.block(2, obsolete);
    const Read read = read_all(file.bytes);
    EXPECT_EQ(read.problem, "");
    ASSERT_EQ(read.packets.size(), 3u);
    EXPECT_EQ(read.packets[0].time_ns, 0);
    EXPECT_EQ(read.packets[1].time_ns, 101'500'000'000);
    EXPECT_EQ(read.packets[2].time_ns, 2'500'000'000);
  }
}

TEST(Reader, ProblemsSayWhere) {
  EXPECT_EQ(read_all({}).problem, "capture file, byte 0: too short for a pcap or pcapng file");
  EXPECT_EQ(read_all(from_hex("0102030405060708")).problem, "capture file, byte 0: 0x04030201 begins neither a pcap nor a pcapng file");
  EXPECT_EQ(read_all(pcap_file(std::endian::little, false, 147, {})).problem, "capture file, byte 20: link type 147 is not supported");
  Bytes cut = pcap_file(std::endian::little, false, 101, {from_hex(kRocePacket)});
  cut.pop_back();
  EXPECT_EQ(read_all(cut).problem, "capture file, byte 24: a packet of 52 bytes, but 51 are left");
  PcapngWriter writer;
  writer.on_event(packet_event(kHost, kTarget, Bytes(100)));
  writer.on_event(packet_event(kHost, kTarget, Bytes(100)));
  Bytes file = writer.bytes();
  file.resize(file.size() - 10);
  const Read read = read_all(file);
  EXPECT_EQ(read.packets.size(), 2u) << "what comes before the break is given; an end that is missing is seen";
  EXPECT_NE(read.problem.find("a block of 64 bytes, but 54 are left"), std::string::npos) << read.problem;
}

TEST(Reader, SurvivesMutatedFiles) {
  PcapngWriter writer({.title = "mutate me"});
  writer.comment("comment");
  writer.on_event(packet_event(kHost, kTarget, Bytes(100)));
  writer.on_event(packet_event(kHost6, kTarget6, Bytes(30)));
  const TcpFacts syn{.flags = tcp_flag::syn, .mss = 1460, .window_shift = 3};
  TraceEvent segment = packet_event(kHost, kTarget, Bytes());
  segment.tcp = &syn;
  writer.on_event(segment);
  const Bytes ng = writer.bytes();
  const Bytes pcap = pcap_file(std::endian::big, false, 101, {from_hex(kRocePacket), from_hex(kReadPacket6)});
  Rng rng(11);
  for (int i = 0; i < 20'000; ++i) {
    Bytes file = i % 2 == 0 ? ng : pcap;
    for (std::uint64_t flips = rng.between(1, 4); flips > 0; --flips) {
      file[rng.below(file.size())] = static_cast<std::uint8_t>(rng.next());
    }
    if (rng.chance(1, 3)) file.resize(rng.below(file.size() + 1));
    // Held apart, so that a sanitizer sees a read beyond the end.
    const auto exact = std::make_unique<std::uint8_t[]>(file.size());
    std::copy(file.begin(), file.end(), exact.get());
    (void)read_all({exact.get(), file.size()});
  }
}

}  // namespace
}  // namespace fb::capture
