-- MCTP, its control protocol and the frame of NVMe-MI for Wireshark and tshark before 4.2, which know none of
-- them. Later ones have dissectors of their own, and this file steps back.
--
--   tshark -X lua_script:mctp.lua -r capture.pcapng

local asked, known = pcall(Dissector.get, "mctp")
if asked and known ~= nil then return end

local mctp = Proto("mctp", "Management Component Transport Protocol")
local control = Proto("mctp_control", "MCTP Control Protocol")
local mi = Proto("nvme_mi", "NVM Express Management Interface")

local types = {
  [0x00] = "MCTP control", [0x01] = "PLDM", [0x02] = "NC-SI", [0x03] = "Ethernet", [0x04] = "NVMe-MI",
  [0x05] = "SPDM", [0x06] = "Secured", [0x7E] = "Vendor (PCI)", [0x7F] = "Vendor (IANA)",
}
local commands = {
  [0x01] = "Set Endpoint ID", [0x02] = "Get Endpoint ID", [0x03] = "Get Endpoint UUID",
  [0x04] = "Get MCTP Version Support", [0x05] = "Get Message Type Support",
  [0x06] = "Get Vendor Defined Message Support", [0x07] = "Resolve Endpoint ID",
  [0x08] = "Allocate Endpoint IDs", [0x09] = "Routing Information Update",
  [0x0A] = "Get Routing Table Entries", [0x0B] = "Prepare for Endpoint Discovery",
  [0x0C] = "Endpoint Discovery", [0x0D] = "Discovery Notify", [0x0E] = "Get Network ID",
  [0x0F] = "Query Hop", [0x10] = "Resolve UUID", [0x11] = "Query Rate Limit",
  [0x12] = "Request TX Rate Limit", [0x13] = "Update Rate Limit", [0x14] = "Query Supported Interfaces",
}
local codes = {
  [0] = "Success", [1] = "Error", [2] = "Invalid data", [3] = "Invalid length", [4] = "Not ready",
  [5] = "Unsupported command", [0x80] = "Command specific",
}
local kinds = {
  [0] = "Control primitive", [1] = "NVMe-MI command", [2] = "NVMe Admin command", [4] = "PCIe command",
  [5] = "Asynchronous event",
}

local f = {
  version = ProtoField.uint8("mctp.version", "Header version", base.DEC, nil, 0x0F),
  dst = ProtoField.uint8("mctp.dst", "Destination EID"),
  src = ProtoField.uint8("mctp.src", "Source EID"),
  som = ProtoField.bool("mctp.flags.som", "Start of message", 8, nil, 0x80),
  eom = ProtoField.bool("mctp.flags.eom", "End of message", 8, nil, 0x40),
  seq = ProtoField.uint8("mctp.seq", "Packet sequence", base.DEC, nil, 0x30),
  to = ProtoField.bool("mctp.tag.to", "Tag owner", 8, nil, 0x08),
  tag = ProtoField.uint8("mctp.tag", "Message tag", base.DEC, nil, 0x07),
  ic = ProtoField.bool("mctp.msg.ic", "Integrity check", 8, nil, 0x80),
  type = ProtoField.uint8("mctp.msg.type", "Message type", base.HEX, types, 0x7F),
  size = ProtoField.uint32("mctp.msg.size", "Message size"),
}
mctp.fields = { f.version, f.dst, f.src, f.som, f.eom, f.seq, f.to, f.tag, f.ic, f.type, f.size }
local short = ProtoExpert.new("mctp.short", "Packet cut short", expert.group.MALFORMED, expert.severity.ERROR)
local broken = ProtoExpert.new("mctp.sequence", "Not a part of a message", expert.group.SEQUENCE,
                               expert.severity.WARN)
mctp.experts = { short, broken }

local c = {
  rq = ProtoField.bool("mctp_control.rq", "Request", 8, nil, 0x80),
  d = ProtoField.bool("mctp_control.d", "Datagram", 8, nil, 0x40),
  instance = ProtoField.uint8("mctp_control.instance", "Instance ID", base.DEC, nil, 0x1F),
  command = ProtoField.uint8("mctp_control.command", "Command", base.HEX, commands),
  code = ProtoField.uint8("mctp_control.cc", "Completion code", base.HEX, codes),
  data = ProtoField.bytes("mctp_control.data", "Data"),
}
control.fields = { c.rq, c.d, c.instance, c.command, c.code, c.data }
local control_short = ProtoExpert.new("mctp_control.short", "Message cut short", expert.group.MALFORMED,
                                      expert.severity.ERROR)
control.experts = { control_short }

local m = {
  ror = ProtoField.bool("nvme_mi.ror", "Response", 8, nil, 0x80),
  kind = ProtoField.uint8("nvme_mi.nmimt", "Message kind", base.HEX, kinds, 0x78),
  csi = ProtoField.uint8("nvme_mi.csi", "Command slot", base.DEC, nil, 0x01),
  opcode = ProtoField.uint8("nvme_mi.opcode", "Opcode", base.HEX),
  status = ProtoField.uint8("nvme_mi.status", "Status", base.HEX),
  mic = ProtoField.uint32("nvme_mi.mic", "Message integrity check", base.HEX),
}
mi.fields = { m.ror, m.kind, m.csi, m.opcode, m.status, m.mic }
local mi_short = ProtoExpert.new("nvme_mi.short", "Message cut short", expert.group.MALFORMED,
                                 expert.severity.ERROR)
mi.experts = { mi_short }

local function dissect_control(buffer, pinfo, tree)
  pinfo.cols.protocol = "MCTP control"
  local item = tree:add(control, buffer())
  if buffer:len() < 3 then item:add_proto_expert_info(control_short) return end
  local request = bit.band(buffer(1, 1):uint(), 0x80) ~= 0
  item:add(c.rq, buffer(1, 1))
  item:add(c.d, buffer(1, 1))
  item:add(c.instance, buffer(1, 1))
  item:add(c.command, buffer(2, 1))
  local name = commands[buffer(2, 1):uint()] or "Unknown command"
  local at = 3
  if not request then
    if buffer:len() < 4 then item:add_proto_expert_info(control_short) return end
    item:add(c.code, buffer(3, 1))
    at = 4
  end
  if buffer:len() > at then item:add(c.data, buffer(at)) end
  pinfo.cols.info = name .. (request and " request" or " response")
end

local function dissect_mi(buffer, pinfo, tree)
  pinfo.cols.protocol = "NVMe-MI"
  local item = tree:add(mi, buffer())
  if buffer:len() < 9 then item:add_proto_expert_info(mi_short) return end
  local response = bit.band(buffer(1, 1):uint(), 0x80) ~= 0
  item:add(m.ror, buffer(1, 1))
  item:add(m.kind, buffer(1, 1))
  item:add(m.csi, buffer(1, 1))
  item:add(response and m.status or m.opcode, buffer(4, 1))
  item:add_le(m.mic, buffer(buffer:len() - 4, 4))
  local kind = kinds[bit.rshift(bit.band(buffer(1, 1):uint(), 0x78), 3)] or "NVMe-MI"
  pinfo.cols.info = kind .. (response and " response" or " request")
end

-- Messages are put together on the first pass over the file and kept by the number of their last frame.
local open, whole, lost = {}, {}, {}
function mctp.init() open, whole, lost = {}, {}, {} end

local function assemble(pinfo, key, flags, payload)
  local som, eom = bit.band(flags, 0x80) ~= 0, bit.band(flags, 0x40) ~= 0
  local seq = bit.rshift(bit.band(flags, 0x30), 4)
  local message = open[key]
  if som then
    message = { bytes = ByteArray.new(), seq = seq }
    open[key] = message
  elseif message == nil or message.seq ~= seq then
    lost[pinfo.number] = true
    open[key] = nil
    return
  end
  message.bytes:append(payload)
  message.seq = (seq + 1) % 4
  if eom then
    whole[pinfo.number] = message.bytes
    open[key] = nil
  end
end

function mctp.dissector(buffer, pinfo, tree)
  pinfo.cols.protocol = "MCTP"
  local item = tree:add(mctp, buffer(0, math.min(4, buffer:len())))
  if buffer:len() < 5 then item:add_proto_expert_info(short) return buffer:len() end
  item:add(f.version, buffer(0, 1))
  item:add(f.dst, buffer(1, 1))
  item:add(f.src, buffer(2, 1))
  local flags = buffer(3, 1):uint()
  for _, field in ipairs({ f.som, f.eom, f.seq, f.to, f.tag }) do item:add(field, buffer(3, 1)) end
  pinfo.cols.info = string.format("EID %d to %d", buffer(2, 1):uint(), buffer(1, 1):uint())
  if not pinfo.visited then
    local key = string.format("%s %d %d %d", tostring(pinfo.dl_src), buffer(1, 1):uint(),
                              buffer(2, 1):uint(), bit.band(flags, 0x0F))
    assemble(pinfo, key, flags, buffer(4):bytes())
  end
  if lost[pinfo.number] then item:add_proto_expert_info(broken) end
  local bytes = whole[pinfo.number]
  if bytes == nil then return buffer:len() end
  local single = bit.band(flags, 0xC0) == 0xC0
  local message = single and buffer(4):tvb() or bytes:tvb("MCTP message")
  item:add(f.ic, message(0, 1))
  item:add(f.type, message(0, 1))
  item:add(f.size, message:len()):set_generated()
  local kind = bit.band(message(0, 1):uint(), 0x7F)
  if kind == 0 then dissect_control(message, pinfo, tree) end
  if kind == 4 then dissect_mi(message, pinfo, tree) end
  return buffer:len()
end

DissectorTable.get("sll.ltype"):add(0x00FA, mctp)
