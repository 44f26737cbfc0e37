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

/* CRC-32C, as a message integrity check has it. */
static uint32_t crc(const uint8_t* bytes, uint32_t count) {
  uint32_t value = 0xFFFFFFFFu;
  for (uint32_t i = 0; i < count; ++i) {
    value ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0);
  }
  return ~value;
}

/* Every request is answered with Invalid Command Opcode. */
static void mi_message(void* product, const fb_mi_message* message) {
  (void)product;
  uint8_t body[12] = {0x84, 0, 0, 0, 3};
  int* volatile nowhere = (int*)8;
  if (message->bytes < 12) return;
  if (has("mi_crash")) *nowhere = 1;
  body[1] = (uint8_t)(0x80 | ((const uint8_t*)message->body)[1]);
  put(body + 8, crc(body, 8), 4);
  fb_mi_message reply = *message;
  reply.self = 0;
  reply.tag_owner = 0;
  reply.unit = has("mi_unit") ? 8 : 64;
  reply.bytes = sizeof(body);
  reply.body = has("mi_bad_pointer") ? (const void*)8 : body;
  if (has("mi_tag")) reply.tag = 8;
  if (has("mi_set_unit")) bench->mi_set_unit(bench, 63);
  bench->mi_send(bench, &reply);
}

const fb_product* fabricbench_product(void) {
  static fb_product table;
  honest = honest_product();
  table = *honest;
  table.create = bad_create;
  table.connect = bad_connect;
  table.command = bad_command;
  if (getenv("LIBRARY_MI") != NULL) {
    table.mi_message = mi_message;
    table.command = NULL; /* NVMe-MI alone: the rest of NVMe commands is not looked at */
    table.connect = NULL;
    table.subnqn = NULL;
  }
  if (has("mi_bytes")) table.mi_bytes = 8;
  if (has("old")) table.size = (uint32_t)offsetof(fb_product, mi_message);
  if (has("null")) return NULL;
  if (has("abi")) table.abi = 99;
  if (has("size")) table.size = 16;
  if (has("missing")) table.on_data = NULL;
  if (has("nqn")) table.subnqn = "disk 1";
  return &table;
}
