// Annotations of source code, all empty here. The new family (_In_, _Out_ ...) harms nobody. The old one (__in,
// __out ...) takes names that the C++ library uses for its own variables: the parts that do so are included
// first, so that programs may include what they like in any order. FABRICBENCH_NO_OLD_ANNOTATIONS leaves the
// old family, and the time for those parts, out.
#pragma once

#define _In_
#define _In_opt_
#define _In_z_
#define _In_opt_z_
#define _In_reads_(n)
#define _In_reads_opt_(n)
#define _In_reads_bytes_(n)
#define _In_reads_bytes_opt_(n)
#define _In_reads_z_(n)
#define _In_reads_or_z_(n)
#define _In_range_(a, b)
#define _Out_
#define _Out_opt_
#define _Out_writes_(n)
#define _Out_writes_opt_(n)
#define _Out_writes_z_(n)
#define _Out_writes_opt_z_(n)
#define _Out_writes_all_(n)
#define _Out_writes_all_opt_(n)
#define _Out_writes_to_(n, m)
#define _Out_writes_to_opt_(n, m)
#define _Out_writes_bytes_(n)
#define _Out_writes_bytes_opt_(n)
#define _Out_writes_bytes_all_(n)
#define _Out_writes_bytes_to_(n, m)
#define _Out_writes_bytes_to_opt_(n, m)
#define _Out_range_(a, b)
#define _Outptr_
#define _Outptr_opt_
#define _Outptr_result_maybenull_
#define _Outptr_opt_result_maybenull_
#define _Outptr_result_bytebuffer_(n)
#define _Outptr_result_buffer_(n)
#define _COM_Outptr_
#define _COM_Outptr_opt_
#define _COM_Outptr_result_maybenull_
#define _Inout_
#define _Inout_opt_
#define _Inout_z_
#define _Inout_updates_(n)
#define _Inout_updates_opt_(n)
#define _Inout_updates_bytes_(n)
#define _Inout_updates_bytes_opt_(n)
#define _Inout_updates_to_(n, m)
#define _Inout_updates_all_(n)
#define _Ret_maybenull_
#define _Ret_notnull_
#define _Ret_null_
#define _Ret_z_
#define _Ret_range_(a, b)
#define _Ret_writes_(n)
#define _Ret_writes_bytes_(n)
#define _Ret_writes_bytes_maybenull_(n)
#define _Reserved_
#define _Const_
#define _Check_return_
#define _Must_inspect_result_
#define _Success_(expression)
#define _Return_type_success_(expression)
#define _On_failure_(annotations)
#define _Always_(annotations)
#define _When_(expression, annotations)
#define _At_(target, annotations)
#define _At_buffer_(target, iterator, bound, annotations)
#define _Group_(annotations)
#define _Pre_
#define _Pre_null_
#define _Pre_notnull_
#define _Pre_maybenull_
#define _Pre_valid_
#define _Pre_opt_valid_
#define _Pre_satisfies_(expression)
#define _Post_
#define _Post_invalid_
#define _Post_ptr_invalid_
#define _Post_valid_
#define _Post_null_
#define _Post_notnull_
#define _Post_maybenull_
#define _Post_equal_to_(expression)
#define _Post_satisfies_(expression)
#define _Post_writable_byte_size_(n)
#define _Deref_out_
#define _Deref_post_maybenull_
#define _Deref_pre_valid_
#define _Field_size_(n)
#define _Field_size_opt_(n)
#define _Field_size_bytes_(n)
#define _Field_size_bytes_opt_(n)
#define _Field_size_part_(n, m)
#define _Field_range_(a, b)
#define _Struct_size_bytes_(n)
#define _Frees_ptr_
#define _Frees_ptr_opt_
#define _Null_terminated_
#define _NullNull_terminated_
#define _Notnull_
#define _Maybenull_
#define _Valid_
#define _Writable_bytes_(n)
#define _Readable_bytes_(n)
#define _Printf_format_string_
#define _Interlocked_operand_
#define _Use_decl_annotations_
#define _Function_class_(name)
#define _Analysis_assume_(expression) ((void)0)
#define _Analysis_noreturn_
#define _Acquires_lock_(lock)
#define _Releases_lock_(lock)
#define _Requires_lock_held_(lock)
#define _Requires_lock_not_held_(lock)
#define _Guarded_by_(lock)
#define _Has_lock_level_(level)
#define _IRQL_requires_(level)
#define _IRQL_requires_max_(level)
#define _IRQL_requires_min_(level)
#define _IRQL_requires_same_
#define _IRQL_raises_(level)
#define _IRQL_saves_
#define _IRQL_restores_
#ifndef __analysis_assume
#define __analysis_assume(expression) ((void)0)
#endif

#ifndef FABRICBENCH_NO_OLD_ANNOTATIONS

#ifdef __cplusplus
#include <algorithm>
#include <functional>
#include <istream>
#include <iterator>
#include <locale>
#include <memory>
#include <ostream>
#include <random>
#include <ranges>
#include <regex>
#include <span>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#endif

#define __in
#define __in_opt
#define __in_z
#define __in_bcount(n)
#define __in_bcount_opt(n)
#define __in_ecount(n)
#define __in_ecount_opt(n)
#define __in_range(a, b)
#define __out
#define __out_opt
#define __out_bcount(n)
#define __out_bcount_opt(n)
#define __out_bcount_part(n, m)
#define __out_bcount_part_opt(n, m)
#define __out_ecount(n)
#define __out_ecount_opt(n)
#define __out_ecount_part(n, m)
#define __out_ecount_part_opt(n, m)
#define __out_z
#define __inout
#define __inout_opt
#define __inout_z
#define __inout_bcount(n)
#define __inout_bcount_opt(n)
#define __inout_ecount(n)
#define __inout_ecount_opt(n)
#define __deref_out
#define __deref_out_opt
#define __deref_opt_out
#define __deref_inout
#define __callback
#define __success(expression)
#define __drv_aliasesMem
#define __drv_freesMem(kind)
// The attribute is written with its underscores, so that the macro does not meet itself.
#define __fallthrough __attribute__((__fallthrough__))

#endif
