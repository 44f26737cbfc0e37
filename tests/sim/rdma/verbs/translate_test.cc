// Values of the RDMA interface in the terms of libibverbs, and back.
#include "sim/rdma/verbs/translate.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace fb::verbs {
namespace {

using rdma::Access;
using rdma::CompletionOpcode;
using rdma::CompletionStatus;
using rdma::SendOpcode;

TEST(Translate, WhatAPeerMayChangeTheDeviceCanWrite) {
  EXPECT_EQ(access_flags(Access::none), 0);
  EXPECT_EQ(access_flags(Access::remote_read), IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(access_flags(Access::remote_write), IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(access_flags(Access::remote_atomic), IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE);
}

TEST(Translate, FastRegistrationIsNotForUserSpace) {
  EXPECT_EQ(work_opcode(SendOpcode::send_with_invalidate), IBV_WR_SEND_WITH_INV);
  EXPECT_EQ(work_opcode(SendOpcode::fast_register), std::nullopt);
  EXPECT_EQ(work_opcode(SendOpcode::local_invalidate), std::nullopt);
}

TEST(Translate, StatusesHaveTheSameNumbers) {
  for (const auto status : {IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR,
                            IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR, IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR,
                            IBV_WC_REM_OP_ERR, IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_FATAL_ERR, IBV_WC_GENERAL_ERR}) {
    EXPECT_EQ(static_cast<int>(completion_status(status)), static_cast<int>(status));
  }
  EXPECT_EQ(completion_status(IBV_WC_TM_ERR), CompletionStatus::general_error);
}

ibv_wc received() {
  ibv_wc completion = {};
  completion.wr_id = 7;
  completion.status = IBV_WC_SUCCESS;
  completion.opcode = IBV_WC_RECV;
  completion.byte_len = 100;
  completion.qp_num = 17;
  return completion;
}

TEST(Translate, AReceiveSaysWhatCameWithIt) {
  ibv_wc completion = received();
  completion.wc_flags = IBV_WC_WITH_IMM;
  completion.imm_data = htonl(0x01020304);
  int owner = 0;
  rdma::Completion made = completion_of(completion, &owner);
  EXPECT_EQ(made.id, 7u);
  EXPECT_EQ(made.opcode, CompletionOpcode::receive);
  EXPECT_EQ(made.byte_length, 100u);
  EXPECT_EQ(made.qp_number, 17u);
  EXPECT_EQ(made.qp_context, &owner);
  EXPECT_TRUE(made.has_immediate);
  EXPECT_EQ(made.immediate, 0x01020304u);
  EXPECT_FALSE(made.has_invalidate);

  completion.wc_flags = IBV_WC_WITH_INV;
  completion.invalidated_rkey = 0xABCD01;
  made = completion_of(completion, nullptr);
  EXPECT_FALSE(made.has_immediate);
  EXPECT_TRUE(made.has_invalidate);
  EXPECT_EQ(made.invalidated_rkey, 0xABCD01u);
}

TEST(Translate, OfAFailureOnlyTheStatusIsTaken) {
  ibv_wc completion = received();
  completion.status = IBV_WC_WR_FLUSH_ERR;
  completion.wc_flags = ~0u;
  const rdma::Completion made = completion_of(completion, nullptr);
  EXPECT_EQ(made.status, CompletionStatus::flushed);
  EXPECT_EQ(made.id, 7u);
  EXPECT_EQ(made.byte_length, 0u);
  EXPECT_FALSE(made.has_immediate || made.has_invalidate);
}

TEST(Translate, LimitsAreTheSmallestOfBothDirections) {
  ibv_device_attr device = {};
  device.max_sge = 8;
  device.max_sge_rd = 4;
  device.max_qp_rd_atom = 128;
  device.max_qp_init_rd_atom = 16;
  device.max_qp_wr = 1 << 20;
  device.max_cqe = 32767;
  device.max_srq = 1;
  device.max_srq_wr = 4096;
  device.max_srq_sge = 3;
  ibv_port_attr port = {};
  port.max_msg_sz = 1u << 30;
  const rdma::DeviceLimits limits = limits_of(device, port, 128);
  EXPECT_EQ(limits.max_sges, 3u);
  EXPECT_EQ(limits.max_reads, 16u);
  EXPECT_EQ(limits.max_queue_entries, 4096u);
  EXPECT_EQ(limits.max_message_bytes, 1u << 30);
  EXPECT_EQ(limits.max_inline_bytes, 128u);
  EXPECT_FALSE(limits.fast_registration || limits.atomics || limits.remote_invalidation);
}

}  // namespace
}  // namespace fb::verbs
