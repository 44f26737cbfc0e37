// What a library may ask of the bench. Called from inside its own calls, and left by a jump if it crashes here (a bad pointer):
// nothing that has to be undone is held while its memory is read.
#include <fmt/format.h>

#include <cstring>

#include "model/library/front.h"
#include "wire/nvme/cqe.h"

namespace fb::library {

/// The instance that a service is called for; null where there is none any more, or where nothing may be asked now.
Front* Services::front_of(fb_bench* bench, const char* service) {
  auto& services = *reinterpret_cast<Services*>(bench);
  if (services.front == nullptr) {
    services.library->blame_late(fmt::format("{}() was called after destroy()", service));
    return nullptr;
  }
  return services.front->inside_ ? services.front : nullptr;
}

/// The same where the product is a management endpoint.
FrontManagement* Services::management_of(fb_bench* bench, const char* service) {
  Front* const at = front_of(bench, service);
  if (at == nullptr) return nullptr;
  if (at->management_ == nullptr) at->blame(fmt::format("{}() in a run about NVMe commands (mi_medium is 0)", service));
  return at->management_.get();
}

Services::Services(Front& of, Library& from) : front(&of), library(&from) {
  static_assert(offsetof(Services, table) == 0, "the library's pointer is ours");
  table.abi = FB_PRODUCT_ABI;
  table.size = sizeof(fb_bench);
  table.now_ns = [](fb_bench* bench) -> std::uint64_t {
    Front* const at = front_of(bench, "now_ns");
    return at != nullptr ? static_cast<std::uint64_t>(at->world_.now().count_ns()) : 0;
  };
  table.set_timer = [](fb_bench* bench, std::uint64_t id, std::uint64_t when_ns) {
    if (Front* const at = front_of(bench, "set_timer")) at->set_timer(id, when_ns);
  };
  table.cancel_timer = [](fb_bench* bench, std::uint64_t id) {
    if (Front* const at = front_of(bench, "cancel_timer")) at->cancel_timer(id);
  };
  table.random = [](fb_bench* bench) -> std::uint64_t {
    Front* const at = front_of(bench, "random");
    return at != nullptr ? at->random_.next() : 0;
  };
  table.check = [](fb_bench* bench, fb_handle handle, std::uint32_t bytes) -> fb_status {
    Front* const at = front_of(bench, "check");
    return at != nullptr ? at->check("check", handle, bytes) : FB_VOID;
  };
  table.fetch = [](fb_bench* bench, fb_handle handle, std::uint32_t bytes) -> fb_status {
    Front* const at = front_of(bench, "fetch");
    return at != nullptr ? at->fetch(handle, bytes) : FB_VOID;
  };
  table.send = [](fb_bench* bench, fb_handle handle, const void* data, std::uint32_t bytes) -> fb_status {
    Front* const at = front_of(bench, "send");
    return at != nullptr ? at->send(handle, data, bytes) : FB_VOID;
  };
  table.complete = [](fb_bench* bench, fb_handle handle, const void* cqe) {
    if (Front* const at = front_of(bench, "complete")) at->complete(handle, cqe);
  };
  table.end_controller = [](fb_bench* bench, void* controller, const char* why) {
    if (Front* const at = front_of(bench, "end_controller")) at->close_queues(controller, false, why != nullptr ? why : "");
  };
  table.end_queue = [](fb_bench* bench, void* controller, std::uint16_t qid, const char* why) {
    Front* const at = front_of(bench, "end_queue");
    FrontQueue* const queue = at != nullptr && qid != 0 ? at->queue_of(controller, qid) : nullptr;
    if (queue != nullptr) queue->close(why != nullptr ? why : "");
  };
  table.trace = [](fb_bench* bench, const char* text) {
    Front* const at = front_of(bench, "trace");
    if (at == nullptr || text == nullptr || !at->world_.trace().on()) return;
    TraceEvent event;
    event.time = at->world_.now();
    event.actor = "library";
    event.label = "library.trace";
    event.text = text;
    at->world_.trace().emit(event);
  };
  serve_management();
}

void Services::serve_management() {
  table.mi_send = [](fb_bench* bench, const fb_mi_message* message) -> std::uint64_t {
    FrontManagement* const at = management_of(bench, "mi_send");
    return at != nullptr ? at->send(message) : 0;
  };
  table.mi_hold = [](fb_bench* bench, std::uint64_t id) {
    if (FrontManagement* const at = management_of(bench, "mi_hold")) at->port().hold(id);
  };
  table.mi_resume = [](fb_bench* bench, std::uint64_t id) {
    if (FrontManagement* const at = management_of(bench, "mi_resume")) at->port().resume(id);
  };
  table.mi_withdraw = [](fb_bench* bench, std::uint64_t id) {
    if (FrontManagement* const at = management_of(bench, "mi_withdraw")) at->port().withdraw(id);
  };
  table.mi_packets_sent = [](fb_bench* bench, std::uint64_t id) -> std::uint32_t {
    FrontManagement* const at = management_of(bench, "mi_packets_sent");
    return at != nullptr ? static_cast<std::uint32_t>(at->port().packets_sent(id)) : 0;
  };
  table.mi_set_unit = [](fb_bench* bench, std::uint32_t unit) {
    if (FrontManagement* const at = management_of(bench, "mi_set_unit")) at->set_unit(unit);
  };
  table.mi_take_tag = [](fb_bench* bench, std::uint8_t eid) -> std::int32_t {
    FrontManagement* const at = management_of(bench, "mi_take_tag");
    return at != nullptr ? at->take_tag(eid) : -1;
  };
  table.mi_release_tag = [](fb_bench* bench, std::uint8_t eid, std::uint8_t tag) {
    if (FrontManagement* const at = management_of(bench, "mi_release_tag")) at->release_tag(eid, tag);
  };
  table.mi_reset = [](fb_bench* bench, std::uint8_t keep_eid) {
    if (FrontManagement* const at = management_of(bench, "mi_reset")) at->reset(keep_eid != 0);
  };
}

fb_status Front::check(const char* service, fb_handle handle, std::uint32_t bytes) {
  Command* const command = find(service, handle);
  if (command == nullptr) return FB_VOID;
  if (command->data != Command::Data::none) {
    blame(fmt::format("{}() after the data of {} was {}", service, words_for(*command, handle),
                      command->data == Command::Data::sent ? "sent" : "asked for"));
    return FB_VOID;
  }
  if (command->staged == bytes && bytes != 0) return 0;
  const nvme::Status status = command->queue->channel().stage(*command->arrived, bytes);
  command->staged = status.ok() ? bytes : 0;
  command->refused = status;
  return status.ok() ? fb_status{0} : status.with_dnr().raw();
}

fb_status Front::fetch(fb_handle handle, std::uint32_t bytes) {
  const fb_status status = check("fetch", handle, bytes);
  if (status != 0) return status;
  Command& command = commands_.at(handle);
  command.data = Command::Data::fetching;
  command.queue->channel().pull(*command.arrived);
  return 0;
}

fb_status Front::send(fb_handle handle, const void* data, std::uint32_t bytes) {
  const auto known = commands_.find(handle);
  const bool has_room =
      known != commands_.end() && known->second.data == Command::Data::none && known->second.staged >= bytes && bytes != 0;
  const fb_status status = has_room ? fb_status{0} : check("send", handle, bytes);
  if (status != 0) return status;
  Command& command = commands_.at(handle);
  command.data = Command::Data::sent;
  if (bytes == 0) return 0;
  std::memcpy(command.arrived->data.data(), data, bytes);
  command.queue->channel().push(*command.arrived, bytes);
  return 0;
}

void Front::complete(fb_handle handle, const void* entry) {
  Command* const command = find("complete", handle);
  if (command == nullptr) return;
  std::array<std::uint8_t, nvme::CqeLayout::size> cqe;
  std::memcpy(cqe.data(), entry, cqe.size());
  if (View<nvme::CqeLayout>{cqe}.get(nvme::cqe::status).ok() && !command->refused.ok()) {
    blame(fmt::format("{} was completed as successful, although its data could not be moved: {}", words_for(*command, handle),
                      nvme::to_string(command->refused)));
  }
  FrontQueue& queue = *command->queue;
  transport::ArrivedCommand& arrived = *command->arrived;
  completed_[handle - 1] = true;
  forget(handle);
  queue.respond(arrived, cqe);
}

}  // namespace fb::library
