"""Shell scripts for the guest: Linux as target, Linux as host."""

from interop.lane.network import GUEST, GUEST6, MTU

SUBSYSTEM = "nqn.2024-01.com.example:kernel"
CONFIG = "/sys/kernel/config/nvmet"


def link_up() -> str:
    return f"""ip link set eth0 mtu {MTU} up
ip addr add {GUEST}/24 dev eth0
ip -6 addr add {GUEST6}/64 dev eth0 nodad
"""


def rxe() -> str:
    """The software RDMA device on the guest's interface."""
    return link_up() + """modprobe -a rdma_rxe ib_uverbs rdma_ucm
rdma link add rxe0 type rxe netdev eth0
rdma link show rxe0/1 | grep -q 'state ACTIVE'
"""


def nvmet(transport: str, port: int = 4420, megabytes: int = 64) -> str:
    """A subsystem with one memory namespace behind one port."""
    return f"""set -e
modprobe -a nvmet nvmet_{transport}
modprobe brd rd_nr=1 rd_size={megabytes * 1024}
cd {CONFIG}
mkdir subsystems/{SUBSYSTEM} subsystems/{SUBSYSTEM}/namespaces/1
echo 1 >subsystems/{SUBSYSTEM}/attr_allow_any_host
echo /dev/ram0 >subsystems/{SUBSYSTEM}/namespaces/1/device_path
echo 1 >subsystems/{SUBSYSTEM}/namespaces/1/enable
mkdir ports/1
echo ipv4 >ports/1/addr_adrfam
echo {transport} >ports/1/addr_trtype
echo {GUEST} >ports/1/addr_traddr
echo {port} >ports/1/addr_trsvcid
ln -s {CONFIG}/subsystems/{SUBSYSTEM} ports/1/subsystems/
"""


def allow_host(nqn: str, secret: str, controller_secret: str) -> str:
    """Only this host may connect, and both sides authenticate. After nvmet()."""
    host = f"{CONFIG}/hosts/{nqn}"
    return f"""modprobe -a dh_generic hmac sha256_generic sha512_generic
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
echo 0 >subsystems/{SUBSYSTEM}/namespaces/1/enable
rmdir subsystems/{SUBSYSTEM}/namespaces/1 subsystems/{SUBSYSTEM}
rmmod nvmet_{transport}
"""


def trouble() -> str:
    """Loss, duplication and reordering of what leaves the guest. Few packets overtake: rdma_rxe goes
    back to the first lost one, and gets nowhere when one of the next thirty is always out of order."""
    return """set -e
modprobe sch_netem
tc qdisc add dev eth0 root netem delay 1ms loss 0.5% duplicate 1% reorder 1%
"""


def trouble_over() -> str:
    return "tc qdisc del dev eth0 root"


def wait_live() -> str:
    return """for i in $(seq 400); do
  grep -q live /sys/class/nvme/nvme0/state && exit 0
  sleep 0.1
done
cat /sys/class/nvme/nvme0/state; exit 1
"""


def connect(transport: str, address: str, nqn: str, port: int = 4420, queues: int = 2,
            options: str = "") -> str:
    """Connects as a host, and waits for the namespace."""
    return f"""modprobe -a nvme_{transport}
nvme connect -t {transport} -a {address} -s {port} -n {nqn} -i {queues} {options} || exit 1
for i in $(seq 100); do [ -b /dev/nvme0n1 ] && exit 0; sleep 0.1; done
echo 'no /dev/nvme0n1'; exit 1
"""


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
    """Random data onto the namespace, and back, past every cache."""
    kilobytes = int(block.removesuffix("k"))
    count = megabytes * 1024 // kilobytes
    return f"""set -e
dd if=/dev/urandom of=/tmp/a bs={block} count={count} 2>/dev/null
dd if=/tmp/a of=/dev/nvme0n1 bs={block} count={count} oflag=direct
dd if=/dev/nvme0n1 of=/tmp/b bs={block} count={count} iflag=direct
cmp /tmp/a /tmp/b
"""
