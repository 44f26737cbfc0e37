// The preload library: gives a program that knows nothing of us AF_MCTP sockets on our bus. A socket of that
// family is a connection to the bus (sim/mctp/socket_frame.h), so that waiting, duplicating, inheriting and
// closing it are the kernel's business; what is said over it goes through here.
//
// In the same way a program that opens /dev/i2c-N gets a connection to an adapter (sim/mctp/i2c_frame.h).
//
// Whether a descriptor is ours is asked of the kernel (where is it connected?), since descriptors come in by
// fork and exec as well; a small table remembers those that are not.
#include <linux/i2c-dev.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cstdarg>

#include "cli/preload/adapter.h"
#include "cli/preload/client.h"
#include "sim/mctp/socket_frame.h"
#include "wire/mctp/kernel.h"

namespace {

namespace kernel = fb::mctp::kernel;
using namespace fb::preload;
namespace address = kernel::address;
namespace address_ext = kernel::address_ext;
using fb::mctp::SocketCall;
using fb::mctp::SocketFrame;

/// Fills a frame from a kernel address, and says in it (an errno) where that is malformed.
void read_address(const void* from, socklen_t size, SocketFrame& frame) {
  if (size < kernel::Address::size) {
    frame.value = EINVAL;
    return;
  }
  std::array<std::uint8_t, kernel::AddressExt::size> bytes = {};
  std::memcpy(bytes.data(), from, std::min<std::size_t>(size, bytes.size()));
  const fb::View<kernel::AddressExt> given{bytes};
  frame.network = given.get(address::network);
  frame.eid = given.get(address::eid);
  frame.type = given.get(address::type);
  frame.tag = given.get(address::tag);
  frame.eid_given = 1;
  if (given.get(address::family) != kernel::kFamily) {
    frame.value = EAFNOSUPPORT;
  } else if (bytes[2] != 0 || bytes[3] != 0 || bytes[11] != 0) {
    frame.value = EINVAL;
  }
  // Errors of the address itself come first, whoever asked for the extension.
  if (size < kernel::AddressExt::size || frame.value != 0) return;
  frame.address_given = 1;
  frame.interface = given.get(address_ext::interface);
  frame.address_size = given.get(address_ext::hardware_size);
  std::memcpy(frame.address.data(), given.get(address_ext::hardware).data(), frame.address.size());
  if (bytes[17] != 0 || bytes[18] != 0 || bytes[19] != 0) frame.value = EINVAL;
}

/// Writes as much of the address as there is room for; the size that it has.
socklen_t write_address(const SocketFrame& frame, void* to, socklen_t room) {
  fb::Record<kernel::AddressExt> made;
  made.set(address::family, std::uint16_t{kernel::kFamily})
      .set(address::network, frame.network)
      .set(address::eid, frame.eid)
      .set(address::type, frame.type)
      .set(address::tag, frame.tag)
      .set(address_ext::interface, frame.interface)
      .set(address_ext::hardware_size, frame.address_size)
      .set(address_ext::hardware, fb::ByteView(frame.address));
  const std::size_t whole = frame.address_given != 0 ? kernel::AddressExt::size : kernel::Address::size;
  const auto size = static_cast<socklen_t>(whole);
  std::memcpy(to, made.bytes().data(), std::min(size, room));
  return size;
}

// ---- messages ----

bool is_named(const msghdr& message) { return message.msg_name != nullptr && message.msg_namelen > 0; }

/// `named`: there is an address, which of sendto() alone may be one of no bytes.
ssize_t send_message(int fd, const msghdr& message, bool named) {
  SocketFrame frame;
  frame.call = SocketCall::send;
  if (named) {
    read_address(message.msg_name, message.msg_namelen, frame);
    frame.eid_given = 1;
  }
  std::size_t size = 0;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) size += message.msg_iov[i].iov_len;
  if (size > fb::mctp::kSocketPayloadMax) return failed(EMSGSIZE);
  const SocketFrame answer = ask(fd, frame, message.msg_iov, message.msg_iovlen);
  return answer.error == 0 ? static_cast<ssize_t>(size) : failed(answer.error);
}

ssize_t receive_message(int fd, msghdr& message, int flags) {
  constexpr std::size_t kPartsMax = 64;
  if (message.msg_iovlen > kPartsMax) return failed(EMSGSIZE);
  if ((flags & ~(MSG_DONTWAIT | MSG_TRUNC | MSG_PEEK)) != 0) return failed(EOPNOTSUPP);
  SocketFrame frame;
  iovec all[kPartsMax + 1];
  all[0] = {&frame, sizeof frame};
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) all[i + 1] = message.msg_iov[i];
  msghdr inner = {};
  inner.msg_iov = all;
  inner.msg_iovlen = message.msg_iovlen + 1;
  const ssize_t got = NEXT(recvmsg)(fd, &inner, flags);
  if (got < 0) return got;
  message.msg_controllen = 0;
  message.msg_flags = inner.msg_flags;
  if (got == 0) return failed(ENETDOWN);  // the bus has gone; a datagram socket knows no end
  if (got < static_cast<ssize_t>(sizeof frame)) return failed(EIO);
  if (message.msg_name != nullptr) {
    message.msg_namelen = write_address(frame, message.msg_name, message.msg_namelen);
  }
  return got - static_cast<ssize_t>(sizeof frame);
}

ssize_t receive_into(int fd, void* to, std::size_t size, int flags, void* name, socklen_t* name_size) {
  iovec part = {to, size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (name != nullptr && name_size != nullptr) {
    message.msg_name = name;
    message.msg_namelen = *name_size;
  }
  const ssize_t got = receive_message(fd, message, flags);
  if (got >= 0 && message.msg_name != nullptr) *name_size = message.msg_namelen;
  return got;
}

ssize_t send_from(int fd, const void* from, std::size_t size, const void* name, socklen_t name_size) {
  iovec part = {const_cast<void*>(from), size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_name = const_cast<void*>(name);
  message.msg_namelen = name_size;
  return send_message(fd, message, name != nullptr);
}

/// The tag calls of either form; `network` is what the block says, or for the older form what stands for it.
template <class Control, auto Peer, auto Flags, auto Tag>
int tag_call(int fd, SocketCall call, void* argument, std::uint32_t network) {
  fb::MutableView<Control> control{fb::MutableBytes(static_cast<std::uint8_t*>(argument), Control::size)};
  if (control.get(Flags) != 0) return failed(EINVAL);
  SocketFrame frame;
  frame.call = call;
  frame.network = network;
  frame.eid = control.get(Peer);
  frame.tag = control.get(Tag);
  const SocketFrame answer = ask(fd, frame);
  if (answer.error == 0 && call == SocketCall::allocate_tag) control.set(Tag, answer.tag);
  return result_of(answer);
}

int tag_call(int fd, unsigned long request, void* argument) {
  namespace one = kernel::tag_control;
  namespace two = kernel::tag_control2;
  const bool allocates = request == kernel::kAllocTag || request == kernel::kAllocTag2;
  const SocketCall call = allocates ? SocketCall::allocate_tag : SocketCall::release_tag;
  if (request == kernel::kAllocTag || request == kernel::kDropTag) {
    return tag_call<kernel::TagControl, one::peer, one::flags, one::tag>(fd, call, argument, kernel::kNetworkInitial);
  }
  const fb::View<kernel::TagControl2> control{fb::ByteView(static_cast<const std::uint8_t*>(argument), kernel::TagControl2::size)};
  // A tag belongs to whatever address of ours the route has.
  const std::uint8_t local = control.get(two::local);
  if (local != kernel::kAddressAny && local != kernel::kAddressNull) return failed(EINVAL);
  return tag_call<kernel::TagControl2, two::peer, two::flags, two::tag>(fd, call, argument, control.get(two::network));
}

/// The size of the datagram that comes next, without the type; 0 where there is none.
int waiting_bytes(int fd) {
  const long size = syscall(SYS_recvfrom, fd, nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT, nullptr, nullptr);
  return size < static_cast<long>(sizeof(SocketFrame)) ? 0 : static_cast<int>(size - static_cast<long>(sizeof(SocketFrame)));
}

int open_socket(int type) {
  constexpr int kFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;
  if ((type & ~kFlags) != SOCK_DGRAM) return failed(ESOCKTNOSUPPORT);
  // No bus: as on a kernel without MCTP.
  return connected(bus(), (type & SOCK_CLOEXEC) != 0, (type & SOCK_NONBLOCK) != 0, EAFNOSUPPORT);
}

/// What datagram sockets of this family do not have.
int unsupported() { return failed(EOPNOTSUPP); }

}  // namespace

// ---- what programs call ----

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  if (domain == kernel::kFamily && bus() != nullptr) {
    return protocol == 0 ? open_socket(type) : failed(EPROTONOSUPPORT);
  }
  const int fd = NEXT(socket)(domain, type, protocol);
  forget(fd);
  return fd;
}

// Whoever opens a file: an adapter of ours, or whatever is there. The mode is there with flags that make a file.
#define OPENS(name, declared, ...)                                                            \
  int name declared {                                                                         \
    if (const int number = adapter_of(path); number >= 0) return open_adapter(number, flags); \
    va_list list;                                                                             \
    va_start(list, flags);                                                                    \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;      \
    va_end(list);                                                                             \
    const int fd = NEXT(name)(__VA_ARGS__, mode);                                             \
    forget(fd);                                                                               \
    return fd;                                                                                \
  }
OPENS(open, (const char* path, int flags, ...), path, flags)
OPENS(open64, (const char* path, int flags, ...), path, flags)
OPENS(openat, (int folder, const char* path, int flags, ...), folder, path, flags)
OPENS(openat64, (int folder, const char* path, int flags, ...), folder, path, flags)
#undef OPENS
int __open_2(const char* path, int flags) { return open(path, flags); }
int __open64_2(const char* path, int flags) { return open64(path, flags); }
int __openat_2(int folder, const char* path, int flags) { return openat(folder, path, flags); }
int __openat64_2(int folder, const char* path, int flags) { return openat64(folder, path, flags); }

int close(int fd) {
  forget(fd);
  return NEXT(close)(fd);
}

int dup(int fd) noexcept {
  const int made = NEXT(dup)(fd);
  forget(made);
  return made;
}

int dup2(int fd, int to) noexcept {
  forget(to);
  return NEXT(dup2)(fd, to);
}

int dup3(int fd, int to, int flags) noexcept {
  forget(to);
  return NEXT(dup3)(fd, to, flags);
}

int bind(int fd, const sockaddr* address, socklen_t size) noexcept {
  if (!ours(fd)) return NEXT(bind)(fd, address, size);
  SocketFrame frame;
  frame.call = SocketCall::bind;
  read_address(address, std::min<socklen_t>(size, kernel::Address::size), frame);
  return result_of(ask(fd, frame));
}

int connect(int fd, const sockaddr* address, socklen_t size) {
  if (!ours(fd)) {
    forget(fd);
    return NEXT(connect)(fd, address, size);
  }
  SocketFrame frame;
  frame.call = SocketCall::connect;
  read_address(address, std::min<socklen_t>(size, kernel::Address::size), frame);
  if (size != kernel::Address::size) frame.value = EINVAL;
  return result_of(ask(fd, frame));
}

int getsockname(int fd, sockaddr* address, socklen_t* size) noexcept {
  return ours(fd) ? unsupported() : NEXT(getsockname)(fd, address, size);
}
int getpeername(int fd, sockaddr* address, socklen_t* size) noexcept {
  return ours(fd) ? unsupported() : NEXT(getpeername)(fd, address, size);
}
int shutdown(int fd, int how) noexcept { return ours(fd) ? unsupported() : NEXT(shutdown)(fd, how); }
int listen(int fd, int backlog) noexcept { return ours(fd) ? unsupported() : NEXT(listen)(fd, backlog); }
int accept(int fd, sockaddr* address, socklen_t* size) {
  if (ours(fd)) return unsupported();
  const int made = NEXT(accept)(fd, address, size);
  forget(made);
  return made;
}
int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  if (ours(fd)) return unsupported();
  const int made = NEXT(accept4)(fd, address, size, flags);
  forget(made);
  return made;
}
int socketpair(int domain, int type, int protocol, int ends[2]) noexcept {
  if (domain == kernel::kFamily && bus() != nullptr) return unsupported();
  const int result = NEXT(socketpair)(domain, type, protocol, ends);
  if (result == 0) {
    forget(ends[0]);
    forget(ends[1]);
  }
  return result;
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return ours(fd) ? send_message(fd, *message, is_named(*message)) : NEXT(sendmsg)(fd, message, flags);
}

ssize_t sendto(int fd, const void* from, size_t size, int flags, const sockaddr* to, socklen_t to_size) {
  if (!ours(fd)) return NEXT(sendto)(fd, from, size, flags, to, to_size);
  return send_from(fd, from, size, to, to_size);
}

ssize_t send(int fd, const void* from, size_t size, int flags) {
  return ours(fd) ? send_from(fd, from, size, nullptr, 0) : NEXT(send)(fd, from, size, flags);
}

ssize_t write(int fd, const void* from, size_t size) {
  if (is_adapter(fd)) return write_adapter(fd, from, size);
  return ours(fd) ? send_from(fd, from, size, nullptr, 0) : NEXT(write)(fd, from, size);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  if (!ours(fd)) return NEXT(writev)(fd, parts, count);
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<size_t>(count);
  return send_message(fd, message, false);
}

int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  if (!ours(fd)) return NEXT(sendmmsg)(fd, messages, count, flags);
  for (unsigned i = 0; i < count; ++i) {
    const ssize_t sent = send_message(fd, messages[i].msg_hdr, is_named(messages[i].msg_hdr));
    if (sent < 0) return i > 0 ? static_cast<int>(i) : -1;
    messages[i].msg_len = static_cast<unsigned>(sent);
  }
  return static_cast<int>(count);
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return ours(fd) ? receive_message(fd, *message, flags) : NEXT(recvmsg)(fd, message, flags);
}

ssize_t recvfrom(int fd, void* to, size_t size, int flags, sockaddr* name, socklen_t* name_size) {
  if (!ours(fd)) return NEXT(recvfrom)(fd, to, size, flags, name, name_size);
  return receive_into(fd, to, size, flags, name, name_size);
}

ssize_t recv(int fd, void* to, size_t size, int flags) {
  return ours(fd) ? receive_into(fd, to, size, flags, nullptr, nullptr) : NEXT(recv)(fd, to, size, flags);
}

ssize_t read(int fd, void* to, size_t size) {
  if (is_adapter(fd)) return read_adapter(fd, to, size);
  return ours(fd) ? receive_into(fd, to, size, 0, nullptr, nullptr) : NEXT(read)(fd, to, size);
}

ssize_t readv(int fd, const iovec* parts, int count) {
  if (!ours(fd)) return NEXT(readv)(fd, parts, count);
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<size_t>(count);
  return receive_message(fd, message, 0);
}

int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  if (!ours(fd)) return NEXT(recvmmsg)(fd, messages, count, flags, timeout);
  for (unsigned i = 0; i < count; ++i) {
    const int waits = i > 0 && (flags & MSG_WAITFORONE) != 0 ? MSG_DONTWAIT : 0;
    const ssize_t got = receive_message(fd, messages[i].msg_hdr, (flags & ~MSG_WAITFORONE) | waits);
    if (got < 0) return i > 0 ? static_cast<int>(i) : -1;
    messages[i].msg_len = static_cast<unsigned>(got);
  }
  return static_cast<int>(count);
}

// What the compiler makes of the calls above in programs that are built with _FORTIFY_SOURCE.
ssize_t __recv_chk(int fd, void* to, size_t size, size_t, int flags) { return recv(fd, to, size, flags); }
ssize_t __recvfrom_chk(int fd, void* to, size_t size, size_t, int flags, sockaddr* name, socklen_t* name_size) {
  return recvfrom(fd, to, size, flags, name, name_size);
}
ssize_t __read_chk(int fd, void* to, size_t size, size_t) { return read(fd, to, size); }

int setsockopt(int fd, int level, int option, const void* value, socklen_t size) noexcept {
  if (level != kernel::kSolMctp || !ours(fd)) return NEXT(setsockopt)(fd, level, option, value, size);
  if (option != kernel::kOptAddrExt) return failed(ENOPROTOOPT);
  if (size != sizeof(int)) return failed(EINVAL);
  SocketFrame frame;
  frame.call = SocketCall::extended;
  std::memcpy(&frame.value, value, sizeof frame.value);
  return result_of(ask(fd, frame));
}

int getsockopt(int fd, int level, int option, void* value, socklen_t* size) noexcept {
  const bool asked = level == kernel::kSolMctp || (level == SOL_SOCKET && (option == SO_DOMAIN || option == SO_TYPE));
  if (!asked || !ours(fd)) return NEXT(getsockopt)(fd, level, option, value, size);
  int answer = option == SO_DOMAIN ? kernel::kFamily : SOCK_DGRAM;
  if (level == kernel::kSolMctp) {
    if (option != kernel::kOptAddrExt) return failed(ENOPROTOOPT);
    SocketFrame frame;
    frame.call = SocketCall::is_extended;
    const SocketFrame got = ask(fd, frame);
    if (got.error != 0) return failed(got.error);
    answer = got.value;
  }
  if (level == kernel::kSolMctp ? *size != sizeof answer : *size < sizeof answer) return failed(EINVAL);
  std::memcpy(value, &answer, sizeof answer);
  *size = sizeof answer;
  return 0;
}

// Its third argument, where there is one, is a long or a pointer: of one size here.
int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* const argument = va_arg(list, void*);
  va_end(list);
  const int result = NEXT(fcntl)(fd, command, argument);
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) forget(result);
  return result;
}

int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* const argument = va_arg(list, void*);
  va_end(list);
  if (request >= I2C_RETRIES && request <= I2C_SMBUS && is_adapter(fd)) return adapter_call(fd, request, argument);
  if (request >= kernel::kAllocTag && request <= kernel::kDropTag2 && ours(fd)) return tag_call(fd, request, argument);
  if (request == FIONREAD && ours(fd)) {
    *static_cast<int*>(argument) = waiting_bytes(fd);
    return 0;
  }
  return NEXT(ioctl)(fd, request, argument);
}

}  // extern "C"
