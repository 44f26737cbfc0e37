// Packets of real kernels (rdma_rxe, nvmet-rdma, nvme-rdma of Linux 6.1 and 6.12) through our eyes: the ICRC of
// what they sent, with the identification known and unknown, and the connection manager's messages. What the
// first recording holds was counted by another dissector; the others are made by interop/lane/recording.py.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "sim/capture/reader.h"
#include "sim/rdma/softroce/icrc.h"
#include "wire/rdma/cm_messages.h"
#include "wire/rdma/headers.h"
#include "wire/rdma/mad.h"

namespace fb::softroce {
namespace {

struct Recording {
  const char* file;
  IpAddress kernel;
  int packets_min;  ///< of the kernel
  bool rejects;     ///< it refuses connections
};
const Recording kRecordings[] = {{"/rxe-nvme-kernel-6.1.pcap", IpAddress::v4(10, 7, 0, 2), 1000, true},
                                 {"/linux-6.1.pcap", IpAddress::v4(192, 168, 78, 2), 100, false},
                                 {"/linux-6.12.pcap", IpAddress::v4(192, 168, 78, 2), 100, false}};

class KernelRecording : public testing::TestWithParam<Recording> {};
INSTANTIATE_TEST_SUITE_P(Kernels, KernelRecording, testing::ValuesIn(kRecordings));

template <class Visit>
void each_kernel_packet(const Recording& recording, Visit&& visit) {
  const auto file = capture::read_file(std::string(FABRICBENCH_TEST_DATA) + recording.file);
  ASSERT_TRUE(file.ok()) << file.error().text;
  capture::CaptureReader reader(file.value());
  capture::CapturedPacket packet;
  for (;;) {
    const auto more = reader.next(packet);
    ASSERT_TRUE(more.ok()) << more.error().text;
    if (!more.value()) return;
    if (packet.carried.source.address != recording.kernel || packet.carried.destination.port != roce::kUdpPort) {
      continue;
    }
    visit(packet);
  }
}

TEST_P(KernelRecording, EveryIcrcIsGood) {
  IcrcChecker checker;
  int packets = 0;
  each_kernel_packet(GetParam(), [&](const capture::CapturedPacket& packet) {
    ++packets;
    EXPECT_TRUE(checker.check(packet.carried.source, packet.carried.destination, packet.carried.payload, packet.carried.ip))
        << "frame " << packet.number;
  });
  EXPECT_GT(packets, GetParam().packets_min);
}

TEST_P(KernelRecording, TheUnknownIdentificationIsSolved) {
  IcrcChecker checker;
  each_kernel_packet(GetParam(), [&](const capture::CapturedPacket& packet) {
    const IcrcPath path(packet.carried.source, packet.carried.destination);
    EXPECT_EQ(checker.solve_identification(path, packet.carried.payload), packet.carried.ip.id) << "frame " << packet.number;
  });
}

TEST_P(KernelRecording, AFlippedBitIsSeen) {
  IcrcChecker checker;
  int seen = 0, packets = 0;
  each_kernel_packet(GetParam(), [&](const capture::CapturedPacket& packet) {
    Bytes damaged(packet.carried.payload.begin(), packet.carried.payload.end());
    damaged[5 + static_cast<std::size_t>(packets) % (damaged.size() - 5)] ^= 0x10;
    ++packets;
    seen += !checker.check(packet.carried.source, packet.carried.destination, damaged, packet.carried.ip);
  });
  EXPECT_EQ(seen, packets);
}

TEST_P(KernelRecording, ConnectionMessagesReadAsTheyAre) {
  std::map<cm::Attribute, int> messages;
  each_kernel_packet(GetParam(), [&](const capture::CapturedPacket& packet) {
    const View<roce::Bth> bth{packet.carried.payload};
    if (bth.get(roce::bth::destqp) != roce::kGsiQpn) return;
    const ByteView mad = packet.carried.payload.subspan(roce::Bth::size + roce::Deth::size);
    ASSERT_GE(mad.size(), cm::kMadBytes);
    const auto attribute = View<cm::MadHeader>{mad}.get(cm::mad::attribute);
    ++messages[attribute];
    if (attribute == cm::Attribute::req) {
      const auto req = cm::message_of<cm::Req>(mad.first(cm::kMadBytes));
      EXPECT_EQ(cm::from_gid(req.get(cm::req::primary_local_gid)), GetParam().kernel);
      EXPECT_EQ(cm::port_of(req.get(cm::req::service_id)), 4420);
      EXPECT_EQ(req.get(cm::req::retry_count), 7);
      EXPECT_EQ(req.get(cm::req::rnr_retry_count), 7);
    }
  });
  EXPECT_GT(messages[cm::Attribute::req], 0);
  EXPECT_GT(messages[cm::Attribute::rep], 0);
  EXPECT_EQ(messages[cm::Attribute::rej] > 0, GetParam().rejects);
  EXPECT_GT(messages[cm::Attribute::dreq], 0);
  EXPECT_GT(messages[cm::Attribute::drep], 0);
}

TEST_P(KernelRecording, RequestsAreSentAgain) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, roce::Opcode>, int> seen;
  int repeated = 0;
  each_kernel_packet(GetParam(), [&](const capture::CapturedPacket& packet) {
    const View<roce::Bth> bth{packet.carried.payload};
    const std::uint32_t qpn = bth.get(roce::bth::destqp);
    if (qpn == roce::kGsiQpn || bth.get(roce::bth::opcode) == roce::Opcode::acknowledge) return;
    repeated += ++seen[{qpn, bth.get(roce::bth::psn), bth.get(roce::bth::opcode)}] > 1;
  });
  EXPECT_GT(repeated, 0);
}

}  // namespace
}  // namespace fb::softroce
