// Asynchronous calls of a provider that is not ours: one that ends them when it likes, on threads of its own, also after
// everything has been released.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "networkdirect/consumer/mailbox.h"
#include "networkdirect/win32/overlapped_file.h"

namespace fb::networkdirect::consumer {
namespace {

/// No object in it is counted; it lives as long as the test.
template <class Interface>
struct Uncounted : Interface {
  HRESULT STDMETHODCALLTYPE QueryInterface(REFIID, void** out) override {
    *out = nullptr;
    return E_NOINTERFACE;
  }
  ULONG STDMETHODCALLTYPE AddRef() override { return 1; }
  ULONG STDMETHODCALLTYPE Release() override { return 1; }
};

/// An adapter that gives a file and nothing else.
struct Adapter final : Uncounted<IND2Adapter> {
  HRESULT STDMETHODCALLTYPE CreateOverlappedFile(HANDLE* handle) override {
    file = win32::OverlappedFile::create(*handle);
    return ND_SUCCESS;
  }
  HRESULT STDMETHODCALLTYPE Query(ND2_ADAPTER_INFO*, ULONG*) override { return ND_NOT_SUPPORTED; }
  HRESULT STDMETHODCALLTYPE QueryAddressList(SOCKET_ADDRESS_LIST*, ULONG*) override { return ND_NOT_SUPPORTED; }
  HRESULT STDMETHODCALLTYPE CreateCompletionQueue(REFIID, HANDLE, ULONG, USHORT, KAFFINITY, VOID**) override { return ND_NOT_SUPPORTED; }
  HRESULT STDMETHODCALLTYPE CreateMemoryRegion(REFIID, HANDLE, VOID**) override { return ND_NOT_SUPPORTED; }
  HRESULT STDMETHODCALLTYPE CreateMemoryWindow(REFIID, VOID**) override { return ND_NOT_SUPPORTED; }
  HRESULT STDMETHODCALLTYPE CreateSharedReceiveQueue(REFIID, HANDLE, ULONG, ULONG, ULONG, USHORT, KAFFINITY, VOID**) override {
    return ND_NOT_SUPPORTED;
  }
  HRESULT STDMETHODCALLTYPE CreateQueuePair(REFIID, IUnknown*, IUnknown*, VOID*, ULONG, ULONG, ULONG, ULONG, ULONG, VOID**) override {
    return ND_NOT_SUPPORTED;
  }
  HRESULT STDMETHODCALLTYPE CreateQueuePairWithSrq(REFIID, IUnknown*, IUnknown*, IUnknown*, VOID*, ULONG, ULONG, ULONG, VOID**) override {
    return ND_NOT_SUPPORTED;
  }
  HRESULT STDMETHODCALLTYPE CreateConnector(REFIID, HANDLE, VOID**) override { return ND_NOT_SUPPORTED; }
  HRESULT STDMETHODCALLTYPE CreateListener(REFIID, HANDLE, VOID**) override { return ND_NOT_SUPPORTED; }
  std::optional<win32::OverlappedFile> file;
};

struct Object final : Uncounted<IND2Overlapped> {
  explicit Object(Adapter& a) : adapter(a) {}
  HRESULT STDMETHODCALLTYPE CancelOverlappedRequests() override { return ND_SUCCESS; }
  HRESULT STDMETHODCALLTYPE GetOverlappedResult(OVERLAPPED* overlapped, BOOL wait) override {
    ++asked;
    if (phases > 0) {
      --phases;
      return ND_PENDING;
    }
    if (wait != FALSE) win32::wait_until_complete(*overlapped);
    return win32::overlapped_status(*overlapped);
  }
  /// A call that goes on.
  HRESULT begin(OVERLAPPED* overlapped) {
    EXPECT_TRUE(adapter.file->begin(*overlapped));
    begun.push_back(overlapped);
    return ND_PENDING;
  }
  void end(std::size_t index, HRESULT status = ND_SUCCESS) { adapter.file->complete(*begun[index], status, 0); }

  Adapter& adapter;
  std::vector<OVERLAPPED*> begun;
  int asked = 0, phases = 0;
};

struct Owner final : RequestOwner {
  using RequestOwner::forget_requests;
  void on_done(unsigned what, HRESULT status) override {
    done.emplace_back(what, status);
    if (then) then();
  }
  std::vector<std::pair<unsigned, HRESULT>> done;
  std::function<void()> then;
};

class Mailboxes : public ::testing::Test {
 protected:
  void open(std::unique_ptr<World> made) {
    world = std::move(made);
    mailbox = Mailbox::open(*world, adapter, nullptr);
  }
  ~Mailboxes() override {
    if (mailbox != nullptr) mailbox->abandon();
  }
  void begin(Owner& of, unsigned what) {
    mailbox->start(of, object, what, [&](OVERLAPPED* overlapped) { return object.begin(overlapped); });
  }
  Adapter adapter;
  Object object{adapter};
  std::unique_ptr<World> world;
  Mailbox* mailbox = nullptr;
  Owner owner;
  using Done = std::vector<std::pair<unsigned, HRESULT>>;
};

TEST_F(Mailboxes, EndsComeFromTheLoopWithTheirResults) {
  open(World::make_virtual(1));
  for (unsigned what = 0; what < 3; ++what) begin(owner, what);
  object.end(1, ND_CONNECTION_REFUSED);
  object.end(0);
  EXPECT_TRUE(owner.done.empty());
  world->run_until_idle();
  EXPECT_EQ(owner.done, (Done{{1, ND_CONNECTION_REFUSED}, {0, ND_SUCCESS}}));
  EXPECT_EQ(object.asked, 2);
  object.end(2);
  world->run_until_idle();
  EXPECT_EQ(owner.done.size(), 3u);
}

TEST_F(Mailboxes, WhatEndedWithinTheCallComesFromTheLoopToo) {
  open(World::make_virtual(1));
  mailbox->start(owner, object, 7, [](OVERLAPPED*) { return ND_SUCCESS; });
  mailbox->start(owner, object, 8, [](OVERLAPPED*) { return ND_INVALID_PARAMETER; });
  mailbox->start(owner, object, 9, [](OVERLAPPED*) { return ND_TIMEOUT; });
  EXPECT_TRUE(owner.done.empty());
  world->run_until_idle();
  EXPECT_EQ(owner.done, (Done{{7, ND_SUCCESS}, {8, ND_INVALID_PARAMETER}, {9, ND_TIMEOUT}}));
}

TEST_F(Mailboxes, ASecondPartIsWaitedFor) {
  open(World::make_virtual(1));
  object.phases = 1;
  begin(owner, 1);
  object.end(0);
  world->run_until_idle();
  EXPECT_TRUE(owner.done.empty());
  object.end(0);
  world->run_until_idle();
  EXPECT_EQ(owner.done, (Done{{1, ND_SUCCESS}}));
}

TEST_F(Mailboxes, TheForgottenAreHeardByNobody) {
  open(World::make_virtual(1));
  begin(owner, 1);
  {
    Owner shorter;
    begin(shorter, 2);
    mailbox->start(shorter, object, 3, [](OVERLAPPED*) { return ND_SUCCESS; });
  }
  begin(owner, 4);
  owner.forget_requests();
  begin(owner, 5);
  for (std::size_t i = 0; i < object.begun.size(); ++i) object.end(i);
  world->run_until_idle();
  EXPECT_EQ(owner.done, (Done{{5, ND_SUCCESS}}));
}

TEST_F(Mailboxes, AnEndMayEndEverything) {
  open(World::make_virtual(1));
  begin(owner, 1);
  begin(owner, 2);
  owner.then = [this] {
    owner.forget_requests();
    std::exchange(mailbox, nullptr)->abandon();
  };
  object.end(0);
  object.end(1);
  world->run_until_idle();
  EXPECT_EQ(owner.done, (Done{{1, ND_SUCCESS}}));
}

TEST_F(Mailboxes, LateEndsFindTheirMemoryAfterTheWorldHasGone) {
  open(World::make_virtual(1));
  for (unsigned what = 0; what < 3; ++what) begin(owner, what);
  owner.forget_requests();
  std::exchange(mailbox, nullptr)->abandon();
  world.reset();
  object.end(0);
  std::thread other([&] { object.end(2, ND_CANCELED); });
  other.join();
  object.end(1);  // and with it all that is left goes
  EXPECT_TRUE(owner.done.empty());
}

TEST_F(Mailboxes, WaitingCallsBlockAndLeaveNoPacket) {
  open(World::make_virtual(1));
  std::thread other;
  const HRESULT status = mailbox->wait(object, [&](OVERLAPPED* overlapped) {
    object.begin(overlapped);
    other = std::thread([&] { object.end(0, ND_ACCESS_VIOLATION); });
    return ND_PENDING;
  });
  other.join();
  EXPECT_EQ(status, ND_ACCESS_VIOLATION);
  EXPECT_EQ(mailbox->wait(object, [](OVERLAPPED*) { return ND_SUCCESS; }), ND_SUCCESS);
  EXPECT_TRUE(world->run_until_idle());
  EXPECT_EQ(world->loop().events_run(), 0u);
}

TEST_F(Mailboxes, ARealLoopWakesForOtherThreads) {
  open(World::make_real(1));
  constexpr unsigned kCalls = 200;
  for (unsigned what = 0; what < kCalls; ++what) begin(owner, what);
  std::thread other([&] {
    for (unsigned i = 1; i < kCalls; ++i) object.end(i);
  });
  object.end(0);  // on the loop's own thread
  EXPECT_TRUE(world->run_until([&] { return owner.done.size() == kCalls; }, Duration::s(20)));
  other.join();
  EXPECT_EQ(owner.done.size(), kCalls);
}

}  // namespace
}  // namespace fb::networkdirect::consumer
