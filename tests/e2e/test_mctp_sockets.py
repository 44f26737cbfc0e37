"""Sockets of AF_MCTP as a program sees them on the virtual MCTP bus, in Python through the C library."""

import textwrap

PYTHON = "/usr/bin/python3"

SOCKETS = textwrap.dedent("""
    import ctypes, errno, os, select, socket, struct, sys
    libc = ctypes.CDLL(None, use_errno=True)
    AF_MCTP, OWNER, PREALLOC, ALLOC, DROP = 45, 0x08, 0x10, 0x89E0, 0x89E1
    SUBSYSTEM = bytes.fromhex("08" + 14 * "00" + "e2000607")   # Read NVMe-MI Data Structure, with its check
    WANTED = bytes.fromhex("88000000200000")                 # how its answer begins: success, 32 bytes

    def address(net, eid, type=0x84, tag=OWNER):
        return struct.pack("=HHIBBBB", AF_MCTP, 0, net, eid, type, tag, 0)

    def call(name, *arguments):
        ctypes.set_errno(0)
        result = getattr(libc, name)(*arguments)
        return result, ctypes.get_errno()

    def send(fd, to, data=SUBSYSTEM):
        return call("sendto", fd, data, len(data), 0, to, len(to) if to else 0)

    def receive(fd, size=5000, flags=0):
        room, name, length = ctypes.create_string_buffer(size), ctypes.create_string_buffer(64), ctypes.c_uint(64)
        got, error = call("recvfrom", fd, room, size, flags, name, ctypes.byref(length))
        return (got, error) if got < 0 else (room.raw[:min(got, size)], name.raw[:length.value], got)

    def readable(fd, seconds):
        return bool(select.select([fd], [], [], seconds)[0])

    def tag_call(fd, request, eid, tag=0):
        block = ctypes.create_string_buffer(struct.pack("=BBH", eid, tag, 0))
        result, error = call("ioctl", fd, ctypes.c_ulong(request), block)
        return result, error, block.raw[1]

    def open_one(type=socket.SOCK_DGRAM):
        fd, error = call("socket", AF_MCTP, type, 0)
        assert fd >= 0, os.strerror(error)
        return fd
""")


def in_python(fabricbench, body, *options):
    done = fabricbench("mctp", "exec", *options, "--", PYTHON, "-c", SOCKETS + textwrap.dedent(body), timeout=60)
    assert done.code == 0, done.err
    return done.out


def test_sockets_as_the_kernel_has_them(fabricbench):
    in_python(fabricbench, """
        fd = open_one()
        assert call("socket", AF_MCTP, socket.SOCK_STREAM, 0)[1] == errno.ESOCKTNOSUPPORT
        assert call("socket", AF_MCTP, socket.SOCK_DGRAM, 5)[1] == errno.EPROTONOSUPPORT
        assert send(fd, None)[1] == errno.EDESTADDRREQ
        assert send(fd, address(1, 200))[1] == errno.EHOSTUNREACH
        assert send(fd, address(7, 9))[1] == errno.EHOSTUNREACH
        assert send(fd, address(1, 9, type=0))[1] == errno.EACCES
        assert send(fd, struct.pack("=HHIBBBB", 2, 0, 1, 9, 0x84, OWNER, 0))[1] == errno.EINVAL
        assert send(fd, address(1, 9), bytes(70000))[1] == errno.EMSGSIZE
        assert receive(fd, flags=socket.MSG_DONTWAIT) == (-1, errno.EAGAIN)
        assert send(fd, address(1, 9))[0] == len(SUBSYSTEM)
        assert readable(fd, 5)
        data, name, size = receive(fd, 10, socket.MSG_PEEK | socket.MSG_TRUNC)
        assert size == 43 and len(data) == 10
        data, name, size = receive(fd)
        assert data.startswith(WANTED) and size == 43, data.hex()
        family, _, net, eid, type, tag, _ = struct.unpack("=HHIBBBB", name)
        assert (family, net, eid, type, tag & OWNER) == (AF_MCTP, 1, 9, 0x84, 0)
        assert not readable(fd, 0.05)
    """)


def test_tags_are_few_and_come_back(fabricbench):
    in_python(fabricbench, """
        fd, other = open_one(), open_one()
        tags = [tag_call(fd, ALLOC, 9)[2] for _ in range(8)]
        assert sorted(tags) == [0x18 + i for i in range(8)], tags
        assert tag_call(fd, ALLOC, 9)[1] == errno.EBUSY
        assert send(other, address(1, 9))[1] == errno.EBUSY
        assert tag_call(fd, ALLOC, 10)[0] == 0              # another peer has its own
        assert tag_call(other, DROP, 9, tags[3])[1] == errno.EINVAL
        assert tag_call(fd, DROP, 9, tags[3])[0] == 0
        assert send(other, address(1, 9))[0] > 0 and readable(other, 5)
        assert send(fd, address(1, 9, tag=tags[0]))[0] > 0 and readable(fd, 5)
        assert struct.unpack("=HHIBBBB", receive(fd)[1])[5] == tags[0] & 7
        assert send(fd, address(1, 9, tag=tags[3]))[1] == errno.ENOENT  # given back
        call("close", fd)
        assert receive(other)[2] == 43
        for _ in range(8):                                  # all eight are free again, but for a moment
            assert send(other, address(1, 9))[0] > 0
    """)


def test_sockets_survive_fork_dup_and_exec(fabricbench):
    in_python(fabricbench, """
        fd = open_one()
        twin = os.dup(fd)
        high, _ = call("fcntl", fd, 0, 100)                  # F_DUPFD
        call("close", fd)
        for one in (twin, high):
            assert send(one, address(1, 9))[0] > 0 and readable(one, 5) and receive(one)[2] == 43
        child = os.fork()
        if child == 0:
            ok = send(twin, address(1, 10))[0] > 0 and readable(twin, 5) and receive(twin)[2] == 43
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        os.set_inheritable(twin, True)
        os.environ["FD"] = str(twin)
        program = "import os; fd = int(os.environ['FD']); exec(os.environ['SOCKETS'])\\n" \\
                  "assert send(fd, address(1, 9))[0] > 0 and readable(fd, 5) and receive(fd)[2] == 43"
        os.environ["SOCKETS"] = open("/proc/self/cmdline", "rb").read().split(b"\\0")[2].decode().split("fd = open_one")[0]
        os.execv("/usr/bin/python3", ["python3", "-c", program])
    """)


def test_poll_and_epoll_see_the_answer(fabricbench):
    in_python(fabricbench, """
        fd = open_one(socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        poll, epoll = select.poll(), select.epoll()
        poll.register(fd, select.POLLIN)
        epoll.register(fd, select.EPOLLIN)
        assert poll.poll(20) == [] and epoll.poll(0.02) == []
        send(fd, address(1, 9))
        assert poll.poll(5000) == [(fd, select.POLLIN)] and epoll.poll(5) == [(fd, select.EPOLLIN)]
        assert receive(fd)[2] == 43 and receive(fd)[1] == errno.EAGAIN
    """)


def test_binding_with_and_without_a_peer(fabricbench):
    """As Linux 6.17 has it; connect() names the peer of a bind to come, and is no place to send to."""
    in_python(fabricbench, """
        def bind(fd, *address_, size=12):
            return call("bind", fd, address(*address_, tag=0), size)[1]
        def connect(fd, *address_, tag=0, size=12):
            return call("connect", fd, address(*address_, tag=tag), size)[1]
        one, two, peer, twin, late = (open_one() for _ in range(5))
        assert bind(one, 1, 0xFF, 4) == 0
        assert bind(one, 1, 0xFF, 5) == errno.EADDRINUSE
        assert bind(two, 1, 0xFF, 4) == errno.EADDRINUSE
        assert bind(two, 1, 0xFF, 0) == errno.EACCES         # control is the bus owner's
        assert bind(two, 1, 0xFF, 4, size=11) == errno.EINVAL
        assert call("bind", two, struct.pack("=HHIBBBB", 2, 0, 1, 0xFF, 4, 0, 0), 12)[1] == errno.EAFNOSUPPORT
        assert call("bind", two, struct.pack("=HHIBBBB", 45, 1, 1, 0xFF, 4, 0, 0), 12)[1] == errno.EINVAL
        assert bind(two, 9, 0xFF, 4) == 0                    # nobody asks whether the network is there
        assert connect(two, 1, 10, 4) == errno.EADDRINUSE    # it is bound
        assert connect(peer, 1, 10, 0x84) == errno.EINVAL and connect(peer, 1, 10, 4, tag=8) == errno.EINVAL
        assert connect(peer, 1, 10, 4, size=13) == errno.EINVAL
        assert call("connect", peer, struct.pack("=HHIBBBB", 2, 0, 1, 10, 4, 0, 0), 12)[1] == errno.EAFNOSUPPORT
        assert connect(peer, 1, 10, 4) == 0 and connect(peer, 1, 10, 4) == errno.EADDRINUSE
        assert bind(peer, 1, 0xFF, 5) == errno.EINVAL and bind(peer, 2, 0xFF, 4) == errno.EINVAL
        assert bind(peer, 0, 0xFF, 4) == 0                   # beside the one for anybody
        assert connect(twin, 1, 10, 4) == 0 and bind(twin, 1, 0xFF, 4) == errno.EADDRINUSE
        assert connect(late, 1, 9, 4) == 0 and bind(late, 1, 0xFF, 4) == 0
        assert send(peer, None)[1] == errno.EDESTADDRREQ     # connected all the same
        for name in ("getsockname", "getpeername"):
            room, size = ctypes.create_string_buffer(64), ctypes.c_uint(64)
            assert call(name, peer, room, ctypes.byref(size))[1] == errno.EOPNOTSUPP
        assert call("shutdown", peer, 2)[1] == errno.EOPNOTSUPP
        assert call("listen", peer, 1)[1] == errno.EOPNOTSUPP
        assert call("accept", peer, None, None)[1] == errno.EOPNOTSUPP
        assert call("socketpair", AF_MCTP, socket.SOCK_DGRAM, 0, (ctypes.c_int * 2)())[1] == errno.EOPNOTSUPP
        assert receive(peer, flags=socket.MSG_WAITALL | socket.MSG_DONTWAIT) == (-1, errno.EOPNOTSUPP)
        call("close", one)
        import time; time.sleep(0.1)
        again = open_one()
        assert bind(again, 1, 0xFF, 4) == 0
    """)


def test_a_kernel_without_binding_to_a_peer(fabricbench):
    in_python(fabricbench, """
        first, second = open_one(), open_one()
        assert call("connect", first, address(1, 9, 4, 0), 12)[1] == errno.EOPNOTSUPP
        assert call("connect", first, b"", 0)[1] == errno.EOPNOTSUPP
        for fd in (first, second):
            assert call("bind", fd, address(1, 0xFF, 4, 0), 12)[0] == 0
        assert call("bind", first, address(1, 0xFF, 4, 0), 12)[1] == errno.EADDRINUSE
        # Of two that are bound alike the latest has what comes.
        assert send(first, address(1, 8))[0] == len(SUBSYSTEM)
        assert readable(second, 5) and not readable(first, 0)
    """, "--kernel", "6.9")
    wrong = fabricbench("mctp", "exec", "--kernel", "5.15", "--", "true")
    assert wrong.code == 2 and "--kernel" in wrong.err


def test_our_own_eid_is_a_local_route(fabricbench):
    in_python(fabricbench, """
        asks, answers, other = open_one(), open_one(), open_one()
        assert send(asks, address(1, 8))[1] == errno.ENOENT                # nobody is bound
        assert call("bind", answers, address(1, 8, 4, 0), 12)[0] == 0      # to this EID, which goes before any
        assert call("bind", other, address(0, 0xFF, 4, 0), 12)[0] == 0
        assert send(asks, address(1, 8), b"question")[0] == 8 and readable(answers, 5) and not readable(other, 0)
        data, name, size = receive(answers)
        net, eid, type, tag = struct.unpack("=HHIBBBB", name)[2:6]
        assert (data, net, eid, type, tag & OWNER) == (b"question", 1, 8, 0x84, OWNER), (data, name.hex())
        assert send(answers, address(1, 8, tag=tag & 7), b"answer")[0] == 6 and readable(asks, 5)
        assert receive(asks)[0] == b"answer" and struct.unpack("=HHIBBBB", name)[3] == 8
        assert send(answers, address(1, 8, tag=tag & 7), b"answer")[1] == errno.ENOENT   # that tag has had its answer
        for nowhere in (0, 1, 7, 0xFF, 200):
            assert send(asks, address(1, nowhere))[1] == errno.EHOSTUNREACH, nowhere
    """)


def test_tags_as_linux_gives_them(fabricbench):
    in_python(fabricbench, """
        def tag_call2(fd, request, net, peer, local=0xFF, flags=0, tag=0):
            block = ctypes.create_string_buffer(struct.pack("=IBBHBBBB", net, peer, local, flags, tag, 0, 0, 0))
            result, error = call("ioctl", fd, ctypes.c_ulong(request), block)
            return result, error, block.raw[8]
        ALLOC2, DROP2 = 0x89E2, 0x89E3
        fd, other = open_one(), open_one()
        # The older call knows network 1 alone, whether it is there or not; the bus here is 5 and 6.
        tag = tag_call(fd, ALLOC, 9)[2]
        assert tag & 0xF8 == 0x18
        for net in (5, 6, 0):
            assert send(fd, address(net, 9, tag=tag))[1] == errno.ENOENT, net
        assert tag_call(fd, DROP, 9, tag)[0] == 0 and tag_call(fd, DROP, 9, tag)[1] == errno.EINVAL
        assert tag_call2(fd, ALLOC2, 5, 9, local=8)[1] == errno.EINVAL
        assert tag_call2(fd, ALLOC2, 5, 9, flags=1)[1] == errno.EINVAL
        assert tag_call2(fd, ALLOC2, 5, 9, tag=1)[1] == errno.EINVAL
        for nobody in (0, 0xFF):                       # towards anybody: for any EID
            tag = tag_call2(fd, ALLOC2, 6, nobody)[2]
            for eid in (9, 10, 9):
                assert send(fd, address(6, eid, tag=tag))[0] > 0 and readable(fd, 5)
                name = struct.unpack("=HHIBBBB", receive(fd)[1])
                assert name[2:4] == (6, eid) and name[5] == tag & 7
            assert send(fd, address(5, 9, tag=tag))[1] == errno.ENOENT
            assert send(other, address(6, 9, tag=tag))[1] == errno.ENOENT
            assert tag_call2(other, DROP2, 6, nobody, tag=tag)[1] == errno.EINVAL
            assert tag_call2(fd, DROP2, 6, nobody ^ 0xFF, tag=tag)[0] == 0     # null and any are the same
        assert send(fd, address(5, 9, tag=0x1A))[1] == errno.ENOENT            # never allocated
        assert send(fd, address(5, 9, tag=0x20))[1] == errno.EINVAL and send(fd, address(5, 9, tag=0x28))[1] == errno.EINVAL
        assert send(fd, address(5, 9, tag=0x10))[1] == errno.EINVAL            # allocated, and not owned
        anybody = [tag_call2(fd, ALLOC2, 5, 0)[2] for _ in range(8)]
        assert sorted(anybody) == [0x18 + i for i in range(8)] and tag_call2(fd, ALLOC2, 5, 9)[1] == errno.EBUSY
        assert tag_call2(fd, ALLOC2, 6, 9)[0] == 0                             # tags are each network's own
    """, "--network", "5,6")


def test_fionread_is_the_size_of_the_datagram(fabricbench):
    in_python(fabricbench, """
        fd, waiting = open_one(), ctypes.c_int(-1)
        assert call("ioctl", fd, ctypes.c_ulong(0x541B), ctypes.byref(waiting))[0] == 0 and waiting.value == 0
        for _ in range(2):
            assert send(fd, address(1, 9))[0] > 0
        import time; time.sleep(0.5)
        for left in (43, 43, 0):
            assert call("ioctl", fd, ctypes.c_ulong(0x541B), ctypes.byref(waiting))[0] == 0 and waiting.value == left
            receive(fd, flags=socket.MSG_DONTWAIT)
    """)


def test_tags_of_both_forms_and_physical_addresses(fabricbench):
    in_python(fabricbench, """
        fd = open_one()
        block = ctypes.create_string_buffer(struct.pack("=IBBHBBBB", 1, 9, 0xFF, 0, 0, 0, 0, 0))
        assert call("ioctl", fd, ctypes.c_ulong(0x89E2), block)[0] == 0 and block.raw[8] & 0xF8 == 0x18
        assert send(fd, address(1, 9, tag=block.raw[8]))[0] > 0 and readable(fd, 5) and receive(fd)[2] == 43
        assert call("ioctl", fd, ctypes.c_ulong(0x89E3), block)[0] == 0
        assert call("ioctl", fd, ctypes.c_ulong(0x89E3), block)[1] == errno.EINVAL
        value, size = ctypes.c_int(7), ctypes.c_uint(4)
        assert call("getsockopt", fd, 285, 1, ctypes.byref(value), ctypes.byref(size))[0] == 0 and value.value == 0
        value.value = 1
        assert call("setsockopt", fd, 285, 1, ctypes.byref(value), 4)[0] == 0
        assert call("getsockopt", fd, 1, 39, ctypes.byref(value), ctypes.byref(size))[0] == 0 and value.value == 45
        assert send(fd, address(1, 10))[0] > 0 and readable(fd, 5)
        name = receive(fd)[1]
        assert len(name) == 52 and name[16] == 1, name.hex()     # one byte of SMBus address
        first = name[20]
        # The same drive by its place alone, whatever the EID: an extended address goes where it says.
        extended = address(1, 10)[:12] + struct.pack("=iB3x32s", 1, 1, bytes([first]))
        assert send(fd, extended)[0] > 0 and readable(fd, 5) and receive(fd)[1][8] == 10
    """)
