// The exchange of the connection manager: form, transactions, IDs, what an accept offers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "conformance/monitors/judge.h"
#include "wire/fabrics/rdma_private_data.h"
#include "wire/rdma/cm_messages.h"
#include "wire/rdma/psn.h"

namespace fb::monitors {

namespace {

using cm::Attribute;

class Connections final : public Judge {
 public:
  using Judge::Judge;
  unsigned hears() const override { return heard::cm; }

  void on_cm(const CmSeen& seen) override {
    if (!seen.at.genuine()) return;
    if (seen.attribute < Attribute::req || seen.attribute > Attribute::apr) return;
    judged(Rule::cm_mad);
    const View<cm::MadHeader> mad{seen.mad};
    if (mad.get(cm::mad::base_version) != cm::kMadBaseVersion || mad.get(cm::mad::class_version) != cm::kCmClassVersion ||
        mad.get(cm::mad::method) != cm::Method::send) {
      say(Rule::cm_mad, seen.at,
          fmt::format("{} with base version {}, class version {}, method {:02X}h", cm::name_of(seen.attribute),
                      mad.get(cm::mad::base_version), mad.get(cm::mad::class_version), static_cast<unsigned>(mad.get(cm::mad::method))));
      return;
    }
    const std::uint64_t tid = mad.get(cm::mad::tid);
    switch (seen.attribute) {
      case Attribute::req:
        return on_req(seen, tid);
      case Attribute::rep:
        return on_rep(seen, tid);
      case Attribute::rtu:
        return on_rtu(seen);
      case Attribute::dreq:
        return on_dreq(seen, tid);
      case Attribute::drep:
        return on_drep(seen, tid);
      default:
        return;
    }
  }

 private:
  struct Request {
    std::uint64_t tid = 0;
    IpAddress passive;
    std::uint8_t serves = 0;
    bool nvme = false;
    bool replied = false;
    Bytes reply;
    bool ended = false;  ///< by a DREQ of either side
  };
  struct Ending {
    std::uint32_t local = 0, remote = 0;
    std::uint64_t tid = 0;
  };
  using Pair = std::pair<IpAddress, IpAddress>;

  void on_req(const CmSeen& seen, std::uint64_t tid) {
    const auto req = cm::message_of<cm::Req>(seen.mad);
    Request& known = requests_[{seen.at.from.address, req.get(cm::req::local_comm_id)}];
    if (known.tid == tid && known.passive == seen.at.to.address) return;
    judged(Rule::cm_request);
    known = {tid, seen.at.to.address, req.get(cm::req::responder_resources), false, false, {}, false};
    const unsigned mtu = static_cast<unsigned>(req.get(cm::req::path_mtu));
    const auto data = req.get(cm::req::private_data);
    const View<cm::IpHeader> ip{data};
    const bool nvme_port = cm::port_of(req.get(cm::req::service_id)).has_value();
    std::string wrong;
    if (roce::mtu_bytes(mtu) == 0) wrong = fmt::format("path MTU code {}", mtu);
    if (req.get(cm::req::transport) != cm::Transport::rc) wrong = "a transport other than RC";
    // Other services than those of the IP port space have private data of their own.
    if (wrong.empty() && nvme_port && ip.get(cm::ip_header::major) == 0) {
      const unsigned version = static_cast<unsigned>(ip.get(cm::ip_header::ip_version));
      const auto source = ip.get(cm::ip_header::source);
      if (version == 4) {
        const bool zero = std::all_of(source.begin(), source.begin() + 12, [](std::uint8_t byte) { return byte == 0; });
        if (!zero) wrong = "an IPv4 address that does not stand behind zeroes";
      } else if (version != 6) {
        wrong = fmt::format("IP version {}", version);
      }
    }
    if (!wrong.empty()) return say(Rule::cm_request, seen.at, "a REQ with " + wrong);
    const View<fabrics::RdmaRequest> request{ByteView(data).subspan(cm::IpHeader::size)};
    const auto port = cm::port_of(req.get(cm::req::service_id)).value_or(0);
    known.nvme = (port == 4420 || port == 8009) && request.get(fabrics::rdma_request::hrqsize) != 0;
  }

  void on_rep(const CmSeen& seen, std::uint64_t tid) {
    const auto rep = cm::message_of<cm::Rep>(seen.mad);
    const auto found = requests_.find({seen.at.to.address, rep.get(cm::rep::remote_comm_id)});
    if (found == requests_.end() || found->second.passive != seen.at.from.address) return;
    Request& request = found->second;
    if (request.replied) {
      // A late copy of the REQ may be taken for a new one then, whose REP repeats nothing.
      if (request.ended) return;
      judged(Rule::cm_rep_again);
      const ByteView again = seen.mad.subspan(cm::kMadHeaderBytes);
      if (!std::equal(again.begin(), again.end(), request.reply.begin(), request.reply.end())) {
        say(Rule::cm_rep_again, seen.at, fmt::format("the REP of transaction {:#x} was sent before and said something else", tid));
      }
      return;
    }
    judged(Rule::cm_rep_transaction, Rule::cm_rep_depth);
    request.replied = true;
    request.reply.assign(seen.mad.begin() + cm::kMadHeaderBytes, seen.mad.end());
    if (tid != request.tid) {
      say(Rule::cm_rep_transaction, seen.at, fmt::format("the REP has transaction {:#x}, its REQ has {:#x}", tid, request.tid));
    }
    if (const unsigned asks = rep.get(cm::rep::initiator_depth); asks > request.serves) {
      say(Rule::cm_rep_depth, seen.at, fmt::format("the REP asks for {} reads at a time, the REQ serves {}", asks, request.serves));
    }
    if (!request.nvme) return;
    judged(Rule::rdma_accept_data);
    const auto data = rep.get(cm::rep::private_data);
    const View<fabrics::RdmaAccept> accept{data};
    const bool rest = std::any_of(data.begin() + 4, data.begin() + fabrics::RdmaAccept::size, [](std::uint8_t byte) { return byte != 0; });
    if (accept.get(fabrics::rdma_accept::recfmt) != fabrics::kRdmaRecordFormat || rest) {
      say(Rule::rdma_accept_data, seen.at,
          fmt::format("RECFMT {}, reserved bytes {}", accept.get(fabrics::rdma_accept::recfmt), rest ? "not zero" : "zero"));
    }
  }

  void on_rtu(const CmSeen& seen) {
    if (!complete_) return;
    const auto ids = cm::message_of<cm::Ids>(seen.mad);
    const auto found = requests_.find({seen.at.from.address, ids.get(cm::ids::local_comm_id)});
    if (found != requests_.end()) judged(Rule::cm_rtu);
    if (found == requests_.end() || found->second.replied) return;
    say(Rule::cm_rtu, seen.at, fmt::format("an RTU for communication {:#x}, which had no REP", ids.get(cm::ids::local_comm_id)));
  }

  void on_dreq(const CmSeen& seen, std::uint64_t tid) {
    const auto ids = cm::message_of<cm::Ids>(seen.mad);
    endings_[{seen.at.from.address, seen.at.to.address}].push_back(
        {ids.get(cm::ids::local_comm_id), ids.get(cm::ids::remote_comm_id), tid});
    for (const auto& [active, id] : {std::pair(seen.at.from.address, ids.get(cm::ids::local_comm_id)),
                                     std::pair(seen.at.to.address, ids.get(cm::ids::remote_comm_id))}) {
      if (const auto found = requests_.find({active, id}); found != requests_.end()) found->second.ended = true;
    }
  }

  void on_drep(const CmSeen& seen, std::uint64_t tid) {
    const auto found = endings_.find({seen.at.to.address, seen.at.from.address});
    if (found == endings_.end()) return;
    const auto ids = cm::message_of<cm::Ids>(seen.mad);
    const std::uint32_t local = ids.get(cm::ids::local_comm_id), remote = ids.get(cm::ids::remote_comm_id);
    const Ending* same_ids = nullptr;
    const Ending* same_transaction = nullptr;
    for (const Ending& dreq : found->second) {
      judged(Rule::cm_drep, Rule::cm_drep_transaction);
      const bool mirrored = dreq.local == remote && dreq.remote == local;
      if (mirrored && dreq.tid == tid) return;
      if (mirrored) same_ids = &dreq;
      if (dreq.tid == tid) same_transaction = &dreq;
    }
    if (same_ids != nullptr) {
      say(Rule::cm_drep_transaction, seen.at, fmt::format("the DREP has transaction {:#x}, its DREQ has {:#x}", tid, same_ids->tid));
    } else if (same_transaction != nullptr) {
      say(Rule::cm_drep, seen.at,
          fmt::format("the DREP has IDs {:#x} and {:#x}, its DREQ has {:#x} and {:#x}", local, remote, same_transaction->local,
                      same_transaction->remote));
    }
  }

  std::map<std::pair<IpAddress, std::uint32_t>, Request> requests_;
  std::map<Pair, std::vector<Ending>> endings_;
};

}  // namespace

std::unique_ptr<Judge> judge_of_connections(Findings& findings, bool complete) { return std::make_unique<Connections>(findings, complete); }

}  // namespace fb::monitors
