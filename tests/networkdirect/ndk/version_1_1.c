#define NDK_HEADER_VERSION 0x0101
#define SIZES sizes_of_1_1
#include "tests/networkdirect/ndk/sizes.inc"

int calls_of_1_1(NDK_CQ* cq, NDK_QP* qp, NDK_CONNECTOR* connector) {
  if (cq->Dispatch->NdkControlCqInterruptModeration(cq, 1, 2) != answer_base + 5) return 5;
  if (qp->Dispatch->NdkWrite(qp, (PVOID)1, (const NDK_SGE*)2, 3, 4, 5, 6) != answer_base + 9) return 9;
  if (connector->Dispatch->NdkDisconnect(connector, (NDK_FN_REQUEST_COMPLETION)1, (PVOID)2) != answer_base + 10) return 10;
  return every_answer_right;
}
