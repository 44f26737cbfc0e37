#include "conformance/runner/nd_program.h"

#include <algorithm>

#include "conformance/runner/check.h"

namespace fb::conformance {

namespace {

constexpr std::uint32_t kQueueEntries = 128;
constexpr std::uint32_t kSharedEntries = 16;

template <class T>
void there(const std::unique_ptr<T>& object, std::string_view what) {
  if (object == nullptr) throw CannotArrange{"the consumer makes no " + std::string(what)};
}

}  // namespace

NdProgram::NdProgram(World& world, std::unique_ptr<rdma::Device> device, const NdProgramTerms& terms)
    : world_(world), terms_(terms), memory_(kBytes), device_(std::move(device)) {
  for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<std::uint8_t>(i);
  domain_ = device_->allocate_protection_domain();
  queue_ = device_->create_completion_queue(kQueueEntries);
  there(queue_, "completion queue");
  region_ = another_region();
  if (!terms.shared_receives) return;
  shared_ = device_->create_shared_receive_queue(*domain_, kSharedEntries, this);
  there(shared_, "shared receive queue");
}

NdProgram::~NdProgram() { close(); }

void NdProgram::close() {
  requests_.clear();
  listener_.reset();
  lines_.clear();
  shared_.reset();
  region_.reset();
  queue_.reset();
  domain_.reset();
  device_.reset();
}

std::unique_ptr<rdma::MemoryRegion> NdProgram::another_region(rdma::Access access) { return domain_->register_memory(memory_, access); }

NdLine* NdProgram::make_line() {
  auto made = std::make_unique<NdLine>();
  rdma::QueuePairOptions options;
  options.send_queue = options.receive_queue = queue_.get();
  options.shared_receive_queue = shared_.get();
  options.send_entries = options.receive_entries = terms_.queue_entries;
  options.max_send_sges = options.max_receive_sges = terms_.sges;
  options.handler = made.get();
  options.context = made.get();
  made->qp_ = device_->create_queue_pair(*domain_, options);
  if (made->qp_ == nullptr) return nullptr;
  lines_.push_back(std::move(made));
  return lines_.back().get();
}

NdLine& NdProgram::line() {
  NdLine* const made = make_line();
  if (made == nullptr) throw CannotArrange{"the consumer makes no queue pair"};
  return *made;
}

NdLine& NdProgram::accepted() {
  if (accepted_ == nullptr) throw CannotArrange{"the consumer has accepted no connection"};
  return *accepted_;
}

NdLine& NdProgram::ask(const Endpoint& to, const rdma::ConnectionParameters& parameters) {
  NdLine& made = line();
  ask(made, to, parameters);
  return made;
}

void NdProgram::ask(NdLine& line, const Endpoint& to, const rdma::ConnectionParameters& parameters) {
  line.qp().connect(to, parameters);
  wait("an answer to Connect", [&] { return line.answered(); });
}

void NdProgram::let_go(NdLine& line) {
  std::erase_if(lines_, [&](const auto& one) { return one.get() == &line; });
}

rdma::Listener& NdProgram::listen(std::uint16_t port, NdAnswer answer) {
  answer_ = answer;
  auto made = device_->listen(port, *this);
  if (!made) throw CannotArrange{made.error().text};
  listener_ = std::move(made).value();
  return *listener_;
}

void NdProgram::on_connection_request(std::unique_ptr<rdma::ConnectionRequest> request) {
  ++requests_seen_;
  if (answer_ == NdAnswer::reject) return request->reject(rdma::reject_reason::consumer_defined, answer_data_);
  if (answer_ == NdAnswer::keep) {
    requests_.push_back(std::move(request));
    return;
  }
  // What goes wrong here is told by accepted(): the consumer has called.
  accepted_ = make_line();
  if (accepted_ == nullptr) return;
  receive(*accepted_);
  rdma::ConnectionParameters parameters = accepts_with_;
  parameters.private_data = answer_data_;
  request->accept(accepted_->qp(), parameters);
}

void NdProgram::wait_requests(std::size_t count) {
  wait("a request for a connection", [&] { return requests_seen_ >= count; });
}

bool NdProgram::receive(NdLine& line, std::uint64_t offset, std::uint32_t length) {
  const rdma::Sge sge = region_->sge(offset, length);
  const rdma::ReceiveRequest request{next_id_++, {&sge, 1}};
  return shared_ != nullptr ? shared_->post_receive(request) : line.qp().post_receive(request);
}

bool NdProgram::post(NdLine& line, rdma::SendRequest request, std::uint64_t offset, std::uint32_t length) {
  const rdma::Sge sge = region_->sge(offset, length);
  request.id = next_id_++;
  request.sges = {&sge, length > 0 ? 1u : 0u};
  return line.qp().post_send(request);
}

rdma::Completion NdProgram::perform(NdLine& line, rdma::SendRequest request, std::uint64_t offset, std::uint32_t length) {
  if (!post(line, request, offset, length)) throw CannotArrange{"the consumer does not take a request"};
  const auto done = completion();
  if (!done) throw NeverCame{{"a request does not complete"}};
  return *done;
}

std::optional<rdma::Completion> NdProgram::completion(Duration limit) {
  const auto look = [&] {
    rdma::Completion some[8];
    for (std::size_t n = queue_->poll(some); n > 0; n = queue_->poll(some)) completions_.insert(completions_.end(), some, some + n);
    return !completions_.empty();
  };
  if (!world_.run_until(look, limit)) return std::nullopt;
  const rdma::Completion first = completions_.front();
  completions_.pop_front();
  return first;
}

void NdProgram::wait(std::string_view what, const std::function<bool()>& done, Duration limit) {
  if (!world_.run_until(done, limit)) throw NeverCame{{std::string(what) + " does not come"}};
}

}  // namespace fb::conformance
