/* A command engine as a library: `fabricbench run --dut lib:./engine.so` tests it in virtual time, without a transport of its own.
 * It executes NVMe commands, or NVMe-MI messages (`--transport smbus`, `serial` or `pcie`), or both.
 *
 * The library exports one function, fabricbench_product(). The bench plays the fabric: it accepts connections, reads capsules,
 * checks SGLs, moves data, keeps SQHD and the bounds of queues, and calls the library for what a controller decides: Connect,
 * properties and every other command.
 *
 *   bench     Read arrives          -> command(product, controller, qid, sqe, handle)
 *   library   has the blocks        -> bench->send(bench, handle, blocks, bytes)
 *             is done               -> bench->complete(bench, handle, cqe)
 *
 *   bench     Write arrives         -> command(product, controller, qid, sqe, handle)
 *   library   wants the data        -> bench->fetch(bench, handle, bytes)
 *   bench     the data is there     -> on_data(product, handle, data, bytes)
 *   library   is done               -> bench->complete(bench, handle, cqe)
 *
 *   bench     NVMe-MI message came  -> mi_message(product, message)
 *   library   has the response      -> bench->mi_send(bench, response)
 *   bench     it has left           -> mi_sent(product, id, 1)
 *
 * Threads and time. One thread calls the library, one call at a time; services may be called from inside these calls alone, and no
 * service calls the library back before the call that is in progress has returned. Time is virtual and stands still during a call:
 * a library neither sleeps nor reads a clock, but sets timers. Everything random comes from the bench or from the seed. A library
 * that keeps to this runs the same way in each run with the same seed (`--twice` checks it).
 *
 * Instances. Each case has a world of its own: create() at its beginning, destroy() at its end. Instances are independent of
 * each other: nothing that one does may be seen by another, and there may be two at a time.
 *
 * Ownership. What a call passes by pointer is the caller's and is valid until the call returns, unless the text says otherwise.
 *
 * Wrong use (a handle that was never given out, a command that is completed twice, a service after destroy(), a crash, a call that
 * does not return) fails the case with one line that names it. The bench goes on with the next case.
 *
 * Numbers are in the byte order of the machine; entries and data are as on the wire (little-endian). */
#ifndef FABRICBENCH_PRODUCT_H
#define FABRICBENCH_PRODUCT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of these structures and their meaning. A library of another version is refused; fields are added at the end of a structure alone
 * where its `size` says how much of it is there. */
#define FB_PRODUCT_ABI 1u

/* A status as in a completion, without the phase tag: SC in bits 7:0, SCT in bits 10:8, CRD in bits 12:11, More in bit 13, Do Not
 * Retry in bit 14. 0 is success. */
typedef uint16_t fb_status;
#define FB_STATUS(sct, sc) ((fb_status)(((sct)&7u) << 8 | ((sc)&0xFFu)))
#define FB_DNR ((fb_status)0x4000u)
/* Of fetch() and send(): the command is void (its queue ended, or its controller was reset). There is nothing to complete. */
#define FB_VOID ((fb_status)0xFFFFu)

/* A command in progress. Never 0, and never given out twice. It is the library's from command() until complete(), or until the
 * command is void: after queue_gone() or end_queue() for its queue, after end_controller(), and after a property_set() that cleared
 * CC.EN (all commands of the controller). Services that name a void command have no effect. */
typedef uint64_t fb_handle;

/* A message of NVMe-MI, or its first packet. The bench plays MCTP: packets, tags, EIDs, control messages and the medium. */
typedef struct fb_mi_message {
  uint8_t eid;       /* of the other side */
  uint8_t self;      /* ours; of a request: as it was sent (0 is the null EID). Sending with 0: the endpoint's own */
  uint8_t tag;       /* 0 to 7 */
  uint8_t tag_owner; /* TO: 1 in requests, and in messages with a tag of mi_take_tag(); 0 in responses */
  /* Where the other side is on the medium. A response is sent there; 0 bytes: where packets of that EID come from. */
  uint8_t address[2];
  uint8_t address_bytes;
  uint8_t reserved;
  uint32_t unit; /* sending: most bytes of payload in a packet, 64 or more; 0 in messages that came */
  uint32_t bytes;
  /* From the byte with IC and the message type (84h) to the message integrity check, which the library checks and makes. */
  const void* body;
} fb_mi_message;

/* Why a message that had begun came to nothing, of mi_abandoned(). */
enum { FB_MI_RESTARTED, FB_MI_TIMED_OUT, FB_MI_OUT_OF_SEQUENCE, FB_MI_UNIT_CHANGED, FB_MI_TOO_LONG };
/* Why a packet was dropped, of mi_dropped(). */
enum {
  FB_MI_UNEXPECTED_PART,
  FB_MI_PHYSICAL_LAYER,
  FB_MI_UNEXPECTED_TAG,
  FB_MI_UNKNOWN_DESTINATION,
  FB_MI_NO_ROUTE,
  FB_MI_HEADER_VERSION,
  FB_MI_UNIT_UNSUPPORTED,
  FB_MI_MESSAGE_TYPE,
  FB_MI_TOO_SHORT
};
/* The medium of the management endpoint, as PRTTYP of its port has it; 0: none, the run is about NVMe commands. A serial line is
 * managed like a two-wire port. */
enum { FB_MI_NONE = 0, FB_MI_PCIE = 1, FB_MI_TWO_WIRE = 2 };

typedef struct fb_bench fb_bench;
/* What the bench offers. Each function is given the pointer that create() got. */
struct fb_bench {
  uint32_t abi;  /* FB_PRODUCT_ABI */
  uint32_t size; /* sizeof(fb_bench) of the bench */

  /* The transport that the bench plays, as Identify Controller and discovery logs have it: SGLS, MSDBD, TRTYPE (1 RDMA, 3 TCP), and
   * the most bytes that one command may move (a power of two; MDTS is not beyond). */
  uint32_t sgls;
  uint8_t msdbd;
  uint8_t trtype;
  uint32_t transfer_bytes;

  /* Nanoseconds of virtual time since the world began. */
  uint64_t (*now_ns)(fb_bench* bench);
  /* on_timer(product, id) at `when_ns`, or as soon as the call in progress has returned if that is not in the future. A timer of
   * the same id is moved. Timers with one deadline fire in the order in which they were set. */
  void (*set_timer)(fb_bench* bench, uint64_t id, uint64_t when_ns);
  /* No effect where there is no such timer. */
  void (*cancel_timer)(fb_bench* bench, uint64_t id);
  /* 64 random bits, the same in every run with the same seed. */
  uint64_t (*random)(fb_bench* bench);

  /* Checks the command's SGL against the transport's rules and against a transfer of `bytes`; moves nothing. Anything but 0 is the
   * status to complete the command with. */
  fb_status (*check)(fb_bench* bench, fb_handle handle, uint32_t bytes);
  /* The same, then gets that many bytes from the host: on_data() follows if the result is 0. At most once a command. */
  fb_status (*fetch)(fb_bench* bench, fb_handle handle, uint32_t bytes);
  /* The same check, then sends data to the host, ahead of the completion. The bench copies the data. At most once a command, and
   * not after fetch(). */
  fb_status (*send)(fb_bench* bench, fb_handle handle, const void* data, uint32_t bytes);
  /* Sends the completion: 16 bytes as on the wire. The bench fills in SQHD and clears SQID and the phase tag; the command identifier
   * is the library's. The handle is void afterwards. Asynchronous Event Requests are completed in the same way. */
  void (*complete)(fb_bench* bench, fb_handle handle, const void* cqe);

  /* Ends the connections of all queues of a controller (keep alive timeout, NVM subsystem reset, fatal error), or of one I/O queue.
   * `why` is for traces. No queue_gone() follows, and after end_controller() the bench does not use the pointer any more. No effect
   * where there is none. */
  void (*end_controller)(fb_bench* bench, void* controller, const char* why);
  void (*end_queue)(fb_bench* bench, void* controller, uint16_t qid, const char* why);

  /* A line for the trace of the case (reports show it). */
  void (*trace)(fb_bench* bench, const char* text);

  /* ---- NVMe-MI: for a library with mi_message(). `size` says whether these are there. ---- */

  uint8_t mi_medium;    /* FB_MI_NONE, FB_MI_PCIE or FB_MI_TWO_WIRE */
  uint32_t mi_unit_max; /* the largest payload of a packet that the medium takes */
  /* Queues a message, whose packets leave one after the other as the medium takes them; packets of messages with different tags may mix.
   * The bench copies the body. Returns its id: never 0, never used twice. mi_sent() follows when its last packet has left. */
  uint64_t (*mi_send)(fb_bench* bench, const fb_mi_message* message);
  /* Stops between two packets until mi_resume(). No effect on what has left. */
  void (*mi_hold)(fb_bench* bench, uint64_t id);
  void (*mi_resume)(fb_bench* bench, uint64_t id);
  /* Nothing more of it leaves. mi_sent() does not follow. */
  void (*mi_withdraw)(fb_bench* bench, uint64_t id);
  /* Packets of it that have left; 0 once all have. */
  uint32_t (*mi_packets_sent)(fb_bench* bench, uint64_t id);
  /* The largest payload of a packet that is taken from now on; larger packets are dropped. 64 until changed. */
  void (*mi_set_unit)(fb_bench* bench, uint32_t unit);
  /* A tag of our own towards an EID, for a message that is no response (Asynchronous Event Message); -1 where all eight are taken. */
  int32_t (*mi_take_tag)(fb_bench* bench, uint8_t eid);
  void (*mi_release_tag)(fb_bench* bench, uint8_t eid, uint8_t tag);
  /* The management endpoint was reset: MCTP forgets what is on its way in and out, and the EID unless it is to stay. */
  void (*mi_reset)(fb_bench* bench, uint8_t keep_eid);
};

/* A Connect that the bench found well formed: RECFMT, the length of its data, the ends and the syntax of its names, a SQSIZE within
 * the bounds of the table, and the QID of the transport's connection. For an I/O queue also: the controller exists, the host is
 * that of its admin queue, and it has no queue with this identifier. */
typedef struct fb_connect {
  uint16_t qid;     /* 0: a new association */
  void* controller; /* of an I/O queue: the library's pointer */
  /* As in the data: FFFFh (any, dynamic), FFFEh (any, static), or a controller. */
  uint16_t cntlid;
  uint32_t entries; /* SQSIZE + 1 */
  uint32_t kato_ms;
  uint8_t cattr;
  uint8_t hostid[16];
  const char* hostnqn; /* end with 0 */
  const char* subnqn;
} fb_connect;

typedef struct fb_connected {
  /* Of a new association: what the bench calls the controller from now on. Not NULL, and not that of another association. */
  void* controller;
  uint16_t cntlid;  /* its identifier, for the response */
  uint16_t authreq; /* AUTHREQ; Authentication Send and Receive arrive as commands */
  /* Not 0: SQ flow control is off, as CATTR asked. */
  uint8_t no_flow_control;
  /* With Connect Invalid Parameters (FB_STATUS(1, 82h)): where the parameter is, and whether in the data or in the command. */
  uint8_t invalid_in_data;
  uint16_t invalid_offset;
} fb_connected;

/* What the library offers. Static; the bench never changes or frees it. Functions that are not marked optional must be there, with one
 * exception: a library with mi_message() and without command() has no NVMe commands, and the limits, connect(), queue_gone(),
 * property_get(), property_set() and on_data() are not needed either. */
typedef struct fb_product {
  uint32_t abi;  /* FB_PRODUCT_ABI */
  uint32_t size; /* sizeof(fb_product) of the library */

  /* The NVM subsystem that cases connect to, and its limits. */
  const char* subnqn;
  uint32_t admin_entries; /* of the largest admin queue, at least 32 */
  uint32_t io_entries;    /* of the largest I/O queue: CAP.MQES + 1 */
  uint16_t io_queues;     /* most I/O queues of a controller */
  /* Bytes of data that a command capsule of an I/O queue may carry: IOCCSZ * 16 - 64. */
  uint32_t in_capsule_bytes;

  /* A product that was just switched on; NULL where that is impossible. `bench` is valid until destroy() returns. `seed` is that of
   * the case: equal seeds, equal behaviour. */
  void* (*create)(fb_bench* bench, uint64_t seed);
  void (*destroy)(void* product);

  /* 0, or the status of the Connect response. `reply` is all zero before. */
  fb_status (*connect)(void* product, const fb_connect* connect, fb_connected* reply);
  /* The Disconnect command on an I/O queue: after 0 the bench completes what is left of the queue with Command Aborted due to SQ
   * Deletion, and the queue is over (no queue_gone()). Optional: without it Disconnect is answered with Invalid Opcode. */
  fb_status (*disconnect)(void* product, void* controller, uint16_t qid);
  /* The host ended the connection, or broke a rule of the fabric. Queue 0: the association is over, and so are its I/O queues; the
   * bench does not use the pointer any more. */
  void (*queue_gone)(void* product, void* controller, uint16_t qid);

  /* `bytes` is 4 or 8, as the command says; a property of the other size is refused (Invalid Field). */
  fb_status (*property_get)(void* product, void* controller, uint32_t offset, uint32_t bytes, uint64_t* value);
  fb_status (*property_set)(void* product, void* controller, uint32_t offset, uint32_t bytes, uint64_t value);

  /* Every command but Connect, Disconnect, Property Get and Property Set. 64 bytes. */
  void (*command)(void* product, void* controller, uint16_t qid, const void* sqe, fb_handle handle);
  /* What fetch() asked for. The data stays where it is until the command is completed or void. With a status other than 0 the data
   * was damaged on its way: complete the command with that status and do nothing else. */
  void (*on_data)(void* product, fb_handle handle, const void* data, uint32_t bytes, fb_status status);
  /* Optional without timers. */
  void (*on_timer)(void* product, uint64_t id);

  /* ---- NVMe-MI: optional. `size` may end before it. ---- */

  /* A message of type 4 that came whole and is at most mi_bytes long (0: 4,224). */
  void (*mi_message)(void* product, const fb_mi_message* message);
  uint32_t mi_bytes;
  /* Optional. The first of several packets came: `body` and `bytes` are what it brought. A command slot is in state Receive from then on.
   */
  void (*mi_started)(void* product, const fb_mi_message* first);
  /* Optional. What began with mi_started() came to nothing. */
  void (*mi_abandoned)(void* product, uint8_t eid, uint8_t tag, uint8_t tag_owner, int why);
  /* Optional. The last packet of a message has left, or the medium gave it up (`delivered` 0). */
  void (*mi_sent)(void* product, uint64_t id, uint8_t delivered);
  /* Optional. A packet was dropped on its way in (it raises bits of Get State). */
  void (*mi_dropped)(void* product, int why);
} fb_product;

/* The entry: what `fabricbench run --dut lib:FILE` looks for. Called once, before everything else. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const fb_product*
fabricbench_product(void);

#ifdef __cplusplus
}
#endif

#endif
