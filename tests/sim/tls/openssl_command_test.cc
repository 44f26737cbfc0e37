// Real sockets, and at the other end the openssl command: somebody else's use of TLS 1.3 with a PSK.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "sim/net/tcp_socket.h"
#include "sim/net/udp_socket.h"
#include "tests/sim/tls/tls_net.h"

namespace fb::tls {
namespace {

using namespace literals;
using test::key_of;

const Endpoint kAnyPort{IpAddress::v4(127, 0, 0, 1), 0};

/// A program with its standard input and output in our hands.
class Program {
 public:
  explicit Program(std::vector<std::string> words) {
    std::array<int, 2> in = {}, out = {};
    EXPECT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const int null = open("/dev/null", O_WRONLY);
      dup2(in[0], 0);
      dup2(out[1], 1);
      dup2(null, 2);
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = out[0];
    fcntl(out_, F_SETFL, O_NONBLOCK);
    fcntl(in_, F_SETFL, O_NONBLOCK);
  }
  ~Program() {
    end_input();
    ::close(out_);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  void say(std::string text) { unsaid_ += std::move(text); }
  void end_input() {
    if (in_ >= 0) ::close(std::exchange(in_, -1));
  }
  /// What it has printed up to now; says more when it listens.
  const std::string& heard() {
    if (!unsaid_.empty() && in_ >= 0) {
      const ssize_t n = write(in_, unsaid_.data(), unsaid_.size());
      if (n > 0) unsaid_.erase(0, static_cast<std::size_t>(n));
    }
    char part[4096];
    for (ssize_t n = 0; (n = read(out_, part, sizeof part)) > 0;) heard_.append(part, static_cast<std::size_t>(n));
    return heard_;
  }

 private:
  pid_t pid_ = 0;
  int in_ = -1, out_ = -1;
  std::string unsaid_, heard_;
};

std::string text_of(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }
Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

struct Real {
  explicit Real(const Options& options = {}) : world(World::make_real(1)), host(*world), tls(*world, host, keys, options) {
    keys.own = key_of(Suite::aes_128_gcm_sha256);
    keys.known = {*keys.own};
    tls.on_refused([this](const Endpoint&, const std::string& why) { refused = why; });
  }
  template <class Done>
  bool until(Done&& done) {
    const Instant end = world->now() + Duration::s(10);
    while (!done()) {
      if (world->now() > end) return false;
      world->run_for(2_ms);
    }
    return true;
  }
  void listen() { listener = std::move(tls.listen(kAnyPort, inbox)).value(); }
  std::vector<std::string> s_client(std::vector<std::string> more, const std::string& hex = to_hex(Bytes(32, 7)), bool psk = true) const {
    std::vector<std::string> words{"openssl", "s_client", "-quiet", "-connect", to_string(listener->local())};
    if (psk) words.insert(words.end(), {"-psk", hex, "-psk_identity", "NVMe0R01 host subsystem"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string refusal_of(std::vector<std::string> command) {
    Program program(std::move(command));
    EXPECT_TRUE(until([&] { return !refused.empty() || inbox.accepted > 0; }));
    return std::exchange(refused, {}).substr(0);
  }

  std::unique_ptr<World> world;
  net::RealHost host;
  test::KeyRing keys;
  TlsStreamHost tls;
  net::test::StreamInbox inbox;
  std::unique_ptr<net::StreamListener> listener;
  net::test::StreamUser client;
  std::string refused;
};

TEST(OpensslCommand, ItsClientSpeaksToOurServer) {
  for (const bool psk_alone : {false, true}) {
    Options options;
    options.psk_dhe_ke = !psk_alone;
    Real real(options);
    real.listen();
    std::vector<std::string> more{"-tls1_3"};
    if (psk_alone) more.emplace_back("-allow_no_dhe_kex");
    Program program(real.s_client(more));
    program.say("hello\n");
    ASSERT_TRUE(real.until([&] { return program.heard(), !real.inbox.ends.empty(); })) << real.refused;
    net::test::StreamUser& server = *real.inbox.ends[0];
    ASSERT_TRUE(real.until([&] { return program.heard(), text_of(server.got) == "hello\n"; }));
    EXPECT_EQ(session_of(*server.stream)->group.empty(), psk_alone);
    const std::string much(300'000, 'x');
    server.queue(bytes_of(much + "\n"));
    ASSERT_TRUE(real.until([&] { return program.heard().size() == much.size() + 1; }));
    program.say(std::string(200'000, 'y') + "\n");
    ASSERT_TRUE(real.until([&] { return program.heard(), server.got.size() == 200'007; }));
    server.stream->finish();
    ASSERT_TRUE(real.until([&] { return server.stream->finished() || server.ends == 1; })) << "it ends when we have finished";
  }
}

TEST(OpensslCommand, OurClientSpeaksToItsServer) {
  Real real;
  real.listen();  // for a port that is free
  const Endpoint to = real.listener->local();
  real.listener.reset();
  Program program({"openssl", "s_server", "-quiet", "-accept", to_string(to), "-tls1_3", "-nocert", "-naccept", "1", "-psk",
                   to_hex(Bytes(32, 7)), "-psk_identity", "NVMe0R01 host subsystem", "-groups", "secp384r1"});
  std::vector<std::unique_ptr<net::test::StreamUser>> tries;
  ASSERT_TRUE(real.until([&] {
    if (tries.empty() || tries.back()->end) {
      tries.push_back(std::make_unique<net::test::StreamUser>());
      EXPECT_TRUE(tries.back()->open(real.tls, kAnyPort, to));
    }
    return tries.back()->connected;
  })) << tries.back()->end->text;
  net::test::StreamUser& client = *tries.back();
  EXPECT_EQ(session_of(*client.stream)->group, "secp384r1");
  client.queue(bytes_of("hello from us\n"));
  ASSERT_TRUE(real.until([&] { return program.heard() == "hello from us\n"; }));
  program.say("and back\n");
  ASSERT_TRUE(real.until([&] { return program.heard(), text_of(client.got) == "and back\n"; }));
}

TEST(OpensslCommand, OurServerRefusesItsClient) {
  Real real;
  real.listen();
  EXPECT_NE(real.refusal_of(real.s_client({"-tls1_3"}, to_hex(Bytes(32, 8)))).find("binder does not verify"), std::string::npos);
  EXPECT_NE(real.refusal_of(real.s_client({"-tls1_2"})).find("the client does not offer TLS 1.3; sent alert 70"), std::string::npos);
  EXPECT_NE(real.refusal_of(real.s_client({"-tls1_3"}, "", false)).find("the client offers no pre-shared key; sent alert 40"),
            std::string::npos);
  EXPECT_NE(real.refusal_of(real.s_client({"-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384"})).find("failed"), std::string::npos);
  EXPECT_EQ(real.inbox.accepted, 0);
}

TEST(OpensslCommand, OurClientRefusesAServerWithACertificate) {
  Real real;
  real.listen();
  const Endpoint to = real.listener->local();
  real.listener.reset();
  char name[] = "/tmp/tls_certificate_XXXXXX";
  const std::string folder = mkdtemp(name);
  const std::string make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -days 2 -keyout " + folder +
                           "/k.pem -out " + folder + "/c.pem 2>/dev/null";
  ASSERT_EQ(std::system(make.c_str()), 0);
  Program program(
      {"openssl", "s_server", "-quiet", "-accept", to_string(to), "-tls1_3", "-cert", folder + "/c.pem", "-key", folder + "/k.pem"});
  std::string why;
  EXPECT_TRUE(real.until([&] {
    if (real.client.stream == nullptr || real.client.end) {
      if (real.client.end && real.client.end->kind == net::StreamEnd::Kind::failed) return true;
      real.client.end.reset();
      EXPECT_TRUE(real.client.open(real.tls, kAnyPort, to));
    }
    return real.client.connected;
  }));
  EXPECT_FALSE(real.client.connected);
  EXPECT_TRUE(real.client.end.has_value());
  std::system(("rm -r " + folder).c_str());
}

}  // namespace
}  // namespace fb::tls
