/* Admin commands: Identify, Get Log Page, Get and Set Features, Abort, Asynchronous Event Request, Keep Alive. */
#include <string.h>

#include "engine.h"

/* ---- Identify ---- */

static void text(uint8_t* at, const char* value, size_t bytes) {
  memset(at, ' ', bytes);
  memcpy(at, value, strlen(value));
}

static void identify_controller(const struct controller* c, uint8_t* id) {
  const fb_bench* bench = c->engine->bench;
  put(id, 0x1234, 2);
  put(id + 2, 0x1234, 2);
  text(id + 4, "ENGINE0001", 20);
  text(id + 24, "example command engine", 40);
  text(id + 64, "1.0", 8);
  put(id + 73, 0x010203, 3);
  id[76] = 0x02; /* CMIC: several controllers */
  id[77] = 8;    /* MDTS: 1 MiB */
  put(id + 78, c->cntlid, 2);
  put(id + 80, 0x00010400, 4);  /* VER */
  put(id + 84, 1000000, 4);     /* RTD3R */
  put(id + 88, 1000000, 4);     /* RTD3E */
  put(id + 96, 1, 4);           /* CTRATT: host identifiers of 128 bits */
  id[111] = 1;                  /* CNTRLTYPE: I/O controller */
  id[258] = 3;                  /* ACL */
  id[259] = EVENT_REQUESTS - 1; /* AERL */
  id[260] = 0x03;               /* FRMW: one slot, read-only */
  id[261] = 0x06;               /* LPA: effects, offsets */
  id[262] = ERROR_ENTRIES - 1;  /* ELPE */
  put(id + 266, 350, 2);        /* WCTEMP */
  put(id + 268, 360, 2);        /* CCTEMP */
  put(id + 320, 10, 2);         /* KAS: a second */
  id[512] = 0x66;
  id[513] = 0x44;
  put(id + 514, IO_ENTRIES, 2); /* MAXCMD */
  put(id + 516, NAMESPACES, 4); /* NN */
  put(id + 520, 0x0009, 2);     /* ONCS: Compare, Write Zeroes */
  put(id + 536, bench->sgls, 4);
  memcpy(id + 768, SUBNQN, strlen(SUBNQN));
  put(id + 1792, (64 + 4096) / 16, 4); /* IOCCSZ */
  put(id + 1796, 1, 4);                /* IORCSZ */
  id[1803] = bench->msdbd;
  put(id + 2048, 1000, 2); /* PSD 0: 10 W */
}

static void identify_namespace(uint8_t* id) {
  put(id, BLOCKS, 8);
  put(id + 8, BLOCKS, 8);
  put(id + 16, BLOCKS, 8);
  id[30] = 1; /* NMIC: shared */
  static const uint8_t eui64[8] = {0x01, 0x02, 0x03, 0xAA, 0xBB, 0xCC, 0xDD, 0x01};
  memcpy(id + 120, eui64, sizeof(eui64));
  put(id + 128, 9u << 16, 4); /* LBAF 0 */
}

static void identify(struct controller* c, const uint8_t* sqe, fb_handle handle) {
  uint8_t data[4096] = {0};
  const uint32_t nsid = get32(sqe + 4);
  fb_status status = SUCCESS;
  switch (sqe[40]) {
    case 0x00:
      if (nsid == NSID) {
        identify_namespace(data);
      } else if (nsid == 0 || nsid > NAMESPACES) { /* an inactive one is all zero */
        status = INVALID_NAMESPACE;                /* no capability is common to all namespaces: there is no namespace management */
      }
      break;
    case 0x01:
      identify_controller(c, data);
      break;
    case 0x02:
      if (nsid >= 0xFFFFFFFE) status = INVALID_NAMESPACE;
      if (nsid < NSID) put(data, NSID, 4);
      break;
    case 0x03:
      if (nsid != NSID) status = nsid == 0 || nsid > NAMESPACES ? INVALID_NAMESPACE : INVALID_FIELD;
      data[0] = 1; /* EUI-64 */
      data[1] = 8;
      memcpy(data + 4, "\x01\x02\x03\xAA\xBB\xCC\xDD\x01", 8);
      break;
    default:
      status = INVALID_FIELD;
  }
  if (status != SUCCESS) {
    complete(c, 0, sqe, handle, status, 0);
  } else {
    complete_with(c, sqe, handle, data, sizeof(data));
  }
}

/* ---- Get Log Page ---- */

static uint8_t warnings(const struct controller* c) { return KELVIN >= c->features.over || KELVIN <= c->features.under ? 0x02 : 0; }

static uint32_t error_log(const struct controller* c, uint8_t* log) {
  for (unsigned i = 0; i < c->error_count; ++i) {
    const struct error_entry* entry = &c->errors[i];
    uint8_t* at = log + 64 * i;
    put(at, entry->count, 8);
    put(at + 8, entry->sqid, 2);
    put(at + 10, entry->cid, 2);
    put(at + 12, entry->status, 2);
    put(at + 14, 0xFFFF, 2);
    put(at + 16, entry->lba, 8);
    put(at + 24, entry->nsid, 4);
  }
  return 64 * ERROR_ENTRIES;
}

static uint32_t smart_log(const struct controller* c, uint8_t* log) {
  const struct engine* e = c->engine;
  log[0] = warnings(c);
  put(log + 1, KELVIN, 2);
  log[3] = 100; /* available spare and its threshold */
  log[4] = 10;
  put(log + 32, (e->blocks_read + 999) / 1000, 8);
  put(log + 48, (e->blocks_written + 999) / 1000, 8);
  put(log + 64, e->reads, 8);
  put(log + 80, e->writes, 8);
  put(log + 112, 1, 8); /* power cycles */
  put(log + 176, c->error_total, 8);
  return 512;
}

static uint32_t effects_log(uint8_t* log) {
  static const uint8_t admin[] = {0x02, 0x06, 0x08, 0x09, 0x0A, 0x0C, 0x18};
  for (unsigned i = 0; i < sizeof(admin); ++i) log[4 * admin[i]] = 1;
  log[1024] = 1;
  log[1024 + 4 * 1] = 3; /* changes content */
  log[1024 + 4 * 2] = 1;
  log[1024 + 4 * 5] = 1;
  log[1024 + 4 * 8] = 3;
  return 4096;
}

static void get_log(struct controller* c, const uint8_t* sqe, fb_handle handle) {
  static uint8_t log[4096];
  const uint8_t lid = sqe[40];
  const uint64_t bytes = ((uint64_t)get16(sqe + 42) | (uint64_t)get16(sqe + 44) << 16) * 4 + 4;
  const uint64_t offset = get64(sqe + 48);
  const uint32_t nsid = get32(sqe + 4);
  uint32_t size = 0;
  memset(log, 0, sizeof(log));
  switch (lid) {
    case 0x01:
      size = error_log(c, log);
      break;
    case 0x02:
      size = smart_log(c, log);
      break;
    case 0x03:
      size = 512;
      log[0] = 1;
      text(log + 8, "1.0", 8);
      break;
    case 0x05:
      size = effects_log(log);
      break;
    default:
      complete(c, 0, sqe, handle, INVALID_LOG_PAGE, 0);
      return;
  }
  fb_status status = SUCCESS;
  if (nsid != 0 && nsid != 0xFFFFFFFF) status = nsid == NSID || lid != 0x02 ? INVALID_FIELD : INVALID_NAMESPACE;
  if (offset > size || (offset & 3) != 0 || bytes > sizeof(log) * 256) status = INVALID_FIELD;
  if (status != SUCCESS) {
    complete(c, 0, sqe, handle, status, 0);
    return;
  }
  static uint8_t out[sizeof(log) * 256];
  memset(out, 0, (size_t)bytes);
  const uint64_t left = size - offset;
  memcpy(out, log + offset, (size_t)(left < bytes ? left : bytes));
  status = c->engine->bench->send(c->engine->bench, handle, out, (uint32_t)bytes);
  complete(c, 0, sqe, handle, status, 0);
  if (status != SUCCESS || (sqe[41] & 0x80) != 0 || lid != 0x02) return; /* RAE */
  c->masked = 0;
  report_events(c);
}

/* ---- features ---- */

void default_features(struct controller* c) {
  memset(&c->features, 0, sizeof(c->features));
  c->features.over = 350;
}

/* Where a feature of one value is kept; `mask` is what of it can be set. */
static uint32_t* plain_feature(struct controller* c, uint8_t fid, uint32_t* mask) {
  *mask = 0xFFFFFFFF;
  switch (fid) {
    case 0x01:
      *mask = 0xFFFFFF07;
      return &c->features.arbitration;
    case 0x02:
      *mask = 0x000000FF;
      return &c->features.power;
    case 0x05:
      *mask = 0x0000FFFF;
      return &c->features.recovery;
    case 0x0A:
      *mask = 0x00000001;
      return &c->features.write_atomicity;
    case 0x0B:
      *mask = 0x000000FF;
      return &c->features.events;
    default:
      return NULL;
  }
}

/* The value of a feature; -1 where there is none. */
static int64_t feature_value(struct controller* c, uint8_t fid, uint32_t dw11, int defaults) {
  struct controller fresh;
  uint32_t mask;
  if (defaults) {
    default_features(&fresh);
    c = &fresh;
  }
  if (fid == 0x04) {
    const unsigned sensor = dw11 >> 16 & 0xF, type = dw11 >> 20 & 3;
    if (sensor != 0 || type > 1) return -1;
    return type == 0 ? c->features.over : c->features.under;
  }
  if (fid == 0x07) return (IO_QUEUES - 1) | (int64_t)(IO_QUEUES - 1) << 16;
  const uint32_t* value = plain_feature(c, fid, &mask);
  return value != NULL ? (int64_t)*value : -1;
}

static int namespace_feature(uint8_t fid) { return fid == 0x05; }

static fb_status check_feature_nsid(uint8_t fid, uint32_t nsid, int set) {
  if (namespace_feature(fid)) {
    if (nsid == NSID || (set && nsid == 0xFFFFFFFF)) return SUCCESS;
    return INVALID_NAMESPACE;
  }
  if (nsid == 0 || nsid == 0xFFFFFFFF) return SUCCESS;
  return nsid != NSID ? INVALID_NAMESPACE : set ? FB_STATUS(1, 0x0F) : SUCCESS;
}

static void get_features(struct controller* c, const uint8_t* sqe, fb_handle handle) {
  const uint8_t fid = sqe[40], select = sqe[41] & 7;
  const uint32_t dw11 = get32(sqe + 44);
  int64_t value = fid == 0x0F ? (select == 1 ? 0 : (int64_t)c->kato_ms) : feature_value(c, fid, dw11, select == 1);
  fb_status status = value < 0 || select > 3 ? INVALID_FIELD : check_feature_nsid(fid, get32(sqe + 4), 0);
  if (select == 3) value = fid == 0x07 ? 4 : namespace_feature(fid) ? 6 : 4; /* changeable, of a namespace */
  if (select == 2 && status == SUCCESS) value = fid == 0x0F ? 0 : feature_value(c, fid, dw11, 1);
  complete(c, 0, sqe, handle, status, status == SUCCESS ? (uint32_t)value : 0);
}

static fb_status set_threshold(struct controller* c, uint32_t dw11) {
  const unsigned sensor = dw11 >> 16 & 0xF, type = dw11 >> 20 & 3;
  if ((sensor != 0 && sensor != 0xF) || type > 1) return INVALID_FIELD;
  *(type == 0 ? &c->features.over : &c->features.under) = dw11 & 0xFFFF;
  return SUCCESS;
}

static void set_features(struct controller* c, const uint8_t* sqe, fb_handle handle) {
  const uint8_t fid = sqe[40];
  const uint32_t dw11 = get32(sqe + 44);
  uint32_t mask, dw0 = 0;
  uint32_t* plain = plain_feature(c, fid, &mask);
  fb_status status = SUCCESS;
  if (plain == NULL && fid != 0x04 && fid != 0x07 && fid != 0x0F) {
    status = INVALID_FIELD;
  } else if ((sqe[43] & 0x80) != 0) {
    status = NOT_SAVEABLE;
  } else {
    status = check_feature_nsid(fid, get32(sqe + 4), 1);
  }
  if (status == SUCCESS && fid == 0x02 && (dw11 & 0x1F) != 0) status = INVALID_FIELD; /* power state 0 alone */
  if (status == SUCCESS && fid == 0x04) status = set_threshold(c, dw11);
  if (status == SUCCESS && fid == 0x07) {
    if ((dw11 & 0xFFFF) == 0xFFFF || dw11 >> 16 == 0xFFFF) status = INVALID_FIELD;
    if (c->queues != 0 && status == SUCCESS) status = SEQUENCE_ERROR;
    dw0 = (IO_QUEUES - 1) | (uint32_t)(IO_QUEUES - 1) << 16;
  }
  if (status == SUCCESS && fid == 0x0F && dw11 == 0 && c->kato_ms != 0) status = KEEP_ALIVE_INVALID;
  if (status == SUCCESS && fid == 0x0F) {
    c->kato_ms = (uint32_t)(((uint64_t)dw11 + 999) / 1000 * 1000);
    restart_keep_alive(c);
  }
  if (status == SUCCESS && plain != NULL) *plain = dw11 & mask;
  complete(c, 0, sqe, handle, status, status == SUCCESS ? dw0 : 0);
  report_events(c);
}

/* ---- events ---- */

/* A critical warning that is enabled and new is reported once, until the log has been read. */
void report_events(struct controller* c) {
  const uint8_t now = warnings(c);
  c->pending = (uint16_t)((c->pending & now) | (now & ~c->warned & (uint8_t)c->features.events));
  c->warned = (uint8_t)((c->warned & now) | c->pending);
  if (c->pending == 0 || c->masked || c->event_count == 0) return;
  const fb_handle handle = c->events[0];
  uint8_t sqe[64] = {0x0C};
  put(sqe + 2, c->event_cids[0], 2);
  --c->event_count;
  memmove(c->events, c->events + 1, sizeof(c->events) - sizeof(c->events[0]));
  memmove(c->event_cids, c->event_cids + 1, sizeof(c->event_cids) - sizeof(c->event_cids[0]));
  c->pending = 0;
  c->masked = 1;
  complete(c, 0, sqe, handle, SUCCESS, 0x01 | 0x01 << 8 | 0x02 << 16); /* SMART, temperature, log page 02h */
}

static void event_request(struct controller* c, const uint8_t* sqe, fb_handle handle) {
  if (c->event_count == EVENT_REQUESTS) {
    complete(c, 0, sqe, handle, EVENT_LIMIT, 0);
    return;
  }
  c->events[c->event_count] = handle;
  c->event_cids[c->event_count++] = get16(sqe + 2);
  report_events(c);
}

/* Commands are completed at once, but for event requests. */
static void abort_command(struct controller* c, const uint8_t* sqe, fb_handle handle) {
  const uint16_t sqid = get16(sqe + 40), cid = get16(sqe + 42);
  for (unsigned i = 0; sqid == 0 && i < c->event_count; ++i) {
    if (c->event_cids[i] != cid) continue;
    uint8_t aborted[64] = {0x0C};
    put(aborted + 2, cid, 2);
    complete(c, 0, aborted, c->events[i], ABORT_REQUESTED, 0);
    --c->event_count;
    memmove(c->events + i, c->events + i + 1, (c->event_count - i) * sizeof(c->events[0]));
    memmove(c->event_cids + i, c->event_cids + i + 1, (c->event_count - i) * sizeof(c->event_cids[0]));
    complete(c, 0, sqe, handle, SUCCESS, 0);
    return;
  }
  complete(c, 0, sqe, handle, SUCCESS, 1);
}

void admin_command(struct controller* c, const uint8_t* sqe, fb_handle handle) {
  switch (sqe[0]) {
    case 0x02:
      get_log(c, sqe, handle);
      return;
    case 0x06:
      identify(c, sqe, handle);
      return;
    case 0x08:
      abort_command(c, sqe, handle);
      return;
    case 0x09:
      set_features(c, sqe, handle);
      return;
    case 0x0A:
      get_features(c, sqe, handle);
      return;
    case 0x0C:
      event_request(c, sqe, handle);
      return;
    case 0x18:
      restart_keep_alive(c);
      complete(c, 0, sqe, handle, SUCCESS, 0);
      return;
    default:
      complete(c, 0, sqe, handle, INVALID_OPCODE, 0);
  }
}
