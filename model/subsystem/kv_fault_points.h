// More of what fault_points.h lists: the Key Value command set. The self-test of the suite shows that each of these is asked for.
#pragma once

#include "model/subsystem/fault_points.h"

namespace fb::subsystem {

// clang-format off

#define FB_KV_FAULT_POINTS(X)                                                                                            \
  X(kv_csi_nvm, "sub.kv.identify.csi", "a key value namespace says that it belongs to the NVM command set")              \
  X(kv_list_all, "sub.kv.identify.list", "the list of key value namespaces has all namespaces")                          \
  X(kv_list_first, "sub.kv.identify.list.first", "the list of key value namespaces has the first alone")                 \
  X(kv_combination, "sub.kv.identify.combination", "no combination has the Key Value command set")                       \
  X(kv_controller_page, "sub.kv.identify.controller", "Identify Controller of the Key Value command set is not empty")   \
  X(kv_nsze_blocks, "sub.kv.identify.nsze", "NSZE counts blocks")                                                        \
  X(kv_nuse_above, "sub.kv.identify.nuse", "NUSE is above NSZE")                                                         \
  X(kv_format_key_max, "sub.kv.identify.key_max", "a format has keys of 32 bytes")                                       \
  X(kv_format_last, "sub.kv.identify.formats", "NKVF is a count, not 0's based")                                         \
  X(kv_reserved, "sub.kv.identify.reserved", "reserved bytes of the namespace's page are not 0")                         \
  X(kv_nguid, "sub.kv.identify.nguid", "NGUID differs from the list of descriptors")                                     \
  X(kv_eui64, "sub.kv.identify.eui64", "EUI64 differs from the list of descriptors")                                     \
  X(kv_nmic, "sub.kv.identify.nmic", "NMIC differs from the independent page")                                           \
  X(kv_rescap, "sub.kv.identify.rescap", "RESCAP differs from the independent page")                                     \
  X(kv_anagrpid, "sub.kv.identify.anagrpid", "ANAGRPID differs from the independent page")                               \
  X(kv_nsattr, "sub.kv.identify.nsattr", "NSATTR differs from the independent page")                                     \
  X(kv_unselected, "sub.kv.unselected", "key value commands work though their set is not selected")                      \
  X(kv_effects_missing, "sub.kv.effects.missing", "Exist is not in the effects log")                                     \
  X(kv_effects_nvm, "sub.kv.effects.nvm", "the effects log of the NVM command set has List")                             \
  X(kv_feature_missing, "sub.kv.feature.missing", "there is no feature 20h")                                             \
  X(kv_feature_kept, "sub.kv.feature.kept", "Set Features 20h has no effect on Get Features")                            \
  X(kv_feature_shared, "sub.kv.feature.shared", "feature 20h is one of the subsystem")                                   \
  X(kv_feature_reset, "sub.kv.feature.reset", "a controller reset clears feature 20h")                                   \
  X(kv_delete_always_fails, "sub.kv.delete.fails", "Delete of a key that does not exist fails whatever feature 20h is")  \
  X(kv_store_corrupt, "sub.kv.store.corrupt", "the last byte of a value is lost")                                        \
  X(kv_store_old, "sub.kv.store.old", "a Store leaves the value that the key has")                                       \
  X(kv_store_tail, "sub.kv.store.tail", "a shorter value leaves the end of the longer one")                              \
  X(kv_store_empty, "sub.kv.store.empty", "a Store of no bytes stores nothing")                                          \
  X(kv_store_guarded, "sub.kv.store.guarded", "a Store that is refused as Key Exists changes the value")                 \
  X(kv_store_unguarded, "sub.kv.store.unguarded", "a Store that must not replace stores nothing")                        \
  X(kv_store_creates, "sub.kv.store.creates", "a Store that is refused as KV Key Does Not Exist creates the key")        \
  X(kv_store_replaces, "sub.kv.store.replaces", "a Store that must replace stores nothing")                              \
  X(kv_store_plain, "sub.kv.store.plain", "a Store without compression is refused")                                      \
  X(kv_retrieve_raw, "sub.kv.retrieve.raw", "a Retrieve of raw data is refused")                                         \
  X(kv_retrieve_size, "sub.kv.retrieve.size", "DW0 of Retrieve is 0")                                                    \
  X(kv_retrieve_refused, "sub.kv.retrieve.refused", "a Retrieve with less room than the value fails")                    \
  X(kv_retrieve_end, "sub.kv.retrieve.end", "a Retrieve with less room than the value returns its end")                  \
  X(kv_retrieve_room, "sub.kv.retrieve.room", "DW0 of Retrieve is the room where the value is longer")                   \
  X(kv_retrieve_none, "sub.kv.retrieve.none", "a Retrieve without room fails")                                           \
  X(kv_exist_after, "sub.kv.exist.after", "Exist finds a key of which the beginning exists")                             \
  X(kv_exist_never, "sub.kv.exist.never", "Exist finds no key without a value")                                          \
  X(kv_delete_nothing, "sub.kv.delete.nothing", "Delete succeeds without effect")                                        \
  X(kv_delete_prefixed, "sub.kv.delete.prefixed", "Delete takes every key that begins so")                               \
  X(kv_delete_returns, "sub.kv.delete.returns", "a key that is stored again has its old value")                          \
  X(kv_key_short, "sub.kv.key.short", "the last byte of a key of 16 bytes does not count")                               \
  X(kv_key_low, "sub.kv.key.low", "bytes 8 to 11 of a key do not count")                                                 \
  X(kv_key_padded, "sub.kv.key.padded", "keys that differ in zeroes at the end are one")                                 \
  X(kv_key_beyond, "sub.kv.key.beyond", "bytes beyond the length of a key count")                                        \
  X(kv_key_one, "sub.kv.key.one", "keys of one byte are refused")                                                        \
  X(kv_key_longest, "sub.kv.key.longest", "keys of the maximum length are refused")                                      \
  X(kv_value_longest, "sub.kv.value.longest", "values of the maximum length are refused")                                \
  X(kv_value_dwords, "sub.kv.value.dwords", "values are cut to whole dwords")                                            \
  X(kv_list_gap, "sub.kv.list.gap", "List leaves out the last key")                                                      \
  X(kv_list_twice, "sub.kv.list.twice", "List has a key twice")                                                          \
  X(kv_list_start, "sub.kv.list.start", "List begins behind the key that it names")                                      \
  X(kv_list_order, "sub.kv.list.order", "every other List has the reverse order")                                        \
  X(kv_list_count, "sub.kv.list.count", "NRK counts keys that had no room")                                              \
  X(kv_list_exact, "sub.kv.list.exact", "a key that just fits is left out")                                              \
  X(kv_list_cut, "sub.kv.list.cut", "the last key of a List is cut")                                                     \
  X(kv_list_lengths, "sub.kv.list.lengths", "every key of a List has the length 16")                                     \
  X(kv_list_packed, "sub.kv.list.packed", "keys of a List are not padded")                                               \
  X(kv_list_empty, "sub.kv.list.empty", "List of an empty namespace fails")                                              \
  X(kv_list_missing, "sub.kv.list.missing", "List from a key that does not exist fails")                                 \
  X(kv_list_deleted, "sub.kv.list.deleted", "List has the key that was deleted last")                                    \
  X(kv_namespaces_one, "sub.kv.namespaces.one", "key value namespaces share their pairs")                                \
  X(kv_queue_lost, "sub.kv.queue.lost", "what comes on another queue than the first is not stored")                      \
  X(kv_reset_lost, "sub.kv.reset.lost", "a controller reset loses the pairs")                                            \
  X(kv_connect_lost, "sub.kv.connect.lost", "the end of an association loses the pairs")                                 \
  X(kv_format_keeps, "sub.kv.format.keeps", "Format NVM leaves the pairs")                                               \
  X(kv_format_first, "sub.kv.format.first", "Format NVM selects the first format, whatever it names")                    \
  X(kv_nuse_stays, "sub.kv.nuse.stays", "NUSE does not grow")                                                            \
  X(kv_nuse_values, "sub.kv.nuse.values", "NUSE counts no keys")                                                         \
  X(kv_nuse_overwrite, "sub.kv.nuse.overwrite", "NUSE does not grow when a longer value replaces another")               \
  X(kv_nuse_kept, "sub.kv.nuse.kept", "NUSE does not shrink")                                                            \
  X(kv_capacity_lost, "sub.kv.capacity.lost", "a Store for which there is no room deletes the key")                      \
  X(kv_flush, "sub.kv.flush", "Flush of a key value namespace is an invalid opcode")                                     \
  X(kv_protected_delete, "sub.kv.protected.delete", "Delete ignores write protection")                                   \
  X(kv_protected_retrieve, "sub.kv.protected.retrieve", "Retrieve is refused by write protection")                       \
  X(kv_reserved_store, "sub.kv.reserved.store", "Store ignores reservations")                                            \
  X(kv_reserved_delete, "sub.kv.reserved.delete", "Delete ignores reservations")                                         \
  X(kv_reserved_retrieve, "sub.kv.reserved.retrieve", "Retrieve ignores reservations")                                   \
  X(kv_reserved_reads, "sub.kv.reserved.reads", "Retrieve takes a Write Exclusive reservation for a conflict")

namespace departure {
#define FB_POINT(id, name, what) inline constexpr std::string_view id = name;
FB_KV_FAULT_POINTS(FB_POINT)
#undef FB_POINT
}  // namespace departure

inline constexpr FaultPoint kKvFaultPoints[] = {
#define FB_POINT(id, name, what) {departure::id, what},
    FB_KV_FAULT_POINTS(FB_POINT)
#undef FB_POINT
};

// clang-format on

}  // namespace fb::subsystem
