#include "wire/fabrics/nbft.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace fb::nbft {

namespace {

constexpr std::string_view kSignature = "NBFT";
constexpr std::uint8_t kMajor = 1;
constexpr std::size_t kListMost = 255;

std::uint8_t sum_of(ByteView bytes) { return std::accumulate(bytes.begin(), bytes.end(), std::uint8_t{0}); }

IpAddress address_of(ByteView sixteen) {
  std::array<std::uint8_t, 16> bytes = {};
  std::copy_n(sixteen.begin(), bytes.size(), bytes.begin());
  return IpAddress::v6(bytes);
}

std::string text_before_padding(ByteView field) {
  std::string text(field.begin(), field.end());
  text.resize(text.find_last_not_of(std::string_view(" \0", 2)) + 1);
  return text;
}

// ------------------------------------------------------------------------------------------------------ reading

class Reader {
 public:
  explicit Reader(ByteView bytes) : bytes_(bytes) {}

  Result<Table> read() {
    if (const std::string why = no_table(); !why.empty()) return Failure{Problem{why}};
    const View<Header> head{bytes_};
    bytes_ = bytes_.first(head.get(header::length));
    heap_begin_ = head.get(header::heap_offset);
    heap_end_ = std::uint64_t{heap_begin_} + head.get(header::heap_length);
    table_.oem_id = text_before_padding(head.get(header::oem_id));
    table_.oem_table_id = text_before_padding(head.get(header::oem_table_id));
    const View<Control> lists{bytes_.subspan(Header::size)};
    if ((lists.get(control::flags) & kValid) == 0) return std::move(table_);
    if (const std::string why = read_host(View<Reference>{lists.get(control::hdesc)}); !why.empty()) return Failure{Problem{why}};
    each<InterfaceDescriptor>("interface", lists.get(control::hfio), lists.get(control::hfil), lists.get(control::num_hfi),
                              [&](const auto& view) { read_interface(view); });
    each<DiscoveryDescriptor>("discovery", lists.get(control::disco), lists.get(control::discl), lists.get(control::num_disc),
                              [&](const auto& view) { read_service(view); });
    each<NamespaceDescriptor>("namespace", lists.get(control::ssnso), lists.get(control::ssnsl), lists.get(control::num_ssns),
                              [&](const auto& view) { read_namespace(view); });
    if (lists.get(control::num_sec) > 0) remark("security profiles are not read");
    return std::move(table_);
  }

 private:
  std::string no_table() const {
    if (bytes_.size() < Header::size + Control::size) return "too short for a boot table";
    const View<Header> head{bytes_};
    if (!std::ranges::equal(head.get(header::signature), kSignature)) return "no boot table: the signature is not NBFT";
    const std::uint64_t length = head.get(header::length);
    if (length > bytes_.size() || length < Header::size + Control::size) {
      return "the table says that it has " + std::to_string(length) + " bytes, and there are " + std::to_string(bytes_.size());
    }
    if (sum_of(bytes_.first(length)) != 0) return "the checksum is wrong";
    if (head.get(header::major_revision) != kMajor) {
      return "revision " + std::to_string(head.get(header::major_revision)) + " of the table is not known";
    }
    if (std::uint64_t{head.get(header::heap_offset)} + head.get(header::heap_length) > length) return "the heap does not end in the table";
    const View<Control> lists{bytes_.subspan(Header::size)};
    if (lists.get(control::structure_id) != StructureId::control) return "there is no control descriptor behind the header";
    return {};
  }

  std::string read_host(const View<Reference>& place) {
    const std::uint64_t offset = place.get(reference::offset);
    if (offset < Header::size + Control::size || offset + HostDescriptor::size > bytes_.size()) {
      return "the host descriptor does not lie in the table";
    }
    const View<HostDescriptor> view{bytes_.subspan(offset)};
    if (view.get(host::structure_id) != StructureId::host || (view.get(host::flags) & kValid) == 0) {
      return "there is no valid host descriptor";
    }
    std::ranges::copy(view.get(host::host_id), table_.host_id.begin());
    table_.host_nqn = text("the NQN of the host", view.get(host::host_nqn_obj));
    table_.host_id_configured = (view.get(host::flags) & host_flags::host_id_configured) != 0;
    table_.host_nqn_configured = (view.get(host::flags) & host_flags::host_nqn_configured) != 0;
    return {};
  }

  template <class L, class Read>
  void each(std::string_view what, std::uint32_t offset, std::uint16_t stride, std::uint8_t count, Read&& read) {
    if (count == 0) return;
    if (stride < L::size || std::uint64_t{offset} + std::uint64_t{stride} * count > bytes_.size()) {
      return remark("the list of " + std::string(what) + " descriptors does not lie in the table");
    }
    for (std::size_t i = 0; i < count; ++i) {
      what_ = std::string(what) + " descriptor " + std::to_string(i + 1);
      read(View<L>{bytes_.subspan(offset + i * stride)});
    }
    what_.clear();
  }

  template <class L, class Id, class Flags>
  bool is_valid(const View<L>& view, const Id& id, const Flags& flags, StructureId wanted) {
    if ((view.get(flags) & kValid) == 0) return false;
    if (view.get(id) == wanted) return true;
    remark("its structure ID is not " + std::to_string(static_cast<unsigned>(wanted)));
    return false;
  }

  void read_interface(const View<InterfaceDescriptor>& view) {
    if (!is_valid(view, hfi::structure_id, hfi::flags, StructureId::interface_)) return;
    if (view.get(hfi::trtype) != kTcp) return remark("transport type " + std::to_string(view.get(hfi::trtype)) + " is not known");
    const auto object = in_heap("its transport information", view.get(hfi::trinfo_obj));
    if (!object || object->size() < InterfaceTcp::size) return remark("its transport information is missing");
    const View<InterfaceTcp> tcp{*object};
    if (tcp.get(hfi_tcp::structure_id) != StructureId::interface_transport || (tcp.get(hfi_tcp::flags) & kValid) == 0) {
      return remark("its transport information is not valid");
    }
    if (tcp.get(hfi_tcp::hfi_index) != view.get(hfi::index)) remark("its transport information is of another interface");
    Interface one;
    one.index = view.get(hfi::index);
    one.pci_routing_id = tcp.get(hfi_tcp::pci_sbdf);
    std::ranges::copy(tcp.get(hfi_tcp::mac_addr), one.mac.begin());
    one.vlan = tcp.get(hfi_tcp::vlan);
    one.origin = tcp.get(hfi_tcp::ip_origin);
    one.address = address_of(tcp.get(hfi_tcp::ip_address));
    one.prefix = tcp.get(hfi_tcp::subnet_mask_prefix);
    one.gateway = address_of(tcp.get(hfi_tcp::ip_gateway));
    one.route_metric = tcp.get(hfi_tcp::route_metric);
    one.dns[0] = address_of(tcp.get(hfi_tcp::primary_dns));
    one.dns[1] = address_of(tcp.get(hfi_tcp::secondary_dns));
    if ((tcp.get(hfi_tcp::flags) & hfi_tcp_flags::dhcp_override) != 0) one.dhcp_server = address_of(tcp.get(hfi_tcp::dhcp_server));
    one.host_name = text("its host name", tcp.get(hfi_tcp::host_name_obj));
    one.default_route = (tcp.get(hfi_tcp::flags) & hfi_tcp_flags::global_route) != 0;
    table_.interfaces.push_back(std::move(one));
  }

  void read_service(const View<DiscoveryDescriptor>& view) {
    if (!is_valid(view, discovery::structure_id, discovery::flags, StructureId::discovery)) return;
    DiscoveryService one;
    one.index = view.get(discovery::index);
    one.host_interface = view.get(discovery::hfi_index);
    one.uri = text("its address", view.get(discovery::discovery_ctrl_addr_obj));
    one.nqn = text("its NQN", view.get(discovery::discovery_ctrl_nqn_obj));
    if (one.host_interface != 0 && !has_interface(one.host_interface)) remark("its interface is not in the table");
    table_.services.push_back(std::move(one));
  }

  void read_namespace(const View<NamespaceDescriptor>& view) {
    if (!is_valid(view, ssns::structure_id, ssns::flags, StructureId::subsystem_namespace)) return;
    if (view.get(ssns::trtype) != kTcp) return remark("transport type " + std::to_string(view.get(ssns::trtype)) + " is not known");
    BootNamespace one;
    one.index = view.get(ssns::index);
    const auto address = in_heap("its address", view.get(ssns::subsys_traddr_obj));
    if (!address || address->size() != 16) return remark("its address is missing");
    one.address = address_of(*address);
    one.service = text("its service", view.get(ssns::subsys_trsvcid_obj));
    one.nqn = text("its NQN", view.get(ssns::subsys_ns_nqn_obj));
    if (one.service.empty() || one.nqn.empty()) return remark("its service or its NQN is missing");
    one.port_id = view.get(ssns::subsys_port_id);
    one.nsid = view.get(ssns::nsid);
    one.nid_type = view.get(ssns::nidt);
    std::ranges::copy(view.get(ssns::nid), one.nid.begin());
    one.host_interface = view.get(ssns::primary_hfi_desc_index);
    if (!has_interface(one.host_interface)) remark("its interface is not in the table");
    if (const auto more = in_heap("its further interfaces", view.get(ssns::secondary_hfi_assoc_obj))) {
      // A list that is never empty for some readers may name the first interface again.
      std::ranges::copy_if(*more, std::back_inserter(one.more_interfaces),
                           [&](auto index) { return index != 0 && index != one.host_interface; });
    }
    one.discovery = view.get(ssns::primary_discovery_ctrl_index);
    const std::uint16_t flags = view.get(ssns::flags), trflags = view.get(ssns::trflags);
    if ((trflags & ssns_trflags::in_use) != 0) {
      one.header_digest = (trflags & ssns_trflags::header_digest) != 0;
      one.data_digest = (trflags & ssns_trflags::data_digest) != 0;
    }
    one.discovered = (flags & ssns_flags::discovered) != 0;
    using enum BootNamespace::Availability;
    one.availability = (flags & ssns_flags::unavailable) != 0 ? unavailable
                       : (flags & ssns_flags::available) != 0 ? available
                                                              : not_indicated;
    if ((flags & ssns_flags::extended_information) != 0) read_extended(view, one);
    table_.namespaces.push_back(std::move(one));
  }

  void read_extended(const View<NamespaceDescriptor>& view, BootNamespace& one) {
    const auto object = in_heap("its extended information", view.get(ssns::ssns_extended_info_desc_obj));
    if (!object || object->size() < ExtendedInformation::size) return remark("its extended information is missing");
    const View<ExtendedInformation> more{*object};
    if (more.get(ssns_extended::structure_id) != StructureId::extended_information || (more.get(ssns_extended::flags) & kValid) == 0 ||
        more.get(ssns_extended::ssns_index) != one.index) {
      return remark("its extended information is not valid");
    }
    one.cntlid = more.get(ssns_extended::cntlid);
    if ((more.get(ssns_extended::flags) & kAsqszConfigured) != 0) one.asqsz = more.get(ssns_extended::asqsz);
    one.dhcp_root_path = text("its DHCP root path", more.get(ssns_extended::dhcp_root_path_str_obj));
  }

  bool has_interface(std::uint8_t index) const {
    return std::ranges::any_of(table_.interfaces, [&](const Interface& one) { return one.index == index; });
  }

  /// Nothing for an empty reference, and for one outside of the heap.
  std::optional<ByteView> in_heap(std::string_view what, ByteView place) {
    const View<Reference> view{place};
    const std::uint64_t offset = view.get(reference::offset), length = view.get(reference::length);
    if (length == 0) return std::nullopt;
    if (offset < heap_begin_ || offset + length > heap_end_) {
      remark(std::string(what) + " does not lie in the heap");
      return std::nullopt;
    }
    return bytes_.subspan(offset, length);
  }

  std::string text(std::string_view what, ByteView place) {
    const auto object = in_heap(what, place);
    if (!object) return {};
    const auto end = std::ranges::find(*object, 0);
    const std::uint64_t behind = View<Reference>{place}.get(reference::offset) + object->size();
    if (end != object->end()) {
      remark(std::string(what) + " is shorter than its length");
    } else if (behind < bytes_.size() && bytes_[behind] != 0) {
      remark(std::string(what) + " does not end with a zero byte");
    }
    return {object->begin(), end};
  }

  void remark(const std::string& text) { table_.remarks.push_back(what_.empty() ? text : what_ + ": " + text); }

  ByteView bytes_;
  std::uint64_t heap_begin_ = 0, heap_end_ = 0;
  std::string what_;  // the descriptor at hand
  Table table_;
};

// ------------------------------------------------------------------------------------------------------ writing

class Writer {
 public:
  explicit Writer(const Table& table)
      : table_(table),
        interfaces_(std::min(table.interfaces.size(), kListMost)),
        namespaces_(std::min(table.namespaces.size(), kListMost)),
        services_(std::min(table.services.size(), kListMost)) {}

  Bytes write() {
    const std::size_t at_host = Header::size + Control::size;
    const std::size_t at_interfaces = at_host + HostDescriptor::size;
    const std::size_t at_namespaces = at_interfaces + interfaces_ * InterfaceDescriptor::size;
    const std::size_t at_services = at_namespaces + namespaces_ * NamespaceDescriptor::size;
    heap_begin_ = at_services + services_ * DiscoveryDescriptor::size;
    bytes_.resize(heap_begin_);
    write_host(at_host);
    for (std::size_t i = 0; i < interfaces_; ++i) write_interface(at_interfaces + i * InterfaceDescriptor::size, table_.interfaces[i]);
    for (std::size_t i = 0; i < namespaces_; ++i) write_namespace(at_namespaces + i * NamespaceDescriptor::size, table_.namespaces[i]);
    for (std::size_t i = 0; i < services_; ++i) write_service(at_services + i * DiscoveryDescriptor::size, table_.services[i]);
    const auto u32 = [](std::size_t value) { return static_cast<std::uint32_t>(value); };
    at<Control>(Header::size)
        .set(control::structure_id, StructureId::control)
        .set(control::major_revision, kMajor)
        .set(control::csl, Control::size)
        .set(control::flags, kValid)
        .set(control::hdesc, place(at_host, HostDescriptor::size))
        .set(control::hsv, 1)
        .set(control::hfio, interfaces_ == 0 ? 0u : u32(at_interfaces))
        .set(control::hfil, InterfaceDescriptor::size)
        .set(control::hfiv, 1)
        .set(control::num_hfi, interfaces_)
        .set(control::ssnso, namespaces_ == 0 ? 0u : u32(at_namespaces))
        .set(control::ssnsl, NamespaceDescriptor::size)
        .set(control::ssnsv, 1)
        .set(control::num_ssns, namespaces_)
        .set(control::secv, 1)
        .set(control::disco, services_ == 0 ? 0u : u32(at_services))
        .set(control::discl, DiscoveryDescriptor::size)
        .set(control::discv, 1)
        .set(control::num_disc, services_);
    Bytes oem_id(6), oem_table_id(8);
    std::copy_n(table_.oem_id.begin(), std::min(oem_id.size(), table_.oem_id.size()), oem_id.begin());
    std::copy_n(table_.oem_table_id.begin(), std::min(oem_table_id.size(), table_.oem_table_id.size()), oem_table_id.begin());
    at<Header>(0)
        .set(header::signature, ByteView(reinterpret_cast<const std::uint8_t*>(kSignature.data()), kSignature.size()))
        .set(header::length, bytes_.size())
        .set(header::major_revision, kMajor)
        .set(header::oem_id, oem_id)
        .set(header::oem_table_id, oem_table_id)
        .set(header::oem_revision, 1)
        .set(header::heap_offset, heap_begin_)
        .set(header::heap_length, bytes_.size() - heap_begin_);
    bytes_[decltype(header::checksum)::offset] = static_cast<std::uint8_t>(-sum_of(bytes_));
    return std::move(bytes_);
  }

 private:
  void write_host(std::size_t where) {
    const unsigned flags = kValid | (table_.host_id_configured ? host_flags::host_id_configured : 0u) |
                           (table_.host_nqn_configured ? host_flags::host_nqn_configured : 0u);
    const Bytes nqn = text(table_.host_nqn);
    at<HostDescriptor>(where)
        .set(host::structure_id, StructureId::host)
        .set(host::flags, flags)
        .set(host::host_id, table_.host_id)
        .set(host::host_nqn_obj, nqn);
  }

  void write_interface(std::size_t where, const Interface& one) {
    Record<InterfaceTcp> tcp;
    const unsigned flags =
        kValid | (one.default_route ? hfi_tcp_flags::global_route : 0u) | (one.dhcp_server ? hfi_tcp_flags::dhcp_override : 0u);
    tcp.set(hfi_tcp::structure_id, StructureId::interface_transport)
        .set(hfi_tcp::version, 1)
        .set(hfi_tcp::trtype, kTcp)
        .set(hfi_tcp::trinfo_version, 1)
        .set(hfi_tcp::hfi_index, one.index)
        .set(hfi_tcp::flags, flags)
        .set(hfi_tcp::pci_sbdf, one.pci_routing_id)
        .set(hfi_tcp::mac_addr, one.mac)
        .set(hfi_tcp::vlan, one.vlan)
        .set(hfi_tcp::ip_origin, one.origin)
        .set(hfi_tcp::ip_address, one.address.bytes())
        .set(hfi_tcp::subnet_mask_prefix, one.prefix)
        .set(hfi_tcp::ip_gateway, one.gateway.bytes())
        .set(hfi_tcp::route_metric, one.route_metric)
        .set(hfi_tcp::primary_dns, one.dns[0].bytes())
        .set(hfi_tcp::secondary_dns, one.dns[1].bytes())
        .set(hfi_tcp::dhcp_server, one.dhcp_server.value_or(IpAddress{}).bytes())
        .set(hfi_tcp::host_name_obj, text(one.host_name));
    const Bytes object = heap(tcp.bytes());
    at<InterfaceDescriptor>(where)
        .set(hfi::structure_id, StructureId::interface_)
        .set(hfi::index, one.index)
        .set(hfi::flags, kValid)
        .set(hfi::trtype, kTcp)
        .set(hfi::trinfo_obj, object);
  }

  void write_service(std::size_t where, const DiscoveryService& one) {
    const Bytes uri = text(one.uri), nqn = text(one.nqn);
    at<DiscoveryDescriptor>(where)
        .set(discovery::structure_id, StructureId::discovery)
        .set(discovery::flags, kValid)
        .set(discovery::index, one.index)
        .set(discovery::hfi_index, one.host_interface)
        .set(discovery::discovery_ctrl_addr_obj, uri)
        .set(discovery::discovery_ctrl_nqn_obj, nqn);
  }

  void write_namespace(std::size_t where, const BootNamespace& one) {
    using enum BootNamespace::Availability;
    const unsigned availability = one.availability == unavailable ? ssns_flags::unavailable
                                  : one.availability == available ? ssns_flags::available
                                                                  : 0u;
    const unsigned flags = kValid | ssns_flags::extended_information | (one.discovered ? ssns_flags::discovered : 0u) | availability;
    const unsigned trflags =
        ssns_trflags::in_use | (one.header_digest ? ssns_trflags::header_digest : 0u) | (one.data_digest ? ssns_trflags::data_digest : 0u);
    Record<ExtendedInformation> extended;
    extended.set(ssns_extended::structure_id, StructureId::extended_information)
        .set(ssns_extended::version, 1)
        .set(ssns_extended::ssns_index, one.index)
        .set(ssns_extended::flags, std::uint32_t{kValid} | (one.asqsz ? kAsqszConfigured : 0u))
        .set(ssns_extended::cntlid, one.cntlid)
        .set(ssns_extended::asqsz, one.asqsz.value_or(0))
        .set(ssns_extended::dhcp_root_path_str_obj, text(one.dhcp_root_path));
    // libnvme refuses a namespace without this list: it names the first interface again where there is no other.
    const Bytes more = heap(one.more_interfaces.empty() ? Bytes{one.host_interface} : one.more_interfaces);
    const Bytes address = heap(one.address.bytes()), service = text(one.service), nqn = text(one.nqn), object = heap(extended.bytes());
    at<NamespaceDescriptor>(where)
        .set(ssns::structure_id, StructureId::subsystem_namespace)
        .set(ssns::index, one.index)
        .set(ssns::flags, flags)
        .set(ssns::trtype, kTcp)
        .set(ssns::trflags, trflags)
        .set(ssns::primary_discovery_ctrl_index, one.discovery)
        .set(ssns::subsys_traddr_obj, address)
        .set(ssns::subsys_trsvcid_obj, service)
        .set(ssns::subsys_port_id, one.port_id)
        .set(ssns::nsid, one.nsid)
        .set(ssns::nidt, one.nid_type)
        .set(ssns::nid, one.nid)
        .set(ssns::primary_hfi_desc_index, one.host_interface)
        .set(ssns::secondary_hfi_assoc_obj, more)
        .set(ssns::subsys_ns_nqn_obj, nqn)
        .set(ssns::ssns_extended_info_desc_obj, object);
  }

  template <class L>
  MutableView<L> at(std::size_t where) {
    return MutableView<L>{MutableBytes(bytes_).subspan(where)};
  }

  static Bytes place(std::size_t offset, std::size_t length) {
    Record<Reference> made;
    made.set(reference::offset, offset).set(reference::length, length);
    return {made.bytes().begin(), made.bytes().end()};
  }

  /// Puts an object into the heap; its reference. Views of earlier descriptors are not valid any more.
  Bytes heap(ByteView object) {
    const std::size_t offset = bytes_.size();
    bytes_.insert(bytes_.end(), object.begin(), object.end());
    return place(offset, object.size());
  }
  /// The same with a zero byte behind it, which its length does not count; an empty text has no place.
  Bytes text(const std::string& words) {
    if (words.empty()) return place(0, 0);
    const Bytes made = heap(ByteView(reinterpret_cast<const std::uint8_t*>(words.data()), words.size()));
    bytes_.push_back(0);
    return made;
  }

  const Table& table_;
  std::size_t interfaces_, namespaces_, services_;
  std::size_t heap_begin_ = 0;
  Bytes bytes_;
};

}  // namespace

Result<Table> parse(ByteView bytes) { return Reader(bytes).read(); }

Bytes build(const Table& table) { return Writer(table).write(); }

}  // namespace fb::nbft
