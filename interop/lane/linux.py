"""Shell scripts for the guest: Linux as target, Linux as host."""

from interop.lane.network import GUEST, IPV6, MTU

SUBSYSTEM = "nqn.2024-01.com.example:kernel"
DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"
CONFIG = "/sys/kernel/config/nvmet"


def link_up(address: str = GUEST) -> str:
    return f"""ip link set eth0 mtu {MTU} up
ip addr add {address}/24 dev eth0
ip -6 addr add {IPV6[address]}/64 dev eth0 nodad
"""


def rxe(address: str = GUEST) -> str:
    """The software RDMA device on the guest's interface."""
    return link_up(address) + make_rxe()


def make_rxe() -> str:
    return """modprobe -a rdma_rxe ib_uverbs rdma_ucm
rdma link add rxe0 type rxe netdev eth0
rdma link show rxe0/1 | grep -q 'state ACTIVE'
"""


def gid_index() -> str:
    """Sets `gid` to where the device keeps the GID of the guest's IPv4 address."""
    end = "".join(f"{int(part):02x}" for part in GUEST.split("."))
    return f"""gid=$(grep -l 'ffff:{end[:4]}:{end[4:]}$' /sys/class/infiniband/rxe0/ports/1/gids/* | head -n 1)
gid=${{gid##*/}}
"""


def nvmet(transport: str, port: int = 4420, megabytes: int = 64, settings: str = "") -> str:
    """A subsystem with one memory namespace behind one port."""
    return serve(transport, f"modprobe brd rd_nr=1 rd_size={megabytes * 1024}", ["/dev/ram0"], port, settings)


def counting_nvmet(port: int = 4420) -> str:
    """The same over TCP with two namespaces of block devices that count what they do, and discard."""
    return serve("tcp", "modprobe null_blk nr_devices=2 gb=1 bs=512 memory_backed=1 discard=1 queue_mode=2",
                 ["/dev/nullb0", "/dev/nullb1"], port)


def nvmet_on_files(address: str, port: int = 4420) -> str:
    """The same over TCP at an address of the guest with two namespaces that are files: their size can be changed."""
    return serve("tcp", "mkdir -p /tmp/disks\nfor i in 1 2; do truncate -s 32M /tmp/disks/$i; done", ["/tmp/disks/1", "/tmp/disks/2"],
                 port, address=address, of_namespace="buffered_io")  # such files cannot be read past the cache


NEIGHBOUR = SUBSYSTEM + ".2"


def neighbour_up() -> str:
    """A second subsystem behind the port: it stays open when the first is hidden."""
    return f"""set -e
cd {CONFIG}
mkdir subsystems/{NEIGHBOUR}
echo 1 >subsystems/{NEIGHBOUR}/attr_allow_any_host
ln -s {CONFIG}/subsystems/{NEIGHBOUR} ports/1/subsystems/
"""


def neighbour_down() -> str:
    return f"""set -e
rm {CONFIG}/ports/1/subsystems/{NEIGHBOUR}
rmdir {CONFIG}/subsystems/{NEIGHBOUR}
"""


def zoned_nvmet(port: int = 4420) -> str:
    """The same over TCP with a zoned block device in memory: zones of 1 MiB, six of which may be open."""
    return serve("tcp", """modprobe null_blk nr_devices=1 gb=1 bs=4096 memory_backed=1 zoned=1 zone_size=1 zone_max_open=6 zone_max_active=10 queue_mode=2
grep -q host-managed /sys/block/nullb0/queue/zoned""", ["/dev/nullb0"], port)


def passthru(controller: str = "/dev/nvme0", port: int = 4420) -> str:
    """A controller of the guest behind a port of nvmet, which hands its commands on."""
    return f"""set -e
modprobe -a nvme nvmet nvmet_tcp
for i in $(seq 100); do [ -c {controller} ] && grep -q live /sys/class/nvme/{controller.rpartition("/")[2]}/state && break; sleep 0.1; done
cd {CONFIG}
mkdir subsystems/{SUBSYSTEM}
echo 1 >subsystems/{SUBSYSTEM}/attr_allow_any_host
echo -n {controller} >subsystems/{SUBSYSTEM}/passthru/device_path
echo 1 >subsystems/{SUBSYSTEM}/passthru/enable
mkdir ports/1
echo ipv4 >ports/1/addr_adrfam
echo tcp >ports/1/addr_trtype
echo {GUEST} >ports/1/addr_traddr
echo {port} >ports/1/addr_trsvcid
ln -s {CONFIG}/subsystems/{SUBSYSTEM} ports/1/subsystems/
"""


def passthru_down() -> str:
    return f"""set -e
cd {CONFIG}
rm ports/1/subsystems/{SUBSYSTEM}
rmdir ports/1
echo 0 >subsystems/{SUBSYSTEM}/passthru/enable
rmdir subsystems/{SUBSYSTEM}
rmmod nvmet_tcp
"""


# For a port of nvmet: nothing without TLS.
TLS_REQUIRED = "echo tls1.3 >ports/1/addr_tsas\necho required >ports/1/addr_treq\n"


def serve(transport: str, prepare: str, devices: list[str], port: int, settings: str = "", address: str = GUEST,
          of_namespace: str = "") -> str:
    """A subsystem with a namespace for each device, which any host may use, behind one port; `settings` are the port's."""
    namespaces = "".join(f"""mkdir subsystems/{SUBSYSTEM}/namespaces/{nsid}
echo {device} >subsystems/{SUBSYSTEM}/namespaces/{nsid}/device_path
{f"echo 1 >subsystems/{SUBSYSTEM}/namespaces/{nsid}/{of_namespace}" if of_namespace else ""}
echo 1 >subsystems/{SUBSYSTEM}/namespaces/{nsid}/enable
""" for nsid, device in enumerate(devices, 1))
    return f"""set -e
modprobe -a nvmet nvmet_{transport}
{prepare}
cd {CONFIG}
mkdir subsystems/{SUBSYSTEM}
echo 1 >subsystems/{SUBSYSTEM}/attr_allow_any_host
{namespaces}mkdir ports/1
echo ipv4 >ports/1/addr_adrfam
echo {transport} >ports/1/addr_trtype
echo {address} >ports/1/addr_traddr
echo {port} >ports/1/addr_trsvcid
{settings}ln -s {CONFIG}/subsystems/{SUBSYSTEM} ports/1/subsystems/
"""


def allow_host(nqn: str, secret: str, controller_secret: str) -> str:
    """Only this host may connect, and both sides authenticate. After nvmet()."""
    host = f"{CONFIG}/hosts/{nqn}"
    return f"""modprobe -a dh_generic hmac
# Later kernels have these two built in.
modprobe -a sha256_generic sha512_generic 2>/dev/null || true
mkdir {host}
echo {secret} >{host}/dhchap_key
echo {controller_secret} >{host}/dhchap_ctrl_key
echo 0 >{CONFIG}/subsystems/{SUBSYSTEM}/attr_allow_any_host
ln -s {host} {CONFIG}/subsystems/{SUBSYSTEM}/allowed_hosts/
"""


def demand(nqn: str, hash_name: str, group: str) -> str:
    """The hash and the Diffie-Hellman group that nvmet uses with this host."""
    return f"""set -e
echo '{hash_name}' >{CONFIG}/hosts/{nqn}/dhchap_hash
echo {group} >{CONFIG}/hosts/{nqn}/dhchap_dhgroup
"""


def forget_host(nqn: str) -> str:
    return f"""rm {CONFIG}/subsystems/{SUBSYSTEM}/allowed_hosts/{nqn}
rmdir {CONFIG}/hosts/{nqn}
"""


def nvmet_down(transport: str) -> str:
    """Takes it away again: queues that hang show here."""
    return f"""set -e
cd {CONFIG}
rm ports/1/subsystems/{SUBSYSTEM}
rmdir ports/1
for namespace in subsystems/{SUBSYSTEM}/namespaces/*; do
  echo 0 >$namespace/enable
  rmdir $namespace
done
rmdir subsystems/{SUBSYSTEM}
rmmod nvmet_{transport}
"""


def trouble(kinds: str = "delay 1ms loss 0.5% duplicate 1% reorder 1%") -> str:
    """Loss, duplication and reordering of what leaves the guest. Few packets overtake: rdma_rxe goes
    back to the first lost one, and gets nowhere when one of the next thirty is always out of order."""
    return f"""set -e
modprobe sch_netem
tc qdisc add dev eth0 root netem {kinds}
"""


def trouble_over() -> str:
    return "tc qdisc del dev eth0 root"


def slow() -> str:
    """A round trip of at least 10 ms, so that I/O lasts long enough for something to happen in the middle."""
    return trouble("delay 10ms")


def slow_over() -> str:
    return trouble_over()


def wait_for_traffic(direction: str, megabytes: int) -> str:
    """Until so much more was received (rx) or sent (tx)."""
    return f"""count() {{ cat /sys/class/net/eth0/statistics/{direction}_bytes; }}
begin=$(count)
until [ $(($(count) - begin)) -gt {megabytes << 20} ]; do sleep 0.1; done
"""


def port_gone(seconds: int) -> str:
    """The subsystem leaves its port, with every controller that is there, and comes back."""
    subsystem = f"{CONFIG}/ports/1/subsystems/{SUBSYSTEM}"
    return f"set -e\nrm {subsystem}\nsleep {seconds}\nln -s {CONFIG}/subsystems/{SUBSYSTEM} {subsystem}\n"


def begin_writing(megabytes: int) -> str:
    """Writes block by block, and goes on with it; returns when a part is done."""
    return f"""set -e
rm -f /tmp/written
dd if=/dev/urandom of=/tmp/a bs=16k count={megabytes * 64} 2>/dev/null
(dd if=/tmp/a of=/dev/nvme0n1 bs=16k oflag=direct >/tmp/dd 2>&1; echo $? >/tmp/written) &
{wait_for_traffic("tx", 1)}
{still_writing()}
"""


def still_writing() -> str:
    """What was to happen in the middle of it did."""
    return "[ ! -e /tmp/written ]"


def end_writing() -> str:
    return """until [ -e /tmp/written ]; do sleep 0.1; done
cat /tmp/dd
[ "$(cat /tmp/written)" = 0 ]
"""


def read_back() -> str:
    """What was written is there."""
    return """dd if=/dev/nvme0n1 of=/tmp/b bs=16k count=$(($(stat -c %s /tmp/a) / 16384)) iflag=direct
cmp /tmp/a /tmp/b
"""


def wait_live() -> str:
    return """for i in $(seq 400); do
  grep -q live /sys/class/nvme/nvme0/state && exit 0
  sleep 0.1
done
cat /sys/class/nvme/nvme0/state; exit 1
"""


def wait_for_blocks(count: int) -> str:
    """Until so many namespaces of the first subsystem are there, and no more."""
    return f"""for i in $(seq 200); do
  [ "$(ls -d /sys/block/nvme0n* 2>/dev/null | wc -l)" = {count} ] && exit 0
  sleep 0.1
done
ls /sys/block; exit 1
"""


def connect(transport: str, address: str, nqn: str, port: int = 4420, queues: int = 2,
            options: str = "") -> str:
    """Connects as a host, and waits for the namespace."""
    return f"""modprobe -a nvme_{transport}
nvme connect -t {transport} -a {address} -s {port} -n {nqn} -i {queues} {options} || exit 1
for i in $(seq 100); do [ -b /dev/nvme0n1 ] && exit 0; sleep 0.1; done
echo 'no /dev/nvme0n1'; exit 1
"""


def ask_fabrics(address: str, nqn: str, hostnqn: str, options: str) -> str:
    """What nvme-cli does to connect, for options that Debian 12's does not know: the kernel's fabrics device takes a line
    of them and gives one with what became of it. Sets `device`."""
    return f"""modprobe -a nvme_tcp
exec 4<>/dev/nvme-fabrics
echo "transport=tcp,traddr={address},trsvcid=4420,nqn={nqn},hostnqn={hostnqn},hostid=$(cat /etc/nvme/hostid),{options}" >&4 || exit 1
read -r made <&4
exec 4>&-
device=${{made#instance=}}
device=nvme${{device%%,*}}
"""


def connect_securely(address: str, nqn: str, hostnqn: str) -> str:
    """As connect(), over TCP with TLS and the key that the kernel finds in its keyring."""
    return ask_fabrics(address, nqn, hostnqn, "nr_io_queues=2,tls") + """for i in $(seq 100); do [ -b /dev/nvme0n1 ] && exit 0; sleep 0.1; done
echo 'no /dev/nvme0n1'; exit 1
"""


def discover_securely(address: str, hostnqn: str) -> str:
    """The discovery log over TLS, on a device that nvme-cli finds."""
    return ask_fabrics(address, DISCOVERY, hostnqn, "tls") + f"""nvme discover -d $device -t tcp -a {address} -s 4420
status=$?
echo 1 >/sys/class/nvme/$device/delete_controller
exit $status
"""


def use_zones() -> str:
    """A zoned namespace of 16 zones of 1,024 blocks of 4,096 bytes, of which 768 can be written."""
    return """set -e
grep -q host-managed /sys/block/nvme0n1/queue/zoned
grep -q '^8192$' /sys/block/nvme0n1/queue/chunk_sectors
grep -q '^16$' /sys/block/nvme0n1/queue/nr_zones
nvme zns id-ns /dev/nvme0n1
nvme zns id-ctrl /dev/nvme0
nvme zns list
nvme zns report-zones /dev/nvme0n1 > /tmp/zones
grep -qi 'nr_zones: 16' /tmp/zones
[ "$(grep -c 'State: 0x10 ' /tmp/zones)" = 16 ]
zone() { nvme zns report-zones /dev/nvme0n1 | grep "SLBA: $1 "; }
dd if=/dev/urandom of=/tmp/a bs=64k count=4 2>/dev/null
dd if=/tmp/a of=/dev/nvme0n1 bs=64k count=4 seek=64 oflag=direct 2>/dev/null
dd if=/dev/nvme0n1 of=/tmp/b bs=64k count=4 skip=64 iflag=direct 2>/dev/null
cmp /tmp/a /tmp/b
zone 0x400 | grep 'WP: 0x440 ' | grep -q 'State: 0x20 '
# Not where the zone goes on.
if dd if=/tmp/a of=/dev/nvme0n1 bs=64k count=1 seek=72 oflag=direct 2>/dev/null; then exit 1; fi
dd if=/tmp/a of=/tmp/c bs=4096 count=2 2>/dev/null
nvme zns zone-append /dev/nvme0n1 -s 0x400 -z 8192 -d /tmp/c | tee /tmp/append
grep -q 'to LBA 440' /tmp/append
nvme zns finish-zone /dev/nvme0n1 -s 0x400
zone 0x400 | grep -q 'State: 0xe0 '
nvme zns open-zone /dev/nvme0n1 -s 0x800
nvme zns close-zone /dev/nvme0n1 -s 0x800
zone 0x800 | grep -q 'State: 0x40 '
nvme zns reset-zone /dev/nvme0n1 -s 0x400
zone 0x400 | grep -q 'State: 0x10 '
nvme reset /dev/nvme0
for i in $(seq 100); do grep -q live /sys/class/nvme/nvme0/state && break; sleep 0.1; done
zone 0x800 | grep -q 'State: 0x40 '
nvme zns reset-zone /dev/nvme0n1 -a
dd if=/tmp/a of=/dev/nvme0n1 bs=64k count=4 seek=64 oflag=direct 2>/dev/null
echo 'zones reported, written in order, appended to, opened, closed, finished and reset'
"""


def disconnect(nqn: str) -> str:
    return f"nvme disconnect -n {nqn}"


def update_format_and_ask() -> str:
    """Other firmware, blocks of 4096 bytes instead of 512, the list of security protocols."""
    return """set -e
(printf 'FBFW%-8s' 2.0; dd if=/dev/urandom bs=12276 count=1 2>/dev/null) > /tmp/fw
nvme fw-download /dev/nvme0 --fw=/tmp/fw
nvme fw-commit /dev/nvme0 -s 2 -a 1
nvme id-ctrl /dev/nvme0 | grep '^fr *: 1.0'
nvme reset /dev/nvme0
sleep 1
nvme id-ctrl /dev/nvme0 | grep '^fr *: 2.0'
test "$(cat /sys/block/nvme0n1/queue/logical_block_size)" = 512
nvme format /dev/nvme0 -n 1 -l 1 -f
test "$(cat /sys/block/nvme0n1/queue/logical_block_size)" = 4096
dd if=/dev/nvme0n1 of=/tmp/b bs=4096 count=1 iflag=direct 2>/dev/null
cmp /tmp/b /tmp/z
nvme security-recv /dev/nvme0 -p 0 -s 0 -x 512 -t 512 | grep '00 00 00 00 00 00 00 02 00 f0'
"""


def save_and_look_back() -> str:
    """A saved feature, the timestamp, telemetry, the persistent event log: nvme-cli decodes what it reads."""
    return """set -e
ctrl=/dev/nvme0
nvme set-feature $ctrl -f 4 -v 0x160 -s
nvme get-feature $ctrl -f 4 -s 2 | grep -i 0x0*160
nvme get-feature $ctrl -f 4 -s 3 -H | grep -i 'feature is saveable'
printf '\\001\\002\\003\\004\\005\\000\\000\\000' > /tmp/time
nvme set-feature $ctrl -f 0xe -l 8 -d /tmp/time
nvme get-feature $ctrl -f 0xe -H | grep -i 'set features'
nvme telemetry-log $ctrl -o /tmp/telemetry -g 1
test "$(stat -c %s /tmp/telemetry)" = 4608
nvme persistent-event-log $ctrl -a 1 -l 512 >/dev/null
nvme persistent-event-log $ctrl -a 0 -l 4096 -o json > /tmp/events
nvme persistent-event-log $ctrl -a 2
for type in 'Power-on or Reset' 'Timestamp Change' 'Telemetry'; do grep -i "$type" /tmp/events; done
"""


def stream_and_lock() -> str:
    """Streams, enabled, used and given back; a command prohibited and allowed again."""
    return """set -e
ctrl=/dev/nvme0
nvme dir-receive $ctrl -n 1 -D 0 -O 1 -H | grep -i 'stream directive.*: *supported'
nvme dir-send $ctrl -n 1 -D 0 -O 1 -T 1 -e 1
nvme dir-receive $ctrl -n 1 -D 1 -O 3 -r 2
nvme dir-receive $ctrl -n 1 -D 1 -O 1 -H
dd if=/dev/zero of=/tmp/z bs=4096 count=1 2>/dev/null
nvme write /dev/nvme0n1 -s 0 -c 7 -z 4096 -d /tmp/z -T 1 -S 5
nvme dir-receive $ctrl -n 1 -D 1 -O 2 -H | grep -i '5'
nvme dir-send $ctrl -n 1 -D 1 -O 1 -S 5
nvme dir-send $ctrl -n 1 -D 1 -O 2
nvme dir-send $ctrl -n 1 -D 0 -O 1 -T 1 -e 0
nvme lockdown $ctrl -o 0x84 -f 0 -p 1 -s 0
if nvme sanitize $ctrl -a 2 2> /tmp/why; then exit 1; fi
nvme get-log $ctrl -i 0x14 -l 64 --lsp=0x10 | grep -i '10 00 00 01 84'
nvme lockdown $ctrl -o 0x84 -f 0 -p 0 -s 0
"""


def reserve_report_and_release() -> str:
    """A reservation of the host's, what the target reports of it, its end; the log of notifications."""
    return """set -e
ns=/dev/nvme0n1
nvme resv-register $ns --nrkey=0x11 --rrega=0
nvme resv-register $ns --crkey=0x11 --nrkey=0x22 --rrega=2
nvme resv-acquire $ns --crkey=0x22 --rtype=1 --racqa=0
nvme resv-report $ns --eds > /tmp/report
grep -i 'rtype *: 1' /tmp/report
grep -i 'rkey *: *\\(0x\\)\\?22' /tmp/report
dd if=/tmp/z of=$ns bs=4096 count=1 oflag=direct 2>/dev/null
if nvme resv-acquire $ns --crkey=0x33 --rtype=1 --racqa=0; then exit 1; fi
nvme resv-release $ns --crkey=0x22 --rtype=1 --rrela=0
nvme resv-report $ns --eds | grep -i 'rtype *: 0'
nvme resv-register $ns --crkey=0x22 --rrega=1
nvme resv-notif-log /dev/nvme0
"""


def write_read_compare(megabytes: int = 4, block: str = "64k") -> str:
    return write_read_compare_kilobytes(megabytes * 1024, block)


def write_read_compare_kilobytes(total: int, block: str = "16k") -> str:
    """Random data onto the namespace, and back, past every cache."""
    count = total // int(block.removesuffix("k"))
    return f"""set -e
dd if=/dev/urandom of=/tmp/a bs={block} count={count} 2>/dev/null
dd if=/tmp/a of=/dev/nvme0n1 bs={block} count={count} oflag=direct
dd if=/dev/nvme0n1 of=/tmp/b bs={block} count={count} iflag=direct
cmp /tmp/a /tmp/b
"""
