// Private to the controller: the objects of its commands under way.
#pragma once

#include "model/host/controller.h"

namespace fb::host {

/// An admin command (or the Connect or Disconnect of an I/O queue) and what follows it. Not for I/O.
class Controller::AdminCall final : public Command {
 public:
  AdminCall(Controller& controller, Then next) : owner(controller), then(std::move(next)) {}
  void on_complete(const nvme::Cqe& cqe, bool answered) override { owner.finish_call(*this, cqe, answered); }
  Controller& owner;
  Bytes data;
  Then then;
  std::list<std::unique_ptr<AdminCall>>::iterator place;
};

/// The second copy of a command whose first still runs: only a departure makes one.
class Controller::Ghost final : public Command {
 public:
  void on_complete(const nvme::Cqe&, bool) override {}
};

/// A log page that is read in parts.
struct Controller::LogRead {
  nvme::LogPage page{};
  std::uint8_t lsp = 0;
  std::uint32_t length = 0;
  std::uint32_t part = 0;
  bool retain = false;  ///< RAE in every part: only a departure says so
  Bytes data;
  AdminReply last;
  Then then;
};

/// A walk over the active namespaces.
struct Controller::Scan {
  std::vector<std::uint32_t> nsids;
  std::size_t next = 0;
  std::vector<NamespaceFacts> found;
  std::function<void()> then;
};

}  // namespace fb::host
