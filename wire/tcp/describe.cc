// PDUs as text for people.
#include "wire/tcp/pdu.h"

namespace fb::tcp {

namespace {

using T = PduType;
namespace flag = pdu_flags;

std::string flag_words(std::uint8_t flags) {
  std::string words;
  const auto word = [&](std::uint8_t bit, const char* text) {
    if ((flags & bit) != 0) words += text;
  };
  word(flag::last_pdu, " LAST_PDU");
  word(flag::success, " SUCCESS");
  word(flag::hdgstf, " HDGSTF");
  word(flag::ddgstf, " DDGSTF");
  return words;
}

}  // namespace

std::string_view name_of(PduType type) {
  const PduShape* shape = shape_of(static_cast<std::uint8_t>(type));
  return shape != nullptr ? shape->name : "reserved";
}

std::string name_of(FatalStatus status, bool by_host) {
  switch (status) {
    case FatalStatus::invalid_header_field:
      return "Invalid PDU Header Field";
    case FatalStatus::sequence_error:
      return "PDU Sequence Error";
    case FatalStatus::header_digest_error:
      return "Header Digest Error";
    case FatalStatus::data_out_of_range:
      return "Data Transfer Out of Range";
    case FatalStatus::limit_exceeded:
      return by_host ? "R2T Limit Exceeded" : "Data Transfer Limit Exceeded";
    case FatalStatus::unsupported_parameter:
      return "Unsupported Parameter";
  }
  return "reserved status " + std::to_string(static_cast<unsigned>(status));
}

std::string describe_pdu(ByteView header) {
  if (header.size() < kCommonHeaderBytes) return "(truncated PDU)";
  const View<CommonHeader> common{header};
  const PduShape* shape = shape_of(header[0]);
  if (shape == nullptr) return "PDU of reserved type " + std::to_string(header[0]);
  std::string text{shape->name};
  if (header.size() >= shape->hlen) {
    switch (shape->type) {
      case T::ic_req: {
        const View<IcReq> made{header};
        text += " pfv=" + std::to_string(made.get(ic_req::pfv)) + " hpda=" + std::to_string(made.get(ic_req::hpda)) +
                " maxr2t=" + std::to_string(made.get(ic_req::maxr2t)) + (made.get(ic_req::hdgst_enable) ? " HDGST" : "") +
                (made.get(ic_req::ddgst_enable) ? " DDGST" : "");
        break;
      }
      case T::ic_resp: {
        const View<IcResp> made{header};
        text += " pfv=" + std::to_string(made.get(ic_resp::pfv)) + " cpda=" + std::to_string(made.get(ic_resp::cpda)) +
                " maxh2cdata=" + std::to_string(made.get(ic_resp::maxh2cdata)) + (made.get(ic_resp::hdgst_enable) ? " HDGST" : "") +
                (made.get(ic_resp::ddgst_enable) ? " DDGST" : "");
        break;
      }
      case T::h2c_term_req:
      case T::c2h_term_req: {
        const View<TermReq> made{header};
        text += " fes=" + std::to_string(static_cast<unsigned>(made.get(term_req::fes))) + " (" +
                name_of(made.get(term_req::fes), shape->to_controller) + ") fei=" + std::to_string(made.get(term_req::fei));
        break;
      }
      case T::h2c_data:
      case T::c2h_data:
      case T::r2t: {
        const View<DataPdu> made{header};
        text += " cccid=" + std::to_string(made.get(data_pdu::cccid));
        if (shape->type != T::c2h_data) text += " ttag=" + std::to_string(made.get(data_pdu::ttag));
        text += " offset=" + std::to_string(made.get(data_pdu::offset)) + " length=" + std::to_string(made.get(data_pdu::length));
        break;
      }
      case T::capsule_cmd:
      case T::capsule_resp:
        break;
    }
  }
  return text + flag_words(common.get(pdu::flags)) + " plen=" + std::to_string(common.get(pdu::plen));
}

}  // namespace fb::tcp
