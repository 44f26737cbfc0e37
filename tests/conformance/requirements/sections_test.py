#!/usr/bin/python3
"""A rule of thumb for citations: what an id is about stands in the title of the section that it cites, or of one above it."""

import importlib.util
import pathlib
import re
import unittest

CONFORMANCE = pathlib.Path(__file__).resolve().parents[3] / "conformance"

# Commands, log pages, features, data structures and chapters, by how the ids of their rules begin. Revisions number their
# sections differently and call them the same, so that the table is one for all of them.
SUBJECTS = {
    "auth": "Authentication|Connect",
    "fabrics.connect": "Connect|Queue|NVMe Qualified|Keep Alive|Initialization|Number of Queues|Architecture|Command Set",
    "fabrics.disconnect": "Disconnect|I/O Queue Deletion",
    "fabrics.discovery": "Discovery|Keep Alive|Asynchronous Event|Address Subtype|Command Support",
    "fabrics.flow-control": "Flow Control|Connect|Queue",
    "fabrics.keep-alive": "Keep Alive|Shutdown",
    "fabrics.property": "Propert|Controller Configuration|Controller Status|Reset|Ready",
    "fabrics.reset": "Reset|Initialization|Controller Status|Asynchronous Event",
    "fabrics.rdma": "Fabric Dependent|RDMA Transport Errors|Capsules|Data Transfer|Key Management|Identify Controller|Address Subtype",
    "fabrics.sgl": "SGL|Scatter Gather|Generic Command Status|Capsules",
    "fabrics.shutdown": "Shutdown|Controller Status",
    "mi.abort": "Abort",
    "mi.admin": "Admin Command Set|Servicing Model|Response Messages",
    "mi.basic": "Basic Management Command",
    "mi.buffer": "Management Endpoint Buffer|NVMe-MI Messages|Response Messages|Data Structure",
    "mi.chsp": "Controller Health Status Poll",
    "mi.config": "Configuration|Response Messages",
    "mi.health": "Health Status Poll",
    "mi.pause": "Pause|Get State|Servicing Model",
    "mi.pcie": "PCIe|Operational Times|Response Messages",
    "mi.read-ds": "Read NVMe-MI Data Structure",
    "mi.replay": "Replay",
    "mi.resume": "Resume",
    "mi.state": "Get State",
    "mi.vpd": "VPD|Vital Product Data",
    "mctp.control.get-eid": "Get Endpoint ID",
    "mctp.control.set-eid": "Set Endpoint ID|control protocol",
    "mctp.control.types": "Message Type Support|version support",
    "mctp.control.uuid": "Endpoint UUID",
    "mctp.control.version": "version support",
    "nvme.abort": "Abort",
    "nvme.aer": "Asynchronous Event|Get Log Page",
    "nvme.ana": "Asymmetric Namespace Access|ANA|Identify Controller",
    "nvme.capacity": "Capacity Management",
    "nvme.ccr": "Cross-Controller Reset|Controller Level Reset|Identify Controller|Lost Host|Keep Alive|Asynchronous Event|"
                "Command Completion|Communication|Outstanding Command|Delayed Retry",
    "nvme.compare": "Compare|Write Uncorrectable",
    "nvme.copy": "Copy|Copies|Protection Information|Identify Namespace|Write Protection|Reservations|Status Values",
    "nvme.dataset": "Dataset Management",
    "nvme.deallocate": "Dataset Management",
    "nvme.directives": "Directive|reserved|Namespaces|NSID",
    "nvme.endurance": "Endurance Group|Namespace Management|SMART",
    "nvme.fdp": "Flexible Data Placement|FDP|Reclaim Unit|Data Placement|Directive|I/O Management|Namespace Management|Format NVM|"
                "Identify Controller|Set Features",
    "nvme.firmware": "Firmware|reserved",
    "nvme.flush": "Flush|Volatile Write Cache",
    "nvme.format": "Format NVM|Asynchronous Event",
    "nvme.fused": "Fused|Compare and Write|Common SQE",
    "nvme.identify": "Identify|Common SQE|NVMe Qualified Names|Capsules",
    "nvme.kv": "Key Value|Namespaces|Key|Command|Theory|Operation|Features|Identify|Format NVM|Controller Configuration|"
               "Reservations|Write Protection|KV|key value|Effects",
    "nvme.lba-status": "LBA Status|Asynchronous Event",
    "nvme.lockdown": "Lockdown|reserved",
    "nvme.log": "Log Page|Feature Support",
    "nvme.namespace.attach": "Namespace Attachment|Namespace Management|ANA|Asymmetric|Asynchronous Event",
    "nvme.namespace.create": "Namespace Management|Generic Command Status|NVMe Qualified Names|Identify",
    "nvme.namespace.delete": "Namespace Management|Namespace Attachment|Asynchronous Event|Write Protection",
    "nvme.namespace.detach": "Namespace Attachment|Namespace Management|Asymmetric",
    "nvme.persistent": "Persistent Event",
    "nvme.protection": "Protection|PRCHK|PRACT|Deallocated|Compare|Verify|Write Zeroes|Format NVM|Identify|Submission Queue Entry|"
                       "NVM Command Set Commands",
    "nvme.reservation": "Reservation|Identify",
    "nvme.sanitize": "Sanitize",
    "nvme.security": "Security",
    "nvme.self-test": "Self-test",
    "nvme.streams": "Streams|Directives",
    "nvme.telemetry": "Telemetry|Asynchronous Event",
    "nvme.temperature": "Temperature",
    "nvme.timestamp": "Timestamp",
    "nvme.verify": "Verify",
    "nvme.write-protection": "Write Protection|Identify",
    "nvme.write-uncorrectable": "Write Uncorrectable",
    "nvme.write-zeroes": "Write Zeroes",
    "nvme.zones": "Zone|I/O Command Set|Controller Configuration|Identify|Fused|Copy|Dataset|Write|Asynchronous Event|Get Log Page|"
                  "Get Features|Reservations|Namespace Management|Sanitize|Capacity Management|Protection|NVM Command Set|Command",
    "tcp.capsule": "Capsule|Command Data Buffers|Data Transfer|Generic Command Status",
    "tcp.c2hdata": "Controller [Tt]o Host|Data Transfer",
    "tcp.digest": "Digest",
    "tcp.h2cdata": "Host [Tt]o Controller|Data Transfer",
    "tcp.icreq": "ICReq|Setup",
    "tcp.icresp": "ICResp|Setup|Digest",
    "tcp.r2t": "Host to Controller|Data Transfer|R2T",
    "tcp.termreq": "Error Handling|Terminate",
    "auth.tls": "Transport Layer Security|TLS|PSK|Authentication|Secure Channel",
    "tcp.tls": "Transport Layer Security|TLS|PSK|Discovery|Authentication|Pre-Shared|Older Server",
}
WORDS_OF_A_SIDE = (".host.", ".controller.")


def ledger():
    spec = importlib.util.spec_from_file_location("generate", CONFORMANCE / "requirements/generate.py")
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    documents = generate.documents_in(CONFORMANCE / "documents.yaml")
    for path in sorted((CONFORMANCE / "requirements").glob("*.yaml")):
        for entry in generate.load(path, documents)[1]:
            yield entry, documents[entry["document"], str(entry["revision"])], generate.sections_of(entry)


def titles(revision, section):
    """Of the section and of those that it is a part of."""
    parts = section.split(".")
    numbers = [".".join(parts[:n + 1]) for n in range(len(parts))]
    return [title for number in numbers if (title := revision.title_of(number))]


class Sections(unittest.TestCase):
    def test_a_citation_is_about_its_subject(self):
        wrong = []
        for entry, revision, sections in ledger():
            if revision.contents != "whole":
                continue
            plain = entry["id"]
            for word in WORDS_OF_A_SIDE:
                plain = plain.replace(word, ".")
            subject = max((one for one in SUBJECTS if plain == one or plain.startswith(one + ".")), key=len, default=None)
            if subject is None:
                continue
            found = [title for section in sections for title in titles(revision, section)]
            if not any(re.search(SUBJECTS[subject], title) for title in found):
                wrong.append(f"{entry['id']} cites {entry['document']} {entry['revision']}, {entry['section']} ({'; '.join(found)})")
        self.assertEqual(wrong, [])

    def test_most_sections_have_a_title(self):
        entries = [entry for entry, _, _ in ledger()]
        named = sum(bool(entry["title"]) for entry in entries)
        self.assertGreaterEqual(named / len(entries), 0.98)

    def test_what_was_confirmed_stands_in_a_section_that_is_known(self):
        loose = [entry["id"] for entry, revision, sections in ledger()
                 if entry["confidence"] == "confirmed" and not all(revision.title_of(section) for section in sections)]
        self.assertEqual(loose, [])


if __name__ == "__main__":
    unittest.main()
