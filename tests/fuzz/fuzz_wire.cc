// Any bytes through everything that reads a structure of the NVMe wire.
#include <cstdint>

#include "wire/fabrics/auth_messages.h"
#include "wire/fabrics/describe.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/fabrics/nqn.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/logs.h"
#include "wire/nvme/persistent_events.h"
#include "wire/nvme/sgl.h"
#include "wire/nvme/zones.h"
#include "wire/rdma/mad.h"
#include "wire/tcp/pdu.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fb::ByteView bytes(data, size);
  std::size_t words = 0;
  words += fb::fabrics::describe_command(bytes, true).size();
  words += fb::fabrics::describe_command(bytes, false).size();
  words += fb::fabrics::describe_completion(bytes).size();
  words += fb::fabrics::describe_auth_message(bytes).size();
  if (const auto m = fb::fabrics::AuthNegotiate::parse(bytes)) words += m->emit().size();
  if (const auto m = fb::fabrics::AuthChallenge::parse(bytes)) words += m->emit().size();
  if (const auto m = fb::fabrics::AuthReply::parse(bytes)) words += m->emit().size();
  if (const auto m = fb::fabrics::AuthSuccess1::parse(bytes)) words += m->emit().size();
  if (const auto m = fb::fabrics::AuthSuccess2::parse(bytes)) words += m->emit().size();
  if (const auto m = fb::fabrics::AuthFailureReport::parse(bytes)) words += m->emit().size();
  words += fb::cm::describe_mad(bytes).size();
  words += fb::tcp::describe_pdu(bytes).size();
  fb::Bytes pdu(bytes.begin(), bytes.end());
  fb::tcp::refresh_digests(pdu);
  words += pdu.size();
  words += fb::fabrics::terminated_text(bytes).has_value();
  words += fb::fabrics::decimal_port(bytes).has_value();

  fb::nvme::AnaWalk groups(bytes);
  fb::nvme::AnaGroup group;
  while (groups.next(group)) ++words;
  fb::nvme::NamespaceIdWalk ids(bytes);
  fb::nvme::NamespaceId id;
  while (ids.next(id)) ++words;
  for (const std::size_t extension : {0u, 64u, 16320u}) words += fb::nvme::read_zone_report(bytes, extension).size();
  words += fb::nvme::read_changed_zones(bytes).starts.size();
  fb::nvme::PersistentEventWalk events(bytes);
  fb::nvme::PersistentEvent event;
  while (events.next(event)) words += event.data.size();
  if (size >= 16) {
    const auto sgl = fb::nvme::SglDescriptor::parse(bytes.first<16>());
    words += fb::fabrics::describe_sgl(sgl).size();
  }
  return words == 0 ? 1 : 0;
}
