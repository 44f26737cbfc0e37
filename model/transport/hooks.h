// Where a transport speaks. The honest products call these and go on as the specification says;
// deviations and scripts override them to make a product depart from it, or to watch.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace fb::transport {

class TransportHooks {
 public:
  virtual ~TransportHooks() = default;

  /// Asked at each named point of departure: true makes the product misbehave just there.
  virtual bool departs(std::string_view point) {
    (void)point;
    return false;
  }
  /// CM private data on its way out: "req", "rep" or "rej".
  virtual void private_data_out(std::string_view message, Bytes& data) {
    (void)message;
    (void)data;
  }
  /// A capsule on its way out (command capsules on the host, response capsules on the controller).
  virtual void capsule_out(std::uint16_t qid, Bytes& capsule) {
    (void)qid;
    (void)capsule;
  }
  /// A capsule that arrived, before the product looks at it.
  virtual void capsule_in(std::uint16_t qid, ByteView capsule) {
    (void)qid;
    (void)capsule;
  }
  /// A TCP PDU on its way out, whole and with its digests: it may be changed, left out, or joined by
  /// others. tcp::refresh_digests() makes digests right again.
  virtual void pdus_out(std::uint16_t qid, std::vector<Bytes>& pdus) {
    (void)qid;
    (void)pdus;
  }
  /// The header of a TCP PDU that arrived and passed the common checks.
  virtual void pdu_in(std::uint16_t qid, ByteView header) {
    (void)qid;
    (void)header;
  }
  /// CM private data that arrived: "req", "rep" or "rej".
  virtual void private_data_in(std::string_view message, ByteView data) {
    (void)message;
    (void)data;
  }
};

}  // namespace fb::transport
