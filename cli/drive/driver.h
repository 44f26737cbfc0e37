// `fabricbench host drive`: the driver protocol over standard input and output. docs/user-guide.md describes it.
#pragma once

namespace fb::drive {

struct Options {
  bool verbose = false;  ///< standard error is told what is asked of nvme-cli and the kernel
  bool tls = false;      ///< somebody on this machine does TLS handshakes for its kernel (tlshd)
};

/// Serves until the input ends, and ends all associations that it made; the exit code of the program.
int serve(const Options& options);

}  // namespace fb::drive
