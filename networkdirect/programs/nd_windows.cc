// Memory windows: the server binds them, the client reads and writes through them, within what was granted and outside of it. What
// goes outside ends its connection, so that every case has one of its own.
#include <cstring>
#include <memory>

#include "connection.h"

namespace {

constexpr UINT32 kProgramNumber = 6;
constexpr ULONG kRegion = 1 << 20;
// Windows begin and end at any byte.
constexpr ULONG kOffset = 3 * 4096 + 100;
constexpr ULONG kLength = (256 << 10) + 17;
constexpr ULONG kSecondOffset = (512 << 10) + 1;
constexpr ULONG kSecondLength = 4097;
// Contents of the server's memory, and what the client writes.
constexpr ULONGLONG kBefore = 1;
constexpr ULONGLONG kFirst = 2;
constexpr ULONGLONG kSecond = 3;

struct Case {
  const char* name;
  ULONG rights;
  bool writes;
  // What the client touches, from the beginning of the window.
  INT64 offset;
  ULONG length;
  bool invalidated;
  HRESULT wanted;
};

const Case kCases[] = {
    {"read and write within, bind elsewhere, again", ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE, true, 0, kLength, false, ND_SUCCESS},
    {"read beyond the end", ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE, false, 1, kLength, false, ND_ACCESS_VIOLATION},
    {"write before the beginning", ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE, true, -1, 64, false, ND_ACCESS_VIOLATION},
    {"write where reading is allowed", ND_OP_FLAG_ALLOW_READ, true, 0, 64, false, ND_ACCESS_VIOLATION},
    {"read where writing is allowed", ND_OP_FLAG_ALLOW_WRITE, false, 0, 64, false, ND_ACCESS_VIOLATION},
    {"read after the window was invalidated", ND_OP_FLAG_ALLOW_READ, false, 0, 64, true, ND_ACCESS_VIOLATION},
    {"write after the window was invalidated", ND_OP_FLAG_ALLOW_WRITE, true, 0, 64, true, ND_ACCESS_VIOLATION},
};

// What the two tell each other: the server describes a window, the client says that it has finished.
struct Note {
  UINT64 address = 0;
  UINT32 token = 0;
  UINT32 length = 0;
};

class Talk {
 public:
  Talk(Device& device, const Options& options)
      : notes_(device, 4 * sizeof(Note), ND_MR_FLAG_ALLOW_LOCAL_WRITE), connection(device, options, {2, 4, 1, 1}) {}

  void post() {
    const Pieces pieces(at(next_receive_++ % 2 + 1), sizeof(Note), 1, notes_.token());
    check(connection->Receive(this, pieces.get(), pieces.count()), "Receive");
  }

  void say(const Note& note) {
    memcpy(at(0), &note, sizeof(note));
    const Pieces pieces(at(0), sizeof(note), 1, notes_.token());
    check(connection->Send(this, pieces.get(), pieces.count(), 0), "Send");
    while (!sent_) take();
    sent_ = false;
  }

  // The answer to what was said may be there before it is known that it was sent.
  Note hear() {
    while (arrived_ == heard_) take();
    if (bytes_ != sizeof(Note)) fail("Receive", "a note of another size");
    Note note;
    memcpy(&note, at(heard_++ % 2 + 1), sizeof(note));
    return note;
  }

  void hear_goodbye() {
    while (arrived_ == heard_) take();
    if (bytes_ != 0) fail("Receive", "a note after the last one");
  }

  // A completion of `type`; receives that come or are flushed before it are kept.
  HRESULT outcome(ND2_REQUEST_TYPE type) {
    for (;;) {
      const ND2_RESULT result = connection.next();
      if (result.RequestType == type) return result.Status;
      if (result.RequestType != Nd2RequestTypeReceive || result.Status != ND_CANCELED) keep(result);
    }
  }

 private:
  BYTE* at(ULONGLONG place) const { return notes_.data() + place * sizeof(Note); }

  void take() { keep(connection.next()); }

  void keep(const ND2_RESULT& result) {
    if (result.RequestType == Nd2RequestTypeSend) {
      check_result(result, Nd2RequestTypeSend);
      sent_ = true;
      return;
    }
    check_result(result, Nd2RequestTypeReceive);
    bytes_ = result.BytesTransferred;
    ++arrived_;
  }

  Memory notes_;
  ULONGLONG next_receive_ = 0;
  ULONGLONG arrived_ = 0;
  ULONGLONG heard_ = 0;
  ULONG bytes_ = 0;
  bool sent_ = false;

 public:
  // Last, so that it goes first: then nothing uses the memory any more.
  Connection connection;
};

class Server {
 public:
  Server(Device& device, const Options& options) : device_(device), options_(options), pattern_(kRegion) {
    // A window grants what its memory does not; local writing alone must be there.
    region_ = std::make_unique<Memory>(device, kRegion, ND_MR_FLAG_ALLOW_LOCAL_WRITE);
    read_only_ = std::make_unique<Memory>(device, 4096, 0);
  }

  // True when that was the client's last case.
  bool serve(Listener& listener) {
    Talk talk(device_, options_);
    const Hello hello = talk.connection.await(listener, kProgramNumber, known_);
    known_ = true;
    if (hello.extra >= _countof(kCases)) fail("GetPrivateData", "the client has another case");
    const Case& chosen = kCases[hello.extra];
    pattern_.fill(region_->data(), kRegion, kBefore);
    talk.post();
    talk.connection.accept(hello);
    // The side that has connected says the first word.
    talk.hear();
    Ref<IND2MemoryWindow> window;
    check(device_->CreateMemoryWindow(IID_IND2MemoryWindow, window.put()), "CreateMemoryWindow");
    const Note note = bind(talk, window.get(), kOffset, kLength, chosen.rights);
    if (chosen.invalidated) invalidate(talk, window.get());
    talk.post();
    talk.say(note);
    if (chosen.wanted == ND_SUCCESS) {
      go_on(talk, window.get());
    } else {
      // What has failed ended the connection; nothing is acknowledged any more.
      const HRESULT status = talk.outcome(Nd2RequestTypeReceive);
      if (status != ND_CANCELED) throw Failure{"Receive", status, std::string("instead of ND_CANCELED: ") + chosen.name};
      pattern_.verify(region_->data(), kRegion, kBefore);
      talk.connection.await_disconnect();
    }
    return hello.count == 1;
  }

 private:
  Note bind(Talk& talk, IND2MemoryWindow* window, ULONG offset, ULONG length, ULONG rights) {
    BYTE* const place = region_->data() + offset;
    check(talk.connection->Bind(this, region_->region(), window, place, length, rights), "Bind");
    // The token is known before the window is bound.
    const UINT32 token = window->GetRemoteToken();
    check(talk.outcome(Nd2RequestTypeBind), "Bind");
    return {reinterpret_cast<UINT64>(place), token, length};
  }

  void invalidate(Talk& talk, IND2MemoryWindow* window) {
    check(talk.connection->Invalidate(this, window, 0), "Invalidate");
    check(talk.outcome(Nd2RequestTypeInvalidate), "Invalidate");
  }

  void go_on(Talk& talk, IND2MemoryWindow* window) {
    talk.hear();
    check_memory(kFirst, kOffset, kLength);
    Request request(options_.patience_ms);
    IND2MemoryRegion* const region = region_->region();
    const HRESULT busy = request.finish(region, region->Deregister(request.begin()), "Deregister");
    if (busy != ND_DEVICE_BUSY) throw Failure{"Deregister", busy, "with a window in the memory"};
    invalidate(talk, window);
    refuse_to_grant(talk, window);
    pattern_.fill(region_->data(), kRegion, kBefore);
    const Note note = bind(talk, window, kSecondOffset, kSecondLength, ND_OP_FLAG_ALLOW_READ | ND_OP_FLAG_ALLOW_WRITE);
    talk.post();
    talk.say(note);
    talk.hear();
    check_memory(kSecond, kSecondOffset, kSecondLength);
    invalidate(talk, window);
    talk.connection.post_goodbye();
    talk.say({});
    talk.hear_goodbye();
    talk.connection.disconnect();
  }

  // What the owner may not write, nobody else may through a window.
  void refuse_to_grant(Talk& talk, IND2MemoryWindow* window) {
    const HRESULT status = talk.connection->Bind(this, read_only_->region(), window, read_only_->data(), 64, ND_OP_FLAG_ALLOW_WRITE);
    if (status != ND_ACCESS_VIOLATION) throw Failure{"Bind", status, "for writing into memory that is for reading"};
  }

  // The window has what the client wrote, everything else is as it was.
  void check_memory(ULONGLONG contents, ULONG offset, ULONG length) {
    pattern_.verify(region_->data() + offset, length, contents);
    std::vector<BYTE> before(kRegion);
    pattern_.fill(before.data(), kRegion, kBefore);
    const BYTE* const data = region_->data();
    if (memcmp(data, before.data(), offset) != 0 ||
        memcmp(data + offset + length, &before[offset + length], kRegion - offset - length) != 0) {
      fail("data", "memory outside of the window has changed");
    }
  }

  Device& device_;
  const Options& options_;
  Pattern pattern_;
  std::unique_ptr<Memory> region_;
  std::unique_ptr<Memory> read_only_;
  bool known_ = false;
};

class Client {
 public:
  Client(Device& device, const Options& options) : device_(device), options_(options), pattern_(kRegion) {
    memory_ = std::make_unique<Memory>(device, kRegion, ND_MR_FLAG_ALLOW_LOCAL_WRITE | ND_MR_FLAG_RDMA_READ_SINK);
  }

  // `left` counts the cases to come, this one included.
  void run(UINT32 number, UINT32 left) {
    const Case& chosen = kCases[number];
    Talk talk(device_, options_);
    Hello hello;
    hello.program = kProgramNumber;
    hello.extra = number;
    hello.count = left;
    talk.post();
    talk.connection.connect(hello);
    talk.say({});
    const Note window = talk.hear();
    if (chosen.wanted == ND_SUCCESS) {
      use(talk, window, kOffset, kFirst);
      talk.post();
      talk.say({});
      const Note second = talk.hear();
      use(talk, second, kSecondOffset, kSecond);
      talk.post();
      talk.say({});
      talk.hear();
      talk.connection.leave();
    } else {
      const UINT64 address = window.address + static_cast<UINT64>(chosen.offset);
      const HRESULT status = transfer(talk, address, window.token, chosen.length, chosen.writes);
      if (status != chosen.wanted) throw Failure{chosen.writes ? "Write" : "Read", status, std::string("in: ") + chosen.name};
      talk.connection.disconnect();
    }
  }

 private:
  HRESULT transfer(Talk& talk, UINT64 address, UINT32 token, ULONG length, bool writes) {
    const Pieces pieces(memory_->data(), length, 1, memory_->token());
    if (writes) {
      check(talk.connection->Write(this, pieces.get(), pieces.count(), address, token, 0), "Write");
    } else {
      check(talk.connection->Read(this, pieces.get(), pieces.count(), address, token, 0), "Read");
    }
    return talk.outcome(writes ? Nd2RequestTypeWrite : Nd2RequestTypeRead);
  }

  // Reads the whole window, then writes it, then reads it again.
  void use(Talk& talk, const Note& window, ULONG offset, ULONGLONG contents) {
    check(transfer(talk, window.address, window.token, window.length, false), "Read");
    std::vector<BYTE> before(kRegion);
    pattern_.fill(before.data(), kRegion, kBefore);
    if (memcmp(memory_->data(), &before[offset], window.length) != 0) fail("data", "the window shows other memory");
    pattern_.fill(memory_->data(), window.length, contents);
    check(transfer(talk, window.address, window.token, window.length, true), "Write");
    memset(memory_->data(), 0, window.length);
    check(transfer(talk, window.address, window.token, window.length, false), "Read");
    pattern_.verify(memory_->data(), window.length, contents);
  }

  Device& device_;
  const Options& options_;
  Pattern pattern_;
  std::unique_ptr<Memory> memory_;
};

void run(const Options& options) {
  Device device(local_address(options));
  if (!options.server) {
    Client client(device, options);
    const ULONG rounds = options.count_or(1);
    for (ULONG round = 0; round < rounds; ++round) {
      for (UINT32 i = 0; i < _countof(kCases); ++i) {
        const double begin = now();
        client.run(i, static_cast<UINT32>(_countof(kCases) * (rounds - round)) - i);
        if (round != 0) continue;
        printf("%-46s %-20s %8.1f ms\n", kCases[i].name, status_name(kCases[i].wanted), (now() - begin) * 1e3);
        fflush(stdout);
      }
    }
    return;
  }
  Listener listener(device, options.address);
  for (ULONG i = 0; i < options.count_or(1); ++i) {
    Server server(device, options);
    while (!server.serve(listener)) {
    }
  }
}

const Program kProgram = {"nd_windows", "memory windows: bind, use, misuse, invalidate", "scbpCLT", 54406, run};

}  // namespace

int _tmain(int argc, _TCHAR* argv[]) { return run_program(kProgram, argc, argv); }
