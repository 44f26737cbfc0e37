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
// The family between the two, of Visual C++ 2005 to 2010.
#define _In_count_(n)
#define _Inout_count_(n)
#define _In_count_c_(n)
#define _Inout_count_c_(n)
#define _In_count_x_(n)
#define _Inout_count_x_(n)
#define _In_bytecount_(n)
#define _Inout_bytecount_(n)
#define _In_bytecount_c_(n)
#define _Inout_bytecount_c_(n)
#define _In_bytecount_x_(n)
#define _Inout_bytecount_x_(n)
#define _Out_cap_(n)
#define _Inout_cap_(n)
#define _Out_cap_c_(n)
#define _Inout_cap_c_(n)
#define _Out_cap_x_(n)
#define _Inout_cap_x_(n)
#define _Out_cap_m_(n)
#define _Inout_cap_m_(n)
#define _Out_bytecap_(n)
#define _Inout_bytecap_(n)
#define _Out_bytecap_c_(n)
#define _Inout_bytecap_c_(n)
#define _Out_bytecap_x_(n)
#define _Inout_bytecap_x_(n)
#define _Out_bytecap_m_(n)
#define _Inout_bytecap_m_(n)
#define _In_z_count_(n)
#define _Inout_z_count_(n)
#define _In_z_count_c_(n)
#define _Inout_z_count_c_(n)
#define _In_z_count_x_(n)
#define _Inout_z_count_x_(n)
#define _In_z_bytecount_(n)
#define _Inout_z_bytecount_(n)
#define _In_z_bytecount_c_(n)
#define _Inout_z_bytecount_c_(n)
#define _In_z_bytecount_x_(n)
#define _Inout_z_bytecount_x_(n)
#define _Out_z_cap_(n)
#define _Inout_z_cap_(n)
#define _Out_z_cap_c_(n)
#define _Inout_z_cap_c_(n)
#define _Out_z_cap_x_(n)
#define _Inout_z_cap_x_(n)
#define _Out_z_cap_m_(n)
#define _Inout_z_cap_m_(n)
#define _Out_z_bytecap_(n)
#define _Inout_z_bytecap_(n)
#define _Out_z_bytecap_c_(n)
#define _Inout_z_bytecap_c_(n)
#define _Out_z_bytecap_x_(n)
#define _Inout_z_bytecap_x_(n)
#define _Out_z_bytecap_m_(n)
#define _Inout_z_bytecap_m_(n)
#define _Out_capcount_(n)
#define _Out_bytecapcount_(n)
#define _Out_z_capcount_(n)
#define _Ret_count_(n)
#define _Ret_bytecount_(n)
#define _Ret_cap_(n)
#define _Ret_bytecap_(n)
#define _Ret_z_count_(n)
#define _Ret_z_cap_(n)
#define _In_opt_count_(n)
#define _Inout_opt_count_(n)
#define _In_opt_count_c_(n)
#define _Inout_opt_count_c_(n)
#define _In_opt_count_x_(n)
#define _Inout_opt_count_x_(n)
#define _In_opt_bytecount_(n)
#define _Inout_opt_bytecount_(n)
#define _In_opt_bytecount_c_(n)
#define _Inout_opt_bytecount_c_(n)
#define _In_opt_bytecount_x_(n)
#define _Inout_opt_bytecount_x_(n)
#define _Out_opt_cap_(n)
#define _Inout_opt_cap_(n)
#define _Out_opt_cap_c_(n)
#define _Inout_opt_cap_c_(n)
#define _Out_opt_cap_x_(n)
#define _Inout_opt_cap_x_(n)
#define _Out_opt_cap_m_(n)
#define _Inout_opt_cap_m_(n)
#define _Out_opt_bytecap_(n)
#define _Inout_opt_bytecap_(n)
#define _Out_opt_bytecap_c_(n)
#define _Inout_opt_bytecap_c_(n)
#define _Out_opt_bytecap_x_(n)
#define _Inout_opt_bytecap_x_(n)
#define _Out_opt_bytecap_m_(n)
#define _Inout_opt_bytecap_m_(n)
#define _In_opt_z_count_(n)
#define _Inout_opt_z_count_(n)
#define _In_opt_z_count_c_(n)
#define _Inout_opt_z_count_c_(n)
#define _In_opt_z_count_x_(n)
#define _Inout_opt_z_count_x_(n)
#define _In_opt_z_bytecount_(n)
#define _Inout_opt_z_bytecount_(n)
#define _In_opt_z_bytecount_c_(n)
#define _Inout_opt_z_bytecount_c_(n)
#define _In_opt_z_bytecount_x_(n)
#define _Inout_opt_z_bytecount_x_(n)
#define _Out_opt_z_cap_(n)
#define _Inout_opt_z_cap_(n)
#define _Out_opt_z_cap_c_(n)
#define _Inout_opt_z_cap_c_(n)
#define _Out_opt_z_cap_x_(n)
#define _Inout_opt_z_cap_x_(n)
#define _Out_opt_z_cap_m_(n)
#define _Inout_opt_z_cap_m_(n)
#define _Out_opt_z_bytecap_(n)
#define _Inout_opt_z_bytecap_(n)
#define _Out_opt_z_bytecap_c_(n)
#define _Inout_opt_z_bytecap_c_(n)
#define _Out_opt_z_bytecap_x_(n)
#define _Inout_opt_z_bytecap_x_(n)
#define _Out_opt_z_bytecap_m_(n)
#define _Inout_opt_z_bytecap_m_(n)
#define _Out_opt_capcount_(n)
#define _Out_opt_bytecapcount_(n)
#define _Out_opt_z_capcount_(n)
#define _Ret_opt_count_(n)
#define _Ret_opt_bytecount_(n)
#define _Ret_opt_cap_(n)
#define _Ret_opt_bytecap_(n)
#define _Ret_opt_z_count_(n)
#define _Ret_opt_z_cap_(n)
#define _Deref_pre_count_(n)
#define _Pre_count_(n)
#define _Deref_pre_bytecount_(n)
#define _Pre_bytecount_(n)
#define _Deref_pre_cap_(n)
#define _Pre_cap_(n)
#define _Deref_pre_bytecap_(n)
#define _Pre_bytecap_(n)
#define _Deref_pre_opt_count_(n)
#define _Pre_opt_count_(n)
#define _Deref_pre_opt_bytecount_(n)
#define _Pre_opt_bytecount_(n)
#define _Deref_pre_opt_cap_(n)
#define _Pre_opt_cap_(n)
#define _Deref_pre_opt_bytecap_(n)
#define _Pre_opt_bytecap_(n)
#define _Deref_post_count_(n)
#define _Post_count_(n)
#define _Deref_post_bytecount_(n)
#define _Post_bytecount_(n)
#define _Deref_post_cap_(n)
#define _Post_cap_(n)
#define _Deref_post_bytecap_(n)
#define _Post_bytecap_(n)
#define _Deref_post_opt_count_(n)
#define _Post_opt_count_(n)
#define _Deref_post_opt_bytecount_(n)
#define _Post_opt_bytecount_(n)
#define _Deref_post_opt_cap_(n)
#define _Post_opt_cap_(n)
#define _Deref_post_opt_bytecap_(n)
#define _Post_opt_bytecap_(n)
#define _Out_cap_post_count_(n, m)
#define _Out_bytecap_post_bytecount_(n, m)
#define _Out_z_cap_post_count_(n, m)
#define _Out_z_bytecap_post_bytecount_(n, m)
#define _Out_opt_cap_post_count_(n, m)
#define _Out_opt_bytecap_post_bytecount_(n, m)
#define _Out_opt_z_cap_post_count_(n, m)
#define _Out_opt_z_bytecap_post_bytecount_(n, m)
#define _Deref_out_opt_
#define _Deref_opt_out_
#define _Deref_opt_out_opt_
#define _Deref_out_z_
#define _Deref_inout_
#define _Deref_ret_z_
#define _Pre_z_
#define _Post_z_
#define _Ret_opt_
#define _Ret_
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
#define __in_bcount_z(n)
#define __in_ecount_z(n)
#define __in_xcount(n)
#define __in_xcount_opt(n)
#define __out_bcount_full(n)
#define __out_ecount_full(n)
#define __out_ecount_full_opt(n)
#define __out_bcount_full_opt(n)
#define __out_bcount_z(n)
#define __out_ecount_z(n)
#define __out_ecount_z_opt(n)
#define __out_xcount(n)
#define __out_xcount_opt(n)
#define __inout_bcount_full(n)
#define __inout_ecount_full(n)
#define __inout_ecount_z(n)
#define __inout_bcount_z(n)
#define __inout_xcount(n)
#define __deref_out_bcount(n)
#define __deref_out_bcount_opt(n)
#define __deref_out_ecount(n)
#define __deref_out_ecount_opt(n)
#define __deref_out_xcount(n)
#define __deref_out_bcount_full(n)
#define __deref_out_ecount_full(n)
#define __deref_opt_out_bcount(n)
#define __deref_opt_out_ecount(n)
#define __deref_in_ecount(n)
#define __deref_in_bcount(n)
#define __deref_inout_ecount(n)
#define __deref_inout_bcount(n)
#define __bcount(n)
#define __ecount(n)
#define __bcount_opt(n)
#define __ecount_opt(n)
#define __xcount(n)
#define __range_expression(n)
#define __field_bcount(n)
#define __field_ecount(n)
#define __field_bcount_opt(n)
#define __field_ecount_opt(n)
#define __struct_bcount(n)
#define __byte_writableTo(n)
#define __byte_readableTo(n)
#define __elem_writableTo(n)
#define __elem_readableTo(n)
#define __inout_bcount_part(n, m)
#define __inout_bcount_part_opt(n, m)
#define __inout_ecount_part(n, m)
#define __inout_ecount_part_opt(n, m)
#define __out_xcount_part(n, m)
#define __deref_out_bcount_part(n, m)
#define __deref_out_ecount_part(n, m)
#define __deref_out_range(n, m)
#define __out_range(n, m)
#define __deref_in_range(n, m)
#define __field_range(n, m)
#define __in_opt_z
#define __nullterminated
#define __out_opt_z
#define __inout_opt_z
#define __deref_in
#define __deref_in_opt
#define __deref_opt_in
#define __deref_inout_opt
#define __deref_out_z
#define __deref_out_z_opt
#define __deref_opt_out_opt
#define __checkReturn
#define __notnull
#define __maybenull
#define __readonly
#define __notreadonly
#define __format_string
#define __nonvolatile
#define __override
#define __maybereadonly
#define __success(expression)
#define __drv_aliasesMem
#define __drv_freesMem(kind)
// The attribute is written with its underscores, so that the macro does not meet itself.
#define __fallthrough __attribute__((__fallthrough__))

#endif
