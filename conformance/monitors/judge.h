// What judges share: a place for findings, and who may be heard.
#pragma once

#include <memory>

#include "conformance/evidence/dissector.h"
#include "conformance/monitors/finding.h"

namespace fb::monitors {

using namespace fb::evidence;

/// A judge hears a dissector and blames the sender of the packet at hand.
class Judge : public Observer {
 public:
  explicit Judge(Findings& findings, bool complete) : complete_(complete), findings_(findings) {}

 protected:
  /// These rules have something to judge here.
  template <class... Rules>
  void judged(Rules... rules) {
    (findings_.judged(rules), ...);
  }
  [[gnu::cold]] void say(Rule rule, const Sight& at, std::string text) { findings_.add(rule, at, std::move(text)); }
  /// The queue's later exchange is not judged: it may follow from this.
  [[gnu::cold]] void say(Rule rule, const Sight& at, Queue& queue, std::string text) {
    queue.suspect = true;
    // TCP tells at once what its captures lack, by sequence numbers and acknowledgements.
    if (complete_ || queue.tcp) {
      findings_.add(rule, at, std::move(text));
    } else {
      findings_.hold(rule, at, queue, std::move(text));
    }
  }
  /// Nothing is missing between the packets.
  const bool complete_;

 private:
  Findings& findings_;
};

std::unique_ptr<Judge> judge_of_rdma_packets(Findings& findings, bool complete);
std::unique_ptr<Judge> judge_of_rdma_answers(Findings& findings, bool complete);
std::unique_ptr<Judge> judge_of_connections(Findings& findings, bool complete);
std::unique_ptr<Judge> judge_of_keys(Findings& findings, bool complete);
std::unique_ptr<Judge> judge_of_queues(Findings& findings, bool complete);
std::unique_ptr<Judge> judge_of_associations(Findings& findings, bool complete);
std::unique_ptr<Judge> judge_of_pdus(Findings& findings, bool complete);
std::unique_ptr<Judge> judge_of_tcp_data(Findings& findings, bool complete);
/// Of what faults on the way changed, and the controller's answer to it. For the view of a controller behind a proxy alone: in a
/// case of the suite the case itself judges the answer.
std::unique_ptr<Judge> judge_of_tcp_answers(Findings& findings, bool complete);
std::unique_ptr<Judge> judge_of_mctp(Findings& findings, bool complete);
std::unique_ptr<Judge> judge_of_management(Findings& findings, bool complete);

}  // namespace fb::monitors
