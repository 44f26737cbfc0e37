#include "sim/mctp/serial_line.h"

#include <utility>

#include "sim/mctp/hooks.h"

namespace fb::mctp {

std::uint64_t SerialReceiver::Counters::all_faults() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t one : faults) sum += one;
  return sum;
}

BindingFacts serial_facts(std::size_t unit_max) {
  BindingFacts facts;
  facts.binding = control::BindingId::serial;
  facts.medium = control::MediumId::serial;
  facts.unit_max = unit_max;
  return facts;
}

SerialEnd::SerialEnd(SerialLine& line, std::string name, const SerialOptions& options)
    : line_(line),
      name_(std::move(name)),
      facts_(serial_facts(options.unit_max)),
      receiver_(options.unit_max, options.unescape),
      arrive_("serial.arrive", *this) {}

void SerialEnd::send(const PhysicalAddress&, ByteView packet) {
  frame_.clear();
  serial::encode(frame_, packet);
  if (hooks_ != nullptr) hooks_->frame_out(frame_);
  depart();
}

void SerialEnd::send_frame(Bytes bytes) {
  frame_ = std::move(bytes);
  depart();
}

void SerialEnd::depart() {
  BENCH_ASSERT(!arrive_.scheduled(), "one packet at a time");
  line_.world_.loop().schedule_after(arrive_, line_.transfer_time(frame_.size()));
}

void SerialEnd::arrive() {
  std::uint32_t copies = 1;
  if (line_.filter_ != nullptr) {
    FrameContext context{line_.medium_.name, name_, line_.ordinal_, line_.world_.now(), {}, frame_};
    const FrameVerdict verdict = line_.filter_->on_frame(context);
    copies = verdict.drop || verdict.nack ? 0 : 1 + verdict.duplicates;
  }
  ++line_.ordinal_;
  for (; copies > 0; --copies) other_->receive(*this, frame_);
  if (sink_ != nullptr) sink_->on_packet_sent(true);
}

void SerialEnd::disturb(ByteView noise) { other_->receive(*this, noise); }

void SerialEnd::receive(SerialEnd& sender, ByteView bytes) {
  World& world = line_.world_;
  Bytes changed;
  if (hooks_ != nullptr) {
    changed.assign(bytes.begin(), bytes.end());
    hooks_->frame_in(changed);
    bytes = changed;
  }
  receiver_.feed(
      bytes,
      [&](ByteView packet) {
        trace_packet(world, line_.medium_, sender.name_, control::BindingId::serial, {}, packet);
        if (sink_ != nullptr) sink_->on_packet({}, packet);
      },
      [&](serial::Fault fault) {
        trace_fault(world, kTraceDamaged, sender.name_, serial::name_of(fault), bytes);
        if (sink_ != nullptr) sink_->on_damaged();
      });
}

SerialLine::SerialLine(World& world, const SerialOptions& options) : world_(world), options_(options), medium_{options.name, options.bus} {
  BENCH_ASSERT(options.baud > 0, "a line has a rate");
  BENCH_ASSERT(options.unit_max <= serial::kUnitMax, "the byte count is one byte");
  left_.reset(new SerialEnd(*this, options.name + ".left", options));
  right_.reset(new SerialEnd(*this, options.name + ".right", options));
  left_->other_ = right_.get();
  right_->other_ = left_.get();
}

Duration SerialLine::transfer_time(std::size_t bytes) const {
  if (!options_.timing) return {};
  return Duration::ns(static_cast<std::int64_t>(bytes) * 10 * 1'000'000'000 / options_.baud);
}

}  // namespace fb::mctp
