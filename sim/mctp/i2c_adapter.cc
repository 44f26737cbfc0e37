#include "sim/mctp/i2c_adapter.h"

#include <linux/i2c.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "wire/mctp/crc.h"

namespace fb::mctp {

namespace {

/// The own address of the master, in the 8-bit form: nobody asks it anything.
constexpr std::uint8_t kHostAddress = 0x20;
constexpr std::size_t kBlockMax = I2C_SMBUS_BLOCK_MAX;

std::uint8_t on_the_bus(std::uint8_t address, bool reads) { return static_cast<std::uint8_t>(address << 1 | (reads ? 1 : 0)); }

/// What the calls of SMBus are made of: bytes that are written, then a read.
struct Plan {
  int error = 0;
  bool writes = true;
  Bytes out;
  bool reads = false, counted = false, checked = false;
  std::uint16_t size = 0;
};

Plan plan_of(const SmbusCall& call) {
  Plan plan;
  plan.checked = call.checks;
  plan.out = {call.command};
  const auto add = [&](std::size_t from, std::size_t count) {
    plan.out.insert(plan.out.end(), call.data.begin() + static_cast<std::ptrdiff_t>(from),
                    call.data.begin() + static_cast<std::ptrdiff_t>(from + count));
  };
  const auto read = [&](std::size_t size, bool counted = false) {
    plan.reads = true;
    plan.size = static_cast<std::uint16_t>(size);
    plan.counted = counted;
  };
  const std::size_t count = call.data[0];
  const bool fits = count >= 1 && count <= kBlockMax;
  switch (call.size) {
    case I2C_SMBUS_QUICK:
      plan.out.clear();
      plan.checked = false;
      if (call.reads) read(0);
      plan.writes = !call.reads;
      return plan;
    case I2C_SMBUS_BYTE:
      if (call.reads) {
        plan.out.clear();
        plan.writes = false;
        read(1);
      }
      return plan;
    case I2C_SMBUS_BYTE_DATA:
      call.reads ? read(1) : add(0, 1);
      return plan;
    case I2C_SMBUS_WORD_DATA:
      call.reads ? read(2) : add(0, 2);
      return plan;
    case I2C_SMBUS_PROC_CALL:
      add(0, 2);
      read(2);
      return plan;
    case I2C_SMBUS_BLOCK_DATA:
      if (call.reads) {
        read(0, true);
      } else if (fits) {
        add(0, 1 + count);
      } else {
        plan.error = EINVAL;
      }
      return plan;
    case I2C_SMBUS_BLOCK_PROC_CALL:
      if (!fits) plan.error = EINVAL;
      add(0, 1 + std::min(count, kBlockMax));
      read(0, true);
      return plan;
    case I2C_SMBUS_I2C_BLOCK_BROKEN:
    case I2C_SMBUS_I2C_BLOCK_DATA: {
      plan.checked = false;
      const bool of_old = call.reads && call.size == I2C_SMBUS_I2C_BLOCK_BROKEN;
      if (!fits && !of_old) {
        plan.error = EINVAL;
      } else if (call.reads) {
        read(of_old ? kBlockMax : count);
      } else {
        add(1, count);
      }
      return plan;
    }
    default:
      plan.error = EOPNOTSUPP;
      return plan;
  }
}

/// Where the bytes of a read stand in the data of the call.
void put_back(const SmbusCall& call, ByteView bytes, std::array<std::uint8_t, 34>& data) {
  const bool raw = call.size == I2C_SMBUS_I2C_BLOCK_DATA || call.size == I2C_SMBUS_I2C_BLOCK_BROKEN;
  if (raw) data[0] = static_cast<std::uint8_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), data.begin() + (raw ? 1 : 0));
}

}  // namespace

I2cAdapter::I2cAdapter(World& world, const SmbusOptions& options)
    : segment_(world, options), port_(segment_.attach(options.name, kHostAddress)) {}

void I2cAdapter::transfer(std::vector<I2cMessage> messages, I2cThen then) {
  jobs_.push_back({std::move(messages), std::move(then), 0, {}});
  if (jobs_.size() == 1) step();
}

void I2cAdapter::end(int error) {
  const Job job = std::move(jobs_.front());
  jobs_.pop_front();
  if (!jobs_.empty()) step();
  job.then(error, job.reads);
}

/// The next message, and the read behind a write to the same address, which share a repeated START.
void I2cAdapter::step() {
  Job& job = jobs_.front();
  if (job.at == job.messages.size()) return end(0);
  const I2cMessage& first = job.messages[job.at++];
  const I2cMessage* read = first.reads ? &first : nullptr;
  if (!first.reads && job.at < job.messages.size()) {
    const I2cMessage& second = job.messages[job.at];
    if (second.reads && second.address == first.address) {
      read = &second;
      ++job.at;
    }
  }
  // A block that says its own length is read to the longest: a slave does not know where its master stops.
  const bool counted = read != nullptr && read->counted;
  const std::size_t size = read == nullptr ? 0 : read->size + (counted ? 1 + kBlockMax : 0);
  const std::size_t more = read == nullptr ? 0 : read->size;
  const ByteView written = first.reads ? ByteView{} : ByteView(first.data);
  const bool reads = read != nullptr;
  port_->transact(on_the_bus(first.address, false), written, size, [this, reads, counted, more](const std::optional<Bytes>& got) {
    if (!got) return end(ENXIO);
    if (reads) {
      Bytes bytes = *got;
      if (counted) {
        if (bytes[0] == 0 || bytes[0] > kBlockMax) return end(EPROTO);
        bytes.resize(1 + bytes[0] + more);
      }
      jobs_.front().reads.push_back(std::move(bytes));
    }
    step();
  });
}

void I2cAdapter::smbus(const SmbusCall& call, SmbusCallThen then) {
  Plan plan = plan_of(call);
  if (plan.error != 0) return then(plan.error, call.data);
  // Everything on the bus before the code counts, addresses too.
  Bytes before;
  std::vector<I2cMessage> messages;
  if (plan.writes) {
    before.push_back(on_the_bus(call.address, false));
    before.insert(before.end(), plan.out.begin(), plan.out.end());
    if (plan.checked && !plan.reads) plan.out.push_back(pec(before));
    messages.push_back({.address = call.address, .data = std::move(plan.out)});
  }
  if (plan.reads) {
    before.push_back(on_the_bus(call.address, true));
    const auto size = static_cast<std::uint16_t>(plan.size + (plan.checked ? 1 : 0));
    messages.push_back({.address = call.address, .reads = true, .counted = plan.counted, .size = size});
  }
  const bool checked = plan.checked && plan.reads;
  transfer(std::move(messages), [call, before, checked, then = std::move(then)](int error, const std::vector<Bytes>& reads) {
    auto data = call.data;
    if (error != 0 || reads.empty()) return then(error, data);
    Bytes bytes = reads.front();
    if (checked) {
      const std::uint8_t code = bytes.back();
      bytes.pop_back();
      if (pec(bytes, pec(before)) != code) return then(EBADMSG, data);
    }
    put_back(call, bytes, data);
    then(0, data);
  });
}

}  // namespace fb::mctp
