/* The example in examples/library, with one way of using the bench wrongly: the environment variable LIBRARY_DEFECT names it. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

const fb_product* honest_product(void);

static const fb_product* honest;
static fb_bench* bench;
static fb_bench* bench_before;

static int has(const char* name) {
  const char* chosen = getenv("LIBRARY_DEFECT");
  return chosen != NULL && strcmp(chosen, name) == 0;
}

static void* bad_create(fb_bench* given, uint64_t seed) {
  if (has("nothing")) return NULL;
  if (has("late") && bench_before != NULL) bench_before->now_ns(bench_before);
  bench_before = bench = given;
  return honest->create(given, seed);
}

static fb_status bad_connect(void* product, const fb_connect* connect, fb_connected* reply) {
  const fb_status status = honest->connect(product, connect, reply);
  if (has("no_controller")) reply->controller = NULL;
  return status;
}

static void bad_command(void* product, void* controller, uint16_t qid, const void* sqe, fb_handle handle) {
  static uint8_t data[8192];
  const int chosen = qid == 0 && *(const uint8_t*)sqe == 0x06;
  uint8_t cqe[16] = {0};
  memcpy(cqe + 12, (const uint8_t*)sqe + 2, 2);
  int* volatile nowhere = (int*)8;  // volatile: the compiler would see that it leads nowhere
  if (chosen && has("crash")) *nowhere = 1;
  if (chosen && has("abort")) abort();
  if (chosen && has("bad_pointer")) bench->send(bench, handle, (const void*)8, 4096);
  if (chosen && has("endless")) {
    for (volatile int i = 0;; ++i) {
    }
  }
  if (chosen && has("unknown")) bench->complete(bench, handle + 1000, cqe);
  if (chosen && has("too_long")) {
    bench->send(bench, handle, data, sizeof(data));
    bench->complete(bench, handle, cqe);
    return;
  }
  if (chosen && has("sent_twice")) {
    bench->send(bench, handle, data, 4096);
    bench->send(bench, handle, data, 4096);
    bench->complete(bench, handle, cqe);
    return;
  }
  if (chosen && has("random")) { /* as an engine that reads a clock: no two runs are the same */
    static uint8_t count;
    cqe[0] = ++count;
    bench->complete(bench, handle, cqe);
    return;
  }
  honest->command(product, controller, qid, sqe, handle);
  if (chosen && has("twice")) bench->complete(bench, handle, cqe);
}

const fb_product* fabricbench_product(void) {
  static fb_product table;
  honest = honest_product();
  table = *honest;
  table.create = bad_create;
  table.connect = bad_connect;
  table.command = bad_command;
  if (has("null")) return NULL;
  if (has("abi")) table.abi = 99;
  if (has("size")) table.size = 16;
  if (has("missing")) table.on_data = NULL;
  if (has("nqn")) table.subnqn = "disk 1";
  return &table;
}
