// The arguments of the programs, and the frame around each.
#include <cwchar>

#include "common.h"

namespace {

struct Option {
  char letter;
  const wchar_t* text;
  // What follows it, or null.
  const char* value;
  const char* meaning;
};

const Option kOptions[] = {
    {'s', L"-s", "ADDRESS[:PORT]", "be the server there"},
    {'c', L"-c", "ADDRESS[:PORT]", "be the client of the server there"},
    {'A', nullptr, "[ADDRESS]", "the adapter; without it, the first there is"},
    {'b', L"-b", nullptr, "block until something completes"},
    {'p', L"-p", nullptr, "poll for completions (as without -b)"},
    {'n', L"-n", "SGES", "pieces of a message (1)"},
    {'q', L"-q", "Fault pointH", "requests at once (64)"},
    {'t', L"-t", "THREADS", "threads (2)"},
    {'C', L"--count", "N", "client: how often; server: clients to serve (1)"},
    {'G', L"--largest", "BYTES", "no message above this (4194304)"},
    {'L', L"--local", "ADDRESS", "client: the address to connect from"},
    {'T', L"--timeout", "SECONDS", "how long to wait for the other side (10)"},
};

bool takes(const Program& program, char letter) { return std::string(program.takes).find(letter) != std::string::npos; }

const Option* find(const Program& program, const wchar_t* text) {
  for (const Option& option : kOptions) {
    if (option.text != nullptr && wcscmp(option.text, text) == 0 && takes(program, option.letter)) return &option;
  }
  return nullptr;
}

std::string narrow(const wchar_t* text) {
  std::string out;
  for (; *text != 0; ++text) out += *text >= L' ' && *text < 0x7F ? static_cast<char>(*text) : '?';
  return out;
}

void print_usage(const Program& program) {
  printf("%s: %s\n\n", program.name, program.purpose);
  for (const Option& option : kOptions) {
    if (!takes(program, option.letter)) continue;
    const std::string left = (option.text == nullptr ? "" : narrow(option.text) + " ") + (option.value == nullptr ? "" : option.value);
    printf("  %-20s %s\n", left.c_str(), option.meaning);
  }
  printf("\nExit code: 0 done, 1 a call failed, 2 wrong arguments.\n");
  if (program.port != 0) printf("Port: %u unless said.\n", program.port);
}

struct WrongUse {
  std::string why;
};

Address parse_address(const wchar_t* text, USHORT port) {
  for (const int family : {AF_INET, AF_INET6}) {
    Address address;
    std::wstring copy = text;
    INT length = INT{sizeof(address.storage)};
    if (WSAStringToAddressW(copy.data(), family, nullptr, reinterpret_cast<LPSOCKADDR>(&address.storage), &length) != 0) continue;
    address.length = static_cast<ULONG>(length);
    const auto* const v4 = reinterpret_cast<const SOCKADDR_IN*>(&address.storage);
    const auto* const v6 = reinterpret_cast<const SOCKADDR_IN6*>(&address.storage);
    if ((family == AF_INET ? v4->sin_port : v6->sin6_port) == 0) address.set_port(port);
    return address;
  }
  throw WrongUse{"not an address: " + narrow(text)};
}

ULONG parse_number(const wchar_t* text, ULONG least, ULONG most, const wchar_t* option) {
  wchar_t* end = nullptr;
  const unsigned long long number = wcstoull(text, &end, 10);
  const bool digits = text[0] >= L'0' && text[0] <= L'9' && *end == 0;
  if (!digits || number < least || number > most) {
    throw WrongUse{narrow(option) + " takes a number from " + std::to_string(least) + " to " + std::to_string(most)};
  }
  return static_cast<ULONG>(number);
}

void take(Options& options, const Program& program, const Option& option, const wchar_t* value) {
  switch (option.letter) {
    case 's':
    case 'c':
      if (options.address.length != 0) throw WrongUse{"either -s or -c, and once"};
      options.server = option.letter == 's';
      options.address = parse_address(value, program.port);
      return;
    case 'b':
      options.blocking = true;
      return;
    case 'p':
      options.blocking = false;
      return;
    case 'n':
      options.sges = parse_number(value, 1, 256, option.text);
      return;
    case 'q':
      options.depth = parse_number(value, 1, 65536, option.text);
      return;
    case 't':
      options.threads = parse_number(value, 1, 64, option.text);
      return;
    case 'C':
      options.count = parse_number(value, 1, 1'000'000'000, option.text);
      return;
    case 'G':
      options.largest = parse_number(value, 1, 64 << 20, option.text);
      return;
    case 'L':
      options.local = parse_address(value, 0);
      return;
    case 'T':
      options.patience_ms = 1000 * parse_number(value, 1, 86400, option.text);
      return;
    default:
      return;
  }
}

Options parse(const Program& program, int argc, _TCHAR* argv[]) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const Option* const option = find(program, argv[i]);
    if (option == nullptr) {
      if (argv[i][0] == L'-' || !takes(program, 'A')) throw WrongUse{"no such option: " + narrow(argv[i])};
      if (options.address.length != 0) throw WrongUse{"one address is enough"};
      options.address = parse_address(argv[i], 0);
      continue;
    }
    if (option->value == nullptr) {
      take(options, program, *option, nullptr);
    } else if (i + 1 == argc) {
      throw WrongUse{narrow(argv[i]) + " needs " + option->value};
    } else {
      take(options, program, *option, argv[++i]);
    }
  }
  if (options.address.length == 0 && takes(program, 's')) throw WrongUse{"say -s ADDRESS or -c ADDRESS"};
  if (options.server && options.local.length != 0) throw WrongUse{"--local is for clients"};
  return options;
}

// Both count, and both end whatever happens in between.
class Started {
 public:
  Started() { check(NdStartup(), "NdStartup"); }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  ~Started() { NdCleanup(); }
};

int run_with(const Program& program, int argc, _TCHAR* argv[]) {
  try {
    const Options options = parse(program, argc, argv);
    const Started started;
    program.run(options);
    return 0;
  } catch (const WrongUse& wrong) {
    fprintf(stderr, "%s: %s (--help tells more)\n", program.name, wrong.why.c_str());
    return 2;
  } catch (const Failure& failure) {
    fflush(stdout);
    fprintf(stderr, "%s: %s: %s%s%s\n", program.name, failure.call.c_str(), status_name(failure.status), failure.why.empty() ? "" : ", ",
            failure.why.c_str());
    return 1;
  }
}

}  // namespace

int run_program(const Program& program, int argc, _TCHAR* argv[]) {
  for (int i = 1; i < argc; ++i) {
    if (wcscmp(argv[i], L"--help") == 0 || wcscmp(argv[i], L"-h") == 0) {
      print_usage(program);
      return 0;
    }
  }
  WSADATA data;
  const int error = WSAStartup(MAKEWORD(2, 2), &data);
  if (error != 0) {
    fprintf(stderr, "%s: WSAStartup: Windows error %d\n", program.name, error);
    return 1;
  }
  const int code = run_with(program, argc, argv);
  WSACleanup();
  return code;
}
