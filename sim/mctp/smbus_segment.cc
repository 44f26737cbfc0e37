#include "sim/mctp/smbus_segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/mctp/fault_points.h"
#include "sim/mctp/hooks.h"

namespace fb::mctp {

namespace {

control::MediumId medium_of(std::uint32_t clock_hz) {
  if (clock_hz > 1'000'000) return control::MediumId::high_speed_3400k;
  if (clock_hz > 400'000) return control::MediumId::fast_plus_1m;
  return clock_hz > 100'000 ? control::MediumId::fast_400k : control::MediumId::smbus_100k;
}

// How long the bus must be free between STOP and START.
Duration free_time(std::uint32_t clock_hz) {
  if (clock_hz > 400'000) return Duration::ns(500);
  return clock_hz > 100'000 ? Duration::ns(1'300) : Duration::ns(4'700);
}

}  // namespace

// ----------------------------------------------------------------------------------------- ports

SmbusPort::SmbusPort(SmbusSegment& segment, std::string name, std::uint8_t address)
    : segment_(segment), name_(std::move(name)), address_(smbus_address(address)) {
  facts_.binding = control::BindingId::smbus;
  facts_.medium = medium_of(segment.options().clock_hz);
  facts_.unit_max = smbus::kUnitMax;
  facts_.address_size = 1;
}

SmbusPort::~SmbusPort() { segment_.forget(*this); }

void SmbusPort::send(const PhysicalAddress& to, ByteView packet) {
  BENCH_ASSERT(!waiting_, "one packet at a time");
  smbus::encode(frame_, to.size == 1 ? to.bytes[0] : std::uint8_t{0}, address_.bytes[0], packet);
  if (hooks_ != nullptr) hooks_->frame_out(frame_);
  if (frame_.empty()) frame_.push_back(0);
  segment_.enqueue(*this);
}

void SmbusPort::send_frame(Bytes frame) {
  BENCH_ASSERT(!waiting_, "one packet at a time");
  frame_ = std::move(frame);
  if (frame_.empty()) frame_.push_back(0);
  segment_.enqueue(*this);
}

void SmbusPort::transact(std::uint8_t address, ByteView write, std::size_t read, SmbusThen then) {
  BENCH_ASSERT(!waiting_ && then != nullptr, "one thing at a time");
  const bool reads_only = write.empty() && read > 0;
  frame_.assign(1, static_cast<std::uint8_t>((address & 0xFE) | (reads_only ? 1 : 0)));
  frame_.insert(frame_.end(), write.begin(), write.end());
  read_ = read;
  then_ = std::move(then);
  segment_.enqueue(*this);
}

bool SmbusPort::move_to(std::uint8_t address) {
  if (!segment_.is_free(address)) return false;
  segment_.slaves_[address_.bytes[0] >> 1] = nullptr;
  address_ = smbus_address(address);
  segment_.slaves_[address >> 1] = this;
  return true;
}

void SmbusPort::set_present(bool present) { present_ = present; }

// --------------------------------------------------------------------------------------- segment

SmbusSegment::SmbusSegment(World& world, const SmbusOptions& options)
    : world_(world), options_(options), medium_{options.name, options.bus} {
  BENCH_ASSERT(options.clock_hz > 0, "a bus has a clock");
}

SmbusSegment::~SmbusSegment() {
  for (const SmbusPort* slave : slaves_) {
    BENCH_ASSERT(slave == nullptr, "ports go before their segment");
  }
}

std::unique_ptr<SmbusPort> SmbusSegment::attach(std::string name, std::uint8_t address) {
  BENCH_ASSERT(smbus::assignable(address), "an address that a device may have");
  BENCH_ASSERT(is_free(address), "one device an address");
  std::unique_ptr<SmbusPort> port(new SmbusPort(*this, std::move(name), address));
  slaves_[address >> 1] = port.get();
  return port;
}

void SmbusSegment::set_slave(std::uint8_t address, SmbusSlave* slave) {
  BENCH_ASSERT(slave == nullptr || is_free(address), "one device an address");
  plain_[address >> 1] = slave;
}

void SmbusSegment::enqueue(SmbusPort& port) {
  port.waiting_ = true;
  port.tries_ = 0;
  waiting_.push_back(&port);
  contend();
}

void SmbusSegment::forget(SmbusPort& port) {
  slaves_[port.address_.bytes[0] >> 1] = nullptr;
  std::erase(waiting_, &port);
  if (current_ == &port) current_ = nullptr;  // finish_ finds nobody, and the bus goes on
}

Duration SmbusSegment::bits(std::size_t count) const {
  return Duration::ns(static_cast<std::int64_t>(count) * 1'000'000'000 / options_.clock_hz);
}

Duration SmbusSegment::transfer_time(std::size_t bytes) const {
  if (!options_.timing) return {};
  // START, nine bits a byte with its acknowledgement, STOP.
  return bits(bytes * 9 + 2) + options_.stretch_per_byte * static_cast<std::int64_t>(bytes);
}

void SmbusSegment::occupy(Duration span) { occupied_until_ = std::max(occupied_until_, world_.now() + span); }

// The next transfer begins when the bus has been free for long enough; whoever wants it by then takes part
// in the arbitration.
void SmbusSegment::contend() {
  if (begin_.scheduled() || finish_.scheduled() || waiting_.empty()) return;
  world_.loop().schedule(begin_, std::max({world_.now(), free_at_, occupied_until_}));
}

// All masters send at once, and the first to see a 0 where it sent a 1 withdraws: the smallest bytes win.
SmbusPort* SmbusSegment::choose() {
  const auto eligible = [&](const SmbusPort* port) { return !options_.fair || !port->served_; };
  if (std::none_of(waiting_.begin(), waiting_.end(), eligible)) {
    for (SmbusPort* port : waiting_) port->served_ = false;
  }
  SmbusPort* winner = nullptr;
  std::uint64_t contenders = 0;
  for (SmbusPort* port : waiting_) {
    if (!eligible(port)) continue;
    ++contenders;
    if (winner == nullptr || port->frame_ < winner->frame_) winner = port;
  }
  counters_.arbitrations_lost += contenders - 1;
  return winner;
}

void SmbusSegment::begin() {
  if (occupied_until_ > world_.now()) return contend();
  if (waiting_.empty()) return;  // who waited has gone
  SmbusPort& master = *choose();
  master.served_ = true;
  std::erase(waiting_, &master);
  current_ = &master;
  ++counters_.transfers;
  outcome_ = judge(master);
  const Duration time = transfer_time(outcome_ == Outcome::nack ? 1 : bytes_on_the_bus(master));
  counters_.busy = counters_.busy + time;
  if (options_.timing) {
    free_at_ = world_.now() + time + free_time(options_.clock_hz);
    world_.loop().schedule_after(finish_, time);
  } else {
    finish();
  }
}

// A write and a read have each its address; a read's bytes come from the slave.
std::size_t SmbusSegment::bytes_on_the_bus(const SmbusPort& master) const {
  const bool both = master.then_ != nullptr && master.read_ > 0 && (master.frame_[0] & 1) == 0;
  return on_the_bus_.size() + (master.then_ != nullptr ? master.read_ : 0) + (both ? 1 : 0);
}

// Whether somebody acknowledges the address on the bus.
bool SmbusSegment::answers(const SmbusPort& master) const {
  if (!master.present_) return false;
  const std::size_t index = on_the_bus_[0] >> 1;
  if (plain_[index] != nullptr) return true;
  const SmbusPort* const slave = slaves_[index];
  // An MCTP device takes block writes, and nothing can be read from it.
  return slave != nullptr && slave != &master && slave->present_ && (on_the_bus_[0] & 1) == 0;
}

SmbusSegment::Outcome SmbusSegment::judge(SmbusPort& master) {
  copies_ = 1;
  on_the_bus_.assign(master.frame_.begin(), master.frame_.end());
  Outcome outcome = Outcome::delivered;
  if (filter_ != nullptr && master.then_ == nullptr) {
    FrameContext context{medium_.name, master.name_, ordinal_, world_.now(), master.address_, on_the_bus_};
    const FrameVerdict verdict = filter_->on_frame(context);
    if (on_the_bus_.empty()) on_the_bus_.push_back(0);
    copies_ += verdict.duplicates;
    if (verdict.drop) outcome = Outcome::lost;
    if (verdict.nack) outcome = Outcome::nack;
  }
  ++ordinal_;
  if (!answers(master)) {
    ++counters_.absent;
    return Outcome::nack;
  }
  SmbusPort* const slave = slaves_[on_the_bus_[0] >> 1];
  if (slave != nullptr && slave->nacks_ > 0) {
    --slave->nacks_;
    return Outcome::nack;
  }
  return outcome;
}

void SmbusSegment::finish() {
  SmbusPort* const master = std::exchange(current_, nullptr);
  if (master == nullptr) return contend();
  if (master->then_ != nullptr) return finish_transaction(*master);
  if (outcome_ == Outcome::nack) {
    ++counters_.nacks;
    if (world_.trace().hears_wire()) {
      trace_fault(world_, kTraceNack, master->name_, fmt::format("{:02x} did not acknowledge", on_the_bus_[0]), on_the_bus_);
    }
    retry(*master);
    return contend();
  }
  ++counters_.delivered;
  // Receiver and sender may send in these calls: nothing begins before the next event.
  if (outcome_ == Outcome::delivered) {
    for (std::uint32_t copy = 0; copy < copies_; ++copy) receive(*master, on_the_bus_);
  }
  ++master->counters_.sent;
  end_for(*master, true);
  contend();
}

void SmbusSegment::finish_transaction(SmbusPort& master) {
  SmbusSlave* const slave = plain_[on_the_bus_[0] >> 1];
  const bool acknowledged = outcome_ != Outcome::nack;
  std::optional<Bytes> result;
  if (acknowledged) {
    ++counters_.delivered;
    const bool writes = (on_the_bus_[0] & 1) == 0;
    if (writes && slave != nullptr) {
      slave->on_write(ByteView(on_the_bus_).subspan(1));
      if (master.read_ == 0) slave->on_stop();
    }
    if (writes && slave == nullptr) receive(master, on_the_bus_);
    result.emplace();
    if (master.read_ > 0 && slave != nullptr) *result = slave->on_read(master.read_);
    result->resize(master.read_, 0xFF);
  } else {
    ++counters_.nacks;
  }
  master.waiting_ = false;
  master.read_ = 0;
  const SmbusThen then = std::exchange(master.then_, nullptr);
  then(result);
  contend();
}

void SmbusSegment::receive(SmbusPort& master, ByteView frame) {
  SmbusPort* const slave = slaves_[frame[0] >> 1];
  if (slave == nullptr) {
    if (SmbusSlave* const plain = plain_[frame[0] >> 1]) {
      plain->on_write(frame.subspan(1));
      plain->on_stop();
    }
    return;
  }
  Bytes changed;
  if (slave->hooks_ != nullptr) {
    changed.assign(frame.begin(), frame.end());
    slave->hooks_->frame_in(changed);
    if (changed.empty()) return;
    frame = changed;
  }
  const auto decoded = smbus::decode(frame);
  if (!decoded) {
    ++slave->counters_.faults[static_cast<std::size_t>(decoded.error())];
    trace_fault(world_, kTraceDamaged, master.name_, smbus::name_of(decoded.error()), frame);
    if (slave->sink_ != nullptr) slave->sink_->on_damaged();
    return;
  }
  ++slave->counters_.received;
  const PhysicalAddress source = smbus_address(decoded->source);
  trace_packet(world_, medium_, master.name_, control::BindingId::smbus, source, decoded->packet);
  if (slave->sink_ != nullptr) slave->sink_->on_packet(source, decoded->packet);
}

void SmbusSegment::retry(SmbusPort& master) {
  const auto departs = [&](std::string_view point) { return master.hooks_ != nullptr && master.hooks_->departs(point); };
  if (departs(departure::kSmbusWedged)) return;
  if (master.tries_ >= master.retries_ || !master.present_ || departs(departure::kSmbusRetry)) {
    ++master.counters_.given_up;
    end_for(master, false);
    return;
  }
  ++master.tries_;
  ++master.counters_.retries;
  waiting_.push_back(&master);
}

void SmbusSegment::end_for(SmbusPort& master, bool delivered) {
  master.waiting_ = false;
  if (master.sink_ != nullptr) master.sink_->on_packet_sent(delivered);
}

}  // namespace fb::mctp
