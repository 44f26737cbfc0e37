// Asynchronous events and what they make the host read: logs, namespaces, ANA states.
#include <algorithm>

#include "model/host/controller_admin.h"
#include "model/host/fault_points.h"
#include "wire/fabrics/discovery_log.h"
#include "wire/nvme/features.h"
#include "wire/nvme/identify_misc.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/zones.h"

namespace fb::host {

namespace {

constexpr std::uint32_t kPlainLogBytes = 512;
/// Of an ANA log, however many groups a controller claims.
constexpr std::uint32_t kAnaGroupsMax = 4096;
constexpr unsigned kAnaReads = 5;
/// Failed reads of one thing in a row, and the time between them.
constexpr unsigned kFailuresMax = 10;
constexpr Duration kReadAgainAfter = Duration::s(1);
/// As many as one event can stand for.
constexpr unsigned kReservationPages = 256;

std::uint32_t log_bytes(std::uint8_t page) {
  switch (static_cast<nvme::LogPage>(page)) {
    case nvme::LogPage::changed_namespaces:
      return 4096;
    case nvme::LogPage::error_information:
    case nvme::LogPage::reservation_notification:
      return 64;
    case nvme::LogPage::discovery:
      return fabrics::DiscoveryHeader::size;
    default:
      return kPlainLogBytes;
  }
}

}  // namespace

// ---- Event requests ----

void Controller::arm_events() {
  const unsigned reserve = options_.admin_entries >= 8 ? 2 : 0;
  // Some places of the admin queue stay for everything else.
  const unsigned room = options_.admin_entries > reserve + 3 ? options_.admin_entries - reserve - 3u : 0u;
  unsigned count = std::min({facts_.event_limit, unsigned{options_.async_events}, room});
  if (was_live_ && departs(point::aer_first_only)) count = 0;
  if (departs(point::aer_too_many)) count = facts_.event_limit + 1;
  for (unsigned i = 0; i < count; ++i) send_event_request();
}

void Controller::send_event_request() {
  ++events_out_;
  call(admin_.get(), async_event_request(), {}, transport::Direction::none, Duration::forever(), false,
       [this, epoch = epoch_](AdminReply& reply) {
         if (epoch != epoch_ || !reply.answered) return;
         --events_out_;
         on_async_event(reply);
       });
}

void Controller::on_async_event(const AdminReply& reply) {
  if (!reply.ok()) {
    // The limit was exceeded, or events are not supported: asking again would not help.
    note("event request failed: " + nvme::to_string(reply.status()));
    if (departs(point::aer_failed_repeated)) send_event_request();
    return;
  }
  world_.trace().mark("host.event");
  const nvme::Event event = nvme::Event::from_dwords(reply.value());
  if (world_.trace().on()) note("event: " + nvme::to_string(event));
  if (!departs(point::aer_not_rearmed)) send_event_request();
  read_event_log(event);
}

void Controller::read_event_log(const nvme::Event& event) {
  const bool has_log = event.type != nvme::EventType::immediate && event.type != nvme::EventType::one_shot;
  if (!has_log || departs(point::event_log_unread)) {
    listener_.on_event(*this, event, {});
    return;
  }
  if (event.lid == static_cast<std::uint8_t>(nvme::LogPage::ana) && facts_.ana) {
    read_ana([this, event] {
      listener_.on_event(*this, event, {});
      listener_.on_ana(*this);
    });
    return;
  }
  read_event_page({.event = event, .pages_left = kReservationPages});
}

void Controller::read_event_page(EventRead read) {
  const nvme::Event& event = read.event;
  if (event.lid == static_cast<std::uint8_t>(nvme::LogPage::changed_zones)) {
    // The page of one namespace.
    auto command = get_log(event.lid, nvme::kChangedZonesBytes, 0, event.parameter);
    command.set(nvme::get_log_sqe::rae, departs(point::event_log_rae));
    return call_here(as_sqe(command), Bytes(nvme::kChangedZonesBytes), transport::Direction::from_controller,
                     [this, read](AdminReply& reply) { on_event_log(read, reply); });
  }
  call_log(static_cast<nvme::LogPage>(event.lid), log_bytes(event.lid), 0, [this, read](AdminReply& reply) { on_event_log(read, reply); });
}

void Controller::on_event_log(EventRead read, AdminReply& reply) {
  if (!reply.answered) return;
  if (!reply.ok() && may_read_again("log page of the event", reply.status(), read.failures)) {
    unread_.events.push_back(read);
    return;
  }
  const nvme::Event& event = read.event;
  listener_.on_event(*this, event, reply.data);
  // Each read gives one reservation notification, and says how many more there are.
  using Notification = nvme::ReservationNotification;
  const bool one_of_many = event.lid == static_cast<std::uint8_t>(nvme::LogPage::reservation_notification) && reply.ok() &&
                           reply.data.size() >= Notification::size;
  if (one_of_many && --read.pages_left > 0 && !departs(point::one_notification) &&
      View<Notification>{ByteView{reply.data}}.get(nvme::reservation_notification::nalp) > 0) {
    return read_event_page(read);
  }
  const bool namespaces_changed = event.type == nvme::EventType::notice && event.info == nvme::event_info::notice_namespace_attribute;
  if (namespaces_changed && !departs(point::event_rescan_omitted)) rescan();
}

// ---- What could not be read ----

/// Counts a failure, and says whether the caller's thing is asked again, which it notes in `unread_`.
bool Controller::may_read_again(std::string_view what, nvme::Status why, unsigned& failures) {
  note(std::string(what) + ": " + nvme::to_string(why));
  if (why.dnr() || ++failures > kFailuresMax || departs(point::failed_read_forgotten)) return false;
  world_.loop().schedule(unread_timer_, world_.now() + kReadAgainAfter);
  return true;
}

void Controller::read_again() {
  if (!live()) return world_.loop().schedule(unread_timer_, world_.now() + kReadAgainAfter);
  for (EventRead& event : std::exchange(unread_.events, {})) read_event_page(event);
  if (std::exchange(unread_.namespaces, false)) rescan();
  if (std::exchange(unread_.ana, false) && !ana_reading_) read_ana([this] { listener_.on_ana(*this); });
}

// ---- Namespaces ----

void Controller::rescan() {
  if (state_ != ControllerState::live || !options_.scan_namespaces) return;
  if (scanning_) {
    scan_again_ = !departs(point::rescan_again_omitted);
    return;
  }
  const std::vector<NamespaceFacts> before = namespaces_;
  scan([this, before] {
    if (namespaces_ != before) listener_.on_namespaces(*this);
    if (std::exchange(scan_again_, false)) rescan();
  });
}

void Controller::scan(std::function<void()> then) {
  scanning_ = true;
  scan_again_ = false;
  unusable_namespace_.clear();
  auto made = std::make_shared<Scan>();
  made->then = std::move(then);
  scan_list(std::move(made), 0);
}

void Controller::scan_list(std::shared_ptr<Scan> scan, std::uint32_t after) {
  step_read(
      identify(nvme::Cns::active_namespace_list, after), nvme::kIdentifySize,
      [this, scan, after](AdminReply& reply) {
        if (!reply.ok()) note_unusable("the list of namespaces: Identify failed: " + nvme::to_string(reply.status()));
        if (!reply.ok() && may_read_again("list of namespaces", reply.status(), unread_.scan_failures)) {
          unread_.namespaces = true;
          scan->found = namespaces_;
          return finish_scan(scan);
        }
        const std::vector<std::uint32_t> nsids = reply.ok() ? nvme::read_namespace_list(reply.data) : std::vector<std::uint32_t>{};
        scan->nsids.insert(scan->nsids.end(), nsids.begin(), nsids.end());
        // Ascending, or a broken controller would keep us here for ever.
        if (nsids.size() == nvme::kNamespaceListMax && nsids.back() > after) {
          scan_list(scan, nsids.back());
        } else {
          scan_next(scan);
        }
      },
      true);
}

void Controller::finish_scan(std::shared_ptr<Scan> scan) {
  scanning_ = false;
  if (!unread_.namespaces) unread_.scan_failures = 0;
  namespaces_ = std::move(scan->found);
  // A group that the ANA log did not have when it was read: no notice needs to come of it.
  const bool unknown = std::any_of(namespaces_.begin(), namespaces_.end(), [this](const NamespaceFacts& facts) {
    return std::none_of(ana_.begin(), ana_.end(), [&](const auto& entry) { return entry.first == facts.ana_group; });
  });
  if (unknown && facts_.ana && live() && !ana_reading_) read_ana([this] { listener_.on_ana(*this); });
  scan->then();
}

/// Whether what could not be read of a namespace is asked again later; until then it is what it was.
bool Controller::scan_missed(Scan& scan, std::uint32_t nsid, const AdminReply& reply) {
  if (reply.ok() || !may_read_again("namespace", reply.status(), unread_.scan_failures)) return false;
  unread_.namespaces = true;
  for (const NamespaceFacts& known : namespaces_) {
    if (known.nsid == nsid) scan.found.push_back(known);
  }
  return true;
}

void Controller::scan_next(std::shared_ptr<Scan> scan) {
  if (scan->next >= scan->nsids.size()) return finish_scan(scan);
  const std::uint32_t nsid = scan->nsids[scan->next++];
  step_read(
      identify(nvme::Cns::identify_namespace, nsid), nvme::kIdentifySize,
      [this, scan, nsid](AdminReply& reply) {
        if (scan_missed(*scan, nsid, reply)) return scan_next(scan);
        const View<nvme::IdentifyNamespace> id{reply.data};
        // Perhaps of a command set without blocks; its descriptors tell.
        if (reply.answered && same_code(reply.status(), nvme::sc::invalid_io_command_set)) {
          NamespaceFacts facts;
          facts.nsid = nsid;
          return scan_descriptors(scan, std::move(facts));
        }
        if (!reply.ok() || id.get(nvme::id_ns::nsze) == 0) {
          // Gone in the meantime; or so its controller says.
          note_unusable("namespace " + std::to_string(nsid) + ": " +
                        (reply.ok() ? "NSZE is 0" : "Identify failed: " + nvme::to_string(reply.status())));
          scan_next(scan);
          return;
        }
        NamespaceFacts facts;
        facts.nsid = nsid;
        facts.blocks = id.get(nvme::id_ns::nsze);
        facts.lba_format = static_cast<std::uint8_t>(nvme::format_in_use(reply.data));
        if (departs(point::format_low_bits)) facts.lba_format &= 0xF;
        const auto format = nvme::lba_format_at(reply.data, facts.lba_format);
        const unsigned shift = format.get(nvme::lba_format::lbads);
        if (shift < 9 || shift > 20) {
          note_unusable("namespace " + std::to_string(nsid) + " has no usable block size: LBADS of format " +
                        std::to_string(facts.lba_format) + " is " + std::to_string(shift));
          scan_next(scan);
          return;
        }
        const std::uint8_t dps = id.get(nvme::id_ns::dps);
        facts.layout.data_bytes = 1u << shift;
        if (id.get(nvme::id_ns::flbas_extended)) {
          facts.layout.metadata_bytes = format.get(nvme::lba_format::ms);
          facts.layout.protection_type = dps & nvme::dps_bits::type_mask;
          facts.layout.tuple_first = (dps & nvme::dps_bits::first_bytes) != 0;
          facts.protection = options_.protection;
        }
        facts.copy = {.range_blocks = id.get(nvme::id_ns::mssrl),
                      .total_blocks = id.get(nvme::id_ns::mcl),
                      .ranges = static_cast<std::uint32_t>(id.get(nvme::id_ns::msrc).count())};
        facts.ana_group = id.get(nvme::id_ns::anagrpid);
        facts.shared = (id.get(nvme::id_ns::nmic) & nvme::nmic_bits::shared) != 0;
        scan_tags(scan, std::move(facts));
      },
      true);
}

/// How wide the tags of a protected namespace are.
void Controller::scan_tags(std::shared_ptr<Scan> scan, NamespaceFacts facts) {
  if (!facts.layout.is_protected() || !facts_.extended_formats) return take_layout(scan, std::move(facts));
  step_read(
      identify(nvme::Cns::command_set_namespace, facts.nsid), nvme::kIdentifySize,
      [this, scan, facts](AdminReply& reply) mutable {
        if (scan_missed(*scan, facts.nsid, reply)) return scan_next(scan);
        if (reply.ok()) {
          const auto format = element<nvme::ExtendedLbaFormat>(reply.data, nvme::id_ns_nvm::elbaf, facts.lba_format);
          facts.layout.guard = format.get(nvme::extended_lba_format::pif);
          facts.layout.storage_tag_bits = static_cast<std::uint8_t>(format.get(nvme::extended_lba_format::sts));
        }
        take_layout(scan, std::move(facts));
      },
      true);
}

/// What a block is in the host's buffers follows from its layout.
void Controller::take_layout(std::shared_ptr<Scan> scan, NamespaceFacts facts) {
  const nvme::BlockLayout& layout = facts.layout;
  const bool tags_fit = !layout.is_protected() ||
                        (layout.guard != nvme::ProtectionFormat::reserved && layout.protection_type <= 3 &&
                         layout.metadata_bytes >= layout.tuple_bytes() && layout.storage_tag_bits <= std::min(layout.space_bits(), 64u));
  if (!tags_fit) {
    note_unusable("namespace " + std::to_string(facts.nsid) + " has protection information of an unknown form");
    return scan_next(scan);
  }
  facts.block_bytes = facts.strips() ? layout.data_bytes : layout.bytes();
  scan_descriptors(scan, std::move(facts));
}

void Controller::scan_descriptors(std::shared_ptr<Scan> scan, NamespaceFacts facts) {
  step_read(
      identify(nvme::Cns::namespace_id_descriptors, facts.nsid), nvme::kIdentifySize,
      [this, scan, facts](AdminReply& reply) mutable {
        if (scan_missed(*scan, facts.nsid, reply)) return scan_next(scan);
        nvme::NamespaceIdWalk walk{reply.ok() ? ByteView{reply.data} : ByteView{}};
        for (nvme::NamespaceId id; walk.next(id);) {
          const auto type = static_cast<std::uint8_t>(id.type);
          if (id.type == nvme::NamespaceIdType::csi && !id.id.empty()) {
            facts.command_set = static_cast<nvme::CommandSet>(id.id[0]);
          }
          const bool names =
              id.type == nvme::NamespaceIdType::uuid || id.type == nvme::NamespaceIdType::nguid || id.type == nvme::NamespaceIdType::eui64;
          if (!names || (!facts.identity.empty() && facts.identity[0] >= type)) continue;
          facts.identity.assign(1, type);
          facts.identity.insert(facts.identity.end(), id.id.begin(), id.id.end());
        }
        if (facts.zoned()) return scan_zones(scan, std::move(facts));
        if (facts.key_value()) return scan_pairs(scan, std::move(facts));
        if (facts.command_set == nvme::CommandSet::nvm && facts.blocks != 0) {
          scan->found.push_back(std::move(facts));
        } else {
          note_unusable("namespace " + std::to_string(facts.nsid) + " is of a command set that this host does not speak");
        }
        scan_next(scan);
      },
      true);
}

void Controller::scan_zones(std::shared_ptr<Scan> scan, NamespaceFacts facts) {
  auto command = identify(nvme::Cns::command_set_namespace, facts.nsid);
  command.set(nvme::identify_sqe::csi, static_cast<std::uint8_t>(nvme::CommandSet::zoned));
  step_read(
      command, nvme::kIdentifySize,
      [this, scan, facts](AdminReply& reply) mutable {
        if (scan_missed(*scan, facts.nsid, reply)) return scan_next(scan);
        namespace id = nvme::id_ns_zoned;
        const auto limit = [](std::uint32_t most) { return most == nvme::kNoZoneLimit ? 0 : most + 1; };
        if (reply.ok()) {
          const View<nvme::IdentifyNamespaceZoned> page{reply.data};
          const auto format = element<nvme::LbaFormatExtension>(reply.data, id::lbafe, facts.lba_format);
          facts.zones.zone_blocks = format.get(nvme::lba_format_extension::zsze);
          facts.zones.extension_bytes = static_cast<std::uint32_t>(format.get(nvme::lba_format_extension::zdes) * nvme::kZoneExtensionUnit);
          facts.zones.max_active = limit(page.get(id::mar));
          facts.zones.max_open = limit(page.get(id::mor));
          facts.zones.read_across = (page.get(id::ozcs) & nvme::ozcs_bits::read_across) != 0;
          if ((page.get(id::ozcs) & nvme::ozcs_bits::random_write_area) != 0) {
            facts.zones.zrwa_blocks = page.get(id::zrwasz);
            facts.zones.zrwa_granularity = page.get(id::zrwafg);
            facts.zones.zrwa_max = page.get(id::numzrwa);
            facts.zones.zrwa_flush = (page.get(id::zrwacap) & nvme::zrwacap_bits::explicit_flush) != 0;
          }
          facts.zones.variable_capacity = (page.get(id::zoc) & nvme::zoc_bits::variable_capacity) != 0;
        }
        if (facts.zones.zone_blocks != 0) {
          scan->found.push_back(std::move(facts));
        } else {
          note_unusable("namespace " + std::to_string(facts.nsid) + " does not say how large its zones are");
        }
        scan_next(scan);
      },
      true);
}

void Controller::scan_pairs(std::shared_ptr<Scan> scan, NamespaceFacts facts) {
  auto command = identify(nvme::Cns::command_set_namespace, facts.nsid);
  command.set(nvme::identify_sqe::csi, static_cast<std::uint8_t>(nvme::CommandSet::key_value));
  step_read(
      command, nvme::kIdentifySize,
      [this, scan, facts](AdminReply& reply) mutable {
        if (scan_missed(*scan, facts.nsid, reply)) return scan_next(scan);
        namespace id = nvme::id_ns_kv;
        const View<nvme::IdentifyNamespaceKv> page{reply.data};
        if (!reply.ok() || page.get(id::nsze) == 0) {
          note_unusable("namespace " + std::to_string(facts.nsid) + " does not say how large it is");
          return scan_next(scan);
        }
        facts.blocks = 0;
        facts.pairs.bytes = page.get(id::nsze);
        facts.ana_group = page.get(id::anagrpid);
        facts.shared = (page.get(id::nmic) & nvme::nmic_bits::shared) != 0;
        const std::size_t formats = std::min<std::size_t>(page.get(id::nkvf).count(), nvme::kKvFormatsMax);
        for (std::size_t i = 0; i < formats; ++i) {
          const auto format = element<nvme::KvFormat>(reply.data, id::kvf, i);
          facts.pairs.key_max = std::max<std::size_t>(facts.pairs.key_max, format.get(nvme::kv_format::kml));
          facts.pairs.value_max = std::max<std::uint64_t>(facts.pairs.value_max, format.get(nvme::kv_format::vml));
        }
        scan->found.push_back(std::move(facts));
        scan_next(scan);
      },
      true);
}

// ---- ANA ----

std::uint32_t Controller::ana_log_length() const {
  const View<nvme::IdentifyController> id{facts_.identify};
  const std::uint32_t groups = std::clamp<std::uint32_t>(id.get(nvme::id_ctrl::nanagrpid), 1, kAnaGroupsMax);
  return static_cast<std::uint32_t>(nvme::AnaHeader::size + groups * nvme::AnaGroupHeader::size);
}

void Controller::read_ana(std::function<void()> then) {
  ana_reading_ = true;
  const std::uint32_t length = ana_log_length();
  const bool parts = length > facts_.max_transfer;
  // Of the groups we need the state only: which namespace is in which says Identify Namespace.
  auto again = std::make_shared<std::function<void(unsigned)>>();
  *again = [this, length, parts, then, weak = std::weak_ptr(again)](unsigned left) {
    call_log(nvme::LogPage::ana, length, nvme::kAnaGroupsOnly, [this, parts, then, left, self = weak.lock()](AdminReply& reply) {
      if (!reply.answered) return;
      const bool needed = !live() && !reply.ok() && !reply.status().dnr();
      if (needed && left > 0) return (*self)(left - 1);
      if (!reply.ok() || !parts || left == 0) {
        ana_reading_ = false;
        if (reply.ok()) {
          take_ana(reply.data);
        } else if (needed) {
          // No group is known to be accessible without it: better no association than one of no use.
          return fail_step("ANA log", reply.status());
        } else if (may_read_again("ANA log", reply.status(), unread_.ana_failures)) {
          unread_.ana = true;
        }
        then();
        return;
      }
      // Parts may be of different moments: the change count tells.
      auto log = std::make_shared<Bytes>(std::move(reply.data));
      call_log(nvme::LogPage::ana, nvme::AnaHeader::size, nvme::kAnaGroupsOnly, [this, log, then, left, self](AdminReply& head) {
        if (!head.answered) return;
        const bool same = !head.ok() || load_le<std::uint64_t>(head.data.data()) == load_le<std::uint64_t>(log->data());
        if (!same) {
          (*self)(left - 1);
          return;
        }
        ana_reading_ = false;
        take_ana(*log);
        then();
      });
    });
  };
  (*again)(kAnaReads);
}

void Controller::take_ana(ByteView log) {
  unread_.ana_failures = 0;
  ana_.clear();
  nvme::AnaWalk walk{log};
  for (nvme::AnaGroup group; walk.next(group);) ana_.emplace_back(group.id, group.state);
  std::sort(ana_.begin(), ana_.end());
  if (walk.damaged()) note("the ANA log ends in the middle of a group");
}

nvme::AnaState Controller::ana_state(std::uint32_t group) const {
  if (!facts_.ana || departs(point::ana_state_ignored)) return nvme::AnaState::optimized;
  const auto at =
      std::lower_bound(ana_.begin(), ana_.end(), group, [](const auto& entry, std::uint32_t wanted) { return entry.first < wanted; });
  return at != ana_.end() && at->first == group ? at->second : nvme::AnaState::inaccessible;
}

void Controller::note_ana_state(std::uint32_t group, nvme::AnaState state) {
  for (auto& entry : ana_) {
    if (entry.first == group) entry.second = state;
  }
  if (ana_reading_ || !live()) return;
  read_ana([this] { listener_.on_ana(*this); });
}

}  // namespace fb::host
