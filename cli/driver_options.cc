#include "cli/driver_options.h"

#include "base/or_throw.h"
#include "cli/drive/sessions.h"
#include "model/auth/key_text.h"

namespace fb::cli {

namespace {

/// The first line.
std::string token_in(const std::string& path) {
  if (path.empty()) return {};
  const auth::PrivateText text = or_throw(auth::read_private_file(path));
  std::string token(text.view().substr(0, text.view().find_first_of("\r\n")));
  if (token.empty()) throw UserError("--token-file " + path + ": its first line is empty");
  return token;
}

}  // namespace

void add_driver_options(CLI::App& command, DriverArguments& arguments) {
  CLI::Option* const listen =
      command
          .add_option("--listen", arguments.listen, "Serve sessions over TCP at this address instead; on loopback alone without a token")
          ->type_name("ADDRESS:PORT");
  command.add_option("--connect", arguments.connect, "Join a driver that listens there: its machine needs no ssh")
      ->type_name("ADDRESS:PORT")
      ->excludes(listen);
  command.add_option("--token-file", arguments.token_file, "The first line is what who connects has to know; mode 0600")->type_name("FILE");
}

int run_driver(const DriverArguments& arguments, const drive::Serving& serving) {
  const std::string token = token_in(arguments.token_file);
  if (!arguments.connect.empty()) return drive::join_session(arguments.connect, token);
  if (!arguments.listen.empty()) return drive::serve_sessions(arguments.listen, token, serving);
  if (!token.empty()) throw UserError("--token-file is for --listen and --connect");
  return drive::serve(serving);
}

}  // namespace fb::cli
