// What an I2C adapter puts on the bus for each call of SMBus, and what it makes of the answers.
#include "sim/mctp/i2c_adapter.h"

#include <gtest/gtest.h>
#include <linux/i2c.h>

#include <cerrno>
#include <optional>

#include "wire/mctp/crc.h"

namespace fb::mctp {
namespace {

constexpr std::uint8_t kAddress = 0x53;

/// Remembers what is written, and answers with what it is given.
struct Recorder final : SmbusSlave {
  void on_write(ByteView bytes) override { writes.emplace_back(bytes.begin(), bytes.end()); }
  void on_stop() override { ++stops; }
  Bytes on_read(std::size_t count) override {
    asked = count;
    return answer;
  }
  std::vector<Bytes> writes;
  int stops = 0;
  std::size_t asked = 0;
  Bytes answer;
};

class I2cAdapterTest : public ::testing::Test {
 protected:
  I2cAdapterTest() { adapter.bus().set_slave(kAddress << 1, &slave); }
  ~I2cAdapterTest() override { adapter.bus().set_slave(kAddress << 1, nullptr); }

  struct Outcome {
    int error = -1;
    std::array<std::uint8_t, 34> data{};
  };
  Outcome smbus(std::uint32_t size, bool reads, Bytes data = {}, bool checks = false, std::uint8_t address = kAddress) {
    SmbusCall call{.address = address, .reads = reads, .checks = checks, .command = 0x21, .size = size};
    std::copy(data.begin(), data.end(), call.data.begin());
    Outcome outcome;
    adapter.smbus(call, [&](int error, const auto& got) { outcome = {error, got}; });
    world->run_for(Duration::ms(100));
    return outcome;
  }

  std::unique_ptr<World> world = World::make_virtual(1);
  I2cAdapter adapter{*world, {.name = "i2c-1"}};
  Recorder slave;
};

TEST_F(I2cAdapterTest, EachCallWritesItsBytes) {
  struct Row {
    std::uint32_t size;
    Bytes data;
    const char* written;
  };
  const Row rows[] = {{I2C_SMBUS_QUICK, {}, ""},
                      {I2C_SMBUS_BYTE, {}, "21"},
                      {I2C_SMBUS_BYTE_DATA, {0x0A}, "210a"},
                      {I2C_SMBUS_WORD_DATA, {0x34, 0x12}, "213412"},
                      {I2C_SMBUS_BLOCK_DATA, {2, 0xAA, 0xBB}, "2102aabb"},
                      {I2C_SMBUS_I2C_BLOCK_DATA, {2, 0xAA, 0xBB}, "21aabb"}};
  for (const Row& row : rows) {
    slave.writes.clear();
    EXPECT_EQ(smbus(row.size, false, row.data).error, 0) << row.size;
    ASSERT_EQ(slave.writes.size(), 1u) << row.size;
    EXPECT_EQ(to_hex(slave.writes[0]), row.written);
    EXPECT_EQ(slave.asked, 0u);
    // The code is over the address and all that follows it; quick commands and raw blocks have none.
    slave.writes.clear();
    EXPECT_EQ(smbus(row.size, false, row.data, true).error, 0) << row.size;
    Bytes checked = slave.writes.at(0);
    if (row.size == I2C_SMBUS_QUICK || row.size == I2C_SMBUS_I2C_BLOCK_DATA) {
      EXPECT_EQ(to_hex(checked), row.written);
      continue;
    }
    const std::uint8_t code = checked.back();
    checked.pop_back();
    EXPECT_EQ(to_hex(checked), row.written);
    checked.insert(checked.begin(), kAddress << 1);
    EXPECT_EQ(code, pec(checked));
  }
}

TEST_F(I2cAdapterTest, EachCallReadsItsBytes) {
  struct Row {
    std::uint32_t size;
    Bytes given, answer;
    const char* written;  // nullptr: nothing is written before the read
    std::size_t asked;
    Bytes data;
  };
  const Row rows[] = {{I2C_SMBUS_BYTE, {}, {0x7E}, nullptr, 1, {0x7E}},
                      {I2C_SMBUS_BYTE_DATA, {}, {0x7E}, "21", 1, {0x7E}},
                      {I2C_SMBUS_WORD_DATA, {}, {0x34, 0x12}, "21", 2, {0x34, 0x12}},
                      {I2C_SMBUS_PROC_CALL, {1, 2}, {0x34, 0x12}, "210102", 2, {0x34, 0x12}},
                      {I2C_SMBUS_BLOCK_DATA, {}, {3, 1, 2, 3, 9}, "21", 33, {3, 1, 2, 3, 0}},
                      {I2C_SMBUS_BLOCK_PROC_CALL, {1, 5}, {2, 6, 7, 9}, "210105", 33, {2, 6, 7, 0}},
                      {I2C_SMBUS_I2C_BLOCK_DATA, {4}, {1, 2, 3, 4}, "21", 4, {4, 1, 2, 3, 4}}};
  for (const Row& row : rows) {
    slave = {};
    slave.answer = row.answer;
    const Outcome outcome = smbus(row.size, true, row.given);
    EXPECT_EQ(outcome.error, 0) << row.size;
    EXPECT_EQ(slave.writes.size(), row.written == nullptr ? 0u : 1u) << row.size;
    if (row.written != nullptr) {
      EXPECT_EQ(to_hex(slave.writes.at(0)), row.written);
    }
    EXPECT_EQ(slave.asked, row.asked) << row.size;
    EXPECT_TRUE(std::equal(row.data.begin(), row.data.end(), outcome.data.begin())) << row.size;
  }
}

TEST_F(I2cAdapterTest, PacketErrorCodesOfReadsAreChecked) {
  const Bytes before = {kAddress << 1, 0x21, kAddress << 1 | 1};
  slave.answer = {2, 5, 6};
  slave.answer.push_back(pec(slave.answer, pec(before)));
  EXPECT_EQ(smbus(I2C_SMBUS_BLOCK_DATA, true, {}, true).error, 0);
  slave.answer[2] ^= 1;
  EXPECT_EQ(smbus(I2C_SMBUS_BLOCK_DATA, true, {}, true).error, EBADMSG);
  EXPECT_EQ(smbus(I2C_SMBUS_BLOCK_DATA, true).error, 0);
}

TEST_F(I2cAdapterTest, WhatCannotBeIsAnError) {
  EXPECT_EQ(smbus(I2C_SMBUS_BYTE, true, {}, false, 0x54).error, ENXIO);
  EXPECT_EQ(smbus(I2C_SMBUS_BLOCK_DATA, false, {0}).error, EINVAL);
  EXPECT_EQ(smbus(I2C_SMBUS_BLOCK_DATA, false, {33}).error, EINVAL);
  EXPECT_EQ(smbus(I2C_SMBUS_I2C_BLOCK_DATA, true, {33}).error, EINVAL);
  EXPECT_EQ(smbus(9, true).error, EOPNOTSUPP);
  for (const std::uint8_t count : {std::uint8_t{0}, std::uint8_t{33}}) {
    slave.answer = {count, 1, 2};
    EXPECT_EQ(smbus(I2C_SMBUS_BLOCK_DATA, true).error, EPROTO);
  }
  adapter.set_present(false);
  EXPECT_EQ(smbus(I2C_SMBUS_BYTE, false).error, ENXIO);
}

TEST_F(I2cAdapterTest, TransfersShareRepeatedStartsAndTakeTurns) {
  slave.answer = {1, 2, 3, 4};
  std::vector<std::size_t> sizes;
  int stops_then = -1;
  adapter.transfer(
      {{.address = kAddress, .data = {9}}, {.address = kAddress, .reads = true, .size = 4}, {.address = kAddress, .data = {8}}},
      [&](int error, const std::vector<Bytes>& reads) {
        EXPECT_EQ(error, 0);
        for (const Bytes& one : reads) sizes.push_back(one.size());
        stops_then = slave.stops;
      });
  int late = -1;
  adapter.transfer({{.address = 0x11, .data = {1}}}, [&](int error, const std::vector<Bytes>&) { late = error; });
  world->run_for(Duration::ms(100));
  EXPECT_EQ(sizes, std::vector<std::size_t>{4});
  EXPECT_EQ(stops_then, 1) << "a write with a read behind it ends with the read";
  EXPECT_EQ(slave.writes.size(), 2u);
  EXPECT_EQ(late, ENXIO);
}

}  // namespace
}  // namespace fb::mctp
