#!/usr/bin/python3
"""Every case and deviation that stands in the sources is in the command (a linker may drop objects that
nobody refers to), no case that was there before has vanished or changed its name, and every check of an engine and
every way in which it can be made to break a rule is one that some deviation takes: else nobody knows whether the
suite sees it.

    sources_test.py FABRICBENCH ROOT [--update]      --update writes the mustpass list anew
"""

import json
import pathlib
import re
import subprocess
import sys

CASE = re.compile(r"^CONFORMANCE_CASE\(\s*(\w+)", re.MULTILINE)
DEVIATION = re.compile(r"^DEVIATION\(\s*(\w+)", re.MULTILINE)
# Lists of fault points and of named checks: X(identifier, "name", ...), `kIdentifier = "name"` or {..., "name", ...}.
POINT_LISTS = ("model/auth", "model/host", "model/mi", "model/subsystem", "model/transport", "sim/mctp",
               "networkdirect/ndk/provider", "networkdirect/consumer", "networkdirect/provider", "sim/rdma/softroce")
POINT = re.compile(r'(?:X\(\s*|std::string_view\s+|\{(?:\w+::)*)(\w+)(?:,|\s*=)\s*"([\w.]+)"|\{()"([\w.]+)",')
CHECK_LISTS = ("model/subsystem/checks.h", "model/mi/checks.h")
CHECK = re.compile(r'X\(\w+,\s*"([^"]+)"')
# In the catalogue: ids of requirements, which may be called as a check is; refusals that only say something else; and
# macros whose points have a prefix.
REQUIREMENT = re.compile(r'^([A-Z_]+\(\w+,\s*)"[^"]*"', re.MULTILINE)
OTHER_ANSWER = re.compile(r'Answer(?:With|Mi)\{\s*"[^"]+",(?!\s*(?:\w+::)*success\b)')
PREFIX = re.compile(r'Departs\{"([^"]+)"\s*point\}')
# Checks and points that no deviation takes, with the reason: a product without the check may be a good one, or no case
# can bring the check about.
LEFT_OUT = {
    # A controller may do it either way.
    "connect.sqsize.admin": "how large the admin queues of a controller may be is its own affair; Linux takes any",
    "connect.sqsize.transport": "HSQSIZE equal to SQSIZE is a rule for hosts; what else happens is not said",
    "connect.kato.required": "Linux and SPDK take a keep alive timeout of 0",
    "connect.kato.maximum": "the longest keep alive timeout is a controller's own affair",
    "feature.kato.maximum": "the longest keep alive timeout is a controller's own affair",
    "command.cid.unique": "how many commands are searched for a conflict is left to the implementation",
    "fused.atomic_unit": "a controller may refuse what exceeds its unit, or be atomic all the same",
    "namespace.create.nmic": "reserved bits need not be looked at",
    "namespace.create.placement.limit": "what answers a namespace beyond NNS is not said",
    "namespace.create.placement.csi": "what answers another command set beside Flexible Data Placement is not said",
    "registration.host.fields": "fields of subsystems in an entry of a host may be ignored as well",
    "kv.capacity": "a namespace that compresses values has room for more than its capacity",
    "zoning.disabled": "a centralized discovery controller may have zones, and then executes the commands",
    "feature.fdp_events.type": "what becomes of a type of events that is not supported is not said",
    "feature.error_recovery": "to enable DULBE only where the namespace has it is a rule for hosts",
    "format.metadata": "a product without separate buffers may take MSET for what it is",
    "auth.command_sequence": "with no message due, Linux answers Authentication Receive with AUTH_Failure1",
    "mi.primitive.abort": "that a command cannot be aborted is for the endpoint to say",
    "cross_controller_reset.log_full": "511 operations that have ended are more than a case makes",
    "mi.message.slot": "which of two commands in a slot is discarded is undefined; the point mi.slot.busy answers it",
    "mi.pcie.inaccessible": "a function that is held in reset may be served",
    "rdma.reject.qid": "Connect may refuse the queue instead",
    "rdma.reject.responder_resources": "a host that serves no reads may be accepted, and not read from",
    "rdma.reject.resources": "how many connections there may be is a controller's own affair",
    "rdma.host.request.responder_resources": "a host that serves no reads is refused, and breaks nothing",
    "rdma.host.request.initiator_depth": "a controller grants no reads, whatever a host asks for",
    "log.discovery.restart": "a log that changes while it is read may go on as the old one or the new one",
    "sub.firmware.log.next": "what a controller does not know of the next slot it may leave 0",
    "tcp.h2c_data.early_last": "what a controller does with an early LAST_PDU is not said",
    # Nobody has read it in the specification.
    "connect.io.port": "an I/O queue over another port than the admin queue's",
    "identify.nsid.unallocated": "a controller list of an NSID that is not allocated",
    "log.changed_zones.nsid": "the changed zone list of a namespace without zones",
    "feature.reservation_persistence": "setting PTPL where RESCAP does not have it",
    "capacity.size": "Capacity Management of no bytes",
    "protection.action": "PRACT in Compare and Verify",
    "mi.pcie.length": "PCIe Memory and I/O commands of more than 4 KiB",
    # Behaviours of real providers (FABRICBENCH_ND_BEHAVIOUR): what a card does where the document leaves it open.
    "nd.data_anytime": "a behaviour that a personality of the provider has",
    "nd.dead_peer_cancelled": "a behaviour that a personality of the provider has",
    "nd.exact_queue": "a behaviour that a personality of the provider has",
    "nd.limits_late_refused": "a behaviour that a personality of the provider has",
    "nd.local_violation_data_error": "a behaviour that a personality of the provider has",
    "nd.no_chosen_address": "a provider that registers memory at its own address alone: cases choose it for the consumer",
    "nd.no_resize": "a behaviour that a personality of the provider has",
    "nd.ports_shared": "a behaviour that a personality of the provider has",
    "nd.read_bytes_reported": "a behaviour that a personality of the provider has",
    "nd.unreachable_patient": "a behaviour that a personality of the provider has",
    "ndk.data_length_zero": "a behaviour that a personality of the provider has",
    "ndk.dead_peer_cancelled": "a behaviour that a personality of the provider has",
    "ndk.local_violation_data_error": "a behaviour that a personality of the provider has",
    "ndk.no_chosen_address": "a provider that registers memory at its own address alone: cases choose it for the consumer",
    "ndk.no_moderation": "a behaviour that a personality of the provider has",
    "ndk.no_read_invalidate": "a behaviour that a personality of the provider has",
    "ndk.no_resize": "a behaviour that a personality of the provider has",
    "ndk.ports_shared": "a behaviour that a personality of the provider has",
    "ndk.queues_fail": "a card that breaks: cases choose it for the consumer",
    "ndk.read_bytes_reported": "a behaviour that a personality of the provider has",
    "ndk.unreachable_patient": "a behaviour that a personality of the provider has",
    # No case can bring it about, or tell it from another check.
    "connect.subsystem.moved": "who moves a subsystem is its administrator",
    "security.protocol_specific": "each security protocol has its own",
    "mi.message.tag_owner": "MCTP drops such a message before: the case about mctp.tag.unexpected sees to it",
    "mi.message.nmimt": "the message may be refused instead, by mi.command.nmimt",
    "mi.message.size": "the message may be refused instead, by mi.command.size",
    "mi.ses.refused": "what an enclosure refuses of a control page is for SES-3 to say, whose text was not read",
    "mi.vpd.dofst": "behind the end, offset and length together are too large as well",
    "rdma.reject.private_data_length": "over RoCE private data has a fixed length",
    "rdma.host.request.length": "over RoCE private data has a fixed length",
    "tcp.h2c_data.after_last": "its transfer tag is unknown by then: tcp.h2c_data.ttag",
}
HEADER = """# Every case that was ever released, one a line. Names are stable for ever: one that vanishes from the
# command fails a test. Written by tests/conformance/suite/sources_test.py COMMAND ROOT --update.
"""


def names_in(root, folders, pattern):
    names = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*.cc")):
            names += pattern.findall(path.read_text(encoding="utf-8"))
    return set(names)


def catalogue(root):
    """What the deviations name: the text of their sources, and all names in it."""
    text, names = "", set()
    for path in sorted([*(root / "model/deviations").rglob("*.[ch]*"), *(root / "networkdirect/deviations").rglob("*.[ch]*")]):
        source = REQUIREMENT.sub(r"\1", path.read_text(encoding="utf-8"))
        literals = re.findall(r'"([^"\n]*)"', OTHER_ANSWER.sub("", source))
        prefixes = ["", *PREFIX.findall(source)]
        names.update(prefix + literal for prefix in prefixes for literal in literals)
        text += source
    return text, names


def unused(root):
    """Fault points and checks that no deviation takes."""
    text, names = catalogue(root)
    points = [match for folder in POINT_LISTS for path in sorted((root / folder).glob("*fault_points.*"))
              for match in POINT.finditer(path.read_text(encoding="utf-8"))]
    points = {match[2] or match[4]: match[1] for match in points}
    checks = [name for path in CHECK_LISTS for name in CHECK.findall((root / path).read_text(encoding="utf-8"))]
    if not points or not checks:
        return ["no fault points or checks where they should be"]
    taken = {name for name, identifier in points.items()
             if name in names or identifier and re.search(rf"(?:departure|Departure|point|at)::{identifier}\b", text)}
    taken.update(name for name in checks if name in names)
    known = {*points, *checks}
    faults = [f"{name} is left out by no deviation, and no reason is given" for name in known - taken - LEFT_OUT.keys()]
    faults += [f"{name} is left out by a deviation, and a reason is given why not" for name in taken & LEFT_OUT.keys()]
    faults += [f"{name} is no fault point and no check" for name in LEFT_OUT.keys() - known]
    return faults


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    listed = subprocess.run([program, "list", "--json"], capture_output=True, text=True, check=True).stdout
    cases = {case["name"] for case in json.loads(listed)["cases"]}
    shown = subprocess.run([program, "list", "--deviations"], capture_output=True, text=True, check=True).stdout
    deviations = {line for line in shown.splitlines() if re.fullmatch(r"\w+", line)}
    mustpass = root / "conformance/runner/mustpass.txt"
    if "--update" in sys.argv:
        mustpass.write_text(HEADER + "".join(f"{name}\n" for name in sorted(cases)), encoding="utf-8")
    before = {line for line in mustpass.read_text(encoding="utf-8").splitlines()
              if line and not line.startswith("#")}
    in_sources = names_in(root, ("conformance/cases", "networkdirect/cases"), CASE)
    deviations_in_sources = names_in(root, ("model/deviations/catalogue", "networkdirect/deviations"), DEVIATION)
    faults = [f"case {name} stands in the sources and not in the command" for name in in_sources - cases]
    faults += [f"case {name} stands in no source" for name in cases - in_sources]
    faults += [f"deviation {name} stands in the sources and not in the command"
               for name in deviations_in_sources - deviations]
    faults += [f"case {name} has vanished (mustpass.txt)" for name in before - cases]
    faults += unused(root)
    for fault in sorted(faults):
        print(fault)
    print(f"{len(cases)} cases, {len(before)} of them in the mustpass list, {len(deviations)} deviations")
    return 1 if faults or not in_sources else 0


if __name__ == "__main__":
    sys.exit(main())
