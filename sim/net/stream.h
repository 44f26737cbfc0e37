// The stream seam: TCP as a protocol engine needs it. Simulated hosts, real sockets and TLS implement it.
//
// A stream is pulled: on_readable() says that there is something, receive() fetches it straight into
// the caller's memory. What is sent is pushed, as many parts at once as the caller has; send() copies
// what it takes. All calls are made from handlers or between steps of the loop.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ip.h"
#include "base/result.h"

namespace fb::net {

/// Why a stream is over.
struct StreamEnd {
  enum class Kind : std::uint8_t {
    refused,      ///< nobody listens there
    unreachable,  ///< no answer, no route
    reset,        ///< by the peer, or the path broke
    failed        ///< a layer above TCP gave up (TLS: handshake, bad record); text says why
  } kind = Kind::reset;
  std::string text;
};

class StreamHandler {
 public:
  /// A stream that connect() began is open. Not called for accepted streams.
  virtual void on_connected() = 0;
  /// Bytes wait, or the peer has finished sending. Called again only after receive() has returned
  /// less than there was room for. Now and then nothing waits: a busy-polling loop calls it to look,
  /// and the end of the stream may be told of a second time.
  virtual void on_readable() = 0;
  /// send() would take bytes again, after it took less than it was offered.
  virtual void on_writable() = 0;
  /// What request_flush() asked for: the turn is over, send what has gathered.
  virtual void on_flush() = 0;
  /// The stream is over, other than by our close(): nothing more arrives or leaves. Called once; what
  /// had arrived before has been told of with on_readable().
  virtual void on_end(const StreamEnd& end) = 0;

 protected:
  ~StreamHandler() = default;
};

/// One TCP connection. Destroying it is abort() without a word to the handler; after close() it does
/// nothing more.
class Stream {
 public:
  virtual ~Stream() = default;
  /// A new handler hears on_readable() when something waits.
  virtual void set_handler(StreamHandler* handler) = 0;

  /// Fills the parts in order with what has arrived. Less than their sum means that no more waits now;
  /// on_readable() follows when there is more.
  virtual std::size_t receive(std::span<const MutableBytes> into) = 0;
  /// The peer has half-closed and all its bytes have been received.
  virtual bool finished() const = 0;

  /// Takes the parts in order as far as there is room. Less than their sum: on_writable() follows.
  /// Nothing is taken after finish() or the end.
  virtual std::size_t send(std::span<const ByteView> parts) = 0;
  /// Asks for one on_flush() at the end of this turn of the loop: everything that becomes due in a
  /// turn leaves in one send().
  virtual void request_flush() = 0;
  /// Half-close: the peer reads the end of the stream behind what was sent.
  virtual void finish() = 0;
  /// Reset at once; what was not yet delivered is lost. on_end() does not follow.
  virtual void abort() = 0;
  /// Orderly end of both directions: bytes that send() took still arrive. No handler is called again.
  /// As TCP has it, bytes that were not received, or that arrive later, turn it into a reset: whoever
  /// must be heard to the last byte finishes, and closes when the peer has finished.
  virtual void close() = 0;

  virtual Endpoint local() const = 0;
  virtual Endpoint peer() const = 0;
  /// The name under which both ends have shown a key to each other; empty where nobody had to (no TLS).
  virtual std::string_view identity() const { return {}; }
};

class StreamAcceptor {
 public:
  /// A peer has connected; nothing of it has been received yet. The acceptor sets the handler before it
  /// returns, or destroys the stream.
  virtual void on_stream(std::unique_ptr<Stream> stream) = 0;

 protected:
  ~StreamAcceptor() = default;
};

/// Destroying it stops listening; accepted streams live on.
class StreamListener {
 public:
  virtual ~StreamListener() = default;
  virtual Endpoint local() const = 0;
};

/// Opens streams of one host: a simulated one, or this machine.
class StreamHost {
 public:
  virtual ~StreamHost() = default;
  /// Begins to connect from `local`; port 0 takes a free one. The handler hears on_connected() or
  /// on_end(), never from inside this call. Fails when `local` is not ours or its port is taken.
  virtual Result<std::unique_ptr<Stream>> connect(const Endpoint& local, const Endpoint& to, StreamHandler& handler) = 0;
  /// Port 0 takes a free one. Fails when the port is taken or the address is not ours.
  virtual Result<std::unique_ptr<StreamListener>> listen(const Endpoint& local, StreamAcceptor& acceptor) = 0;
};

}  // namespace fb::net
