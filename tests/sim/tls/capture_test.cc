// A capture with the key log of its sessions: tshark decrypts it. (Debian 12's has no way to dissect
// NVMe/TCP inside TLS; it shows the bytes.)
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "sim/capture/pcapng.h"
#include "tests/sim/tls/tls_net.h"

namespace fb::tls {
namespace {

using test::key_of;
using test::TlsNet;

std::string output_of(const std::string& command) {
  std::FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return "no pipe";
  std::string all;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) all.append(part, n);
  EXPECT_EQ(pclose(pipe), 0);
  return all;
}

TEST(TlsCapture, TsharkSeesWhatIsInside) {
  for (const Suite suite : {Suite::aes_128_gcm_sha256, Suite::aes_256_gcm_sha384}) {
    Options server;
    server.psk_dhe_ke = suite == Suite::aes_128_gcm_sha256;
    TlsNet net({}, server);
    net.keys.own = key_of(suite);
    net.keys.known = {*net.keys.own};
    capture::PcapngWriter writer;
    net.world->trace().add_sink(writer);
    ASSERT_NO_FATAL_FAILURE(net.establish());
    Bytes icreq(128), icresp(128);
    icreq[2] = icreq[4] = icresp[2] = icresp[4] = 0x80;
    icresp[0] = 1;
    store_le<std::uint32_t>(&icresp[12], 0x20000);
    net.client.put(icreq);
    net.settle();
    net.server->put(icresp);
    net.settle();
    net.client.stream->finish();
    net.server->stream->finish();
    net.settle();
    net.world->trace().remove_sink(writer);
    char name[] = "/tmp/tls_capture_XXXXXX";
    const std::string folder = mkdtemp(name);
    ASSERT_TRUE(writer.write_file(folder + "/a.pcapng").ok());
    const std::string rows = output_of("LC_ALL=C tshark -n -r '" + folder + "/a.pcapng' -d tcp.port==4420,tls -d tls.port==4420,data " +
                                       "-Y 'data || _ws.malformed || _ws.expert.severity >= 8388608 || tls.alert_message.desc' -T fields " +
                                       "-e data.data -e _ws.malformed -e tls.alert_message.desc");
    EXPECT_EQ(rows, to_hex(icreq) + "\t\t\n" + to_hex(icresp) + "\t\t\n" + "\t\t0\n\t\t0\n")
        << "two messages, two close_notify and nothing that is malformed";
    const std::string text(reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size());
    EXPECT_EQ(text.find(to_hex(net.keys.own->bytes)), std::string::npos) << "the PSK is not in the file";
    EXPECT_EQ(text.find("note"), std::string::npos) << "the key log is no comment";
    std::filesystem::remove_all(folder);
  }
}

}  // namespace
}  // namespace fb::tls
