#include "model/library/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/fabrics/property.h"

namespace fb::library {

class Front::LibraryTimer final : public Event {
 public:
  LibraryTimer(Front& front, std::uint64_t id) : Event("library.timer"), front_(front), id_(id) {}

 private:
  void fire() override { front_.on_timer(id_); }
  Front& front_;
  std::uint64_t id_;
};

Front::Turn::~Turn() {
  if (front_.turns_ > 1) {
    --front_.turns_;
    return;
  }
  while (!front_.put_off_.empty()) {
    const std::function<void()> next = std::move(front_.put_off_.front());
    front_.put_off_.pop_front();
    next();
  }
  --front_.turns_;
}

Front::Front(World& world, std::shared_ptr<Library> library)
    : world_(world), library_(std::move(library)), services_(&library_->serve(*this)), random_(world.stream("library.random")) {}

void Front::begin(const transport::ControllerFabricFacts& facts, std::size_t transfer_bytes) {
  services_->table.sgls = facts.sgls;
  services_->table.msdbd = facts.msdbd;
  services_->table.trtype = facts.trtype;
  services_->table.transfer_bytes = static_cast<std::uint32_t>(transfer_bytes);
  create();
}

void Front::begin(mctp::Port& port, std::uint8_t medium, std::function<void(bool)> reset) {
  services_->table.mi_medium = medium;
  services_->table.mi_unit_max = static_cast<std::uint32_t>(port.unit_max());
  management_ = std::make_unique<FrontManagement>(*this, port, std::move(reset));
  create();
}

void Front::create() {
  const Turn turn(*this);
  void* made = nullptr;
  if (!run("create()", [&] { made = table().create(&services_->table, world_.seed()); })) return;
  if (made == nullptr) blame("create() returned NULL");
  product_ = made;
}

Front::~Front() { end(); }

void Front::end() {
  for (const auto& queue : queues_) queue->close("the case is over");
  if (product_ != nullptr) {
    const Turn turn(*this);
    run("destroy()", [&] { table().destroy(product_); });
    product_ = nullptr;
  }
  services_->front = nullptr;
  management_ = nullptr;
  put_off_.clear();
  timers_.clear();
  if (std::string late = library_->take_late(); !late.empty()) blame(late);
}

void Front::after_call(std::function<void()> then) {
  if (inside_) {
    put_off_.push_back(std::move(then));
  } else {
    const Turn turn(*this);
    then();
  }
}

void Front::blame(const std::string& what) {
  world_.trace().mark("library.fault");
  if (world_.trace().on()) {
    world_.trace().emit({.kind = TraceKind::note,
                         .time = world_.now(),
                         .actor = "library",
                         .label = "library.fault",
                         .text = what,
                         .bytes = {},
                         .source = {},
                         .destination = {},
                         .ip = {}});
  }
  if (fault_.empty()) fault_ = what;
}

/// Nothing is called any more, not even destroy(): nobody knows what is left of it.
void Front::die(const std::string& what) {
  blame(what);
  product_ = nullptr;
  timers_.clear();
  put_off_.clear();
  for (const auto& queue : queues_) queue->close("the library crashed");
}

// ---- channels ----

void Front::on_channel(std::unique_ptr<transport::ControllerChannel> channel) {
  queues_.push_back(std::make_unique<FrontQueue>(*this, std::move(channel)));
  if (product_ == nullptr) queues_.back()->close("there is no product");
}

void Front::reap_later() {
  if (!reaper_.scheduled()) world_.loop().schedule(reaper_, world_.now());
}

void Front::reap() {
  std::erase_if(queues_, [](const std::unique_ptr<FrontQueue>& queue) { return !queue->alive(); });
}

FrontQueue* Front::queue_of(const void* controller, std::uint16_t qid) {
  for (const auto& queue : queues_) {
    if (queue->alive() && queue->connected() && queue->controller() == controller && queue->qid() == qid) return queue.get();
  }
  return nullptr;
}

Front::Association* Front::association_of(const void* controller) {
  const auto found = std::ranges::find_if(associations_, [&](const auto& one) { return one->controller == controller; });
  return found != associations_.end() ? found->get() : nullptr;
}

Front::Association* Front::association_of(std::string_view subnqn, std::uint16_t cntlid) {
  const auto found = std::ranges::find_if(associations_, [&](const auto& one) { return one->subnqn == subnqn && one->cntlid == cntlid; });
  return found != associations_.end() ? found->get() : nullptr;
}

bool Front::knows(std::string_view subnqn) const {
  return subnqn == table().subnqn || std::ranges::any_of(associations_, [&](const auto& one) { return one->subnqn == subnqn; });
}

void Front::close_queues(const void* controller, bool io_alone, std::string_view why) {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    FrontQueue& queue = *queues_[i];
    if (!queue.alive() || !queue.connected() || queue.controller() != controller || (io_alone && queue.qid() == 0)) continue;
    queue.close(why);
  }
  if (!io_alone) std::erase_if(associations_, [&](const auto& one) { return one->controller == controller; });
}

void Front::queue_gone(void* controller, std::uint16_t qid) {
  if (association_of(controller) == nullptr) return;  // the library ended it meanwhile
  if (qid == 0) close_queues(controller, false, "the association is over");
  call("queue_gone()", [&] { table().queue_gone(product_, controller, qid); });
}

void Front::on_property_set(FrontQueue& queue, std::uint32_t offset, std::uint64_t value) {
  Association* const association = association_of(queue.controller());
  if (offset != fabrics::property::cc || association == nullptr) return;
  const bool enabled = (value & 1) != 0;
  const bool reset = std::exchange(association->enabled, enabled) && !enabled;
  if (!reset) return;
  queue.drop_commands();
  close_queues(queue.controller(), true, "controller reset");
}

// ---- commands ----

fb_handle Front::add(FrontQueue& queue, transport::ArrivedCommand& arrived) {
  completed_.push_back(false);
  const fb_handle handle = completed_.size();  // the first is 1
  arrived.tag = handle;
  commands_[handle] = {&queue, &arrived};
  return handle;
}

std::string Front::words_for(const Command& command, fb_handle handle) const {
  const auto& sqe = command.arrived->sqe;
  return fmt::format("command {} (queue {}, opcode {:02X}h, CID {:04X}h)", handle, command.queue->qid(), sqe[0],
                     load_le<std::uint16_t>(sqe.data() + 2));
}

Front::Command* Front::find(const char* service, fb_handle handle) {
  const auto found = commands_.find(handle);
  if (found != commands_.end()) return &found->second;
  if (handle == 0 || handle > completed_.size()) {
    blame(fmt::format("{}() names command {}, which was never given to the library", service, handle));
  } else if (completed_[handle - 1]) {
    blame(fmt::format("{}() names command {}, which the library has completed already", service, handle));
  }
  return nullptr;
}

void Front::give_data(fb_handle handle) {
  const auto found = commands_.find(handle);
  if (found == commands_.end()) return;
  found->second.data = Command::Data::fetched;
  const ByteView data = found->second.arrived->data;
  const fb_status status = found->second.arrived->fault.raw();
  call("on_data() of " + words_for(found->second, handle),
       [&] { table().on_data(product_, handle, data.data(), static_cast<std::uint32_t>(data.size()), status); });
}

// ---- timers ----

void Front::set_timer(std::uint64_t id, std::uint64_t when_ns) {
  auto& timer = timers_[id];
  if (timer == nullptr) timer = std::make_unique<LibraryTimer>(*this, id);
  constexpr std::uint64_t kLast = std::uint64_t{1} << 62;
  const Instant when = Instant::at_ns(static_cast<std::int64_t>(std::min(when_ns, kLast)));
  world_.loop().schedule(*timer, std::max(when, world_.now()));
}

void Front::cancel_timer(std::uint64_t id) { timers_.erase(id); }

void Front::on_timer(std::uint64_t id) {
  const auto found = timers_.find(id);
  spent_ = std::move(found->second);  // it is being fired: it goes when the next one is
  timers_.erase(found);
  const Turn turn(*this);
  if (product_ != nullptr && table().on_timer == nullptr) return blame("set_timer() without on_timer() in the table");
  call("on_timer()", [&] { table().on_timer(product_, id); });
}

}  // namespace fb::library
