#include "conformance/runner/nd_consumer.h"

#include <algorithm>

#include "sim/networkdirect/provider/provider.h"

namespace fb::conformance {

namespace nd = networkdirect;

namespace {

/// For what is under way when the program has gone.
constexpr Duration kAfterwards = Duration::ms(100);

class Points final : public nd::ConsumerHooks {
 public:
  explicit Points(std::vector<std::string_view> points) : points_(std::move(points)) {}
  bool departs(std::string_view point) override { return std::ranges::find(points_, point) != points_.end(); }

 private:
  std::vector<std::string_view> points_;
};

EmbeddedSetup with_windows(const Environment& environment) {
  EmbeddedSetup made = environment.setup();
  made.limits.max_fast_register_bytes = 1u << 30;
  return made;
}

}  // namespace

struct NdConsumer::Simulated {
  Simulated(World& world, const Environment& environment, nd::Answers answers)
      : network(world, environment.setup()),
        hooks(environment.deviations->points(deviations::Product::nd_consumer)),
        behaves({.answers = answers, .order = nd::Order::drawn}),
        bench(open_device(world, network.bench, {"bench", environment.setup().bench_address}, environment.setup())),
        product(open_device(world, network.product, {"product", environment.setup().product_address}, with_windows(environment))) {}
  EmbeddedNetwork network;
  Points hooks;
  nd::Behaves behaves;
  std::unique_ptr<softroce::SoftRoceDevice> bench, product;
};

NdConsumer::NdConsumer(World& world, const Environment& environment, nd::Answers answers)
    : world_(world),
      bench_address_(environment.setup().bench_address),
      product_address_(environment.setup().product_address),
      simulated_(std::make_unique<Simulated>(world, environment, answers)),
      peer_(std::make_unique<VerbsUser>(world, *simulated_->bench)),
      peer_memory_(&peer_->memory(NdProgram::kBytes)),
      verifier_(std::make_unique<nd::verifier::Verifier>(nd::verifier::VerifierOptions{}, static_cast<nd::verifier::FindingSink&>(*this))) {
  NdRef<IND2Provider> below;
  if (FAILED(nd::make_provider(nd::make_fixed_fabric({nd::make_inline_place(world, *simulated_->product, &simulated_->behaves)}),
                               IID_IND2Provider, below.out())) ||
      FAILED(verifier_->wrap_provider(*below, IID_IND2Provider, provider_.out()))) {
    throw CannotArrange{"there is no provider to stand on"};
  }
}

NdConsumer::~NdConsumer() {
  program_.reset();
  provider_.release();
}

NdRef<IND2Adapter> NdConsumer::open_adapter() {
  const NdAddress at(product_address_);
  UINT64 id = 0;
  NdRef<IND2Adapter> adapter;
  if (FAILED(provider_->ResolveAddress(at.get(), at.length(), &id)) ||
      FAILED(provider_->OpenAdapter(IID_IND2Adapter, id, adapter.out()))) {
    throw CannotArrange{"the provider opens no adapter"};
  }
  return adapter;
}

nd::ConsumerOptions NdConsumer::options() {
  nd::ConsumerOptions made;
  made.hooks = &simulated_->hooks;
  return made;
}

// Devices have a reference of their own.
NdProgram& NdConsumer::program(const NdProgramTerms& terms) {
  if (program_ == nullptr) program_ = std::make_unique<NdProgram>(world_, *open_adapter(), options(), terms);
  return *program_;
}

std::unique_ptr<rdma::Device> NdConsumer::another_device() {
  return nd::make_networkdirect_device(world_, *open_adapter(), options());
}

void NdConsumer::peer_listens(const ListenTerms& terms) {
  if (!std::exchange(peer_listens_, true)) peer_->listen(kPeerPort, terms);
}

VerbsQueue& NdConsumer::peer_asks() {
  return peer_->connect({product_address_, kProgramPort}, nd_parameters());
}

NdLine& NdConsumer::connect(const NdProgramTerms& terms) {
  NdProgram& program = this->program(terms);
  peer_listens();
  NdLine& made = program.ask(peer_at());
  if (made.established == 0) throw CannotArrange{"the program is not connected"};
  return made;
}

NdLine& NdConsumer::connect_from_peer(const NdProgramTerms& terms) {
  NdProgram& program = this->program(terms);
  program.listen(kProgramPort);
  peer_asks();
  program.wait_requests(1);
  NdLine& made = program.accepted();
  program.wait("the connection", [&] { return made.answered(); });
  if (made.established == 0) throw CannotArrange{"the program is not connected"};
  return made;
}

rdma::SendRequest NdConsumer::towards_peer(rdma::SendOpcode opcode, std::uint64_t offset) const {
  rdma::SendRequest request;
  request.opcode = opcode;
  request.remote_address = peer_memory_->address() + offset;
  request.rkey = peer_memory_->rkey();
  return request;
}

void NdConsumer::end() {
  program_.reset();
  world_.run_for(kAfterwards);
  provider_.release();
  verifier_->finish();
}

nd::verifier::Called NdConsumer::called(std::string_view kind, std::string_view method) const {
  for (const nd::verifier::Called& one : verifier_->tally()) {
    if (one.kind == kind && one.method == method) return one;
  }
  return {std::string(kind), std::string(method)};
}

}  // namespace fb::conformance
