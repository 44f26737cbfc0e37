// Authentication of one queue: Authentication Send and Receive, the demand to authenticate before
// anything else, the time that a transaction may take, and the end of the connection when one fails.
#pragma once

#include "model/auth/controller_auth.h"
#include "model/subsystem/queue.h"

namespace fb::subsystem {

/// Authentication Send or Receive.
bool is_authentication(const Command& command);

class Authentication {
 public:
  /// For a queue that has just been connected to its controller.
  Authentication(Queue& queue, Controller& controller);
  ~Authentication();
  Authentication(const Authentication&) = delete;
  Authentication& operator=(const Authentication&) = delete;

  /// The queue is gone: nothing happens any more.
  void stop();
  /// AUTHREQ of the Connect response.
  std::uint16_t authreq() const;
  /// Every other command is to be refused now.
  bool due() const;
  void on_command(const Command& command);
  /// The data of an Authentication Send has arrived.
  void on_data(const Command& command);

 private:
  void send(const Command& command);
  void receive(const Command& command);
  void note(std::string_view direction, ByteView message);
  void after_message();
  void arm_timer();
  void on_timeout();
  void on_end();
  bool departs(std::string_view point) const;

  Queue& queue_;
  Controller& controller_;
  bool required_;
  auth::ControllerAuth machine_;
  unsigned completed_ = 0;  ///< transactions whose end has been acted upon
  Timer<Authentication, &Authentication::on_timeout> timer_{"subsystem.auth.timeout", *this};
  Timer<Authentication, &Authentication::on_end> end_timer_{"subsystem.auth.end", *this};
};

}  // namespace fb::subsystem
