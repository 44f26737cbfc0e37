/* The command engine: associations, properties, and the I/O commands Flush, Write, Read, Compare and Write Zeroes. Admin commands are
 * in admin.c.
 *
 *   cmake -S . -B build -DCMAKE_PREFIX_PATH=/where/fabricbench/is && cmake --build build
 *   fabricbench run --dut lib:build/engine.so */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

const char SUBNQN[] = "nqn.2014-08.org.nvmexpress:uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427";

enum { CC = 0x14, CSTS = 0x1C, CAP = 0x00, VS = 0x08 };
enum { CC_EN = 1u, CC_SHN = 3u << 14, CSTS_RDY = 1u, CSTS_CFS = 2u, CSTS_SHUT = 2u << 2 };
/* MQES, CQR, TO 1 s, CSS: NVM command set, MPS 4 KiB. */
#define CAP_VALUE ((uint64_t)(IO_ENTRIES - 1) | 1ull << 16 | 2ull << 24 | 1ull << 37)
enum { VERSION = 0x00010400 };

/* ---- answers ---- */

static void remember_error(struct controller* c, uint16_t qid, const uint8_t* sqe, fb_status status) {
  memmove(c->errors + 1, c->errors, sizeof(c->errors) - sizeof(c->errors[0]));
  struct error_entry* entry = &c->errors[0];
  memset(entry, 0, sizeof(*entry));
  entry->count = ++c->error_total;
  entry->sqid = qid;
  entry->cid = get16(sqe + 2);
  entry->status = (uint16_t)(status << 1);
  entry->nsid = get32(sqe + 4);
  if (qid != 0) entry->lba = get64(sqe + 40);
  if (c->error_count < ERROR_ENTRIES) ++c->error_count;
}

void complete(struct controller* c, uint16_t qid, const uint8_t* sqe, fb_handle handle, fb_status status, uint32_t dw0) {
  uint8_t cqe[16] = {0};
  /* What is only not to be retried for a while may be; everything else here is wrong for good. */
  if (status != SUCCESS && status != ABORT_REQUESTED) {
    status |= FB_DNR;
    remember_error(c, qid, sqe, status | 0x2000u); /* More: there is an entry in the error log */
    status |= 0x2000u;
  }
  put(cqe, dw0, 4);
  memcpy(cqe + 12, sqe + 2, 2);
  put(cqe + 14, (uint64_t)status << 1, 2);
  c->engine->bench->complete(c->engine->bench, handle, cqe);
}

void complete_with(struct controller* c, const uint8_t* sqe, fb_handle handle, const void* data, uint32_t bytes) {
  complete(c, 0, sqe, handle, c->engine->bench->send(c->engine->bench, handle, data, bytes), 0);
}

struct waiting* wait_for_data(struct controller* c, uint16_t qid, const uint8_t* sqe, fb_handle handle, uint32_t bytes) {
  struct engine* e = c->engine;
  const fb_status status = e->bench->fetch(e->bench, handle, bytes);
  if (status != SUCCESS) {
    complete(c, qid, sqe, handle, status, 0);
    return NULL;
  }
  for (unsigned i = 0; i < COMMANDS; ++i) {
    struct waiting* at = &e->waiting[i];
    if (at->handle != 0) continue;
    at->handle = handle;
    at->controller = c;
    at->qid = qid;
    memcpy(at->sqe, sqe, sizeof(at->sqe));
    return at;
  }
  complete(c, qid, sqe, handle, FB_STATUS(0, 0x06), 0);
  return NULL;
}

/* The commands of a queue are void; of all queues with `all`. */
static void forget_waiting(struct controller* c, uint16_t qid, int all) {
  for (unsigned i = 0; i < COMMANDS; ++i) {
    struct waiting* at = &c->engine->waiting[i];
    if (at->handle != 0 && at->controller == c && (all || at->qid == qid)) at->handle = 0;
  }
}

/* ---- associations ---- */

static void clear(struct controller* c) {
  forget_waiting(c, 0, 1);
  c->engine->bench->cancel_timer(c->engine->bench, c->cntlid);
  c->cc = c->csts = 0;
  c->event_count = 0;
  c->warned = c->masked = 0;
  c->pending = 0;
  c->error_count = 0;
  memset(c->errors, 0, sizeof(c->errors));
  c->queues = 0;
  default_features(c);
}

static fb_status refuse_connect(fb_connected* reply, uint16_t offset, int in_data) {
  reply->invalid_offset = offset;
  reply->invalid_in_data = (uint8_t)in_data;
  return CONNECT_INVALID | FB_DNR;
}

static fb_status engine_connect(void* product, const fb_connect* connect, fb_connected* reply) {
  struct engine* e = product;
  if (strcmp(connect->subnqn, SUBNQN) != 0) return refuse_connect(reply, 256, 1);
  if (connect->qid != 0) {
    struct controller* c = connect->controller;
    if ((c->csts & CSTS_RDY) == 0 || connect->qid > IO_QUEUES) return refuse_connect(reply, 42, 0);
    c->queues |= 1ull << connect->qid;
    reply->cntlid = c->cntlid;
    return SUCCESS;
  }
  if (connect->cntlid != 0xFFFF) return refuse_connect(reply, 16, 1);
  static const uint8_t zero[16];
  if (memcmp(connect->hostid, zero, sizeof(zero)) == 0) return refuse_connect(reply, 0, 1);
  for (uint16_t i = 0; i < CONTROLLERS; ++i) {
    struct controller* c = &e->controllers[i];
    if (c->used) continue;
    c->used = 1;
    c->engine = e;
    c->cntlid = (uint16_t)(i + 1);
    c->error_total = 0;
    clear(c);
    c->kato_ms = (connect->kato_ms + 999) / 1000 * 1000; /* KAS: a second */
    reply->controller = c;
    reply->cntlid = c->cntlid;
    return SUCCESS;
  }
  return CONTROLLER_BUSY;
}

/* The association is over. */
static void leave(struct controller* c) {
  clear(c);
  c->used = 0;
}

static void engine_queue_gone(void* product, void* controller, uint16_t qid) {
  struct controller* c = controller;
  fb_bench* bench = c->engine->bench;
  (void)product;
  if (qid != 0) {
    forget_waiting(c, qid, 0);
    c->queues &= ~(1ull << qid);
    if ((c->csts & CSTS_SHUT) != 0) return;
    bench->end_controller(bench, c, "an I/O queue was lost"); /* queues are not deleted one by one here */
  }
  leave(c);
}

void restart_keep_alive(struct controller* c) {
  fb_bench* bench = c->engine->bench;
  if (c->kato_ms == 0 || (c->csts & CSTS_RDY) == 0) {
    bench->cancel_timer(bench, c->cntlid);
  } else {
    bench->set_timer(bench, c->cntlid, bench->now_ns(bench) + c->kato_ms * 1000000ull + 1000000ull);
  }
}

/* The one kind of timer: nobody kept the controller with that identifier alive. */
static void engine_on_timer(void* product, uint64_t id) {
  struct engine* e = product;
  struct controller* c = &e->controllers[id - 1];
  e->bench->end_controller(e->bench, c, "keep alive timeout");
  leave(c);
}

/* ---- properties ---- */

static fb_status engine_property_get(void* product, void* controller, uint32_t offset, uint32_t bytes, uint64_t* value) {
  const struct controller* c = controller;
  (void)product;
  if (bytes != (offset == CAP ? 8u : 4u)) return INVALID_FIELD | FB_DNR;
  switch (offset) {
    case CAP:
      *value = CAP_VALUE;
      return SUCCESS;
    case VS:
      *value = VERSION;
      return SUCCESS;
    case CC:
      *value = c->cc;
      return SUCCESS;
    case CSTS:
      *value = c->csts;
      return SUCCESS;
    default:
      return INVALID_FIELD | FB_DNR;
  }
}

static void write_cc(struct controller* c, uint32_t value) {
  const uint32_t before = c->cc;
  value &= 0x00FFFFF1u;
  if ((before & CC_EN) != 0 && (value & CC_EN) == 0) { /* a reset: the association and KATO stay */
    const uint32_t kato_ms = c->kato_ms;
    clear(c);
    c->kato_ms = kato_ms;
    return;
  }
  c->cc = value;
  if ((before & CC_EN) == 0 && (value & CC_EN) != 0) {
    /* CSS 0, 4 KiB pages, round robin, entries of 64 and 16 bytes. */
    const int good = (value & 0x3FF0u) == 0 && (value >> 16 & 0xFF) == 0x46;
    c->csts = good ? CSTS_RDY : CSTS_CFS;
    restart_keep_alive(c);
  }
  const uint32_t shn = value & CC_SHN;
  if (shn != 0 && shn != CC_SHN && (before & CC_SHN) != shn) {
    c->csts |= CSTS_SHUT;
    c->engine->bench->cancel_timer(c->engine->bench, c->cntlid);
  }
}

static fb_status engine_property_set(void* product, void* controller, uint32_t offset, uint32_t bytes, uint64_t value) {
  (void)product;
  if (offset != CC || bytes != 4) return INVALID_FIELD | FB_DNR;
  write_cc(controller, (uint32_t)value);
  return SUCCESS;
}

/* ---- I/O commands ---- */

static fb_status check_namespace(uint32_t nsid) {
  if (nsid == NSID) return SUCCESS;
  return nsid == 0 || nsid > NAMESPACES ? INVALID_NAMESPACE : INVALID_FIELD;
}

static void io_command(struct controller* c, uint16_t qid, const uint8_t* sqe, fb_handle handle) {
  struct engine* e = c->engine;
  const uint32_t nsid = get32(sqe + 4);
  const uint64_t lba = get64(sqe + 40);
  const uint32_t count = get16(sqe + 48) + 1u;
  const uint32_t bytes = count * BLOCK_BYTES;
  if (sqe[0] == 0x00) { /* Flush: nothing is ever in a cache */
    complete(c, qid, sqe, handle, nsid == 0xFFFFFFFF ? SUCCESS : check_namespace(nsid), 0);
    return;
  }
  if (sqe[0] != 0x01 && sqe[0] != 0x02 && sqe[0] != 0x05 && sqe[0] != 0x08) {
    complete(c, qid, sqe, handle, INVALID_OPCODE, 0);
    return;
  }
  if (check_namespace(nsid) != SUCCESS) {
    complete(c, qid, sqe, handle, check_namespace(nsid), 0);
    return;
  }
  if (sqe[0] != 0x08 && bytes > TRANSFER_BYTES) {
    complete(c, qid, sqe, handle, INVALID_FIELD, 0);
    return;
  }
  if (lba >= BLOCKS || count > BLOCKS - lba) {
    complete(c, qid, sqe, handle, LBA_OUT_OF_RANGE, 0);
    return;
  }
  switch (sqe[0]) {
    case 0x08: /* Write Zeroes */
      memset(e->medium + lba * BLOCK_BYTES, 0, bytes);
      complete(c, qid, sqe, handle, SUCCESS, 0);
      return;
    case 0x02: {
      const fb_status status = e->bench->send(e->bench, handle, e->medium + lba * BLOCK_BYTES, bytes);
      if (status == SUCCESS) {
        ++e->reads;
        e->blocks_read += count;
      }
      complete(c, qid, sqe, handle, status, 0);
      return;
    }
    default: /* Write and Compare */
      wait_for_data(c, qid, sqe, handle, bytes);
  }
}

static void io_data(struct waiting* at, const uint8_t* data, uint32_t bytes) {
  struct engine* e = at->controller->engine;
  uint8_t* blocks = e->medium + get64(at->sqe + 40) * BLOCK_BYTES;
  if (at->sqe[0] == 0x05) {
    const int same = memcmp(blocks, data, bytes) == 0;
    complete(at->controller, at->qid, at->sqe, at->handle, same ? SUCCESS : FB_STATUS(2, 0x85), 0);
    return;
  }
  memcpy(blocks, data, bytes);
  ++e->writes;
  e->blocks_written += bytes / BLOCK_BYTES;
  complete(at->controller, at->qid, at->sqe, at->handle, SUCCESS, 0);
}

/* ---- what the bench calls ---- */

static void engine_command(void* product, void* controller, uint16_t qid, const void* entry, fb_handle handle) {
  struct controller* c = controller;
  const uint8_t* sqe = entry;
  (void)product;
  const int fabrics = sqe[0] == 0x7F;
  if (fabrics || (sqe[1] & 3) != 0 || (sqe[1] >> 6) != 1) { /* no other Fabrics command, no fused one, SGLs alone */
    complete(c, qid, sqe, handle, INVALID_FIELD, 0);
  } else if ((c->csts & CSTS_RDY) == 0 || (c->csts & CSTS_SHUT) != 0) {
    complete(c, qid, sqe, handle, SEQUENCE_ERROR, 0);
  } else if (qid == 0) {
    admin_command(c, sqe, handle);
  } else {
    io_command(c, qid, sqe, handle);
  }
}

static void engine_on_data(void* product, fb_handle handle, const void* data, uint32_t bytes, fb_status status) {
  struct engine* e = product;
  for (unsigned i = 0; i < COMMANDS; ++i) {
    struct waiting at = e->waiting[i];
    if (at.handle != handle) continue;
    e->waiting[i].handle = 0;
    if (status != SUCCESS) {
      complete(at.controller, at.qid, at.sqe, handle, status, 0);
    } else {
      io_data(&at, data, bytes);
    }
    return;
  }
}

static void* engine_create(fb_bench* bench, uint64_t seed) {
  struct engine* e = calloc(1, sizeof(*e));
  (void)seed;
  if (e == NULL) return NULL;
  e->bench = bench;
  e->medium = calloc(BLOCKS, BLOCK_BYTES);
  if (e->medium == NULL) {
    free(e);
    return NULL;
  }
  return e;
}

static void engine_destroy(void* product) {
  struct engine* e = product;
  free(e->medium);
  free(e);
}

const fb_product* fabricbench_product(void) {
  static const fb_product table = {
      .abi = FB_PRODUCT_ABI,
      .size = sizeof(fb_product),
      .subnqn = SUBNQN,
      .admin_entries = 32,
      .io_entries = IO_ENTRIES,
      .io_queues = IO_QUEUES,
      .in_capsule_bytes = 4096,
      .create = engine_create,
      .destroy = engine_destroy,
      .connect = engine_connect,
      .queue_gone = engine_queue_gone,
      .property_get = engine_property_get,
      .property_set = engine_property_set,
      .command = engine_command,
      .on_data = engine_on_data,
      .on_timer = engine_on_timer,
  };
  return &table;
}
