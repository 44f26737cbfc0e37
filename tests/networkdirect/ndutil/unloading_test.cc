// When libraries go and when they stay, and many threads at once.
#include <atomic>
#include <thread>

#include "tests/networkdirect/ndutil/fixture.h"

namespace fb::ndutil {
namespace {

using Unloading = StartedTest;

TEST_F(Unloading, AFlushUnloadsWhatIsIdle) {
  EXPECT_FALSE(is_loaded(DUMMY_ONE)) << "the start loads nothing";
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(check("127.0.0.1"), ND_SUCCESS);
    EXPECT_TRUE(is_loaded(DUMMY_ONE));
    NdFlushProviders();
    EXPECT_FALSE(is_loaded(DUMMY_ONE));
  }
}

TEST_F(Unloading, ObjectsKeepTheirLibrary) {
  install(kSecond, DUMMY_TWO);
  IUnknown* adapter = nullptr;
  ASSERT_EQ(open("127.0.0.1", &adapter), ND_SUCCESS);
  NdFlushProviders();
  EXPECT_TRUE(is_loaded(DUMMY_ONE));
  EXPECT_FALSE(is_loaded(DUMMY_TWO));
  adapter->AddRef();
  EXPECT_EQ(adapter->Release(), 1u);
  EXPECT_EQ(adapter->Release(), 0u);
  NdFlushProviders();
  EXPECT_FALSE(is_loaded(DUMMY_ONE));
}

TEST_F(Unloading, ALibraryMayRefuse) {
  setenv("DUMMY_ONE", "addresses=127.0.0.1 unload=never", 1);
  EXPECT_EQ(check("127.0.0.1"), ND_SUCCESS);
  NdFlushProviders();
  EXPECT_TRUE(is_loaded(DUMMY_ONE));
  setenv("DUMMY_ONE", "addresses=127.0.0.1", 1);
  NdFlushProviders();
  EXPECT_FALSE(is_loaded(DUMMY_ONE));
}

TEST_F(Unloading, ALibraryThatLeftTheCatalogueStaysForItsObjects) {
  IUnknown* adapter = nullptr;
  ASSERT_EQ(open("127.0.0.1", &adapter), ND_SUCCESS);
  remove(kFirst);
  EXPECT_TRUE(addresses().empty());
  NdFlushProviders();
  EXPECT_TRUE(is_loaded(DUMMY_ONE));
  EXPECT_EQ(adapter->Release(), 0u);
  NdFlushProviders();
  EXPECT_FALSE(is_loaded(DUMMY_ONE));
}

TEST_F(HelperTest, TheLastCleanupUnloads) {
  install(kFirst, DUMMY_ONE);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(NdStartup(), ND_SUCCESS);
    ASSERT_EQ(NdStartup(), ND_SUCCESS);
    EXPECT_EQ(check("127.0.0.1"), ND_SUCCESS);
    EXPECT_EQ(NdCleanup(), ND_SUCCESS);
    EXPECT_TRUE(is_loaded(DUMMY_ONE));
    EXPECT_EQ(NdCleanup(), ND_SUCCESS);
    EXPECT_FALSE(is_loaded(DUMMY_ONE));
  }
}

TEST_F(HelperTest, ObjectsMayOutliveTheCleanup) {
  install(kFirst, DUMMY_ONE);
  ASSERT_EQ(NdStartup(), ND_SUCCESS);
  IUnknown* adapter = nullptr;
  ASSERT_EQ(open("127.0.0.1", &adapter), ND_SUCCESS);
  ASSERT_EQ(NdCleanup(), ND_SUCCESS);
  EXPECT_TRUE(is_loaded(DUMMY_ONE));
  EXPECT_EQ(adapter->Release(), 0u);
  ASSERT_EQ(NdStartup(), ND_SUCCESS);
  EXPECT_EQ(check("127.0.0.1"), ND_SUCCESS);
  ASSERT_EQ(NdCleanup(), ND_SUCCESS);
  EXPECT_FALSE(is_loaded(DUMMY_ONE)) << "loaded once, although it was met twice";
}

// The first dummy has an adapter all the time: a thread that releases the last one is in the library's code for an instant
// longer, which no helper library can know. The second is loaded and unloaded all the time.
TEST_F(Unloading, Threads) {
  setenv("DUMMY_TWO", "addresses=192.0.2.7,2001:db8::7 fail=open", 1);
  install(kSecond, DUMMY_TWO);
  IUnknown* kept = nullptr;
  ASSERT_EQ(open("127.0.0.1", &kept), ND_SUCCESS);
  constexpr int kRounds = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < kRounds; ++i) {
        IUnknown* adapter = nullptr;
        EXPECT_EQ(open("127.0.0.2", &adapter), ND_SUCCESS);
        if (adapter != nullptr) adapter->Release();
        EXPECT_EQ(resolved("127.0.0.1"), "127.0.0.1");
      }
    });
    threads.emplace_back([] {
      for (int i = 0; i < kRounds; ++i) {
        IUnknown* adapter = nullptr;
        const HRESULT status = open("192.0.2.7", &adapter);
        EXPECT_TRUE(status == ND_INSUFFICIENT_RESOURCES || status == ND_INVALID_ADDRESS) << status;
        EXPECT_EQ(check("::1"), ND_SUCCESS);
        EXPECT_EQ(NdStartup(), ND_SUCCESS);
        EXPECT_EQ(NdCleanup(), ND_SUCCESS);
      }
    });
  }
  threads.emplace_back([] {
    for (int i = 0; i < kRounds; ++i) NdFlushProviders();
  });
  for (int i = 0; i < 20; ++i) {
    remove(kSecond);
    install(kSecond, DUMMY_TWO);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kept->Release(), 0u);
  NdFlushProviders();
  EXPECT_FALSE(is_loaded(DUMMY_ONE));
  EXPECT_FALSE(is_loaded(DUMMY_TWO));
}

}  // namespace
}  // namespace fb::ndutil
