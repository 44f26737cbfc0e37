// What a host does with firmware, formats and security messages, and what it saw of it in words: the departures show
// in these.
#pragma once

#include <string>

#include "tests/model/subsystem/rig.h"

namespace fb::subsystem::test {

/// What a host saw, in words.
class Transcript {
 public:
  void note(const Reply& reply) {
    text_ += to_hex(reply.cqe.bytes()) + ' ' + std::to_string(reply.data.size()) + ':' +
             std::to_string(hash_name({reinterpret_cast<const char*>(reply.data.data()), reply.data.size()})) + '\n';
  }
  void note(bool fact) { text_ += fact ? "yes\n" : "no\n"; }
  void drain(Line& line) {
    while (!line.replies().empty()) {
      note(line.replies().front());
      line.replies().pop_front();
    }
    note(line.closed());
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

inline void firmware(Rig& rig, Line& admin, Transcript& out) {
  using nvme::CommitAction;
  const auto send_image = [&](ByteView image, std::size_t from, std::size_t to) {
    const ByteView piece = image.subspan(from, to - from);
    out.note(admin.send(download(from, piece.size()).bytes(), Bytes(piece.begin(), piece.end())));
  };
  const auto say = [&](unsigned slot, CommitAction action) { out.note(admin.send(commit(slot, action).bytes())); };
  const auto look = [&] {
    out.note(admin.fetch(get_log(3, 512).bytes(), 512));
    out.note(admin.fetch(identify(nvme::Cns::controller).bytes(), 4096));
  };
  const auto reset = [&] {
    admin.send(property_set(0x14, 0x00460000));
    rig.world->run_for(Duration::ms(2));
    rig.enable(admin);
  };
  const Bytes image = make_firmware_image("2.0", 8192);
  say(2, CommitAction::replace);
  say(7, CommitAction::activate);
  say(3, CommitAction::activate);
  say(2, static_cast<CommitAction>(5));
  send_image(image, 4096, 8192);
  send_image(image, 0, 6000);
  say(2, CommitAction::replace);
  out.note(admin.send(download(0x40000000, 4096).bytes(), Bytes(4096)));
  out.note(admin.send(download(0, std::size_t{4} << 20).bytes(), Bytes(std::size_t{4} << 20)));
  send_image(image, 0, 4096);
  send_image(image, 4096, 8192);
  say(1, CommitAction::replace);
  say(2, CommitAction::replace_and_activate);
  look();
  reset();
  look();
  send_image(image, 0, 8192);
  reset();
  say(3, CommitAction::replace);
  out.note(admin.send(set_feature(0x0B, 0x200).bytes()));
  out.note(admin.send(command(nvme::AdminOpcode::async_event_request).bytes()));
  say(1, CommitAction::activate_at_once);
  look();
  out.drain(admin);
  say(2, CommitAction::activate);
  rig.disk->reset_subsystem();
  rig.world->run_for(Duration::ms(2));
}

inline void formats(Rig& rig, Line& admin, Line& io, Transcript& out) {
  io.send(rw(nvme::IoOpcode::write, 8, 8, 1).bytes(), Bytes(4096, 0x5A));
  io.send(rw(nvme::IoOpcode::write, 8, 8, 2).bytes(), Bytes(4096, 0xA5));
  for (const std::uint32_t nsid : {0u, 77u, 99'999u}) out.note(admin.send(format(nsid, 0).bytes()));
  out.note(admin.send(format(1, 2).bytes()));
  out.note(admin.send(format(1, 17).bytes()));
  out.note(admin.send(format(1, 0, 1).bytes()));
  out.note(admin.send(format(1, 0, 0, 3).bytes()));
  admin.send(set_feature(0x84, 1, 1).bytes());
  out.note(admin.send(format(1, 1).bytes()));
  admin.send(set_feature(0x84, 0, 1).bytes());
  out.note(admin.send(format(1, 1).bytes()));
  for (const std::uint32_t nsid : {1u, 2u}) {
    out.note(admin.fetch(identify(nvme::Cns::identify_namespace, nsid).bytes(), 4096));
    out.note(io.fetch(rw(nvme::IoOpcode::read, 1, 1, nsid).bytes(), 4096));
    out.note(io.fetch(rw(nvme::IoOpcode::read, 8, 8, nsid).bytes(), 4096));
  }
  out.note(admin.send(format(nvme::kAllNamespaces, 0).bytes()));
  out.note(io.fetch(rw(nvme::IoOpcode::read, 8, 8, 2).bytes(), 4096));
  rig.world->run_for(Duration::ms(1));
}

inline void securities(Line& admin, Transcript& out) {
  const auto receive = [&](unsigned protocol, unsigned specific, std::uint32_t length) {
    out.note(admin.fetch(security(nvme::AdminOpcode::security_receive, protocol, specific, length).bytes(), length));
  };
  const auto say = [&](unsigned protocol, unsigned specific, std::uint32_t length) {
    out.note(admin.send(security(nvme::AdminOpcode::security_send, protocol, specific, length).bytes(), Bytes(length, 0x3C)));
  };
  receive(0, 0, 64);
  receive(0, 1, 64);
  receive(0, 7, 64);
  receive(1, 1, 64);
  receive(0xF0, 1, 0);
  receive(0xF0, 1, std::uint32_t{4} << 20);
  say(0, 0, 16);
  say(0xF0, 1, 16);
  say(0xF0, 99, 16);
  say(0xF0, 2, 0);
  receive(0xF0, 1, 32);
}

}  // namespace fb::subsystem::test
