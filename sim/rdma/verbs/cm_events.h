// Events of the connection manager, taken from its channel and given to those that they are about.
#pragma once

#include "sim/rdma/verbs/shared.h"

namespace fb::verbs {

/// What a connection's other end told. Private data is as long as the message had room for.
struct CmFacts {
  rdma::ConnectionFacts facts;
  Bytes private_data;
  /// The same, with the view on the private data set.
  rdma::ConnectionFacts get() const;
};

struct CmEvent {
  rdma_cm_event_type type;
  int status = 0;          ///< a negative errno, or a reject reason
  Owned<rdma_cm_id> made;  ///< of a request: the new identifier
  CmFacts facts;
};

/// What an identifier's context points to.
class CmOwner {
 public:
  virtual void on_cm_event(CmEvent event) = 0;

 protected:
  ~CmOwner() = default;
};

/// An identifier of this device's channel. Null when the kernel gives none; errno says why.
Owned<rdma_cm_id> make_identifier(Shared& shared, CmOwner& owner);
void set_owner(rdma_cm_id& id, CmOwner& owner);

class CmEvents final : FdHandler {
 public:
  explicit CmEvents(Shared& shared);
  ~CmEvents();

 private:
  void on_readable() override;
  Shared& s_;
};

}  // namespace fb::verbs
