"""The two levels of the API, seen to do what they say: records, hosts, raw peers, products, recordings."""

import subprocess

import numpy
import pytest

import fabricbench as fb
from fabricbench import commands, sc, wire
from fabricbench.enums import AnaState, Cns, LogPage, PduType, RoceOpcode


@pytest.fixture(params=["rdma", "tcp"])
def scene(request):
    with fb.World(record=True, monitors=True) as world:
        subsystem = world.subsystem(transport=request.param, size="4M")
        host = world.host(transport=request.param)
        yield world, subsystem, host, host.connect(subsystem).wait()
        assert world.findings() == []


# ---- records ----

def test_records_are_bytes_with_names():
    command = wire.ReadWriteSqe(opcode=2, nsid=7, slba=0x0102030405060708, nlb=7, fua=True)
    assert bytes(command)[40:48] == bytes(range(8, 0, -1)) and len(command) == 64 == wire.ReadWriteSqe.SIZE
    assert memoryview(command).nbytes == 64
    assert wire.ReadWriteSqe(bytes(command)) == command != command.copy(nsid=8)
    assert command.view(wire.Sqe).cdw10 == 0x05060708
    command.view(wire.Sqe).cdw10 = 1
    assert command.slba == 0x0102030400000001
    assert repr(command) == "<ReadWriteSqe opcode=2 nsid=7 slba=0x102030400000001 nlb=7 (8) fua>"
    assert command.fields()["nlb"] == 7
    assert wire.ReadWriteSqe.slba.offset == 40 and wire.ReadWriteSqe.slba.bits == 64


def test_every_layout_reads_what_it_writes():
    for name, record in wire.record_types().items():
        made = record()
        for field in made.fields():
            kind = getattr(record, field)
            value = b"\xA5" * kind.size if kind.bits == 0 else (1 << kind.bits) - 1
            setattr(made, field, value)
            assert getattr(made, field) == value, (name, field)
            other = record(**{field: value})
            assert getattr(other, field) == value and getattr(record(bytes(other)), field) == value
            assert sum(bin(byte).count("1") for byte in bytes(other)) == (4 * kind.size if kind.bits == 0 else kind.bits)


def test_statuses():
    assert fb.Status("invalid_field") == sc.invalid_field == fb.Status(2) == fb.Status(2, dnr=True)
    assert fb.Status(2, dnr=True).raw == 0x4002 and fb.Status(2, dnr=True).dnr
    assert str(sc.lba_out_of_range) == "LBA Out of Range (0/80h)"
    assert len({sc.invalid_field, fb.Status(2, dnr=True)}) == 1
    assert not sc.invalid_field and sc.success
    # As a field of a completion it is a number.
    answer = wire.Cqe(status=fb.Status("invalid_field", dnr=True))
    assert answer.status == sc.invalid_field and answer.status == 0x4002 and sc.invalid_field != "invalid_field"


# ---- a host that behaves ----

def test_a_block_device(scene):
    _, subsystem, _, controller = scene
    space = controller.namespace(1)
    space.write(0, b"ab" * 256).wait()
    space.compare(0, b"ab" * 256).wait()
    with pytest.raises(fb.CommandError) as caught:
        space.compare(0, b"ac" * 256).wait()
    assert caught.value.status == sc.compare_failure
    space.copy([(0, 1), (0, 1)], 10).wait()
    assert space.read(10, 2).wait() == b"ab" * 512
    space.write_zeroes(10, 1).wait()
    assert space.read(10).wait() == bytes(512)
    space.write_uncorrectable(11, 1).wait()
    with pytest.raises(fb.CommandError) as caught:
        space.read(11).wait()
    assert caught.value.status == sc.unrecovered_read_error
    space.deallocate(11, 1).wait()
    space.verify(0, 8).wait()
    space.flush().wait()
    space.compare_and_write(0, b"ab" * 256, b"xy" * 256).wait()
    assert subsystem.namespaces[0].stored(0) == b"xy" * 256
    assert subsystem.namespaces[0].totals["writes"] >= 2


def test_numpy_without_copies(scene):
    space = scene[3].namespaces[0]
    data = numpy.arange(1 << 18, dtype="<u4")
    space.write(0, data).wait()
    into = numpy.empty_like(data)
    assert space.read(0, into=into).wait() is into
    assert (into == data).all()
    got = numpy.frombuffer(space.read(0, data.nbytes // 512).wait(), dtype="<u4")
    assert (got == data).all() and not got.flags.writeable
    with pytest.raises(ValueError, match="contiguous"):
        space.write(0, data[::2])


def test_identify_logs_features(scene):
    world, subsystem, host, controller = scene
    assert controller.identify().wait().cntlid == controller.cntlid
    assert controller.identify_namespace(1).wait().nsze == 8192
    assert controller.active_namespaces().wait() == [1]
    assert controller.log.smart().wait().ctemp == subsystem.temperature == 310
    assert controller.log.ana().wait() == {1: (AnaState.OPTIMIZED, [1])}
    assert controller.log.errors().wait() == []
    assert len(controller.log.page(LogPage.SMART, 512).wait()) == 512
    controller.features.kato = 7000
    assert controller.features.kato == 7000
    with pytest.raises(fb.CommandError, match="feature 0xc0: Invalid Field"):
        controller.features.get(0xC0).wait()
    assert controller.get_property(8).wait() == 0x20000
    assert [state for _, state in controller.history][-1] == "live"
    created = controller.create_namespace(2048).wait()
    controller.attach_namespace(created).wait()
    assert world.run_until(lambda: len(controller.namespaces) == 2, limit=10)
    controller.delete_namespace(created).wait()
    controller.reset().wait()
    controller.shutdown().wait()
    assert controller.state == "gone" and controller in host.controllers


def test_reservations_by_io_commands(scene):
    _, _, _, controller = scene
    keys = wire.ReservationKeys(crkey=0, other=0x55)
    assert controller.io(commands.reservation_register(1, 0), data=keys).wait().ok
    assert controller.io(commands.reservation_acquire(1, 0, 1), data=wire.ReservationKeys(crkey=0x55)).wait().ok
    report = controller.io(commands.reservation_report(1, 4096), room=4096).wait().check()
    assert report.as_record(wire.ReservationStatus).rtype == 1


def test_events(scene):
    world, subsystem, host, controller = scene
    op = host.next_event()
    subsystem.add_namespace(size="1M")
    event = op.wait(limit=10)
    assert event.log_page == LogPage.CHANGED_NAMESPACES and event.controller == controller
    assert int.from_bytes(event.log[:4], "little") == 2 and host.events_waiting == 0


def test_a_namespace_in_a_group_that_the_ana_log_did_not_have():
    with fb.World() as world:
        subsystem = world.subsystem(size=None)
        controller = world.host().connect(subsystem).wait()
        subsystem.add_namespace(size="1M", ana_group=3)
        assert world.run_until(lambda: len(controller.namespaces) == 1, limit=10)
        space = controller.namespaces[0]
        space.write(0, bytes(512)).wait(limit=1)
        assert [path.state for path in space.paths] == ["optimized"]


def test_a_new_namespace_is_not_the_old_one():
    with fb.World() as world:
        subsystem = world.subsystem(size="1M")
        old = subsystem.namespaces[0].uuid
        subsystem.namespaces[0].remove()
        assert subsystem.add_namespace(size="1M").uuid != old


def test_what_changes_nothing_is_no_change():
    with fb.World() as world:
        target = world.target(ports=2)
        subsystem = target.add_subsystem()
        host = world.host()

        def generation():
            queue = host.raw_admin(target.ports[0], subnqn="nqn.2014-08.org.nvmexpress.discovery")
            log = queue.send(commands.get_log_page(LogPage.DISCOVERY, 1024), room=1024).wait().check()
            return log.as_record(wire.DiscoveryHeader).genctr

        before = generation()
        target.expose(subsystem, 1)
        subsystem.allow_any_host(True)
        assert generation() == before
        target.hide(subsystem, 2)
        target.hide(subsystem, 2)
        assert generation() == before + 1


def test_ports_and_targets_have_machines_of_their_own():
    with fb.World() as world:
        machines = [port.machine for target in (world.target(ports=2), world.target(ports=2)) for port in target.ports]
        assert len(set(machines)) == 4
        with pytest.raises(ValueError, match="there is a machine 'host'"):
            for _ in range(2):
                fb._core.make_machine(world._core, world._fabric, "host", "10.9.9.9", 5, "softroce", False)


def test_a_slow_controller_is_waited_for():
    with fb.World() as world:
        assert world.host().raw_admin(world.subsystem(enable_delay="2 s")).connected
        assert world.now >= 2


def test_a_chosen_identifier_is_not_one_under_way(scene):
    _, subsystem, host, _ = scene
    queue = host.raw_admin(subsystem)
    chosen = queue.send(commands.keep_alive()).wait().cid
    for number in range(1, 4):
        queue.post(commands.async_event_request().copy(cid=chosen + number))
    assert queue.send(commands.keep_alive()).wait().check().cid == chosen + 4


def test_connect_errors(scene):
    _, subsystem, host, _ = scene
    with pytest.raises(fb.ConnectError) as caught:
        host.connect(subsystem, subnqn="nqn.2026-11.org.fabricbench:other").wait()
    assert caught.value.kind == "refused" and caught.value.status == sc.connect_invalid_parameters and caught.value.permanent
    assert caught.value.parameter_in_data and caught.value.parameter_offset == 256
    subsystem.allow_any_host(False)
    with pytest.raises(fb.ConnectError, match="Connect Invalid Host"):
        host.connect(subsystem).wait()


# ---- the raw level ----

def test_raw_queue(scene):
    world, subsystem, host, _ = scene
    queue = host.raw_admin(subsystem)
    assert queue.cntlid == 2
    several = [queue.send(commands.identify(Cns.CONTROLLER), room=4096) for _ in range(5)]
    assert [op.wait().cid for op in several] == sorted(op.wait().cid for op in several)
    assert several[0].wait().as_record(wire.IdentifyController).cntlid == 2
    answer = queue.send(commands.any_command(0x7E)).wait()
    assert answer.status == sc.invalid_opcode and answer.status.dnr
    with pytest.raises(fb.CommandError, match="that: Invalid Command Opcode"):
        answer.check("that")
    io = host.raw_queue(subsystem, qid=1, cntlid=queue.cntlid)
    io.connect().wait()
    assert io.send_connect(cntlid=queue.cntlid).wait().ok
    assert io.send(commands.write(1, 5), data=b"r" * 512).wait().ok
    assert io.send(commands.read(1, 5), room=512).wait().data == b"r" * 512
    assert io.send(commands.write(1, 6), data=b"s" * 512, in_capsule=False).wait().ok
    ended = queue.ended()
    subsystem.end_associations()
    assert ended.wait()


def test_raw_tcp():
    with fb.World() as world:
        subsystem = world.subsystem(transport="tcp")
        at = subsystem.target.ports[0].address
        raw = world.raw_tcp()
        assert raw.greet(at).type == PduType.IC_RESP
        raw.send(wire.CommonHeader(type=0x0F, hlen=8, plen=8))
        term = raw.next_pdu()
        assert term[0] == PduType.C2H_TERM_REQ and wire.TermReq(term).fes == 1
        assert raw.next_pdu() is None and raw.closed


def test_raw_roce():
    with fb.World() as world:
        subsystem = world.subsystem()
        peer = world.raw_roce(subsystem.target.ports[0].address)
        made = peer.connect(4420, wire.RdmaRequest(hrqsize=32, hsqsize=31))
        peer.send(opcode=RoceOpcode.SEND_ONLY, qpn=made.remote_qpn, psn=made.send_psn + 2, ackreq=True, payload=bytes(64))
        nak = peer.next_packet()
        assert nak.opcode == RoceOpcode.ACKNOWLEDGE and nak.aeth.syndrome == 0x60 and nak.icrc_good
        peer.send(opcode=RoceOpcode.SEND_ONLY, qpn=made.remote_qpn, psn=made.send_psn, ackreq=True, payload=bytes(64), good_icrc=False)
        assert peer.next_packet(0.01) is None


def test_raw_mctp():
    with fb.World() as world:
        bus = world.mctp_bus()
        drive = bus.add_drive()
        bus.enumerate()
        peer = bus.raw_peer(drive)
        peer.send(payload=b"\x00\x80\x02", tag=3)  # control: Get Endpoint ID
        answer = peer.next_packet()
        assert answer.tag == 3 and not answer.owner and answer.source == 9 and answer.payload[2:5] == b"\x02\x00\x09"
        peer.send(payload=b"\x00\x80\x02", version=2)
        peer.send_frame(b"\x12")
        assert peer.next_packet(0.2) is None


# ---- products in Python ----

class Vendor(fb.TargetProduct):
    """Keeps 512 bytes behind two vendor specific admin commands: C1h brings them, C2h fetches them."""

    def __init__(self):
        self.kept = bytes(512)

    def own_command(self, command):
        return 512 if command.qid == 0 and command.opcode in (0xC1, 0xC2) else None

    def execute(self, command, data):
        if command.sqe.cdw12 == 1:
            return sc.invalid_field
        if command.opcode == 0xC1:
            self.kept = bytes(data)
            return sc.success, 0x1234
        data[:] = self.kept
        return None


@pytest.mark.parametrize("transport", ["rdma", "tcp"])
def test_a_vendor_specific_command(transport):
    with fb.World() as world:
        product = Vendor()
        controller = world.host(transport=transport).connect(world.subsystem(transport=transport, product=product)).wait()
        answer = controller.admin(commands.any_command(0xC1), data=b"v" * 512).wait().check()
        assert answer.dw0 == 0x1234 and product.kept == b"v" * 512
        assert controller.admin(commands.any_command(0xC2), room=512).wait().check().data == b"v" * 512
        refused = controller.admin(commands.any_command(0xC2).copy(cdw12=1), room=512).wait()
        assert refused.status == sc.invalid_field and refused.data == bytes(512)
        assert controller.admin(commands.any_command(0xC3)).wait().status == sc.invalid_opcode


def test_hooks_change_what_they_are_asked_about():
    class Product(fb.TargetProduct):
        def __init__(self):
            self.seen = []

        def admission(self, command):
            self.seen.append(command.name)
            return sc.internal_error if command.name == "Flush" else None

        def property_read(self, offset, value):
            return value & ~0xFFFF | 15 if offset == 0 else None  # CAP.MQES

        def data_out(self, command, data):
            if command.name == "Identify" and command.sqe.cdw10 == 1:
                data[24:64] = b"made up".ljust(40)

        def data_in(self, command, data):
            if command.name == "Write":
                data[:] = data.swapcase()

        def latency(self, command):
            return "3 ms" if command.name == "Read" else None

        def refuses(self, command, check, status):
            return sc.namespace_not_ready if check == "io.range" or status == sc.lba_out_of_range else None

        def completion(self, command, cqe):
            if command.name == "Get Features":
                cqe.dw0 = 77

    product = Product()
    with fb.World() as world:
        subsystem = world.subsystem(size="1M", product=product)
        controller = world.host().connect(subsystem).wait()
        assert controller.facts["io_entries"] == 16
        assert controller.identify().wait().mn.rstrip() == b"made up"
        assert controller.features.get(2).wait() == 77
        space = controller.namespaces[0]
        space.write(0, b"Ab" * 256).wait()
        before = world.now
        assert space.read(0).wait() == b"aB" * 256
        assert world.now - before > 0.003
        flushed = controller.io(commands.flush(1)).wait()
        assert flushed.status == sc.internal_error
        assert controller.io(commands.read(1, 1 << 40), room=512).wait().status == sc.namespace_not_ready
        assert product.seen[:2] == ["Connect", "Property Get"]


def test_answers_withheld_and_doubled():
    class Product(fb.TargetProduct):
        answer = None

        def completion(self, command, cqe):
            return self.answer if command.opcode == 0x18 and command.qid == 0 else None

    product = Product()
    with fb.World() as world:
        subsystem = world.subsystem(product=product)
        queue = world.host().raw_admin(subsystem)
        product.answer = fb.Answer.SEND_TWICE
        assert queue.send(commands.keep_alive()).wait().ok
        assert queue.next_response().wait(1).ok
        product.answer = fb.Answer.WITHHOLD
        with pytest.raises(fb.Deadlock):
            queue.send(commands.keep_alive()).wait()
        product.answer = fb.Answer.DISCONNECT_INSTEAD
        assert not queue.send(commands.keep_alive()).wait().answered


def test_a_host_in_python():
    class Product(fb.HostProduct):
        def command_out(self, qid, sqe, data):
            if sqe.opcode == 2 and qid:
                sqe.nsid = 99

    with fb.World() as world:
        space = world.host(product=Product()).connect(world.subsystem()).wait().namespaces[0]
        with pytest.raises(fb.CommandError) as caught:
            space.read(0).wait()
        assert caught.value.status == sc.invalid_field


def test_an_endpoint_in_python():
    class Product(fb.EndpointProduct):
        def delay(self, request):
            return "40 ms" if request[4] == 1 else None

        def response(self, request, body):
            return body[:8] + b"\0" + body[9:] if request[4] == 1 else None

    with fb.World() as world:
        bus = world.mctp_bus()
        odd, plain = bus.add_drive(product=Product()), bus.add_drive()
        bus.enumerate()
        requester = bus.requester()
        assert not requester.endpoint(odd).health().wait().df
        assert requester.endpoint(plain).health().wait().df


# ---- faults, recordings ----

def test_a_plan_and_its_schedule():
    plan = fb.Plan([fb.Rule("drop", every=10, most=3, where="host->target"), fb.Rule("delay", every=20, amount=("10us", "2ms"))])
    again = fb.Plan.from_yaml(plan.to_yaml())
    schedule = plan.schedule(7, ["packet:host->target", "packet:target->host"])
    assert schedule.decisions == again.schedule(7, ["packet:host->target", "packet:target->host"]).decisions
    assert 1 < len(schedule) and len(schedule.without(0)) == len(schedule) - 1
    assert any(line.startswith("drop packet") for line in schedule.story())

    def strikes(faults):
        with fb.World(seed=7, faults=faults) as world:
            space = world.host().connect(world.subsystem(size="1M")).wait().namespaces[0]
            for block in range(0, 64, 8):
                space.write(block, bytes(4096)).wait()
            return [strike.decision for strike in world.strikes], world.digest

    # A plan decides, place by place, what its schedule says; and a schedule replays a plan.
    assert strikes(plan) == strikes(schedule)
    assert strikes(plan)[0] and set(strikes(plan)[0]) <= set(schedule.decisions)
    assert strikes(fb.Schedule())[0] == []


def test_links():
    with fb.World() as world:
        subsystem = world.subsystem(size="1M")
        host = world.host()
        space = host.connect(subsystem).wait().namespaces[0]
        link = world.link(host, "target")
        link.drop_next(2)
        space.write(0, bytes(512)).wait()
        assert link.counters["dropped_by_filter"] >= 2
        seen = []
        world.link(host, "target", both=False).watch(lambda ordinal, payload: seen.append((ordinal, len(payload))))
        space.read(0).wait()
        assert seen and seen[0][1] > 60
        world.link(host, "target", both=False).watch(None)
        link.configure(latency="1 ms")
        before = world.now
        space.read(0).wait()
        assert world.now - before > 0.002
        link.cut("20 ms")
        before = world.now
        space.read(0).wait()
        assert world.now - before > 0.02


def test_a_recording_is_one_for_wireshark(scene, tmp_path):
    world, _, _, controller = scene
    controller.namespaces[0].write(0, bytes(512)).wait()
    world.note("here")
    said = world.said()
    assert any("Write" in one.label for one in said) and any(one.layer == "note" for one in said)
    assert all(len(line) <= 100 for line in world.ladder().splitlines())
    world.save_capture(tmp_path / "x.pcapng")
    assert (tmp_path / "x.pcapng").read_bytes() == world.capture()
    shown = subprocess.run(["tshark", "-r", tmp_path / "x.pcapng", "-Y", "_ws.malformed || nvme"],
                           capture_output=True, text=True, check=True)
    assert "Malformed" not in shown.stdout and "Write" in shown.stdout


def test_listening_and_marks():
    with fb.World() as world:
        heard = []
        world.listen(lambda kind, time, actor, label, text, data: heard.append((kind, label)))
        world.host().connect(world.subsystem()).wait()
        assert {"packet", "state"} <= {kind for kind, _ in heard}
        with pytest.raises(TypeError, match="listen: something that can be called"):
            world.listen(3)


def test_monitors_find_who_breaks_a_rule():
    with fb.World(record=True, monitors=True) as world:
        queue = world.host().raw_admin(world.subsystem())
        request = commands.async_event_request().copy(cid=9)
        queue.post(request)
        queue.post(request)
        queue.next_response().wait()
        assert [one["rule"] for one in world.findings()] == ["nvme_cid_reuse"]


# ---- TLS ----

PSK = "* * NVMeTLSkey-1:01:VRLbtnN9AQb2WXW3c9+wEf/DRLz0QuLdbYvEhwtdWwNf9LrZ:"


def test_tls():
    with fb.World() as world:
        target = world.target(transport="tcp", tls="required", psks=PSK)
        subsystem = target.add_subsystem()
        subsystem.add_namespace(size="1M")
        host = world.host(transport="tcp", psks=PSK)
        space = host.connect(subsystem, tls=True).wait().namespaces[0]
        space.write(0, b"s" * 512).wait()
        assert space.read(0).wait() == b"s" * 512
        with pytest.raises(fb.ConnectError):
            host.connect(subsystem).wait()
        with pytest.raises(ValueError, match="TLS needs a host with keys"):
            world.host(transport="tcp").connect(subsystem, tls=True)
        with pytest.raises(fb.SetupError, match="psks"):
            world.host(transport="tcp", psks="no key")
        with pytest.raises(ValueError, match="TLS is of NVMe/TCP"):
            world.host(psks=PSK)


def test_counters_of_sixteen_bytes_are_numbers(scene):
    controller = scene[-1]
    smart = controller.log.smart().wait()
    assert smart.pwrc == 1 and isinstance(smart.duw, int)
    made = wire.SmartLog(duw=1 << 70, hrc=b"\5")
    assert (made.duw, made.hrc) == (1 << 70, 5) and "duw=1180591620717411303424 hrc=5" in repr(made)
    assert bytes(made)[48:64] == (1 << 70).to_bytes(16, "little")


def test_wire_stubs_are_made_of_what_is_there():
    assert wire.SmartLog.duw.bits == 128 and wire.IdentifyNamespace.nguid.bits == 0


def test_a_refused_connect_says_so_by_its_own_name(scene):
    host, subsystem = scene[2], scene[1]
    queue = host.raw_queue(subsystem)
    queue.connect().wait()
    answer = queue.send_connect(entries=1).wait()
    assert "Connect Invalid Parameters (1/82h)" in repr(answer)
    with pytest.raises(fb.CommandError, match="Connect: Connect Invalid Parameters"):
        answer.check("Connect")
