/* A small NVMe controller in C: what its parts share. */
#ifndef ENGINE_H
#define ENGINE_H

#include <fabricbench/product.h>
#include <stddef.h>

enum {
  NSID = 1,
  BLOCK_BYTES = 512,
  BLOCKS = 131072,
  NAMESPACES = 16,              /* NN: one of them is active */
  TRANSFER_BYTES = 1024 * 1024, /* MDTS */
  CONTROLLERS = 8,
  IO_QUEUES = 16,
  IO_ENTRIES = 128,
  EVENT_REQUESTS = 4, /* AERL + 1 */
  ERROR_ENTRIES = 16, /* ELPE + 1 */
  COMMANDS = 512,     /* that wait for data at the same time */
  KELVIN = 310
};

/* Status values of the base specification. */
enum {
  SUCCESS = FB_STATUS(0, 0x00),
  INVALID_OPCODE = FB_STATUS(0, 0x01),
  INVALID_FIELD = FB_STATUS(0, 0x02),
  ABORT_REQUESTED = FB_STATUS(0, 0x07),
  INVALID_NAMESPACE = FB_STATUS(0, 0x0B),
  SEQUENCE_ERROR = FB_STATUS(0, 0x0C),
  KEEP_ALIVE_INVALID = FB_STATUS(0, 0x1A),
  LBA_OUT_OF_RANGE = FB_STATUS(0, 0x80),
  EVENT_LIMIT = FB_STATUS(1, 0x05),
  INVALID_LOG_PAGE = FB_STATUS(1, 0x09),
  NOT_SAVEABLE = FB_STATUS(1, 0x0D),
  NOT_CHANGEABLE = FB_STATUS(1, 0x0E),
  CONNECT_INVALID = FB_STATUS(1, 0x82),
  CONTROLLER_BUSY = FB_STATUS(1, 0x81)
};

struct engine;

struct features {
  uint32_t arbitration, power, recovery, write_atomicity, events;
  uint32_t over, under; /* temperature thresholds of the composite sensor, in kelvins */
};

struct error_entry {
  uint64_t count, lba;
  uint32_t nsid;
  uint16_t sqid, cid, status;
};

struct controller {
  struct engine* engine;
  uint16_t cntlid;
  int used;
  uint32_t cc, csts, kato_ms;
  struct features features;
  uint8_t warned;   /* critical warnings that were reported, and are not cleared */
  uint8_t masked;   /* event types whose log page was not read since the last event, a bit each */
  uint16_t pending; /* the event that waits for a request: warnings */
  fb_handle events[EVENT_REQUESTS];
  uint16_t event_cids[EVENT_REQUESTS];
  unsigned event_count;
  struct error_entry errors[ERROR_ENTRIES]; /* the newest first */
  unsigned error_count;
  uint64_t error_total;
  uint64_t queues; /* identifiers of I/O queues, a bit each */
};

/* A command that waits for its data. */
struct waiting {
  fb_handle handle;
  struct controller* controller;
  uint16_t qid;
  uint8_t sqe[64];
};

struct engine {
  fb_bench* bench;
  struct controller controllers[CONTROLLERS];
  struct waiting waiting[COMMANDS];
  uint64_t blocks_read, blocks_written, reads, writes;
  uint8_t* medium;
};

/* ---- little-endian bytes ---- */

static inline uint16_t get16(const uint8_t* at) { return (uint16_t)(at[0] | at[1] << 8); }
static inline uint32_t get32(const uint8_t* at) { return get16(at) | (uint32_t)get16(at + 2) << 16; }
static inline uint64_t get64(const uint8_t* at) { return get32(at) | (uint64_t)get32(at + 4) << 32; }
static inline void put(uint8_t* at, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) at[i] = (uint8_t)(value >> 8 * i);
}

/* ---- engine.c ---- */

extern const char SUBNQN[];
void complete(struct controller* c, uint16_t qid, const uint8_t* sqe, fb_handle handle, fb_status status, uint32_t dw0);
/* Sends data, then success; or the status of an SGL that has no room for it. */
void complete_with(struct controller* c, const uint8_t* sqe, fb_handle handle, const void* data, uint32_t bytes);
void restart_keep_alive(struct controller* c);
struct waiting* wait_for_data(struct controller* c, uint16_t qid, const uint8_t* sqe, fb_handle handle, uint32_t bytes);

/* ---- admin.c ---- */

void admin_command(struct controller* c, const uint8_t* sqe, fb_handle handle);
void default_features(struct controller* c);
/* Reports what is to be reported, if a request waits for it. */
void report_events(struct controller* c);

#endif
