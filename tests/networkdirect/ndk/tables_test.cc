// The tables of NDK: calls from C and from C++ reach the entry that they name, with every argument in its place,
// and a program of an earlier version finds its entries where they were.
#include <ndisndk.h>
#include <ndkpi.h>
#include <wskndk.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "tests/networkdirect/ndk/calls.h"

namespace {

constexpr NDK_VERSION version_2 = {0, 2};

#define CALLS(name, type) int cc_calls_##name(type* object)
#include "tests/networkdirect/ndk/calls.inc"

struct Call {
  unsigned place;
  std::uint64_t object;
  std::vector<std::uint64_t> arguments;
};
std::vector<Call> calls;

template <class T>
std::uint64_t number(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(value);
  } else if constexpr (std::is_same_v<T, NDK_VERSION>) {
    return static_cast<std::uint64_t>(value.Major) << 16 | value.Minor;
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

// A function of the type of an entry that notes its place and what it was called with.
template <unsigned place, class Function>
struct Noting;
template <unsigned place, class Result, class Object, class... Arguments>
struct Noting<place, Result (*)(Object*, Arguments...)> {
  static Result function(Object* object, Arguments... arguments) {
    calls.push_back({place, number(object), {number(arguments)...}});
    if constexpr (!std::is_void_v<Result>) {
      return static_cast<Result>(answer_base + place);
    }
  }
};

// A table whose entry at place n is Noting<n>, by name and place as the fact sheet of the interface lists them.
#define ENTRY(place, name) .name = &Noting<place, decltype(Table::name)>::function

constexpr auto adapter_table = [] {
  using Table = NDK_ADAPTER_DISPATCH;
  return Table{ENTRY(0, NdkQueryExtension),
               ENTRY(1, NdkQueryAdapterInfo),
               ENTRY(2, NdkCreateCq),
               ENTRY(3, NdkCreatePd),
               ENTRY(4, NdkCreateSharedEndpoint),
               ENTRY(5, NdkCreateConnector),
               ENTRY(6, NdkCreateListener),
               ENTRY(7, NdkBuildLAM),
               ENTRY(8, NdkReleaseLAM)};
}();
constexpr auto pd_table = [] {
  using Table = NDK_PD_DISPATCH;
  return Table{
      ENTRY(0, NdkClosePd),   ENTRY(1, NdkQueryExtension), ENTRY(2, NdkCreateMr),        ENTRY(3, NdkCreateMw),
      ENTRY(4, NdkCreateSrq), ENTRY(5, NdkCreateQp),       ENTRY(6, NdkCreateQpWithSrq), ENTRY(7, NdkGetPrivilegedMemoryRegionToken)};
}();
constexpr auto cq_table = [] {
  using Table = NDK_CQ_DISPATCH;
  return Table{ENTRY(0, NdkCloseCq),       ENTRY(1, NdkQueryExtension), ENTRY(2, NdkResizeCq),
               ENTRY(3, NdkArmCq),         ENTRY(4, NdkGetCqResults),   ENTRY(5, NdkControlCqInterruptModeration),
               ENTRY(6, NdkGetCqResultsEx)};
}();
constexpr auto mr_table = [] {
  using Table = NDK_MR_DISPATCH;
  return Table{ENTRY(0, NdkCloseMr),
               ENTRY(1, NdkQueryExtension),
               ENTRY(2, NdkRegisterMr),
               ENTRY(3, NdkDeregisterMr),
               ENTRY(4, NdkInitializeFastRegisterMr),
               ENTRY(5, NdkGetRemoteTokenFromMr),
               ENTRY(6, NdkGetLocalTokenFromMr)};
}();
constexpr auto mw_table = [] {
  using Table = NDK_MW_DISPATCH;
  return Table{ENTRY(0, NdkCloseMw), ENTRY(1, NdkQueryExtension), ENTRY(2, NdkGetRemoteTokenFromMw)};
}();
constexpr auto srq_table = [] {
  using Table = NDK_SRQ_DISPATCH;
  return Table{ENTRY(0, NdkCloseSrq), ENTRY(1, NdkQueryExtension), ENTRY(2, NdkModifySrq), ENTRY(3, NdkSrqReceive)};
}();
constexpr auto qp_table = [] {
  using Table = NDK_QP_DISPATCH;
  return Table{ENTRY(0, NdkCloseQp),      ENTRY(1, NdkQueryExtension),    ENTRY(2, NdkFlush),
               ENTRY(3, NdkSend),         ENTRY(4, NdkReceive),           ENTRY(5, NdkBind),
               ENTRY(6, NdkFastRegister), ENTRY(7, NdkInvalidate),        ENTRY(8, NdkRead),
               ENTRY(9, NdkWrite),        ENTRY(10, NdkSendAndInvalidate)};
}();
constexpr auto connector_table = [] {
  using Table = NDK_CONNECTOR_DISPATCH;
  return Table{ENTRY(0, NdkCloseConnector),  ENTRY(1, NdkQueryExtension), ENTRY(2, NdkConnect),     ENTRY(3, NdkConnectWithSharedEndpoint),
               ENTRY(4, NdkCompleteConnect), ENTRY(5, NdkAccept),         ENTRY(6, NdkReject),      ENTRY(7, NdkGetConnectionData),
               ENTRY(8, NdkGetLocalAddress), ENTRY(9, NdkGetPeerAddress), ENTRY(10, NdkDisconnect), ENTRY(11, NdkCompleteConnectEx),
               ENTRY(12, NdkAcceptEx)};
}();
constexpr auto listener_table = [] {
  using Table = NDK_LISTENER_DISPATCH;
  return Table{ENTRY(0, NdkCloseListener), ENTRY(1, NdkQueryExtension), ENTRY(2, NdkListen), ENTRY(3, NdkGetLocalAddress),
               ENTRY(4, NdkControlConnectEvents)};
}();
constexpr auto shared_endpoint_table = [] {
  using Table = NDK_SHARED_ENDPOINT_DISPATCH;
  return Table{ENTRY(0, NdkCloseSharedEndpoint), ENTRY(1, NdkQueryExtension), ENTRY(2, NdkGetLocalAddress)};
}();

// How many arguments follow the object at each place.
using Arguments = std::vector<unsigned>;

template <class Object, class Table>
void check(const Table& table, NDK_OBJECT_TYPE type, int (*c_calls)(Object*), int (*cc_calls)(Object*), const Arguments& arguments) {
  ASSERT_EQ(sizeof(Table) / sizeof(void*), arguments.size());
  Object object = {{{2, 1}, type, {}}, &table};
  for (const auto those : {c_calls, cc_calls}) {
    SCOPED_TRACE(those == c_calls ? "from C" : "from C++");
    calls.clear();
    EXPECT_EQ(those(&object), every_answer_right);
    ASSERT_EQ(calls.size(), arguments.size());
    for (unsigned place = 0; place < arguments.size(); ++place) {
      EXPECT_EQ(calls[place].place, place);
      EXPECT_EQ(calls[place].object, reinterpret_cast<std::uintptr_t>(&object)) << "place " << place;
      std::vector<std::uint64_t> in_order;
      for (unsigned argument = 1; argument <= arguments[place]; ++argument) {
        in_order.push_back(argument);
      }
      EXPECT_EQ(calls[place].arguments, in_order) << "place " << place;
    }
  }
}

TEST(Tables, Adapter) { check(adapter_table, NdkObjectTypeAdapter, c_calls_adapter, cc_calls_adapter, {3, 2, 7, 3, 5, 3, 5, 7, 1}); }
TEST(Tables, Pd) { check(pd_table, NdkObjectTypePd, c_calls_pd, cc_calls_pd, {2, 3, 4, 3, 9, 11, 10, 1}); }
TEST(Tables, Cq) { check(cq_table, NdkObjectTypeCq, c_calls_cq, cc_calls_cq, {2, 3, 3, 1, 2, 2, 2}); }
TEST(Tables, Mr) { check(mr_table, NdkObjectTypeMr, c_calls_mr, cc_calls_mr, {2, 3, 5, 2, 4, 0, 0}); }
TEST(Tables, Mw) { check(mw_table, NdkObjectTypeMw, c_calls_mw, cc_calls_mw, {2, 3, 0}); }
TEST(Tables, Srq) { check(srq_table, NdkObjectTypeSrq, c_calls_srq, cc_calls_srq, {2, 3, 4, 3}); }
TEST(Tables, Qp) { check(qp_table, NdkObjectTypeQp, c_calls_qp, cc_calls_qp, {2, 3, 0, 4, 3, 6, 8, 3, 6, 6, 5}); }
TEST(Tables, Connector) {
  check(connector_table, NdkObjectTypeConnector, c_calls_connector, cc_calls_connector, {2, 3, 11, 10, 4, 9, 2, 4, 2, 2, 2, 4, 9});
}
TEST(Tables, Listener) { check(listener_table, NdkObjectTypeListener, c_calls_listener, cc_calls_listener, {2, 3, 4, 2, 1}); }
TEST(Tables, SharedEndpoint) {
  check(shared_endpoint_table, NdkObjectTypeSharedEndpoint, c_calls_shared_endpoint, cc_calls_shared_endpoint, {2, 3, 2});
}

void expect_sizes(const ndk_sizes& got, const ndk_sizes& wanted) {
  EXPECT_EQ(got.cq_entries, wanted.cq_entries);
  EXPECT_EQ(got.qp_entries, wanted.qp_entries);
  EXPECT_EQ(got.connector_entries, wanted.connector_entries);
  EXPECT_EQ(got.adapter_info_size, wanted.adapter_info_size);
  EXPECT_EQ(got.result_ex_size, wanted.result_ex_size);
  EXPECT_EQ(got.open_parameters_size, wanted.open_parameters_size);
}

TEST(Versions, EachHasWhatItHadInItsDay) {
  expect_sizes(sizes_of_1_1(), {6, 10, 11, 96, 0, 4});
  expect_sizes(sizes_of_1_2(), {7, 11, 11, 96, 40, 4});
  expect_sizes(sizes_of_2_0(), {7, 11, 11, 104, 40, 12});
  expect_sizes(sizes_of_2_1(), {7, 11, 13, 104, 40, 12});
}

TEST(Versions, AnOldConsumerFindsItsEntries) {
  NDK_CQ cq = {{{2, 1}, NdkObjectTypeCq, {}}, &cq_table};
  NDK_QP qp = {{{2, 1}, NdkObjectTypeQp, {}}, &qp_table};
  NDK_CONNECTOR connector = {{{2, 1}, NdkObjectTypeConnector, {}}, &connector_table};
  EXPECT_EQ(calls_of_1_1(&cq, &qp, &connector), every_answer_right);
}

// The numbers that the documents disagree on, or that are easily taken for the other interface's.
static_assert(NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE == 0x100 && NDK_OP_FLAG_DEFER == 0x200);
static_assert(NDK_OP_FLAG_INLINE == 0x40 && NDK_OP_FLAG_ALLOW_REMOTE_WRITE == 0x30);
static_assert((NDK_OP_FLAG_ALLOW_REMOTE_WRITE & NDK_OP_FLAG_ALLOW_LOCAL_WRITE) != 0);
static_assert((NDK_MR_FLAG_ALLOW_REMOTE_WRITE & NDK_MR_FLAG_ALLOW_LOCAL_WRITE) != 0);
static_assert((NdkOperationTypeReceive & NdkOperationTypeReceiveAndInvalidate & 1) == 1);
static_assert(((NdkOperationTypeSend | NdkOperationTypeFastRegister | NdkOperationTypeBind | NdkOperationTypeInvalidate |
                NdkOperationTypeRead | NdkOperationTypeWrite) &
               1) == 0);
static_assert(sizeof(NDK_OPERATION_TYPE) == 4 && sizeof(NDK_OBJECT_TYPE) == 4 && sizeof(NDK_RDMA_TECHNOLOGY) == 4);
static_assert(NT_SUCCESS(STATUS_PENDING) && !NT_SUCCESS(STATUS_BUFFER_OVERFLOW) && !NT_SUCCESS(STATUS_CANCELLED));
static_assert(static_cast<std::uint32_t>(STATUS_IMPLEMENTATION_LIMIT) == 0xC000042B);
static_assert(static_cast<std::uint32_t>(STATUS_BUFFER_TOO_SMALL) == 0xC0000023);
static_assert(static_cast<std::uint32_t>(NDIS_STATUS_BAD_VERSION) == 0xC0010004);

TEST(Kernel, MdlDescribesMemoryByPageAndOffset) {
  MDL second;
  MmInitializeMdl(&second, reinterpret_cast<void*>(0x7000), PAGE_SIZE);
  MDL first;
  MmInitializeMdl(&first, reinterpret_cast<void*>(0x5123), 0x1EDD);
  first.Next = &second;
  EXPECT_EQ(MmGetMdlVirtualAddress(&first), reinterpret_cast<void*>(0x5123));
  EXPECT_EQ(MmGetMdlByteCount(&first), 0x1EDDu);
  EXPECT_EQ(MmGetMdlByteOffset(&first), 0x123u);
  EXPECT_EQ(MmGetMdlByteOffset(&second), 0u);
  EXPECT_EQ(second.Next, nullptr);
}

}  // namespace
