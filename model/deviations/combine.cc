// Several deviations as one object of hooks: tables are looked through, hand-written hooks are asked in
// the order of their choice.
#include "model/deviations/deviation.h"
#include "model/deviations/in_band.h"
#include "model/drive/drive.h"

namespace fb::deviations {

namespace {

using subsystem::CommandContext;
using subsystem::Refusal;

bool is_device(Product product) { return product == Product::rdma || product == Product::cm; }

/// The table-driven part that all products share.
std::vector<std::string_view> points_of(const std::vector<const Deviation*>& chosen, bool (*concerns)(Product)) {
  std::vector<std::string_view> points;
  for (const Deviation* deviation : chosen) {
    const auto* departs = std::get_if<Departs>(&deviation->effect);
    if (departs != nullptr && concerns(deviation->product)) points.push_back(departs->point);
  }
  return points;
}

bool contains(const std::vector<std::string_view>& points, std::string_view point) {
  for (const std::string_view one : points) {
    if (one == point) return true;
  }
  return false;
}

template <class Hooks, class Make>
std::vector<std::unique_ptr<Hooks>> made_of(const std::vector<const Deviation*>& chosen) {
  std::vector<std::unique_ptr<Hooks>> made;
  for (const Deviation* deviation : chosen) {
    if (const Make* make = std::get_if<Make>(&deviation->effect)) made.push_back((*make)());
  }
  return made;
}

template <class Base>
class TransportPart : public Base {
 public:
  bool departs(std::string_view point) override {
    if (contains(points_, point)) return true;
    bool any = false;
    for (auto& one : made_) any = one->departs(point) || any;
    return any;
  }
  void private_data_out(std::string_view message, Bytes& data) override {
    for (auto& one : made_) one->private_data_out(message, data);
  }
  void capsule_out(std::uint16_t qid, Bytes& capsule) override {
    for (auto& one : made_) one->capsule_out(qid, capsule);
  }
  void capsule_in(std::uint16_t qid, ByteView capsule) override {
    for (auto& one : made_) one->capsule_in(qid, capsule);
  }
  void pdus_out(std::uint16_t qid, std::vector<Bytes>& pdus) override {
    for (auto& one : made_) one->pdus_out(qid, pdus);
  }
  void pdu_in(std::uint16_t qid, ByteView header) override {
    for (auto& one : made_) one->pdu_in(qid, header);
  }
  void private_data_in(std::string_view message, ByteView data) override {
    for (auto& one : made_) one->private_data_in(message, data);
  }

 protected:
  std::vector<std::string_view> points_;
  std::vector<std::unique_ptr<Base>> made_;
};

class CombinedSubsystem final : public TransportPart<subsystem::SubsystemHooks> {
 public:
  explicit CombinedSubsystem(const std::vector<const Deviation*>& chosen) {
    points_ = points_of(chosen, [](Product p) { return p == Product::controller; });
    made_ = made_of<subsystem::SubsystemHooks, MakeSubsystemHooks>(chosen);
    for (const Deviation* deviation : chosen) {
      if (const auto* tolerate = std::get_if<Tolerate>(&deviation->effect)) tolerated_.push_back(tolerate->check);
      if (const auto* answer = std::get_if<AnswerWith>(&deviation->effect)) answers_.push_back(*answer);
    }
  }

  bool refuses(const CommandContext& command, Refusal& refusal) override {
    if (contains(tolerated_, refusal.check)) return false;
    for (const AnswerWith& answer : answers_) {
      if (answer.check == refusal.check) refusal.status = answer.status;
    }
    for (auto& one : made_) {
      if (!one->refuses(command, refusal)) return false;
    }
    return true;
  }
  std::optional<nvme::Status> admission(const CommandContext& command) override {
    for (auto& one : made_) {
      if (const auto status = one->admission(command)) return status;
    }
    return std::nullopt;
  }
  Duration latency(const CommandContext& command) override {
    Duration sum;
    for (auto& one : made_) sum = sum + one->latency(command);
    return sum;
  }
  void property_read(std::uint32_t offset, std::uint64_t& value) override {
    for (auto& one : made_) one->property_read(offset, value);
  }
  bool property_write(std::uint32_t offset, std::uint64_t& value) override {
    bool goes_on = true;
    for (auto& one : made_) goes_on = one->property_write(offset, value) && goes_on;
    return goes_on;
  }
  void data_out(const CommandContext& command, MutableBytes data) override {
    for (auto& one : made_) one->data_out(command, data);
  }
  void data_in(const CommandContext& command, MutableBytes data) override {
    for (auto& one : made_) one->data_in(command, data);
  }
  Answer completion(const CommandContext& command, MutableBytes cqe) override {
    Answer answer = Answer::send;
    for (auto& one : made_) {
      const Answer own = one->completion(command, cqe);
      if (own != Answer::send) answer = own;
    }
    return answer;
  }

 private:
  std::vector<std::string_view> tolerated_;
  std::vector<AnswerWith> answers_;
};

class CombinedHost final : public TransportPart<host::HostHooks> {
 public:
  explicit CombinedHost(const std::vector<const Deviation*>& chosen) {
    points_ = points_of(chosen, [](Product p) { return p == Product::host; });
    made_ = made_of<host::HostHooks, MakeHostHooks>(chosen);
  }
  void command_out(std::uint16_t qid, MutableBytes sqe, MutableBytes data) override {
    for (auto& one : made_) one->command_out(qid, sqe, data);
  }
};

class CombinedSoft final : public softroce::SoftHooks {
 public:
  explicit CombinedSoft(const std::vector<const Deviation*>& chosen)
      : points_(points_of(chosen, &is_device)), made_(made_of<softroce::SoftHooks, MakeSoftHooks>(chosen)) {}

  bool departs(std::string_view point) override {
    if (contains(points_, point)) return true;
    bool any = false;
    for (auto& one : made_) any = one->departs(point) || any;
    return any;
  }
  Receiver receiver() override {
    Receiver worst = Receiver::ready;
    for (auto& one : made_) worst = std::max(worst, one->receiver());
    return worst;
  }
  bool key_lost() override {
    bool lost = false;
    for (auto& one : made_) lost = one->key_lost() || lost;
    return lost;
  }
  void packet_out(MutableBytes packet) override {
    for (auto& one : made_) one->packet_out(packet);
  }
  bool mad_out(MutableBytes mad) override {
    bool sent = true;
    for (auto& one : made_) sent = one->mad_out(mad) && sent;
    return sent;
  }

 private:
  std::vector<std::string_view> points_;
  std::vector<std::unique_ptr<softroce::SoftHooks>> made_;
};

class CombinedEndpoint final : public mi::EndpointHooks {
 public:
  CombinedEndpoint(const std::vector<const Deviation*>& chosen, bool (*concerns)(Product))
      : points_(points_of(chosen, concerns)), made_(made_of<mi::EndpointHooks, MakeEndpointHooks>(chosen)) {
    for (const Deviation* deviation : chosen) {
      if (const auto* tolerate = std::get_if<Tolerate>(&deviation->effect)) tolerated_.push_back(tolerate->check);
      if (const auto* answer = std::get_if<AnswerMi>(&deviation->effect)) answers_.push_back(*answer);
    }
  }

  bool departs(std::string_view point) override {
    if (contains(points_, point)) return true;
    bool any = false;
    for (auto& one : made_) any = one->departs(point) || any;
    return any;
  }
  bool refuses(const mi::MessageContext& message, mi::Refusal& refusal) override {
    if (contains(tolerated_, refusal.check)) return false;
    for (const AnswerMi& answer : answers_) {
      if (answer.check != refusal.check) continue;
      refusal.status = answer.status;
      refusal.at = answer.at;
      refusal.discards = false;
    }
    for (auto& one : made_) {
      if (!one->refuses(message, refusal)) return false;
    }
    return true;
  }
  bool message_in(ByteView message) override {
    bool seen = true;
    for (auto& one : made_) seen = one->message_in(message) && seen;
    return seen;
  }
  std::optional<mi::Status> admission(const mi::MessageContext& message) override {
    for (auto& one : made_) {
      if (const auto status = one->admission(message)) return status;
    }
    return std::nullopt;
  }
  Duration delay(const mi::MessageContext& message) override {
    Duration sum;
    for (auto& one : made_) sum = sum + one->delay(message);
    return sum;
  }
  void response(const mi::MessageContext& message, Bytes& body) override {
    for (auto& one : made_) one->response(message, body);
  }
  Delivery message_out(const mi::MessageContext& message, Bytes& bytes) override {
    Delivery delivery = Delivery::send;
    for (auto& one : made_) {
      const Delivery own = one->message_out(message, bytes);
      if (own != Delivery::send) delivery = own;
    }
    return delivery;
  }
  void slave_read(Slave slave, std::size_t offset, Bytes& bytes) override {
    for (auto& one : made_) one->slave_read(slave, offset, bytes);
  }

 private:
  std::vector<std::string_view> points_;
  std::vector<std::unique_ptr<mi::EndpointHooks>> made_;
  std::vector<std::string_view> tolerated_;
  std::vector<AnswerMi> answers_;
};

class CombinedRequester final : public mi::RequesterHooks {
 public:
  explicit CombinedRequester(const std::vector<const Deviation*>& chosen)
      : points_(points_of(chosen, [](Product p) { return p == Product::management_requester; })),
        made_(made_of<mi::RequesterHooks, MakeRequesterHooks>(chosen)) {}

  bool departs(std::string_view point) override {
    if (contains(points_, point)) return true;
    bool any = false;
    for (auto& one : made_) any = one->departs(point) || any;
    return any;
  }
  void message_out(Bytes& bytes) override {
    for (auto& one : made_) one->message_out(bytes);
  }
  void message_in(ByteView message) override {
    for (auto& one : made_) one->message_in(message);
  }

 private:
  std::vector<std::string_view> points_;
  std::vector<std::unique_ptr<mi::RequesterHooks>> made_;
};

class CombinedMctp final : public mctp::EndpointHooks {
 public:
  CombinedMctp(const std::vector<const Deviation*>& chosen, Product of) {
    for (const Deviation* deviation : chosen) {
      if (deviation->product != of) continue;
      if (const auto* departs = std::get_if<Departs>(&deviation->effect)) points_.push_back(departs->point);
      if (const auto* make = std::get_if<MakeMctpHooks>(&deviation->effect)) made_.push_back((*make)());
    }
  }

  bool departs(std::string_view point) override {
    if (contains(points_, point)) return true;
    bool any = false;
    for (auto& one : made_) any = one->departs(point) || any;
    return any;
  }
  void packets_out(mctp::PhysicalAddress& to, std::vector<Bytes>& packets) override {
    for (auto& one : made_) one->packets_out(to, packets);
  }
  void packet_in(const mctp::PhysicalAddress& from, Bytes& packet) override {
    for (auto& one : made_) one->packet_in(from, packet);
  }
  void frame_out(Bytes& frame) override {
    for (auto& one : made_) one->frame_out(frame);
  }
  void frame_in(Bytes& frame) override {
    for (auto& one : made_) one->frame_in(frame);
  }
  bool control_answer(ByteView request, Bytes& answer) override {
    bool given = true;
    for (auto& one : made_) given = one->control_answer(request, answer) && given;
    return given;
  }

 private:
  std::vector<std::string_view> points_;
  std::vector<std::unique_ptr<mctp::EndpointHooks>> made_;
};

template <class Belongs>
bool any_of(const std::vector<const Deviation*>& chosen, Belongs&& belongs) {
  for (const Deviation* deviation : chosen) {
    if (belongs(deviation->product)) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<subsystem::SubsystemHooks> DeviationSet::subsystem_hooks() const {
  if (!any_of(chosen_, [](Product p) { return p == Product::controller; })) return nullptr;
  return std::make_unique<CombinedSubsystem>(chosen_);
}

std::unique_ptr<host::HostHooks> DeviationSet::host_hooks() const {
  if (!any_of(chosen_, [](Product p) { return p == Product::host; })) return nullptr;
  return std::make_unique<CombinedHost>(chosen_);
}

std::unique_ptr<softroce::SoftHooks> DeviationSet::soft_hooks() const {
  if (!any_of(chosen_, &is_device)) return nullptr;
  return std::make_unique<CombinedSoft>(chosen_);
}

std::unique_ptr<mi::EndpointHooks> DeviationSet::endpoint_hooks() const {
  constexpr auto concerns = [](Product p) { return p == Product::endpoint; };
  return any_of(chosen_, concerns) ? std::make_unique<CombinedEndpoint>(chosen_, concerns) : nullptr;
}

std::unique_ptr<mi::EndpointHooks> in_band_hooks(const DeviationSet& set) {
  constexpr auto concerns = [](Product p) { return p == Product::controller; };
  return any_of(set.chosen(), concerns) ? std::make_unique<CombinedEndpoint>(set.chosen(), concerns) : nullptr;
}

std::unique_ptr<mi::RequesterHooks> DeviationSet::requester_hooks() const {
  if (!any_of(chosen_, [](Product p) { return p == Product::management_requester; })) return nullptr;
  return std::make_unique<CombinedRequester>(chosen_);
}

std::unique_ptr<mctp::EndpointHooks> DeviationSet::mctp_hooks(Product of) const {
  if (!any_of(chosen_, [of](Product p) { return p == of; })) return nullptr;
  return std::make_unique<CombinedMctp>(chosen_, of);
}

void DeviationSet::alter(mi::DriveOptions& options) const {
  for (const Deviation* deviation : chosen_) {
    if (const auto* alter = std::get_if<AlterDrive>(&deviation->effect)) alter->change(options);
  }
}

}  // namespace fb::deviations
