// Every kind of request on the side that executes: in every position of a message, at lengths on both sides of each packet
// border, alone and many at once, new and repeated, on one connection and on several.
#include "conformance/cases/rdma/conversation.h"

namespace fb::conformance {
namespace {

constexpr std::size_t kNumbers = 16;  ///< where atomics of a conversation go; 8-byte aligned

/// As many READs and atomics as the product says that it serves at a time.
unsigned served_by(const RcConnection& c) { return cm::message_of<cm::Rep>(c.facts.reply.bytes()).get(cm::rep::responder_resources); }

Message message_of_kind(Conversation& talk, unsigned kind, std::size_t length, std::uint32_t salt) {
  Message message;
  message.write = kind >= 2;
  message.extra = kind % 2 == 1 ? Extra::immediate : Extra::none;
  message.bytes = pattern(length, static_cast<std::uint8_t>(salt * 31 + kind));
  message.word = 0x80010203u + salt * 0x01010101u;
  message.solicited = salt % 3 == 0;
  message.ask_each = salt % 2 == 0;
  if (message.write) message.to = talk.place(33 + salt % 5, length);
  return message;
}

/// A request of a drawn kind and length. Returns how many READs and atomics it is. Behind a READ that is not answered nothing
/// changes memory: without a fence it may bring what is written later.
unsigned ask_something(Conversation& talk, Drawn& drawn, std::size_t mtu, bool may_read, bool read_before = false) {
  const std::size_t length = lengths_around(mtu)[drawn.below(13)];
  constexpr unsigned kHarmless[] = {0, 1, 4, 5};
  const unsigned any = drawn.below(may_read ? 7 : 4);
  switch (const unsigned kind = read_before ? kHarmless[any % (may_read ? 4 : 2)] : any) {
    case 4:
    case 5:
      talk.read(drawn.below(64), length);
      return 1;
    case 6: {
      const bool swap = drawn.below(2) == 0;
      const std::size_t at = kNumbers + 8 * drawn.below(3);
      const std::uint64_t value = 0x0102030405060708u * drawn.below(100);
      const bool equal = swap && drawn.below(2) == 0;
      talk.atomic(at, swap, value, equal ? talk.number_at(at) : 7);
      return 1;
    }
    default:
      talk.send(message_of_kind(talk, kind, length, drawn.below(1000)));
      return 0;
  }
}

}  // namespace

CONFORMANCE_CASE(every_request_has_its_effect, "rdma.request.effect", roles::responder, sends_malformed, beyond_interfaces(kAllKinds)) {
  for (std::uint8_t code = 1; code <= 5; ++code) {
    bench.step("another path MTU");
    const std::size_t mtu = roce::mtu_bytes(code);
    Conversation talk(bench, check, bench.connect_to_product({.receives = 0}, {.mtu_code = code}), mtu, 40);
    std::uint32_t salt = 0;
    for (const std::size_t length : lengths_around(mtu)) {
      for (unsigned kind = 0; kind < 4; ++kind) {
        talk.send(message_of_kind(talk, kind, length, salt++));
        if (!talk.settle("effect of a SEND or WRITE")) return;
      }
      talk.read(length % 7, length);
      if (!talk.settle("answer to a READ")) return;
    }
    for (const std::uint64_t operand : {std::uint64_t{1}, std::uint64_t{0xFFFFFFFFFFFFFFFF}, std::uint64_t{0x8000000100000001}}) {
      for (const bool swap : {false, true}) {
        const std::uint64_t now = talk.number_at(kNumbers);
        for (const std::uint64_t compare : {now ^ 1, now ^ (std::uint64_t{1} << 32), now ^ (std::uint64_t{1} << 63), now}) {
          talk.atomic(kNumbers, swap, operand, compare);
          if (!talk.settle("effect of an atomic")) return;
        }
      }
    }
  }
}

CONFORMANCE_CASE(requests_that_follow_at_once_are_executed_in_order, "rdma.request.pipelined", roles::responder, sends_malformed,
                 beyond_interfaces(kAllKinds)) {
  constexpr std::uint32_t kRequests = 200;
  Drawn drawn(1);
  Conversation talk(bench, check, bench.connect_to_product({.queue = {.receive_entries = 256}, .receives = 0}, kSmallPackets), kSmallMtu,
                    kRequests);
  const unsigned served = served_by(talk.c);
  for (std::uint32_t i = 0; i < kRequests;) {
    unsigned reads = 0;
    for (std::uint32_t burst = 1 + drawn.below(6); burst > 0 && i < kRequests; --burst, ++i) {
      reads += ask_something(talk, drawn, kSmallMtu, reads<served, reads> 0);
    }
    if (!talk.settle("requests that followed each other at once")) return;
  }
}

CONFORMANCE_CASE(a_repeated_request_is_answered_and_not_executed, "rdma.request.repeated", roles::responder, sends_malformed,
                 beyond_interfaces(kAllKinds)) {
  constexpr std::uint32_t kRequests = 120;
  Drawn drawn(2);
  Conversation talk(bench, check, bench.connect_to_product({.queue = {.receive_entries = 256}, .receives = 0}, kSmallPackets), kSmallMtu,
                    kRequests);
  for (std::uint32_t i = 0; i < kRequests; ++i) {
    ask_something(talk, drawn, kSmallMtu, true);
    if (!talk.settle("a request") || !talk.again("the same request again")) return;
  }
  for (const std::uint32_t packets : {2u, 3u, 5u}) {
    talk.read(5, packets * kSmallMtu - 3);
    if (!talk.settle("a READ of several responses")) return;
    for (std::uint32_t skipped = 0; skipped < packets; ++skipped) {
      if (!talk.again_from(skipped, "the READ again, from one of its responses on")) return;
    }
  }
}

CONFORMANCE_CASE(connections_do_not_disturb_each_other, "rdma.request.several-connections", roles::responder, sends_malformed,
                 beyond_interfaces(kAllKinds)) {
  constexpr std::uint32_t kRequests = 40;
  Drawn drawn(3);
  std::deque<Conversation> talks;
  for (std::uint8_t code = 1; code <= 3; ++code) {
    const RcConnection c =
        bench.connect_to_product({.queue = {.receive_entries = 256}, .receives = 0}, {.psn = 0x10u + 0x1000u * code, .mtu_code = code});
    talks.emplace_back(bench, check, c, roce::mtu_bytes(code), kRequests);
  }
  const RcConnection doomed = bench.connect_to_product({}, kSmallPackets);
  for (std::uint32_t i = 0; i < kRequests; ++i) {
    for (std::uint8_t k = 0; k < 3; ++k) ask_something(talks[k], drawn, roce::mtu_bytes(k + 1u), true);
    if (i == kRequests / 2) {
      bench.peer().send(write_only(doomed, 0, {1, 2, 3}, pattern(3)));
      bench.world().run_for(Duration::ms(1));
      std::erase_if(bench.peer().inbox(), [&](const RocePacket& packet) { return packet.qpn == doomed.facts.local_qpn; });
    }
    for (Conversation& talk : talks) {
      if (!talk.settle("requests of several connections at once")) return;
    }
  }
}

CONFORMANCE_CASE(as_many_reads_as_agreed_are_served, "rdma.request.depth", roles::responder,
                 beyond_networkdirect("the interface registers no memory of more connections")) {
  for (const std::uint8_t depth : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}, std::uint8_t{16}}) {
    RawRequest request = kSmallPackets;
    request.initiator_depth = depth;
    Conversation talk(bench, check, bench.connect_to_product({.receives = 0}, request), kSmallMtu, 0);
    const unsigned served = served_by(talk.c);
    check.precondition(served >= 1, "the product serves no READs");
    check.between("READs that the product serves", served, 1u, unsigned{depth});
    for (int round = 0; round < 3; ++round) {
      const std::uint32_t first = talk.next_ordinal();
      for (unsigned i = 0; i < served; ++i) talk.read(i, kSmallMtu + i);
      if (!talk.settle("as many READs at once as the product serves")) return;
      bench.step("each of them is remembered");
      for (unsigned i = 0; i < served; ++i) {
        bench.peer().send(read_request(talk.c, first + (i == 0 ? 0 : 2 * i - 1), talk.place(i, kSmallMtu + i)));
      }
      for (unsigned i = 0; i < 2 * served - 1; ++i) {
        const auto packet = next_packet(bench, check, "the same READs again", "a read response");
        if (!packet) return;
        check.equal("PSN of the response", packet->psn, roce::psn_add(talk.c.facts.send_psn, first + i));
      }
    }
  }
}

}  // namespace fb::conformance
