"""Programs for I2C, unmodified, on the drives of a virtual bus: i2c-tools and python3-smbus of the distribution."""

import os
import subprocess
import textwrap

PYTHON = "/usr/bin/python3"


def run_i2c(fabricbench, *program):
    return fabricbench("mctp", "exec", "--i2c", "--", *program, timeout=60)


def pec(data):
    code = 0
    for byte in data:
        code ^= byte
        for _ in range(8):
            code = (code << 1 ^ 0x07 if code & 0x80 else code << 1) & 0xFF
    return code


def status_block(fabricbench, bus):
    done = run_i2c(fabricbench, "/usr/sbin/i2ctransfer", "-y", bus, "w1@0x6a", "0x00", "r32")
    assert done.code == 0, done.err
    return bytes(int(word, 16) for word in done.out.split())


def test_i2cdetect_finds_what_a_drive_has(fabricbench):
    done = run_i2c(fabricbench, "/usr/sbin/i2cdetect", "-y", "1")
    assert done.code == 0, done.err
    found = {word for line in done.out.splitlines()[1:] for word in line.split()[1:] if word != "--"}
    assert found == {"6a", "53"}, done.out


def test_the_basic_management_command(fabricbench):
    block = status_block(fabricbench, 1)
    assert block[0] == 6 and block[8] == 22
    assert pec(bytes([0xD4, 0x00, 0xD5]) + block[:7]) == block[7], "PEC of the status"
    assert pec(bytes([0xD4, 0x08, 0xD5]) + block[8:31]) == block[31], "PEC of the identity"
    assert b"FB0000000001" in block and b"FB0000000002" in status_block(fabricbench, 2), "each adapter has a drive of its own"
    temperature = run_i2c(fabricbench, "/usr/sbin/i2cget", "-y", "1", "0x6a", "0x03")
    assert temperature.code == 0 and int(temperature.out, 16) == block[3]


def test_block_reads_with_a_packet_error_code(fabricbench):
    program = textwrap.dedent("""
        import smbus
        bus = smbus.SMBus(1)
        bus.pec = 1
        status, identity = bus.read_block_data(0x6A, 0), bus.read_block_data(0x6A, 8)
        assert len(status) == 6 and len(identity) == 22, (status, identity)
        assert bytes(identity[2:14]) == b"FB0000000001", identity
        assert bus.read_block_data(0x6A, 0)[0] & 0x80, "a block was read without contention"
        bus.pec = 0
        bus.write_byte(0x6A, 0xFF)
        assert not bus.read_block_data(0x6A, 0)[0] & 0x80, "Send Byte FFh clears the arbitration bit"
        try:
            bus.read_byte(0x20)
        except OSError as error:
            print(error.errno)
    """)
    done = run_i2c(fabricbench, PYTHON, "-c", program)
    assert done.code == 0 and done.out.strip() == "6", done.err


def test_vital_product_data(fabricbench):
    done = run_i2c(fabricbench, "/usr/sbin/i2ctransfer", "-y", "1", "w1@0x53", "0x00", "r256")
    wide = run_i2c(fabricbench, "/usr/sbin/i2ctransfer", "-y", "1", "w2@0x53", "0x00", "0x00", "r256")
    assert done.code == wide.code == 0, done.err + wide.err
    images = [bytes(int(word, 16) for word in one.out.split()) for one in (done, wide)]
    header = next(image for image in images if image[0] == 1 and sum(image[:8]) % 256 == 0)
    assert header, "the common header of a FRU device has the sum 0"


def test_files_behave_as_the_kernel_has_them(fabricbench):
    program = textwrap.dedent("""
        import ctypes, errno, fcntl, os, struct, subprocess, sys
        SLAVE, FUNCS, RDWR, SMBUS = 0x0703, 0x0705, 0x0707, 0x0720
        fd = os.open("/dev/i2c-1", os.O_RDWR)
        def fails(error, call, *arguments):
            try:
                call(*arguments)
            except OSError as problem:
                assert problem.errno == error, problem
            else:
                raise AssertionError(f"{call} {arguments} succeeds")
        fails(errno.ENOENT, os.open, "/dev/i2c-9", os.O_RDWR)
        fails(errno.EINVAL, fcntl.ioctl, fd, SLAVE, 0x80)
        fails(errno.ENOTTY, fcntl.ioctl, fd, 0x0719, 0)
        fails(errno.EINVAL, fcntl.ioctl, fd, RDWR, struct.pack("PI4x", 0, 0))
        assert struct.unpack("L", fcntl.ioctl(fd, FUNCS, bytes(8)))[0] & 1
        fcntl.ioctl(fd, SLAVE, 0x6A)
        assert os.write(fd, bytes([8])) == 1
        assert os.read(fd, 15)[3:] == b"FB0000000001"
        fcntl.ioctl(fd, SLAVE, 0x31)
        fails(errno.ENXIO, os.write, fd, bytes([8]))
        fails(errno.ENXIO, os.read, fd, 1)
        # What a copy of the descriptor says counts for both, in another process too.
        copy = os.dup(fd)
        fcntl.ioctl(copy, SLAVE, 0x6A)
        os.write(fd, bytes([8]))
        os.set_inheritable(copy, True)
        child = "import os; assert os.read(%d, 15)[3:] == b'FB0000000001'" % copy
        subprocess.run([sys.executable, "-c", child], check=True, close_fds=False)
        os.close(fd), os.close(copy)
        fd = os.open("/dev/null", os.O_RDWR)
        assert os.write(fd, b"x") == 1 and os.read(fd, 1) == b""
    """)
    done = run_i2c(fabricbench, PYTHON, "-c", program)
    assert done.code == 0, done.err


def test_without_the_option_there_is_no_adapter(fabricbench):
    done = fabricbench("mctp", "exec", "--", "/usr/sbin/i2cget", "-y", "7", "0x6a")
    assert done.code != 0 and "/dev/i2c" in done.err
    done = fabricbench("mctp", "serve", "--serial", "pty", "--i2c")
    assert done.code == 2 and len(done.err.splitlines()) == 1 and "--i2c" in done.err


def test_a_drive_that_was_pulled_out_acknowledges_nothing(fabricbench, start_program, tmp_path):
    server = start_program("mctp", "serve", "--socket", tmp_path / "bus", "--control", f"unix:{tmp_path}/control", "--i2c")
    line = ""
    while "LD_PRELOAD=" not in line:
        line = server.stdout.readline()
        assert line, server.stderr.read()
    environment = {**os.environ, **dict(word.split("=", 1) for word in line.split())}

    def read():
        return subprocess.run(["/usr/sbin/i2cget", "-y", "2", "0x6a", "0x00"], env=environment, capture_output=True, text=True, timeout=30)

    assert read().stdout.strip() == "0x06"
    drives = fabricbench("ctl", f"unix:{tmp_path}/control", "drive.list", "--json").json
    assert [one["serial"] for one in drives] == ["FB0000000001", "FB0000000002"]
    for method, code in (("drive.remove", 2), ("drive.insert", 0)):
        told = fabricbench("ctl", f"unix:{tmp_path}/control", method, "drive=2")
        assert told.code == 0, told.err
        assert read().returncode == code
