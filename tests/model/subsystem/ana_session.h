// What a host sees of a group that becomes inaccessible, and of its namespace meanwhile.
#pragma once

#include "tests/model/subsystem/media_session.h"
#include "tests/model/subsystem/rig.h"
#include "wire/nvme/features.h"
#include "wire/nvme/logs.h"

namespace fb::subsystem::test {

inline void lose_access(Rig& rig, Line& admin, Transcript& out) {
  out.note(admin.send(set_feature(0x0B, nvme::event_config_bits::ana_change).bytes()));
  // Other events may take some of the requests first.
  for (int i = 0; i < 6; ++i) admin.post(command(nvme::AdminOpcode::async_event_request).bytes());
  // A notice whose log page is unread would hide this one.
  for (const unsigned lid : {4u, 0x0Cu}) out.note(admin.fetch(get_log(lid, 2048).bytes(), 2048));
  out.drain(admin);
  rig.disk->set_ana_state(1, nvme::AnaState::inaccessible);
  out.drain(admin);
  out.note(admin.fetch(identify(nvme::Cns::identify_namespace, 1).bytes(), 4096));
  out.note(admin.fetch(get_log(2, 512).bytes(), 512));
  rig.disk->set_ana_state(1, nvme::AnaState::optimized);
  out.drain(admin);
}

}  // namespace fb::subsystem::test
