#include "networkdirect/provider/strand.h"

namespace fb::networkdirect {

namespace {

class InlineStrand final : public Strand {
 public:
  explicit InlineStrand(World& world) : world_(world) {}

  void ring(Doorbell& bell) override { bell.answer(); }
  void silence(Doorbell&) override {}
  bool step() override { return !world_.loop().inside_event() && world_.step_towards(world_.now() + world_.patience()) == Loop::Step::ran; }

 private:
  void run(Task& task) override { task.run(); }
  World& world_;
};

}  // namespace

std::unique_ptr<Strand> make_inline_strand(World& world) { return std::make_unique<InlineStrand>(world); }

}  // namespace fb::networkdirect
