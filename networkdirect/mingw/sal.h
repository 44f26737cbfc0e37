// The annotations of source code that the sal.h of mingw-w64 lacks, all empty: for programs for NetworkDirect or NDK that are built for
// Windows with that compiler. This folder stands in front of its own headers; what they have stays theirs.
#pragma once
#include_next <sal.h>

#ifndef _Pre_
#define _Pre_
#endif
#ifndef _Pre_null_
#define _Pre_null_
#endif
#ifndef _Pre_maybenull_
#define _Pre_maybenull_
#endif
#ifndef _Pre_valid_
#define _Pre_valid_
#endif
#ifndef _Pre_opt_valid_
#define _Pre_opt_valid_
#endif
#ifndef _Post_invalid_
#define _Post_invalid_
#endif
#ifndef _Post_ptr_invalid_
#define _Post_ptr_invalid_
#endif
#ifndef _Post_valid_
#define _Post_valid_
#endif
#ifndef _Post_null_
#define _Post_null_
#endif
#ifndef _Post_notnull_
#define _Post_notnull_
#endif
#ifndef _Post_maybenull_
#define _Post_maybenull_
#endif
#ifndef _Deref_post_maybenull_
#define _Deref_post_maybenull_
#endif
#ifndef _Deref_pre_valid_
#define _Deref_pre_valid_
#endif
#ifndef _Frees_ptr_
#define _Frees_ptr_
#endif
#ifndef _Frees_ptr_opt_
#define _Frees_ptr_opt_
#endif
#ifndef _Notnull_
#define _Notnull_
#endif
#ifndef _Maybenull_
#define _Maybenull_
#endif
#ifndef _Valid_
#define _Valid_
#endif
#ifndef _Interlocked_operand_
#define _Interlocked_operand_
#endif
#ifndef _Analysis_noreturn_
#define _Analysis_noreturn_
#endif
#ifndef _IRQL_requires_
#define _IRQL_requires_(level)
#endif
#ifndef _IRQL_requires_max_
#define _IRQL_requires_max_(level)
#endif
#ifndef _IRQL_requires_min_
#define _IRQL_requires_min_(level)
#endif
#ifndef _IRQL_requires_same_
#define _IRQL_requires_same_
#endif
#ifndef _IRQL_raises_
#define _IRQL_raises_(level)
#endif
#ifndef _IRQL_saves_
#define _IRQL_saves_
#endif
#ifndef _IRQL_restores_
#define _IRQL_restores_
#endif
#ifndef _Inout_cap_m_
#define _Inout_cap_m_(n)
#endif
#ifndef _Out_bytecap_m_
#define _Out_bytecap_m_(n)
#endif
#ifndef _Inout_bytecap_m_
#define _Inout_bytecap_m_(n)
#endif
#ifndef _In_z_count_x_
#define _In_z_count_x_(n)
#endif
#ifndef _Inout_z_count_x_
#define _Inout_z_count_x_(n)
#endif
#ifndef _In_z_bytecount_x_
#define _In_z_bytecount_x_(n)
#endif
#ifndef _Inout_z_bytecount_x_
#define _Inout_z_bytecount_x_(n)
#endif
#ifndef _Inout_z_cap_m_
#define _Inout_z_cap_m_(n)
#endif
#ifndef _Out_z_bytecap_m_
#define _Out_z_bytecap_m_(n)
#endif
#ifndef _Inout_z_bytecap_m_
#define _Inout_z_bytecap_m_(n)
#endif
#ifndef _Ret_count_
#define _Ret_count_(n)
#endif
#ifndef _Ret_bytecount_
#define _Ret_bytecount_(n)
#endif
#ifndef _Ret_cap_
#define _Ret_cap_(n)
#endif
#ifndef _Ret_bytecap_
#define _Ret_bytecap_(n)
#endif
#ifndef _Ret_z_count_
#define _Ret_z_count_(n)
#endif
#ifndef _Ret_z_cap_
#define _Ret_z_cap_(n)
#endif
#ifndef _Inout_opt_cap_m_
#define _Inout_opt_cap_m_(n)
#endif
#ifndef _Out_opt_bytecap_m_
#define _Out_opt_bytecap_m_(n)
#endif
#ifndef _Inout_opt_bytecap_m_
#define _Inout_opt_bytecap_m_(n)
#endif
#ifndef _In_opt_z_count_x_
#define _In_opt_z_count_x_(n)
#endif
#ifndef _Inout_opt_z_count_x_
#define _Inout_opt_z_count_x_(n)
#endif
#ifndef _In_opt_z_bytecount_x_
#define _In_opt_z_bytecount_x_(n)
#endif
#ifndef _Inout_opt_z_bytecount_x_
#define _Inout_opt_z_bytecount_x_(n)
#endif
#ifndef _Inout_opt_z_cap_m_
#define _Inout_opt_z_cap_m_(n)
#endif
#ifndef _Out_opt_z_bytecap_m_
#define _Out_opt_z_bytecap_m_(n)
#endif
#ifndef _Inout_opt_z_bytecap_m_
#define _Inout_opt_z_bytecap_m_(n)
#endif
#ifndef _Ret_opt_count_
#define _Ret_opt_count_(n)
#endif
#ifndef _Ret_opt_bytecount_
#define _Ret_opt_bytecount_(n)
#endif
#ifndef _Ret_opt_cap_
#define _Ret_opt_cap_(n)
#endif
#ifndef _Ret_opt_bytecap_
#define _Ret_opt_bytecap_(n)
#endif
#ifndef _Ret_opt_z_count_
#define _Ret_opt_z_count_(n)
#endif
#ifndef _Ret_opt_z_cap_
#define _Ret_opt_z_cap_(n)
#endif
#ifndef _Deref_pre_count_
#define _Deref_pre_count_(n)
#endif
#ifndef _Pre_count_
#define _Pre_count_(n)
#endif
#ifndef _Deref_pre_bytecount_
#define _Deref_pre_bytecount_(n)
#endif
#ifndef _Pre_bytecount_
#define _Pre_bytecount_(n)
#endif
#ifndef _Deref_pre_cap_
#define _Deref_pre_cap_(n)
#endif
#ifndef _Pre_cap_
#define _Pre_cap_(n)
#endif
#ifndef _Deref_pre_bytecap_
#define _Deref_pre_bytecap_(n)
#endif
#ifndef _Pre_bytecap_
#define _Pre_bytecap_(n)
#endif
#ifndef _Deref_pre_opt_count_
#define _Deref_pre_opt_count_(n)
#endif
#ifndef _Pre_opt_count_
#define _Pre_opt_count_(n)
#endif
#ifndef _Deref_pre_opt_bytecount_
#define _Deref_pre_opt_bytecount_(n)
#endif
#ifndef _Pre_opt_bytecount_
#define _Pre_opt_bytecount_(n)
#endif
#ifndef _Deref_pre_opt_cap_
#define _Deref_pre_opt_cap_(n)
#endif
#ifndef _Pre_opt_cap_
#define _Pre_opt_cap_(n)
#endif
#ifndef _Deref_pre_opt_bytecap_
#define _Deref_pre_opt_bytecap_(n)
#endif
#ifndef _Pre_opt_bytecap_
#define _Pre_opt_bytecap_(n)
#endif
#ifndef _Deref_post_count_
#define _Deref_post_count_(n)
#endif
#ifndef _Post_count_
#define _Post_count_(n)
#endif
#ifndef _Deref_post_bytecount_
#define _Deref_post_bytecount_(n)
#endif
#ifndef _Post_bytecount_
#define _Post_bytecount_(n)
#endif
#ifndef _Deref_post_cap_
#define _Deref_post_cap_(n)
#endif
#ifndef _Post_cap_
#define _Post_cap_(n)
#endif
#ifndef _Deref_post_bytecap_
#define _Deref_post_bytecap_(n)
#endif
#ifndef _Post_bytecap_
#define _Post_bytecap_(n)
#endif
#ifndef _Deref_post_opt_count_
#define _Deref_post_opt_count_(n)
#endif
#ifndef _Post_opt_count_
#define _Post_opt_count_(n)
#endif
#ifndef _Deref_post_opt_bytecount_
#define _Deref_post_opt_bytecount_(n)
#endif
#ifndef _Post_opt_bytecount_
#define _Post_opt_bytecount_(n)
#endif
#ifndef _Deref_post_opt_cap_
#define _Deref_post_opt_cap_(n)
#endif
#ifndef _Post_opt_cap_
#define _Post_opt_cap_(n)
#endif
#ifndef _Deref_post_opt_bytecap_
#define _Deref_post_opt_bytecap_(n)
#endif
#ifndef _Post_opt_bytecap_
#define _Post_opt_bytecap_(n)
#endif
#ifndef _Deref_out_z_
#define _Deref_out_z_
#endif
#ifndef _Deref_inout_
#define _Deref_inout_
#endif
#ifndef _Deref_ret_z_
#define _Deref_ret_z_
#endif
#ifndef _Pre_z_
#define _Pre_z_
#endif
#ifndef _Post_z_
#define _Post_z_
#endif
#ifndef _Ret_opt_
#define _Ret_opt_
#endif
#ifndef _Ret_
#define _Ret_
#endif
#ifndef __analysis_assume
#define __analysis_assume(expression) ((void)0)
#endif
