"""What is wrong with an argument is said by name and with its limits; nothing happens then."""

from datetime import timedelta

import pytest

import fabricbench as fb
from fabricbench import commands, wire


@pytest.fixture(scope="module")
def scene():
    with fb.World() as world:
        subsystem = world.subsystem(size="1M")
        host = world.host()
        controller = host.connect(subsystem).wait()
        yield world, subsystem, host, controller


WRONG = [
    # (what is done, exception, words of its text)
    (lambda w, s, h, c: fb.World(seed=-1), ValueError, "seed: -1 is no number from 0"),
    (lambda w, s, h, c: fb.World(seed="x"), ValueError, "seed: 'x'"),
    (lambda w, s, h, c: fb.World(faults="drop"), TypeError, "faults: a Plan or a Schedule is wanted, not str"),
    (lambda w, s, h, c: fb.World(latency=-1), (TypeError, ValueError), "links.latency"),
    (lambda w, s, h, c: fb.World(latencies=1), TypeError, "World: no option 'latencies'; is 'latency' meant?"),
    (lambda w, s, h, c: fb.World(sed=1), TypeError, "World: no option 'sed'; is 'seed' meant?"),
    (lambda w, s, h, c: w.subsystem(size=100), ValueError, "size: 100 bytes are not a whole number of blocks of 512 bytes"),
    (lambda w, s, h, c: w.subsystem(size=0), ValueError, "size: 0 bytes are not a whole number of blocks"),
    (lambda w, s, h, c: w.subsystem(size=1.5), TypeError, "size: bytes are wanted"),
    (lambda w, s, h, c: w.subsystem(mdts=99), ValueError, "subsystem.mdts: 99 is outside 0 to 19"),
    (lambda w, s, h, c: w.subsystem(version=5), ValueError, "subsystem.version: 0x5 is not supported; known are 0x10400"),
    (lambda w, s, h, c: w.subsystem(nqn="testnqn"), ValueError, "subsystem.nqn: 'testnqn' is not an NVMe qualified name"),
    (lambda w, s, h, c: w.subsystem(serial="x" * 21), ValueError, "subsystem.serial"),
    (lambda w, s, h, c: w.subsystem(ports=0), ValueError, "ports: 0 is no number of ports"),
    (lambda w, s, h, c: w.target(msdbd=17), ValueError, "listen.msdbd: 17 is outside 1 to 16"),
    (lambda w, s, h, c: s.add_namespace(blocks=4, capacity=5), ValueError, "namespace.capacity: 5 blocks are more"),
    (lambda w, s, h, c: s.add_namespace(blocks=0), ValueError, "namespace.blocks: 0 is outside 1"),
    (lambda w, s, h, c: h.connect(s, kato=5), TypeError, "connect: no option 'kato'; is 'kato_ms' meant?"),
    (lambda w, s, h, c: h.connect("rdma://192.0.2.1:4420/nqn.2026-01.org.example:a", port=3), ValueError,
     "connect: port=3 is the number of a port of a Subsystem; a URL is one"),
    (lambda w, s, h, c: h.connect("rdma://192.0.2.1:4420/nqn.2026-01.org.example:a", subnqn="nqn.2026-01.org.example:b"), ValueError,
     "names a subsystem, and subnqn='nqn.2026-01.org.example:b' another"),
    (lambda w, s, h, c: h.connect(s, port=0), ValueError, "connect: the target has no port over rdma with number 0"),
    (lambda w, s, h, c: w.mctp_bus().add_drive(address=8), ValueError, "address: 0x8 is odd or reserved"),
    (lambda w, s, h, c: w.mctp_bus().add_drive(address=0x3B), ValueError, "address: 0x3b is odd or reserved"),
    (lambda w, s, h, c: w.mctp_bus().add_drive(address=0x20), ValueError, "address: 0x20 is taken"),
    (lambda w, s, h, c: w.mctp_bus("pcie").add_bridge(address=0), ValueError, "address: 0x0 is that of the root complex"),
    (lambda w, s, h, c: [bus := w.mctp_bus("serial"), bus.add_drive(), bus.add_drive()], ValueError, "both are taken"),
    (lambda w, s, h, c: w.mctp_bus().add_drive(endpoint={"port": 9}), ValueError, "endpoint.port: 9 is outside 0 to"),
    (lambda w, s, h, c: h.connect(s, queue_entries=1), ValueError, "connect.queue_entries: 1 is outside 2 to 65535"),
    (lambda w, s, h, c: h.connect(s, queue_entries=0), ValueError, "connect.queue_entries: 0 is outside 2 to 65535"),
    (lambda w, s, h, c: h.connect(s, admin_entries=1), ValueError, "connect.admin_entries: 1 is outside 2 to 65535"),
    (lambda w, s, h, c: h.connect(s, transfer_max_bytes=511), ValueError, "connect.transfer_max_bytes: 511 is outside 4096 to"),
    (lambda w, s, h, c: w.target(tcp={"r2t_bytes": 1}, transport="tcp"), ValueError, "listen.r2t_bytes: 1 is no multiple of 4 above 0"),
    (lambda w, s, h, c: w.target(tcp={"c2h_data_bytes": 0}, transport="tcp"), ValueError,
     "listen.c2h_data_bytes: 0 is no multiple of 4 above 0"),
    (lambda w, s, h, c: c.namespaces[0].write("0", b"x" * 512), TypeError, "write: lba: an int is wanted, not str"),
    (lambda w, s, h, c: c.namespaces[0].write(-1, b"x" * 512), ValueError, "write: lba: -1 is negative"),
    (lambda w, s, h, c: c.namespaces[0].deallocate(0, -1), ValueError, "deallocate: blocks: -1 is negative"),
    (lambda w, s, h, c: fb.World(real=True).host(), ValueError, "address: in real time"),
    (lambda w, s, h, c: w.run_for("soon"), ValueError, "span: 'soon' is no time"),
    (lambda w, s, h, c: w.run_for(-1), ValueError, "span: -1 is outside 0"),
    (lambda w, s, h, c: w.run_for(float("nan")), ValueError, "span: nan s is outside"),
    (lambda w, s, h, c: w.run_for(None), TypeError, "span: a time is wanted"),
    (lambda w, s, h, c: w.run_for(timedelta(days=-1)), ValueError, "span"),
    (lambda w, s, h, c: w.target(transport="fc"), ValueError, "transport: 'fc'; there are rdma and tcp"),
    (lambda w, s, h, c: w.target(in_capsule_bytes=1 << 40), ValueError, "listen.in_capsule_bytes: 1099511627776 is outside 0 to"),
    (lambda w, s, h, c: w.target(tcp={"maxh2cdata": "x"}, transport="tcp"), TypeError, "listen.maxh2cdata: an int is wanted, not str"),
    (lambda w, s, h, c: w.target(tcp={"cpda": 1}), ValueError, "options of TCP for a listener over RDMA"),
    (lambda w, s, h, c: w.target(deviations=["no_such"]), fb.SetupError, "no_such"),
    (lambda w, s, h, c: w.subsystem(mtds=5), TypeError, "subsystem: no option 'mtds'; is 'mdts' meant?"),
    (lambda w, s, h, c: w.subsystem(mdts=300), ValueError, "subsystem.mdts: 300 is outside 0 to 255"),
    (lambda w, s, h, c: w.subsystem(mdts="8"), TypeError, "subsystem.mdts: an int is wanted, not str"),
    (lambda w, s, h, c: w.subsystem(copy={"ranges": -1}), ValueError, "subsystem.copy.ranges: -1 is outside 0 to 255"),
    (lambda w, s, h, c: w.subsystem(copy=3), TypeError, "subsystem.copy: a dict of options is wanted, not int"),
    (lambda w, s, h, c: w.subsystem(allowed_hosts="nqn"), TypeError, "subsystem.allowed_hosts: a list is wanted, not str"),
    (lambda w, s, h, c: w.subsystem(size="lots"), ValueError, "size: 'lots' is no size"),
    (lambda w, s, h, c: w.subsystem(size=-4), ValueError, "size: -4 is negative"),
    (lambda w, s, h, c: w.subsystem(product=fb.TargetProduct), TypeError, "TargetProduct is wanted, not the class TargetProduct; put ()"),
    (lambda w, s, h, c: w.subsystem(product=len), TypeError, "product: a TargetProduct is wanted, not builtin"),
    (lambda w, s, h, c: w.host(product=fb.TargetProduct()), TypeError, "product: a HostProduct is wanted, not TargetProduct"),
    (lambda w, s, h, c: w.mctp_bus().add_drive(target_product=4), TypeError, "target_product: a TargetProduct is wanted, not int"),
    (lambda w, s, h, c: type("Mine", (fb.TargetProduct,), {"admision": print}), TypeError, "Mine.admision: no hook is called"),
    (lambda w, s, h, c: w.host(deviations="host_x"), TypeError, "deviations: a list is wanted, not str; write ['host_x']"),
    (lambda w, s, h, c: w.note(3), TypeError, "note: text is wanted, not int"),
    (lambda w, s, h, c: w.run(w.sleep(1)), TypeError, "coroutines are wanted, of async def, not Op"),
    (lambda w, s, h, c: w.run(print), TypeError, "coroutines are wanted"),
    (lambda w, s, h, c: h.connect(fb.World().subsystem(size="64K")), ValueError, "is of another world than this host"),
    (lambda w, s, h, c: setattr(s, "temprature", 400), AttributeError, "temprature"),
    (lambda w, s, h, c: setattr(c.features, "katoo", 1), AttributeError, "katoo"),
    (lambda w, s, h, c: wire.SmartLog(duw=1 << 128), ValueError, "duw: 340282366920938463463374607431768211456 is no number of 16 bytes"),
    (lambda w, s, h, c: wire.SmartLog(duw=-1), ValueError, "duw: -1 is no number of 16 bytes"),
    (lambda w, s, h, c: s.add_namespace(size="1M", blocks=4), ValueError, "size or blocks, not both"),
    (lambda w, s, h, c: s.add_namespace(blocks=4, block_bytes=520), ValueError, "namespace.block_bytes: 520 is neither 512 nor 4096"),
    (lambda w, s, h, c: s.add_namespace(blocks=4, nsid=1), fb.SetupError, "1"),
    (lambda w, s, h, c: s.add_namespace(blocks=4, uuid=b"short"), ValueError, "namespace.uuid: 16 bytes are wanted, not 5"),
    (lambda w, s, h, c: s.add_namespace(size="1M", file="/no/such/folder/x"), fb.SetupError, "/no/such/folder/x"),
    (lambda w, s, h, c: s.target.add_subsystem(nqn=s.nqn), ValueError, "the target has nqn"),
    (lambda w, s, h, c: s.target.add_subsystem(secrets="no secret"), fb.SetupError, "secrets"),
    (lambda w, s, h, c: s.set_ana_state(0), ValueError, "state: 0 is outside 1 to 15"),
    (lambda w, s, h, c: s.namespaces[0].stored(1 << 40), ValueError, "beyond"),
    (lambda w, s, h, c: s.namespaces[0].store(0, b"x"), ValueError, "data: 1 bytes are no whole blocks of 512"),
    (lambda w, s, h, c: w.host(policy="fastest"), ValueError, "policy: 'fastest'"),
    (lambda w, s, h, c: h.connect(s, queue_entires=4), TypeError, "connect: no option 'queue_entires'; is 'queue_entries' meant?"),
    (lambda w, s, h, c: h.connect(s, port=7), ValueError, "no port over rdma with number 7"),
    (lambda w, s, h, c: h.connect(s.target.ports[0]), ValueError, "which subsystem"),
    (lambda w, s, h, c: h.connect("tcp://10.0.1.1:4420/nqn.x"), ValueError, "this host speaks rdma"),
    (lambda w, s, h, c: h.connect("10.0.1.1"), ValueError, "'10.0.1.1' is no place to connect to"),
    (lambda w, s, h, c: h.connect(17), TypeError, "a Subsystem, a Port or a URL is wanted, not int"),
    (lambda w, s, h, c: h.connect(s, secret="open sesame"), fb.SetupError, "secret"),
    (lambda w, s, h, c: c.admin(b"short"), ValueError, "command: 5 bytes, an entry has 64"),
    (lambda w, s, h, c: c.admin(17), TypeError, "command: bytes are wanted, not int"),
    (lambda w, s, h, c: c.admin(commands.keep_alive(), data=b"1234", room=4), ValueError, "not both"),
    (lambda w, s, h, c: c.reached("happy"), ValueError, "state: 'happy' is none"),
    (lambda w, s, h, c: c.namespaces[0].write(0, b"x" * 100), ValueError, "data: 100 bytes are no whole blocks of 512"),
    (lambda w, s, h, c: c.namespaces[0].write(0, "text"), TypeError, "data: bytes, or something with a buffer, are wanted, not str"),
    (lambda w, s, h, c: c.namespaces[0].read(0, 0), ValueError, "blocks: at least one"),
    (lambda w, s, h, c: c.namespaces[0].read(0, 1 << 60), ValueError, "blocks: more than 16 GiB"),
    (lambda w, s, h, c: c.namespaces[0].read(0, into=bytes(512)), ValueError, "into: the buffer must be contiguous and writable"),
    (lambda w, s, h, c: c.namespaces[0].read(0, into=bytearray(100)), ValueError, "into: 100 bytes are no whole blocks"),
    (lambda w, s, h, c: c.namespaces[0].read(-1), ValueError, "lba: -1 is outside 0 to"),
    (lambda w, s, h, c: c.namespaces[0].read("0"), TypeError, "lba: an int is wanted, not str"),
    (lambda w, s, h, c: commands.read(1, 0, 0), ValueError, "blocks: 0 is outside 1 to 65536"),
    (lambda w, s, h, c: commands.read(1 << 32, 0), ValueError, "nsid: 4294967296 is outside 0 to 4294967295"),
    (lambda w, s, h, c: commands.read("1", 0), TypeError, "nsid: an int is wanted, not str"),
    (lambda w, s, h, c: commands.get_log_page(2, 3), ValueError, "length: 3 is outside 4"),
    (lambda w, s, h, c: commands.get_log_page(2, 6), ValueError, "length: 6 is no multiple of 4"),
    (lambda w, s, h, c: commands.connect(hostnqn="a", subnqn="b", hostid=b"1"), ValueError, "hostid: 16 bytes are wanted, not 1"),
    (lambda w, s, h, c: wire.ReadWriteSqe(nlb=65536), ValueError, "nlb: 65536 is outside 0 to 65535"),
    (lambda w, s, h, c: wire.ReadWriteSqe(nlb=-1), ValueError, "nlb: -1 is outside"),
    (lambda w, s, h, c: wire.ReadWriteSqe(nlb=1.5), TypeError, "nlb: an int is wanted, not float"),
    (lambda w, s, h, c: wire.ReadWriteSqe(lba=1), TypeError, "ReadWriteSqe has no field 'lba'"),
    (lambda w, s, h, c: wire.ReadWriteSqe(b"short"), ValueError, "ReadWriteSqe: 5 bytes are too few, it has 64"),
    (lambda w, s, h, c: wire.ReadWriteSqe(sgl1=bytes(17)), ValueError, "sgl1: 17 bytes do not fit into 16"),
    (lambda w, s, h, c: wire.ReadWriteSqe().copy(nope=1), TypeError, "has no field 'nope'"),
    (lambda w, s, h, c: wire.Cqe().view(wire.ReadWriteSqe), ValueError, "16 bytes are too few, it has 64"),
    (lambda w, s, h, c: fb.Status("no_such_status"), ValueError, "no status is called 'no_such_status'"),
    (lambda w, s, h, c: fb.Status(1 << 15), ValueError, "status: 32768 is outside"),
    (lambda w, s, h, c: w.link("host", "nobody").cut(), ValueError, "no machine is called 'nobody'"),
    (lambda w, s, h, c: w.said(), ValueError, "record=True"),
    (lambda w, s, h, c: fb.Rule("gremlin"), ValueError, "there is no fault 'gremlin'"),
    (lambda w, s, h, c: fb.Rule("drop", every=0), ValueError, "every: 0 is below 1"),
    (lambda w, s, h, c: fb.Plan([fb.Rule("drop", amount=3)]).to_yaml(), fb.SetupError, "amount"),
    (lambda w, s, h, c: fb.Schedule(["nonsense"]), fb.SetupError, "nonsense"),
    (lambda w, s, h, c: fb.Plan().schedule(1, ["here"]), ValueError, "places: 'here' is none"),
    (lambda w, s, h, c: w.mctp_bus("usb"), ValueError, "medium: 'usb'"),
    (lambda w, s, h, c: w.mctp_bus(name="b").add_drive(segment=3), ValueError, "segment: 3 is outside 0 to 0"),
    (lambda w, s, h, c: w.mctp_bus(name="c").add_drive(address=512), ValueError, "address: 512 is outside 0 to 255"),
    (lambda w, s, h, c: w.mctp_bus(name="d").add_drive(variant="golden"), ValueError, "variant: no kind of drive is called 'golden'"),
    (lambda w, s, h, c: w.mctp_bus(name="e").requester(timeouts=1), TypeError, "requester: no option 'timeouts'; is 'timeout' meant?"),
    (lambda w, s, h, c: w.raw_roce("nowhere"), ValueError, "peer: 'nowhere' is no IP address"),
    # Functions of the extension that scripts get as they are.
    (lambda w, s, h, c: c.namespaces[0].read(0, count=1), TypeError, "read: no argument 'count'"),
    (lambda w, s, h, c: c.namespaces[0].read(0, block=1), TypeError, "read: no argument 'block'; is 'blocks' meant?"),
    (lambda w, s, h, c: c.namespaces[0].read(), TypeError, "read: 'lba' is missing"),
    (lambda w, s, h, c: c.namespaces[0].read(0, 1, None, 4), TypeError, "read: 4 arguments in a row; there are lba, blocks, into"),
    (lambda w, s, h, c: commands.identify(csn=1), TypeError, "identify: no argument 'csn'; is 'cns' meant?"),
    (lambda w, s, h, c: commands.read(1), TypeError, "read: 'lba' is missing"),
    (lambda w, s, h, c: commands.get_log_page(2, size=5), TypeError, "get_log_page: no argument 'size'"),
    (lambda w, s, h, c: h.raw_admin(s).send(commands.keep_alive(), rom=4), TypeError, "send: no argument 'rom'; is 'room' meant?"),
    (lambda w, s, h, c: h.raw_admin(s).send(commands.keep_alive(), room="4"), TypeError, "send: room: an int is wanted, not str"),
    (lambda w, s, h, c: h.raw_admin(s).send(commands.keep_alive(), room=-1), ValueError, "send: room: -1 is negative"),
    (lambda w, s, h, c: h.raw_admin(s).send(), TypeError, "send: 'command' is missing"),
    # Deviations that would have no effect.
    (lambda w, s, h, c: w.subsystem(deviations=["host_connect_property_first"]), fb.SetupError, "would have no effect"),
    (lambda w, s, h, c: w.host(deviations=["connect_takes_sqsize_zero"]), fb.SetupError, "of product 'controller', not of 'host'"),
    (lambda w, s, h, c: w.host(transport="tcp", deviations=["rdma_sends_bad_icrc"]), fb.SetupError, "it does not show over tcp"),
    (lambda w, s, h, c: w.mctp_bus(name="f").add_drive(deviations=["host_connect_property_first"]), fb.SetupError, "would have no effect"),
    # Plans.
    (lambda w, s, h, c: fb.Rule("dorp"), ValueError, "there is no fault 'dorp'; is 'drop' meant?"),
    (lambda w, s, h, c: fb.Rule("drop", every="x"), TypeError, "every: an int is wanted, not str"),
    (lambda w, s, h, c: fb.Rule("drop", most=0), ValueError, "most: 0 is below 1"),
    (lambda w, s, h, c: fb.Rule("drop", where=""), ValueError, "where: '' is no place"),
    (lambda w, s, h, c: fb.Rule("drop", after=20, before=10), ValueError, "after: 20 is not below before: 10"),
    (lambda w, s, h, c: fb.Plan("drop"), TypeError, "rules: a list of Rule is wanted, not str"),
    (lambda w, s, h, c: fb.Plan(["drop"]), TypeError, "rules: a list of Rule is wanted, not str"),
    (lambda w, s, h, c: fb.Schedule("packet:host->target#7 drop"), TypeError, "decisions: a list is wanted, not str"),
    (lambda w, s, h, c: fb.Plan.from_yaml("name: x"), fb.SetupError, "a plan without 'faults'"),
    # Operations.
    (lambda w, s, h, c: w.sleep(0).status, AttributeError, "an operation has no 'status'; if its value has one: call .wait() first"),
    (lambda w, s, h, c: w.sleep(0) + b"x", TypeError, "an operation, not its value: call .wait()"),
    (lambda w, s, h, c: b"x" + w.sleep(0), TypeError, "an operation, not its value: call .wait()"),
    (lambda w, s, h, c: w.sleep(0) % 3, TypeError, "an operation, not its value: call .wait()"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_is_wrong_is_named(scene, number):
    act, error, words = WRONG[number]
    with pytest.raises(error) as caught:
        act(*scene)
    text = str(caught.value)
    assert words in text
    assert text.count("\n") == 0 or words == ""
    # The world is none the worse for it.
    assert scene[3].live and scene[3].identify().wait().cntlid == scene[3].cntlid


def test_a_rule_whose_place_there_never_was_is_told():
    plan = fb.Plan([fb.Rule("drop", every=1, where="hots->target"), fb.Rule("drop", every=10**6, where="host->target")])
    with pytest.warns(UserWarning, match="no place 'hots->target': drop can occur at: .*host->target"):
        with fb.World(faults=plan) as world:
            world.host().connect(world.subsystem(size="64K")).wait()


def test_a_decision_whose_place_there_never_was_is_told():
    with pytest.warns(UserWarning, match="there was no place 'packet:hots->target'"):
        with fb.World(faults=fb.Schedule(["packet:host->target#3 drop", "packet:hots->target#7 drop"])) as world:
            world.host().connect(world.subsystem(size="64K")).wait()
            assert len(world.strikes) == 1


def test_a_path_with_a_small_mtu():
    # Small packets pass: the association comes about. Long transfers do not, in one direction or in any.
    for transport, kind in (("rdma", "mtu"), ("tcp", "segment_mtu")):
        plan = fb.Plan([fb.Rule(kind, every=1, most=1, where="host->target", amount=1300)])
        with fb.World(seed=7, faults=plan) as world:
            space = world.host(transport=transport).connect(world.subsystem(size="1M", transport=transport)).wait().namespace(1)
            assert len(world.strikes) == 1 and "packets above 1300 bytes vanish" in world.strikes[0].story
            space.write(0, b"a" * 512).wait()
            operation = space.write(0, b"b" * 65536)
            assert world.wait_any([operation], limit="5 s") is None, "it never gets through"
            operation.cancel()


def test_the_repr_of_what_was_not_made():
    assert repr(fb.World.__new__(fb.World)) == "<World, not made>"


def test_a_subsystem_of_a_wrong_size_leaves_no_target_behind():
    with fb.World() as world:
        with pytest.raises(ValueError):
            world.subsystem(size="64m")
        assert world.subsystem(size="64K").target.name == "target"


def test_attributes_that_are_none():
    record = wire.ReadWriteSqe()
    with pytest.raises(AttributeError):
        record.lba = 1
    with pytest.raises(ValueError, match="slba: 18446744073709551616 is outside"):
        record.slba = 1 << 64


def test_enumerations_and_flags_go_wherever_numbers_do():
    from fabricbench.enums import Cns, LogPage

    assert commands.identify(Cns.CONTROLLER).cns == 1
    assert commands.get_log_page(LogPage.SMART, 512).lid == 2
    assert wire.ReadWriteSqe(fua=True).fua is True


def test_words_of_durations(scene):
    world = scene[0]
    for given, seconds in (("250us", 250e-6), ("10 ms", 0.01), ("2 s", 2), (3, 3), (0.5, 0.5), (timedelta(seconds=4), 4), ("1 min", 60)):
        before = world.now_ns
        world.run_for(given)
        assert world.now_ns - before == round(seconds * 1e9)


def test_drives_get_the_addresses_that_a_bus_has_left():
    bus = fb.World(seed=1).mctp_bus()
    bus.add_drive(address=0x3A)
    for _ in range(40):
        bus.add_drive()
    assert bus.enumerate() == 41
