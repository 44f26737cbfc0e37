// What a host has read of its controller: a host acts on the last Identify data that it was given, right or not.
#pragma once

#include <map>
#include <optional>

#include "conformance/oracle/identify.h"
#include "wire/fabrics/property.h"
#include "wire/nvme/identify_controller.h"
#include "wire/nvme/identify_namespace.h"
#include "wire/nvme/zones.h"

namespace fb::oracle {

class HostKnowledge {
 public:
  void on_answer(const Exchange& one) {
    if (!one.ok()) return;
    if (one.is(nvme::FabricsType::property_get)) return on_property(one);
    if (!one.is(nvme::AdminOpcode::identify)) return;
    const ByteView data = one.data_in(nvme::kIdentifySize);
    if (data.empty()) return;
    Known& known = known_[one.controller];
    Page& page = known.pages[IdentifyPages::key_of(one)];
    const bool changed = !page.bytes.empty() && !std::equal(page.bytes.begin(), page.bytes.end(), data.begin());
    // A command may be under way that a host built by what it knew before.
    if (changed) page.sure_from = one.time + kGrace;
    page.bytes.assign(data.begin(), data.end());
  }
  void on_end(const Controller& controller) { known_.erase(&controller); }

  std::optional<std::uint64_t> cap(const Controller* controller) const {
    const auto found = known_.find(controller);
    return found == known_.end() ? std::nullopt : found->second.cap;
  }
  /// Bytes of a memory page by CAP.MPSMIN, the unit of MDTS and its like; 0: not known.
  std::uint64_t page_bytes(const Exchange& one) const {
    const auto read = cap(one.controller);
    return read ? std::uint64_t{4096} << record_from_integer<fabrics::Cap>(*read).get(fabrics::cap::mpsmin) : 0;
  }
  /// Identify data that the host had when it built the command; empty where it had none, or where that is not certain.
  ByteView page(const Exchange& one, nvme::Cns cns, std::uint32_t nsid = 0, nvme::CommandSet set = nvme::CommandSet::nvm) const {
    const auto found = known_.find(one.controller);
    if (found == known_.end()) return {};
    const auto at = found->second.pages.find({static_cast<std::uint8_t>(cns), nsid, 0, static_cast<std::uint8_t>(set)});
    if (at == found->second.pages.end() || one.time < at->second.sure_from) return {};
    return at->second.bytes;
  }
  ByteView controller(const Exchange& one) const { return page(one, nvme::Cns::controller); }
  ByteView name_space(const Exchange& one) const {
    const ByteView found = page(one, nvme::Cns::identify_namespace, one.nsid());
    return found.empty() || View<nvme::IdentifyNamespace>{found}.get(nvme::id_ns::nsze) == 0 ? ByteView{} : found;
  }
  /// Whether the active namespace list has the NSID; nothing where that part of the list was not read.
  std::optional<bool> is_active(const Exchange& one, std::uint32_t nsid) const {
    const auto found = known_.find(one.controller);
    if (found == known_.end()) return std::nullopt;
    std::optional<bool> active;
    if (nsid == 0) return false;
    for (const auto& [key, list] : found->second.pages) {
      if (key.cns != static_cast<std::uint8_t>(nvme::Cns::active_namespace_list) || key.nsid >= nsid) continue;
      if (one.time < list.sure_from) return std::nullopt;
      active = is_listed(list.bytes, nsid);
    }
    return active;
  }

 private:
  static constexpr Duration kGrace = Duration::s(1);
  struct Page {
    Bytes bytes;
    Instant sure_from;
  };
  struct Known {
    std::optional<std::uint64_t> cap;
    std::map<IdentifyKey, Page> pages;
  };

  /// In a list that ascends and ends with 0, or goes on in another one when it is full.
  static std::optional<bool> is_listed(ByteView list, std::uint32_t nsid) {
    for (std::size_t at = 0; at + 4 <= list.size(); at += 4) {
      const auto id = load_le<std::uint32_t>(&list[at]);
      if (id == 0 || id >= nsid) return id == nsid;
    }
    return std::nullopt;
  }

  void on_property(const Exchange& one) {
    const auto get = one.command<fabrics::PropertyGetSqe>();
    const bool eight = get.get(fabrics::property_sqe::size) == fabrics::PropertySize::eight;
    if (get.get(fabrics::property_sqe::ofst) != fabrics::property::cap || !eight) return;
    known_[one.controller].cap = one.answer<fabrics::PropertyGetReply>().get(fabrics::property_reply::value);
  }

  std::map<const Controller*, Known, ByNumber> known_;
};

}  // namespace fb::oracle
