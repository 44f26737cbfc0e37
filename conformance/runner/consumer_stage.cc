#include "conformance/runner/consumer_stage.h"

#include "conformance/runner/check.h"
#include "conformance/runner/embedded.h"

namespace fb::conformance {

namespace {

/// For what is under way when the program has gone.
constexpr Duration kAfterwards = Duration::ms(100);

}  // namespace

ConsumerStage::ConsumerStage(World& world, const Environment& environment)
    : world_(world), bench_address_(environment.setup().bench_address), product_address_(environment.setup().product_address) {}

ConsumerStage::~ConsumerStage() = default;

void ConsumerStage::set_peer(rdma::Device& device) {
  peer_ = std::make_unique<VerbsUser>(world_, device);
  peer_memory_ = &peer_->memory(NdProgram::kBytes);
}

NdProgram& ConsumerStage::program(const NdProgramTerms& terms) {
  if (program_ == nullptr) program_ = std::make_unique<NdProgram>(world_, make_device(), terms);
  return *program_;
}

void ConsumerStage::let_program_go() {
  program_.reset();
  world_.run_for(kAfterwards);
}

void ConsumerStage::peer_listens(const ListenTerms& terms) {
  if (!std::exchange(peer_listens_, true)) peer_->listen(kPeerPort, terms);
}

VerbsQueue& ConsumerStage::peer_accepted() {
  if (peer_->accepted() == nullptr) throw CannotArrange{"the peer has accepted no connection"};
  return *peer_->accepted();
}

VerbsQueue& ConsumerStage::peer_asks(const rdma::ConnectionParameters& parameters) {
  asked_ = &peer_->connect(program_at(), parameters);
  return *asked_;
}

NdLine& ConsumerStage::connect(const NdProgramTerms& terms) {
  NdProgram& program = this->program(terms);
  peer_listens();
  NdLine& made = program.ask(peer_at());
  if (made.established == 0) throw CannotArrange{"the program is not connected"};
  return made;
}

NdLine& ConsumerStage::connect_from_peer(const NdProgramTerms& terms) {
  NdProgram& program = this->program(terms);
  program.listen(kProgramPort);
  peer_asks();
  program.wait_requests(1);
  NdLine& made = program.accepted();
  program.wait("the connection", [&] { return made.answered(); });
  if (made.established == 0) throw CannotArrange{"the program is not connected"};
  return made;
}

rdma::SendRequest ConsumerStage::towards_peer(rdma::SendOpcode opcode, std::uint64_t offset) const {
  rdma::SendRequest request;
  request.opcode = opcode;
  request.remote_address = peer_memory_->address() + offset;
  request.rkey = peer_memory_->rkey();
  return request;
}

}  // namespace fb::conformance
