// The embedded subsystem as a library of fabricbench/product.h: channels whose commands are what the bench passes on, and Connect,
// Property Get, Property Set and Disconnect made again from its calls.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "include/fabricbench/product.h"
#include "model/subsystem/target.h"
#include "tests/model/library/embedded_endpoint.h"
#include "tests/model/library/following_loop.h"
#include "wire/fabrics/connect.h"
#include "wire/fabrics/disconnect.h"
#include "wire/fabrics/property.h"

namespace fb::library {
namespace {

class Product;

/// The bench's commands have a handle; those that are made here have none.
struct Command final : transport::ArrivedCommand {
  fb_handle handle = 0;
  Bytes buffer;
  bool in_use = false;
  bool answered = false;
  std::array<std::uint8_t, 16> cqe = {};
};

class Channel final : public transport::ControllerChannel {
 public:
  Channel(Product& product, std::uint16_t qid, std::uint32_t entries) : product_(product), qid_(qid), entries_(entries) {}
  ~Channel() override;

  const Channel* admin = nullptr;  ///< names the controller
  transport::ControllerChannelHandler* handler = nullptr;
  bool ended = false;

  Command& take(ByteView sqe, fb_handle handle) {
    auto free = std::ranges::find_if(commands_, [](const auto& one) { return !one->in_use; });
    if (free == commands_.end()) {
      free = commands_.insert(free, std::make_unique<Command>());
      (*free)->index = static_cast<std::uint16_t>(commands_.size() - 1);
      (*free)->channel = this;
    }
    Command& command = **free;
    std::copy(sqe.begin(), sqe.end(), command.sqe.begin());
    command.handle = handle;
    command.data = {};
    command.fault = {};
    command.in_use = true;
    command.answered = false;
    return command;
  }
  /// Executes a command of our own, which is answered at once. Its identifier is one that the host does not use now.
  template <class L>
  const Command& execute(Record<L> sqe, ByteView data = {}) {
    std::uint16_t cid = 0xFFFF;
    while (std::ranges::any_of(commands_, [&](const auto& one) { return one->in_use && load_le<std::uint16_t>(&one->sqe[2]) == cid; }))
      --cid;
    store_le<std::uint16_t>(sqe.mutable_bytes().data() + 2, cid);
    Command& command = take(sqe.bytes(), 0);
    own_data_ = data;
    handler->on_command(command);
    return command;
  }

  void set_handler(transport::ControllerChannelHandler* one) override { handler = one; }
  nvme::Status stage(transport::ArrivedCommand& arrived, std::size_t bytes) override;
  void pull(transport::ArrivedCommand& arrived) override;
  void push(transport::ArrivedCommand& arrived, std::size_t bytes) override;
  void respond(transport::ArrivedCommand& arrived, ByteView cqe) override;
  void drop(transport::ArrivedCommand& arrived) override;
  void close() override;
  std::optional<std::uint16_t> requested_qid() const override { return qid_; }
  std::uint32_t entries() const override { return entries_; }
  Endpoint peer() const override { return {IpAddress::v4(10, 0, 0, 1), 4420}; }
  Endpoint local() const override { return {IpAddress::v4(10, 0, 0, 2), 4420}; }

 private:
  friend class Product;
  Product& product_;
  std::uint16_t qid_;
  std::uint32_t entries_;
  ByteView own_data_;
  std::vector<std::unique_ptr<Command>> commands_;
};

class Product {
 public:
  Product(fb_bench& bench, std::uint64_t seed)
      : bench_(bench), loop_(new FollowingLoop), world_(std::unique_ptr<Loop>(loop_), seed), target_(world_) {
    loop_->follow(now());
    if (bench.mi_medium != FB_MI_NONE) {
      management_ = std::make_unique<EmbeddedEndpoint>(world_, bench);
      return;
    }
    subsystem_ = &target_.add_subsystem({});
    // As the benches' own, conformance/runner/embedded.cc.
    subsystem::NamespaceOptions first, second;
    first.blocks = 131072;
    second.block_bytes = 4096;
    second.blocks = 16384;
    (void)subsystem_->add_namespace(std::move(first));
    (void)subsystem_->add_namespace(std::move(second));
    subsystem::PortOptions port;
    port.traddr = "10.0.0.2";
    port.facts.trtype = bench.trtype;
    port.facts.msdbd = bench.msdbd;
    port.facts.sgls = bench.sgls;
    port.facts.name = bench.trtype == 1 ? "rdma" : "tcp";
    target_.add_port(port);
  }

  fb_bench& bench() { return bench_; }
  EmbeddedEndpoint& management() { return *management_; }
  Instant now() { return Instant::at_ns(static_cast<std::int64_t>(bench_.now_ns(&bench_))); }

  /// What every call of the bench is wrapped in: the time is the bench's, what is due runs, and the next deadline is set.
  template <class Part>
  auto call(Part&& part) {
    struct Finish {
      Product& product;
      ~Finish() {
        while (product.loop_->step(product.loop_->now()) == Loop::Step::ran) {
        }
        const Instant next = product.loop_->next();
        if (next == Instant::never()) {
          product.bench_.cancel_timer(&product.bench_, 1);
        } else {
          product.bench_.set_timer(&product.bench_, 1, static_cast<std::uint64_t>(next.count_ns()));
        }
      }
    };
    loop_->follow(now());
    const Finish finish{*this};
    return part();
  }

  Channel* channel(const void* admin, std::uint16_t qid) {
    for (Channel* one : channels_) {
      if (!one->ended && one->admin == admin && one->qid_ == qid) return one;
    }
    return nullptr;
  }

  fb_status connect(const fb_connect& asked, fb_connected& reply) {
    auto made = std::make_unique<Channel>(*this, asked.qid, asked.entries);
    Channel& channel = *made;
    channels_.push_back(&channel);
    channel.admin = asked.qid == 0 ? &channel : static_cast<const Channel*>(asked.controller);
    target_.acceptor().on_channel(std::move(made));
    Record<fabrics::ConnectSqe> sqe;
    sqe.set(fabrics::connect_sqe::qid, asked.qid)
        .set(fabrics::connect_sqe::sqsize, ZeroBased<std::uint16_t>::of(asked.entries))
        .set(fabrics::connect_sqe::cattr, asked.cattr)
        .set(fabrics::connect_sqe::kato, asked.kato_ms);
    fabricate(sqe, fabrics::FabricsType::connect);
    Record<fabrics::ConnectData> data;
    data.set(fabrics::connect_data::cntlid, asked.cntlid);
    std::copy(std::begin(asked.hostid), std::end(asked.hostid), data.mutable_bytes().begin());
    std::strcpy(reinterpret_cast<char*>(data.mutable_bytes().data() + 256), asked.subnqn);
    std::strcpy(reinterpret_cast<char*>(data.mutable_bytes().data() + 512), asked.hostnqn);
    const auto cqe = channel.execute(sqe, data.bytes()).cqe;
    const std::uint32_t dw0 = load_le<std::uint32_t>(cqe.data());
    const fb_status status = load_le<std::uint16_t>(cqe.data() + 14) >> 1;
    if (status != 0) {
      reply.invalid_offset = static_cast<std::uint16_t>(dw0);
      reply.invalid_in_data = static_cast<std::uint8_t>(dw0 >> 16 & 1);
      channel.ended = true;
      channel.handler->on_end("refused");
      return status;
    }
    reply.controller = &channel;
    reply.cntlid = static_cast<std::uint16_t>(dw0);
    reply.authreq = static_cast<std::uint16_t>(dw0 >> 16);
    reply.no_flow_control = load_le<std::uint16_t>(cqe.data() + 8) == nvme::kSqFlowControlDisabled;
    return 0;
  }

  fb_status property(void* controller, std::uint32_t offset, std::uint32_t bytes, std::uint64_t& value, bool set) {
    Channel* const admin = channel(controller, 0);
    if (admin == nullptr) return FB_STATUS(0, 0x0C);
    Record<fabrics::PropertySetSqe> sqe;
    sqe.set(fabrics::property_sqe::size, bytes == 8 ? fabrics::PropertySize::eight : fabrics::PropertySize::four)
        .set(fabrics::property_sqe::ofst, offset);
    if (set) sqe.set(fabrics::property_sqe::value, value);
    fabricate(sqe, set ? fabrics::FabricsType::property_set : fabrics::FabricsType::property_get);
    const auto cqe = admin->execute(sqe).cqe;
    value = load_le<std::uint64_t>(cqe.data());
    return load_le<std::uint16_t>(cqe.data() + 14) >> 1;
  }

  fb_status disconnect(void* controller, std::uint16_t qid) {
    Channel* const queue = channel(controller, qid);
    if (queue == nullptr) return FB_STATUS(0, 0x0C);
    Record<fabrics::DisconnectSqe> sqe;
    fabricate(sqe, fabrics::FabricsType::disconnect);
    const fb_status status = load_le<std::uint16_t>(queue->execute(sqe).cqe.data() + 14) >> 1;
    if (status != 0) return status;
    queue->ended = true;
    return 0;
  }

  void queue_gone(void* controller, std::uint16_t qid) {
    Channel* const queue = channel(controller, qid);
    if (queue == nullptr) return;
    queue->ended = true;
    queue->handler->on_end("the host ended the connection");
  }

  void command(void* controller, std::uint16_t qid, const void* sqe, fb_handle handle) {
    Channel* const queue = channel(controller, qid);
    if (queue == nullptr) return;
    queue->handler->on_command(queue->take(ByteView(static_cast<const std::uint8_t*>(sqe), 64), handle));
  }

  void on_data(fb_handle handle, const void* data, std::uint32_t bytes, fb_status status) {
    for (Channel* channel : channels_) {
      for (const auto& one : channel->commands_) {
        if (!one->in_use || one->handle != handle || channel->ended) continue;
        if (bytes != 0) std::memcpy(one->data.data(), data, std::min<std::size_t>(bytes, one->data.size()));
        one->fault = nvme::Status::from_raw(status);
        return channel->handler->on_pulled(*one);
      }
    }
  }

 private:
  friend class Channel;
  template <class L>
  static void fabricate(Record<L>& sqe, fabrics::FabricsType type) {
    sqe.mutable_bytes()[0] = nvme::kFabricsOpcode;
    sqe.mutable_bytes()[1] = 0x40;
    sqe.mutable_bytes()[4] = static_cast<std::uint8_t>(type);
  }

  fb_bench& bench_;
  FollowingLoop* loop_;
  World world_;
  std::vector<Channel*> channels_;  // outlives the target, whose queues own them
  subsystem::Target target_;
  subsystem::Subsystem* subsystem_ = nullptr;
  std::unique_ptr<EmbeddedEndpoint> management_;
};

Channel::~Channel() { std::erase(product_.channels_, this); }

nvme::Status Channel::stage(transport::ArrivedCommand& arrived, std::size_t bytes) {
  auto& command = static_cast<Command&>(arrived);
  command.data = {};
  if (command.handle != 0) {
    const fb_status status = product_.bench().check(&product_.bench(), command.handle, static_cast<std::uint32_t>(bytes));
    if (status == FB_VOID) return nvme::sc::internal_error;
    if (status != 0) return nvme::Status::from_raw(status);
  }
  command.buffer.assign(bytes, 0);
  command.data = command.buffer;
  return {};
}

void Channel::pull(transport::ArrivedCommand& arrived) {
  auto& command = static_cast<Command&>(arrived);
  if (command.handle == 0) {
    std::copy_n(own_data_.begin(), std::min(own_data_.size(), command.buffer.size()), command.buffer.begin());
    return handler->on_pulled(command);
  }
  if (command.data.empty()) return handler->on_pulled(command);
  product_.bench().fetch(&product_.bench(), command.handle, static_cast<std::uint32_t>(command.data.size()));
}

void Channel::push(transport::ArrivedCommand& arrived, std::size_t bytes) {
  auto& command = static_cast<Command&>(arrived);
  if (bytes != 0) product_.bench().send(&product_.bench(), command.handle, command.data.data(), static_cast<std::uint32_t>(bytes));
}

void Channel::respond(transport::ArrivedCommand& arrived, ByteView cqe) {
  auto& command = static_cast<Command&>(arrived);
  command.in_use = false;
  command.answered = true;
  if (command.handle != 0) return product_.bench().complete(&product_.bench(), command.handle, cqe.data());
  std::copy_n(cqe.begin(), command.cqe.size(), command.cqe.begin());
}

void Channel::drop(transport::ArrivedCommand& arrived) { static_cast<Command&>(arrived).in_use = false; }

void Channel::close() {
  if (ended) return;
  ended = true;
  if (qid_ == 0) return product_.bench().end_controller(&product_.bench(), this, "the embedded subsystem ended the association");
  product_.bench().end_queue(&product_.bench(), const_cast<Channel*>(admin), qid_, "the embedded subsystem ended the queue");
}

Product& product_of(void* product) { return *static_cast<Product*>(product); }

}  // namespace
}  // namespace fb::library

extern "C" const fb_product* fabricbench_product(void) {
  using namespace fb::library;
  static const std::string nqn = fb::subsystem::SubsystemOptions{}.nqn;
  static const fb_product table = [] {
    const fb::subsystem::SubsystemOptions options;
    fb_product made = {};
    made.abi = FB_PRODUCT_ABI;
    made.size = sizeof(fb_product);
    made.subnqn = nqn.c_str();
    made.admin_entries = static_cast<std::uint32_t>(options.admin_entries_max);
    made.io_entries = static_cast<std::uint32_t>(options.io_entries_max);
    made.io_queues = options.io_queues_max;
    made.in_capsule_bytes = 4096;
    made.create = [](fb_bench* bench, std::uint64_t seed) -> void* { return new Product(*bench, seed); };
    made.destroy = [](void* product) { delete static_cast<Product*>(product); };
    made.connect = [](void* product, const fb_connect* asked, fb_connected* reply) {
      return product_of(product).call([&] { return product_of(product).connect(*asked, *reply); });
    };
    made.disconnect = [](void* product, void* controller, std::uint16_t qid) {
      return product_of(product).call([&] { return product_of(product).disconnect(controller, qid); });
    };
    made.queue_gone = [](void* product, void* controller, std::uint16_t qid) {
      product_of(product).call([&] { product_of(product).queue_gone(controller, qid); });
    };
    made.property_get = [](void* product, void* controller, std::uint32_t offset, std::uint32_t bytes, std::uint64_t* value) {
      return product_of(product).call([&] { return product_of(product).property(controller, offset, bytes, *value, false); });
    };
    made.property_set = [](void* product, void* controller, std::uint32_t offset, std::uint32_t bytes, std::uint64_t value) {
      return product_of(product).call([&] { return product_of(product).property(controller, offset, bytes, value, true); });
    };
    made.command = [](void* product, void* controller, std::uint16_t qid, const void* sqe, fb_handle handle) {
      product_of(product).call([&] { product_of(product).command(controller, qid, sqe, handle); });
    };
    made.on_data = [](void* product, fb_handle handle, const void* data, std::uint32_t bytes, fb_status status) {
      product_of(product).call([&] { product_of(product).on_data(handle, data, bytes, status); });
    };
    made.on_timer = [](void* product, std::uint64_t) { product_of(product).call([] {}); };
    made.mi_message = [](void* product, const fb_mi_message* message) {
      product_of(product).call([&] { product_of(product).management().on_message(*message); });
    };
    made.mi_started = [](void* product, const fb_mi_message* first) {
      product_of(product).call([&] { product_of(product).management().on_started(*first); });
    };
    made.mi_abandoned = [](void* product, std::uint8_t eid, std::uint8_t tag, std::uint8_t owner, int why) {
      product_of(product).call([&] { product_of(product).management().on_abandoned(eid, {tag, owner != 0}, why); });
    };
    made.mi_sent = [](void* product, std::uint64_t id, std::uint8_t delivered) {
      product_of(product).call([&] { product_of(product).management().on_sent(id, delivered != 0); });
    };
    made.mi_dropped = [](void* product, int why) { product_of(product).call([&] { product_of(product).management().on_drop(why); }); };
    return made;
  }();
  return &table;
}
