// The Key Value command set.
#include "model/deviations/deviation.h"
#include "model/subsystem/kv_fault_points.h"
#include "wire/nvme/status.h"

namespace fb::deviations {

namespace {

namespace departure = subsystem::departure;

}  // namespace

DEVIATION(kv_names_blocks, "nvme.kv.identify.csi", Product::controller, "reports CSI 00h for key value namespaces",
          Departs{departure::kv_csi_nvm});
DEVIATION(kv_lists_all_namespaces, "nvme.kv.identify.list", Product::controller, "lists all namespaces as key value namespaces",
          Departs{departure::kv_list_all});
DEVIATION(kv_lists_one_namespace, "nvme.kv.identify.list.all", Product::controller, "lists the first key value namespace alone",
          Departs{departure::kv_list_first});
DEVIATION(kv_not_in_combinations, "nvme.kv.identify.combination", Product::controller, "has no combination with the Key Value command set",
          Departs{departure::kv_combination});
DEVIATION(kv_page_of_any_namespace, "nvme.kv.identify.other-set", Product::controller, "returns the key value page of any namespace",
          Tolerate{"kv.identify.namespace"});
DEVIATION(kv_has_a_page_of_blocks, "nvme.kv.identify.blocks", Product::controller, "answers CNS 05h with CSI 00h for key value namespaces",
          Tolerate{"kv.identify.nvm"});
DEVIATION(kv_has_lba_formats, "nvme.kv.identify.lba-formats", Product::controller, "answers CNS 00h for key value namespaces",
          Tolerate{"kv.identify.blocks"});
DEVIATION(kv_controller_page_is_filled, "nvme.kv.identify.controller", Product::controller, "returns a CNS 06h page with content",
          Departs{departure::kv_controller_page});
DEVIATION(kv_size_in_blocks, "nvme.kv.identify.size", Product::controller, "reports NSZE in blocks of 512 bytes",
          Departs{departure::kv_nsze_blocks});
DEVIATION(kv_uses_more_than_it_has, "nvme.kv.identify.utilization", Product::controller, "reports NUSE above NSZE",
          Departs{departure::kv_nuse_above});
DEVIATION(kv_formats_with_long_keys, "nvme.kv.identify.key-max", Product::controller, "reports a KV format with keys of 32 bytes",
          Departs{departure::kv_format_key_max});
DEVIATION(kv_counts_a_format_more, "nvme.kv.identify.formats", Product::controller, "reports NKVF as a count",
          Departs{departure::kv_format_last});
DEVIATION(kv_page_with_reserved_bytes, "nvme.kv.identify.reserved", Product::controller, "sets reserved bytes of the page",
          Departs{departure::kv_reserved});
DEVIATION(kv_other_nguid, "nvme.kv.identify.nguid", Product::controller, "reports another NGUID in the page", Departs{departure::kv_nguid});
DEVIATION(kv_other_eui64, "nvme.kv.identify.eui64", Product::controller, "reports another EUI64 in the page", Departs{departure::kv_eui64});
DEVIATION(kv_other_nmic, "nvme.kv.identify.nmic", Product::controller, "reports another NMIC in the page", Departs{departure::kv_nmic});
DEVIATION(kv_other_rescap, "nvme.kv.identify.rescap", Product::controller, "reports another RESCAP in the page",
          Departs{departure::kv_rescap});
DEVIATION(kv_other_anagrpid, "nvme.kv.identify.anagrpid", Product::controller, "reports another ANAGRPID in the page",
          Departs{departure::kv_anagrpid});
DEVIATION(kv_other_nsattr, "nvme.kv.identify.nsattr", Product::controller, "reports another NSATTR in the page",
          Departs{departure::kv_nsattr});
DEVIATION(kv_exist_not_in_effects, "nvme.kv.effects", Product::controller, "does not have Exist in the effects log",
          Departs{departure::kv_effects_missing});
DEVIATION(kv_list_in_nvm_effects, "nvme.kv.effects.nvm", Product::controller, "has List in the effects log of the NVM command set",
          Departs{departure::kv_effects_nvm});
DEVIATION(kv_works_unselected, "nvme.kv.commands.unselected", Product::controller, "executes key value commands whatever CC.CSS is",
          Departs{departure::kv_unselected});
DEVIATION(kv_takes_block_commands, "nvme.kv.commands.blocks", Product::controller, "executes commands of blocks in key value namespaces",
          Tolerate{"kv.opcode"});
DEVIATION(kv_commands_everywhere, "nvme.kv.commands.other-set", Product::controller, "executes key value commands in namespaces of blocks",
          Tolerate{"kv.namespace"});
DEVIATION(kv_has_no_flush, "nvme.kv.flush", Product::controller, "refuses Flush of key value namespaces", Departs{departure::kv_flush});
DEVIATION(kv_fuses, "nvme.kv.fused", Product::controller, "executes Store with FUSE 01b", Tolerate{"fused.operation"});
DEVIATION(kv_loses_the_last_byte, "nvme.kv.store.value", Product::controller, "loses the last byte of values",
          Departs{departure::kv_store_corrupt});
DEVIATION(kv_values_of_dwords, "nvme.kv.value.odd", Product::controller, "cuts values to whole dwords",
          Departs{departure::kv_value_dwords});
DEVIATION(kv_keeps_the_first_value, "nvme.kv.store.overwrite", Product::controller, "keeps the first value of a key",
          Departs{departure::kv_store_old});
DEVIATION(kv_keeps_the_end_of_values, "nvme.kv.store.shorter", Product::controller, "keeps the end of the value that is replaced",
          Departs{departure::kv_store_tail});
DEVIATION(kv_stores_no_empty_values, "nvme.kv.store.empty", Product::controller, "stores nothing with VS 0",
          Departs{departure::kv_store_empty});
DEVIATION(kv_finds_no_empty_values, "nvme.kv.exist.empty", Product::controller, "Exist does not find keys without a value",
          Departs{departure::kv_exist_never});
DEVIATION(kv_always_replaces, "nvme.kv.store.new", Product::controller, "ignores SO bit 9", Tolerate{"kv.store.exists"});
DEVIATION(kv_refuses_and_replaces, "nvme.kv.store.new.kept", Product::controller, "changes the value although it reports Key Exists",
          Departs{departure::kv_store_guarded});
DEVIATION(kv_stores_no_new_keys, "nvme.kv.store.new.stored", Product::controller, "stores nothing with SO bit 9",
          Departs{departure::kv_store_unguarded});
DEVIATION(kv_always_creates, "nvme.kv.store.replace", Product::controller, "ignores SO bit 8", Tolerate{"kv.store.missing"});
DEVIATION(kv_refuses_and_creates, "nvme.kv.store.replace.none", Product::controller,
          "creates the key although it reports KV Key Does Not Exist", Departs{departure::kv_store_creates});
DEVIATION(kv_does_not_replace, "nvme.kv.store.replace.stored", Product::controller, "stores nothing with SO bit 8",
          Departs{departure::kv_store_replaces});
DEVIATION(kv_always_compresses, "nvme.kv.store.no-compression", Product::controller, "refuses SO bit 10",
          Departs{departure::kv_store_plain});
DEVIATION(kv_returns_no_size, "nvme.kv.retrieve.size", Product::controller, "returns 0 in DW0 of Retrieve",
          Departs{departure::kv_retrieve_size});
DEVIATION(kv_retrieves_all_or_nothing, "nvme.kv.retrieve.short", Product::controller, "refuses Retrieve with less room than the value",
          Departs{departure::kv_retrieve_refused});
DEVIATION(kv_retrieves_the_end, "nvme.kv.retrieve.short.data", Product::controller,
          "returns the end of a value that is longer than the room", Departs{departure::kv_retrieve_end});
DEVIATION(kv_returns_the_room, "nvme.kv.retrieve.short.size", Product::controller, "returns the room in DW0 of Retrieve",
          Departs{departure::kv_retrieve_room});
DEVIATION(kv_needs_room, "nvme.kv.retrieve.none", Product::controller, "refuses Retrieve with HBS 0", Departs{departure::kv_retrieve_none});
DEVIATION(kv_has_no_raw_data, "nvme.kv.retrieve.raw", Product::controller, "refuses RO bit 8", Departs{departure::kv_retrieve_raw});
DEVIATION(kv_retrieves_nothing, "nvme.kv.retrieve.missing", Product::controller, "Retrieve of a key that does not exist succeeds",
          Tolerate{"kv.retrieve.missing"});
DEVIATION(kv_finds_everything, "nvme.kv.exist.missing", Product::controller, "Exist finds every key", Tolerate{"kv.exist.missing"});
DEVIATION(kv_finds_longer_keys, "nvme.kv.exist.prefix", Product::controller, "Exist finds keys that begin with one that exists",
          Departs{departure::kv_exist_after});
DEVIATION(kv_deletes_nothing, "nvme.kv.delete.gone", Product::controller, "Delete has no effect", Departs{departure::kv_delete_nothing});
DEVIATION(kv_deletes_longer_keys, "nvme.kv.delete.others", Product::controller, "deletes every key that begins with the deleted one",
          Departs{departure::kv_delete_prefixed});
DEVIATION(kv_deleted_values_return, "nvme.kv.delete.again", Product::controller, "gives a deleted key its old value again",
          Departs{departure::kv_delete_returns});
DEVIATION(kv_ignores_ednek, "nvme.kv.delete.missing.error", Product::controller, "ignores EDNEK", Tolerate{"kv.delete.missing"});
DEVIATION(kv_always_misses_keys, "nvme.kv.delete.missing.success", Product::controller,
          "aborts Delete of a key that does not exist whatever EDNEK is", Departs{departure::kv_delete_always_fails});
DEVIATION(kv_has_no_configuration, "nvme.kv.feature", Product::controller, "does not have feature 20h",
          Departs{departure::kv_feature_missing});
DEVIATION(kv_forgets_ednek, "nvme.kv.feature.value", Product::controller, "returns EDNEK 0 whatever was set",
          Departs{departure::kv_feature_kept});
DEVIATION(kv_configures_all_namespaces, "nvme.kv.feature.namespace", Product::controller, "sets EDNEK of all namespaces",
          Departs{departure::kv_feature_shared});
DEVIATION(kv_reset_clears_ednek, "nvme.kv.feature.reset", Product::controller, "clears EDNEK at a controller reset",
          Departs{departure::kv_feature_reset});
DEVIATION(kv_pads_keys, "nvme.kv.key.length", Product::controller, "takes keys that differ in zeroes at the end for one",
          Departs{departure::kv_key_padded});
DEVIATION(kv_ignores_dword_14, "nvme.kv.key.bytes", Product::controller, "ignores bytes 8 to 11 of keys", Departs{departure::kv_key_low});
DEVIATION(kv_ignores_byte_15, "nvme.kv.key.last-byte", Product::controller, "ignores the last byte of keys of 16 bytes",
          Departs{departure::kv_key_short});
DEVIATION(kv_compares_16_bytes, "nvme.kv.key.beyond", Product::controller, "compares 16 bytes whatever the length of a key is",
          Departs{departure::kv_key_beyond});
DEVIATION(kv_has_no_short_keys, "nvme.kv.key.shortest", Product::controller, "refuses keys of one byte", Departs{departure::kv_key_one});
DEVIATION(kv_keys_are_one_shorter, "nvme.kv.key.longest", Product::controller, "refuses keys of the maximum length",
          Departs{departure::kv_key_longest});
DEVIATION(kv_stores_without_a_key, "nvme.kv.key.empty", Product::controller, "stores values with KL 0", Tolerate{"kv.key.empty"});
DEVIATION(kv_store_cuts_keys, "nvme.kv.key.too-long.store", Product::controller, "Store cuts keys to 16 bytes",
          Tolerate{"kv.store.length"});
DEVIATION(kv_retrieve_cuts_keys, "nvme.kv.key.too-long.retrieve", Product::controller, "Retrieve cuts keys to 16 bytes",
          Tolerate{"kv.retrieve.length"});
DEVIATION(kv_delete_cuts_keys, "nvme.kv.key.too-long.delete", Product::controller, "Delete cuts keys to 16 bytes",
          Tolerate{"kv.delete.length"});
DEVIATION(kv_exist_cuts_keys, "nvme.kv.key.too-long.exist", Product::controller, "Exist cuts keys to 16 bytes",
          Tolerate{"kv.exist.length"});
DEVIATION(kv_list_cuts_keys, "nvme.kv.key.too-long.list", Product::controller, "List cuts keys to 16 bytes", Tolerate{"kv.list.length"});
DEVIATION(kv_status_of_long_keys, "nvme.kv.key.format", Product::controller,
          "refuses keys that are too long for the format with Invalid Field in Command",
          AnswerWith{"kv.key.size", nvme::sc::invalid_field});
DEVIATION(kv_takes_keys_beyond_the_format, "nvme.kv.key.format", Product::controller, "takes keys that are too long for the format",
          Tolerate{"kv.key.size"});
DEVIATION(kv_takes_long_values, "nvme.kv.value.too-long", Product::controller, "takes values of any length", Tolerate{"kv.value.size"});
DEVIATION(kv_values_are_one_shorter, "nvme.kv.value.longest", Product::controller, "refuses values of the maximum length",
          Departs{departure::kv_value_longest});
DEVIATION(kv_takes_more_keys, "nvme.kv.keys.maximum", Product::controller, "takes more keys than Max Num Keys", Tolerate{"kv.keys_max"});
DEVIATION(kv_lists_all_but_one, "nvme.kv.list.keys", Product::controller, "leaves out the last key", Departs{departure::kv_list_gap});
DEVIATION(kv_lists_twice, "nvme.kv.list.once", Product::controller, "lists the last key twice", Departs{departure::kv_list_twice});
DEVIATION(kv_lists_behind, "nvme.kv.list.start", Product::controller, "begins a list behind the key that the command names",
          Departs{departure::kv_list_start});
DEVIATION(kv_lists_in_turns, "nvme.kv.list.order", Product::controller, "reverses the order of every other list",
          Departs{departure::kv_list_order});
DEVIATION(kv_lists_from_keys_alone, "nvme.kv.list.missing", Product::controller, "refuses List from a key that does not exist",
          Departs{departure::kv_list_missing});
DEVIATION(kv_counts_all_keys, "nvme.kv.list.count", Product::controller, "counts keys in NRK that had no room",
          Departs{departure::kv_list_count});
DEVIATION(kv_leaves_room, "nvme.kv.list.full", Product::controller, "leaves out the key that ends with the buffer",
          Departs{departure::kv_list_exact});
DEVIATION(kv_cuts_keys_of_lists, "nvme.kv.list.whole", Product::controller, "returns a key that the buffer cuts",
          Departs{departure::kv_list_cut});
DEVIATION(kv_lists_16_bytes, "nvme.kv.list.length", Product::controller, "lists every key with KL 16", Departs{departure::kv_list_lengths});
DEVIATION(kv_packs_lists, "nvme.kv.list.padding", Product::controller, "does not pad the entries of a list",
          Departs{departure::kv_list_packed});
DEVIATION(kv_lists_something_alone, "nvme.kv.list.empty", Product::controller, "refuses List of an empty namespace",
          Departs{departure::kv_list_empty});
DEVIATION(kv_lists_deleted_keys, "nvme.kv.list.deleted", Product::controller, "lists the key that was deleted last",
          Departs{departure::kv_list_deleted});
DEVIATION(kv_shares_pairs, "nvme.kv.namespaces", Product::controller, "stores the keys of all namespaces in the first",
          Departs{departure::kv_namespaces_one});
DEVIATION(kv_loses_what_queue_2_stores, "nvme.kv.queues", Product::controller, "loses what comes on another I/O queue than 1",
          Departs{departure::kv_queue_lost});
DEVIATION(kv_reset_loses_pairs, "nvme.kv.reset", Product::controller, "loses everything at a controller reset",
          Departs{departure::kv_reset_lost});
DEVIATION(kv_association_loses_pairs, "nvme.kv.association", Product::controller, "loses everything at the end of an association",
          Departs{departure::kv_connect_lost});
DEVIATION(kv_format_keeps_pairs, "nvme.kv.format.erases", Product::controller, "keeps keys and values at Format NVM",
          Departs{departure::kv_format_keeps});
DEVIATION(kv_takes_any_format, "nvme.kv.format.index", Product::controller, "takes any format number", Tolerate{"kv.format"});
DEVIATION(kv_format_selects_the_first, "nvme.kv.format.selected", Product::controller, "selects KV format 0 whatever Format NVM names",
          Departs{departure::kv_format_first});
DEVIATION(kv_uses_nothing, "nvme.kv.utilization", Product::controller, "reports NUSE 0", Departs{departure::kv_nuse_stays});
DEVIATION(kv_counts_values_alone, "nvme.kv.utilization.keys", Product::controller, "counts values alone in NUSE",
          Departs{departure::kv_nuse_values});
DEVIATION(kv_counts_first_values, "nvme.kv.utilization.overwrite", Product::controller, "counts the first value of a key in NUSE",
          Departs{departure::kv_nuse_overwrite});
DEVIATION(kv_never_frees, "nvme.kv.utilization.delete", Product::controller, "does not reduce NUSE", Departs{departure::kv_nuse_kept});
DEVIATION(kv_status_of_no_room, "nvme.kv.capacity", Product::controller, "reports another status if there is no room",
          AnswerWith{"kv.capacity", nvme::sc::internal_error});
DEVIATION(kv_no_room_no_value, "nvme.kv.capacity.kept", Product::controller, "deletes the key for whose new value there is no room",
          Departs{departure::kv_capacity_lost});
DEVIATION(kv_stores_protected, "nvme.kv.protected.store", Product::controller, "Store ignores write protection",
          Tolerate{"kv.write_protected"});
DEVIATION(kv_deletes_protected, "nvme.kv.protected.delete", Product::controller, "Delete ignores write protection",
          Departs{departure::kv_protected_delete});
DEVIATION(kv_protects_reads, "nvme.kv.protected.retrieve", Product::controller, "Retrieve is refused by write protection",
          Departs{departure::kv_protected_retrieve});
DEVIATION(kv_stores_reserved, "nvme.kv.reservation.store", Product::controller, "Store ignores reservations",
          Departs{departure::kv_reserved_store});
DEVIATION(kv_deletes_reserved, "nvme.kv.reservation.delete", Product::controller, "Delete ignores reservations",
          Departs{departure::kv_reserved_delete});
DEVIATION(kv_retrieves_reserved, "nvme.kv.reservation.retrieve", Product::controller, "Retrieve ignores reservations",
          Departs{departure::kv_reserved_retrieve});
DEVIATION(kv_reads_conflict, "nvme.kv.reservation.read", Product::controller, "Retrieve conflicts with a Write Exclusive reservation",
          Departs{departure::kv_reserved_reads});

}  // namespace fb::deviations
