// A user of a stream for tests: sends what it is given, keeps what it gets and counts its calls.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/net/stream.h"

namespace fb::net::test {

struct StreamUser final : StreamHandler {
  bool open(StreamHost& host, const Endpoint& local, const Endpoint& to) {
    auto made = host.connect(local, to, *this);
    if (!made) return false;
    stream = std::move(made).value();
    return true;
  }
  /// Sends all of it now; false when there was no room.
  bool put(ByteView bytes) {
    const std::array<ByteView, 1> parts{bytes};
    return stream->send(parts) == bytes.size();
  }
  /// Sends it as there is room.
  void queue(Bytes bytes) {
    out = std::move(bytes);
    at = 0;
    push();
  }
  std::size_t unsent() const { return out.size() - at; }
  void push() {
    if (unsent() == 0) return;
    const std::array<ByteView, 1> parts{ByteView(out).subspan(at)};
    at += stream->send(parts);
  }
  /// Fetches at most so much, in two parts.
  std::size_t read_some(std::size_t most) {
    const std::size_t had = got.size();
    got.resize(had + most);
    const MutableBytes room = MutableBytes(got).subspan(had);
    const std::array<MutableBytes, 2> parts{room.first(most / 3), room.subspan(most / 3)};
    const std::size_t size = stream->receive(parts);
    got.resize(had + size);
    return size;
  }
  void drain() {
    while (stream != nullptr && read_some(chunk) == chunk) {
    }
  }

  void on_connected() override { connected = true; }
  void on_readable() override {
    ++readables;
    if (destroy_in == 0) return stream.reset();
    if (reading) drain();
  }
  void on_writable() override {
    ++writables;
    if (destroy_in == 1) return stream.reset();
    push();
  }
  void on_flush() override {
    ++flushes;
    if (destroy_in == 2) stream.reset();
  }
  void on_end(const StreamEnd& why) override {
    ++ends;
    end = why;
    if (destroy_in == 3) stream.reset();
  }

  std::unique_ptr<Stream> stream;
  std::size_t chunk = 16384;
  bool reading = true;
  int destroy_in = -1;  // readable, writable, flush, end
  bool connected = false;
  int readables = 0, writables = 0, flushes = 0, ends = 0;
  std::optional<StreamEnd> end;
  Bytes got, out;
  std::size_t at = 0;
};

struct StreamInbox final : StreamAcceptor {
  void on_stream(std::unique_ptr<Stream> stream) override {
    ++accepted;
    if (drop) return;
    ends.push_back(std::make_unique<StreamUser>());
    ends.back()->stream = std::move(stream);
    ends.back()->stream->set_handler(ends.back().get());
  }
  bool drop = false;
  int accepted = 0;
  std::vector<std::unique_ptr<StreamUser>> ends;
};

}  // namespace fb::net::test
