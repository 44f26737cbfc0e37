#pragma once
// One call of every entry of every table, said once and compiled as C and as C++. The n-th argument after the
// object is the number n, in whatever type; an entry that answers, answers answer_base plus its place.

#include <ndkpi.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { answer_base = 0x100, every_answer_right = -1 };

int c_calls_adapter(NDK_ADAPTER* object);
int c_calls_pd(NDK_PD* object);
int c_calls_cq(NDK_CQ* object);
int c_calls_mr(NDK_MR* object);
int c_calls_mw(NDK_MW* object);
int c_calls_srq(NDK_SRQ* object);
int c_calls_qp(NDK_QP* object);
int c_calls_connector(NDK_CONNECTOR* object);
int c_calls_listener(NDK_LISTENER* object);
int c_calls_shared_endpoint(NDK_SHARED_ENDPOINT* object);

// What grew with the versions, as a program of one version has it.
typedef struct {
  unsigned cq_entries;
  unsigned qp_entries;
  unsigned connector_entries;
  unsigned adapter_info_size;
  unsigned result_ex_size;
  unsigned open_parameters_size;
} ndk_sizes;
ndk_sizes sizes_of_1_1(void);
ndk_sizes sizes_of_1_2(void);
ndk_sizes sizes_of_2_0(void);
ndk_sizes sizes_of_2_1(void);
// The last entries that version 1.1 had, called by a program compiled for it.
int calls_of_1_1(NDK_CQ* cq, NDK_QP* qp, NDK_CONNECTOR* connector);

#ifdef __cplusplus
}
#endif
