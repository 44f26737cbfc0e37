// A method is its slot: calls from C and from C++ reach the same method of a C++ object, with every argument in
// its place, and calls from C++ reach the methods of an object written in C.
#include <gtest/gtest.h>

#include "tests/networkdirect/calls.h"
#include "tests/networkdirect/recorder.h"

namespace {

constexpr GUID iid_one = {1, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}};

// An object from elsewhere has no type information before its table, so that the check of it is left out.
#define IID_ONE iid_one
#define CALLS(name, Interface) __attribute__((noinline, no_sanitize("vptr"))) int cc_calls_##name(Interface* object)
#define CALL(Method, ...) object->Method(__VA_ARGS__)
#define CALL_PLAIN(Method) object->Method()
#include "tests/networkdirect/calls.inc"

// How many arguments the method in each slot takes, the object itself not counted.
using Arguments = std::vector<unsigned>;

template <class Object>
void expect_every_slot(const Object& object, const Arguments& arguments) {
  ASSERT_EQ(object.calls.size(), arguments.size());
  for (unsigned slot = 0; slot < arguments.size(); ++slot) {
    EXPECT_EQ(object.calls[slot].slot, slot);
    std::vector<std::uint64_t> in_order;
    for (unsigned argument = 1; argument <= arguments[slot]; ++argument) {
      in_order.push_back(argument);
    }
    EXPECT_EQ(object.calls[slot].arguments, in_order) << "slot " << slot;
  }
}

template <class Object, class Interface>
void check(int (*c_calls)(Interface*), int (*cc_calls)(Interface*), const Arguments& arguments) {
  for (const auto calls : {c_calls, cc_calls}) {
    SCOPED_TRACE(calls == c_calls ? "from C" : "from C++");
    Object object;
    EXPECT_EQ(calls(&object), every_answer_right);
    expect_every_slot(object, arguments);
  }
}

TEST(Slots, Overlapped) { check<nd_test::Overlapped<IND2Overlapped>>(c_calls_overlapped, cc_calls_overlapped, {2, 0, 0, 0, 2}); }

TEST(Slots, CompletionQueue) {
  check<nd_test::CompletionQueue>(c_calls_completion_queue, cc_calls_completion_queue, {2, 0, 0, 0, 2, 2, 1, 2, 2});
}

TEST(Slots, SharedReceiveQueue) {
  check<nd_test::SharedReceiveQueue>(c_calls_shared_receive_queue, cc_calls_shared_receive_queue, {2, 0, 0, 0, 2, 2, 2, 1, 3});
}

TEST(Slots, MemoryWindow) { check<nd_test::MemoryWindow>(c_calls_memory_window, cc_calls_memory_window, {2, 0, 0, 0}); }

TEST(Slots, MemoryRegion) { check<nd_test::MemoryRegion>(c_calls_memory_region, cc_calls_memory_region, {2, 0, 0, 0, 2, 4, 1, 0, 0}); }

TEST(Slots, QueuePair) { check<nd_test::QueuePair>(c_calls_queue_pair, cc_calls_queue_pair, {2, 0, 0, 0, 4, 3, 6, 3, 6, 6}); }

TEST(Slots, Connector) {
  check<nd_test::Connector>(c_calls_connector, cc_calls_connector, {2, 0, 0, 0, 2, 2, 8, 1, 6, 2, 2, 2, 2, 2, 1, 1});
}

TEST(Slots, Listener) { check<nd_test::Listener>(c_calls_listener, cc_calls_listener, {2, 0, 0, 0, 2, 2, 1, 2, 2}); }

TEST(Slots, Adapter) { check<nd_test::Adapter>(c_calls_adapter, cc_calls_adapter, {2, 0, 0, 1, 2, 2, 6, 3, 2, 8, 10, 9, 3, 3}); }

TEST(Slots, Provider) { check<nd_test::Provider>(c_calls_provider, cc_calls_provider, {2, 0, 0, 2, 3, 3}); }

TEST(Slots, ObjectWrittenInC) {
  EXPECT_EQ(cc_calls_memory_region(c_memory_region()), every_answer_right);
  EXPECT_EQ(c_calls_memory_region(c_memory_region()), every_answer_right);
}

// An interface is its table and nothing else, wherever it stands in an implementation.
static_assert(sizeof(IND2Adapter) == sizeof(void*) && sizeof(IND2Connector) == sizeof(void*));
static_assert(!std::has_virtual_destructor_v<IND2Overlapped> && !std::has_virtual_destructor_v<IND2Provider>);
static_assert(std::is_base_of_v<IND2Overlapped, IND2Connector> && !std::is_base_of_v<IND2Overlapped, IND2QueuePair>);

}  // namespace
