"""A host keeps a connection to a discovery service open while the storage behind it changes.

A subsystem is added, one is taken off a port and comes back, and a referral to a second service appears. After each
change the service has to count its generation up and to announce it by an event, and the log has to list what there is
and no more. A host that follows the referral finds a subsystem that its first service knows nothing of.
"""

import pytest

from fabricbench import wire
from fabricbench.enums import EventType, LogPage

DISCOVERY = "nqn.2014-08.org.nvmexpress.discovery"
ORDERS, PAYROLL, ARCHIVE = (f"nqn.2026-11.org.example:{name}" for name in ("orders", "payroll", "archive"))
NVM_SUBSYSTEM, REFERRAL = 2, 1  # SUBTYPE


def stay_connected(host, port):
    """A persistent connection: with a Keep Alive Timeout, so that events may come. There are no I/O queues."""
    return host.connect(port, subnqn=DISCOVERY, io_queues=0, kato_ms=30_000).wait()


def generation(service):
    return wire.DiscoveryHeader(service.log.page(LogPage.DISCOVERY, 1024).wait()).genctr


def listed(host, port):
    entries = host.discover(port, follow_referrals=False).wait()
    return sorted((entry.subnqn, entry.portid) for entry in entries if entry.subtype == NVM_SUBSYSTEM)


@pytest.mark.requirement("fabrics.discovery.event")
@pytest.mark.requirement("fabrics.discovery.genctr-counts")
@pytest.mark.requirement("fabrics.discovery.genctr-stable")
@pytest.mark.parametrize("deviations", [[], ["discovery_genctr_stays"]], ids=["honest", "uncounted"])
def test_every_change_is_counted_and_announced(world, deviations):
    target = world.target(ports=2, deviations=deviations)
    orders = target.add_subsystem(nqn=ORDERS)
    host = world.host()
    service = stay_connected(host, target.ports[0])
    assert listed(host, target.ports[0]) == [(ORDERS, 1), (ORDERS, 2)]

    # What is done, and what the log has to list then.
    changes = [
        (lambda: target.add_subsystem(nqn=PAYROLL), [(ORDERS, 1), (ORDERS, 2), (PAYROLL, 1), (PAYROLL, 2)]),
        (lambda: target.hide(orders, 2), [(ORDERS, 1), (PAYROLL, 1), (PAYROLL, 2)]),
        (lambda: target.expose(orders, 2), [(ORDERS, 1), (ORDERS, 2), (PAYROLL, 1), (PAYROLL, 2)]),
    ]
    for change, expected in changes:
        before = generation(service)
        assert generation(service) == before  # reading changes nothing
        change()
        event = host.next_event().wait()
        assert (event.type, event.log_page) == (EventType.NOTICE, LogPage.DISCOVERY)
        assert listed(host, target.ports[0]) == expected
        # The log as the host has read it for the event, and as it is now.
        counted = 0 if deviations else 1  # without a count a host takes the log that it has for the newest
        assert wire.DiscoveryHeader(event.log).genctr == generation(service) == before + counted


@pytest.mark.requirement("fabrics.discovery.referral")
def test_a_referral_leads_to_another_service(world):
    near, far = world.target("near"), world.target("far")
    near.add_subsystem(nqn=ORDERS)
    far.add_subsystem(nqn=ARCHIVE).add_namespace(size="1M")
    # Two services that refer to each other: whoever follows must not run in a circle.
    near.add_referral(far.ports[0].address)
    far.add_referral(near.ports[0].address)
    host = world.host()

    entries = host.discover(near.ports[0], follow_referrals=False).wait()
    assert [(entry.subtype, entry.traddr) for entry in entries] == [
        (NVM_SUBSYSTEM, near.ports[0].address), (REFERRAL, far.ports[0].address)]

    found = {entry.subnqn: entry for entry in host.discover(near.ports[0]).wait() if entry.subtype == NVM_SUBSYSTEM}
    assert set(found) == {ORDERS, ARCHIVE}
    assert len(host.connect(found[ARCHIVE].url).wait().namespaces) == 1


@pytest.mark.requirement("fabrics.discovery.host-filter")
def test_a_host_is_shown_what_it_may_use(world):
    target = world.target()
    payroll = target.add_subsystem(nqn=PAYROLL, allow_any_host=False)
    host, stranger = world.host(), world.host("stranger")
    stay_connected(host, target.ports[0])
    assert listed(host, target.ports[0]) == []

    payroll.allow_host(host.hostnqn)
    assert host.next_event().wait().log_page == LogPage.DISCOVERY
    assert listed(host, target.ports[0]) == [(PAYROLL, 1)] and listed(stranger, target.ports[0]) == []
