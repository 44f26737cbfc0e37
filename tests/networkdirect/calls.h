#pragma once
// One call of every method of every interface, said once and compiled as C (through lpVtbl) and as C++. The
// n-th argument of a call is the number n, in whatever type; a method answers answer_base plus its slot.

#include <ndspi.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { answer_base = 0x100 };
// What a caller found: the slot whose answer was another method's, or that all was well.
enum { every_answer_right = -1 };

int c_calls_overlapped(IND2Overlapped* object);
int c_calls_completion_queue(IND2CompletionQueue* object);
int c_calls_shared_receive_queue(IND2SharedReceiveQueue* object);
int c_calls_memory_window(IND2MemoryWindow* object);
int c_calls_memory_region(IND2MemoryRegion* object);
int c_calls_queue_pair(IND2QueuePair* object);
int c_calls_connector(IND2Connector* object);
int c_calls_listener(IND2Listener* object);
int c_calls_adapter(IND2Adapter* object);
int c_calls_provider(IND2Provider* object);

// An object whose methods are written in C; it answers in the same way.
IND2MemoryRegion* c_memory_region(void);

// What C sees of the status codes and identifiers that C++ sees.
unsigned c_status_codes(const HRESULT** codes);
unsigned c_identifiers(GUID identifiers[], unsigned room);

#ifdef __cplusplus
}
#endif
