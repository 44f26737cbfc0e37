// SES commands: pages that are not what they should be, and checks that are left out. Registers of a function.
#include "model/deviations/catalogue/mi_shapes.h"

namespace fb::deviations {
namespace {

using mi::Opcode;
using mi::Status;

constexpr std::size_t kData = mi::kResponseMin;

void page_length_with_header(const MessageContext& message, Bytes& body) {
  if (!answers(message, body, Opcode::ses_receive) || body.size() < kData + 4) return;
  body[kData + 3] = static_cast<std::uint8_t>(body[kData + 3] + 4);
}
/// RDL is what the page has, whatever was returned of it.
void length_of_the_page(const MessageContext& message, Bytes& body) {
  if (answers(message, body, Opcode::ses_receive) && body.size() >= kData + 4) {
    store_le(&body[5], static_cast<std::uint16_t>(4 + load_be<std::uint16_t>(&body[kData + 2])));
  }
}
void no_length_in_buffer(const MessageContext& message, Bytes& body) {
  if (is_of(message, Opcode::ses_receive) && succeeded(body) && body.size() == kData) body[5] = body[6] = 0;
}
bool reads_configuration(const MessageContext& message, ByteView body) {
  return message.kind() == MessageKind::pcie_command && message.opcode() == 0 && succeeded(body) && body.size() >= kData + 0x80;
}
void capabilities_without_end(const MessageContext& message, Bytes& body) {
  if (!reads_configuration(message, body) || load_le<std::uint32_t>(&message.request[12]) != 0) return;
  body[kData + body[kData + 0x34] + 1u] = body[kData + 0x34];
}
void narrow_link(const MessageContext& message, Bytes& body) {
  if (reads(message, body, mi::DataType::port_information) && body[kData] == 1) body[kData + 12] = 1;
}
void other_port_number(const MessageContext& message, Bytes& body) {
  if (reads(message, body, mi::DataType::port_information) && body[kData] == 1) ++body[kData + 13];
}
class ControlWithoutEffect final : public mi::EndpointHooks {
 public:
  std::optional<Status> admission(const MessageContext& message) override {
    if (!is_of(message, Opcode::ses_send)) return std::nullopt;
    return Status::success;
  }
};

}  // namespace

DEVIATION(capabilities_go_round, "mi.pcie.capabilities", Product::endpoint, "the list of capabilities has no end",
          alters_answers<&capabilities_without_end>());
DEVIATION(link_is_told_narrow, "mi.read-ds.port.link", Product::endpoint, "Port Information says that one lane is in use",
          alters_answers<&narrow_link>());
DEVIATION(port_number_is_another, "mi.read-ds.port.link", Product::endpoint, "Port Information has another port number than the link",
          alters_answers<&other_port_number>());
DEVIATION(ses_pages_count_their_header, "mi.ses.receive", Product::endpoint, "SES pages count their header in their length",
          alters_answers<&page_length_with_header>());
DEVIATION(ses_length_of_whole_pages, "mi.ses.receive.length", Product::endpoint, "RDL of SES Receive is the length of the whole page",
          alters_answers<&length_of_the_page>());
DEVIATION(any_ses_page_is_there, "mi.ses.receive.page", Product::endpoint, "SES Receive of any page succeeds", Tolerate{"mi.ses.page"});
DEVIATION(ses_page_located_elsewhere, "mi.ses.receive.page", Product::endpoint, "points at the length when a page is not supported",
          AnswerMi{"mi.ses.page", Status::invalid_parameter, {12, 0}});
DEVIATION(ses_length_lost_in_buffer, "mi.ses.receive.buffer", Product::endpoint, "RDL of SES Receive into the buffer is 0",
          alters_answers<&no_length_in_buffer>());
DEVIATION(ses_control_without_effect, "mi.ses.send", Product::endpoint, "takes SES control pages for done", hooks<ControlWithoutEffect>());
DEVIATION(ses_data_of_any_length, "mi.ses.send.data", Product::endpoint, "SES Send takes data of another length than it says",
          Tolerate{"mi.ses.data"});
DEVIATION(any_ses_control_page, "mi.ses.send.page", Product::endpoint, "SES Send of any page succeeds", Tolerate{"mi.ses.page"});
DEVIATION(ses_always_available, "mi.ses.unavailable", Product::endpoint, "serves SES while it is unavailable",
          Tolerate{"mi.ses.unavailable"});

}  // namespace fb::deviations
