#!/usr/bin/env python3
"""Writes docs/python-reference.md: what the Python package offers, from its sources and stubs.

    generate_reference.py [--check]        --check changes nothing, and ends with 1 when the file is stale

The package is that of the release build, unless PYTHONPATH names another. Signatures and docstrings are read from its files,
the values of statuses, records and faults are asked of the module, and options are explained by the headers that declare them.
"""

import ast
import importlib
import pathlib
import re
import sys

from reference.options import option_remarks
from reference.source import ROOT, classes_of, decorators, entry, functions_of, members, pages, signature, tidy, tree_of

HERE = pathlib.Path(__file__).resolve().parent

# What stands where: heading, and the classes of fabricbench by the file that has them.
CLASSES = [
    ("Worlds", {"_world.py": ["World", "Link", "Machine"]}),
    ("Operations and answers", {"_core.pyi": ["Op", "Completion", "Status", "MiReply"]}),
    ("Hosts", {"_host.py": ["Host", "Controller", "Namespace", "Path", "Zone", "Event", "DiscoveryEntry"],
               "_logs.py": ["Logs", "Features"], "_raw_queue.py": ["RawQueue"]}),
    ("Targets", {"_target.py": ["Target", "Port", "Subsystem", "TargetNamespace"], "_core.pyi": ["TargetController"]}),
    ("Management", {"_mi.py": ["MctpBus", "Drive", "MctpBridge", "KnownEndpoint", "Requester", "Endpoint"]}),
    ("Products in Python", {"_products.py": ["TargetProduct", "HostProduct", "EndpointProduct", "Answer", "Delivery"],
                            "_core.pyi": ["SeenCommand"]}),
    ("Peers by hand", {"_raw.py": ["RawTcp", "RawRoce", "RoceConnection", "RocePacket", "RawMctp", "MctpPacket"]}),
    ("Faults", {"_faults.py": ["Plan", "Rule", "Schedule", "Strike", "FaultKind"]}),
]
#: Scripts make these themselves; the others come from a world, or from what is in it.
MADE_BY_SCRIPTS = {"World", "Plan", "Rule", "Schedule", "Status", "Suite", "Record"}
MODULES = ["ladder.py", "suite.py", "campaign.py", "control.py", "commands.pyi"]
#: Names of campaign.py that its two ways of running seeds share.
INNER = {"Job", "resized"}


def constructor(node):
    """How a script makes one, for those that it makes itself."""
    for one in functions_of(node):
        if one.name == "__init__":
            return f"`{node.name}{signature(one)}`"
    fields = [ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign) and not one.target.id.startswith("_")]
    return f"`{node.name}({', '.join(fields)})`".replace("field(default_factory=list)", "[]")


def class_page(node, file):
    made = node.name in MADE_BY_SCRIPTS
    # What the constructor says is said.
    found = [one for one in members(node, file) if not made or one.count("`: ")]
    return [f"### {node.name}", "", *([constructor(node), ""] if made else []), *pages(ast.get_docstring(node)), *found, ""]


def classes_page(files):
    return [line for file, names in files.items() for name in names for line in class_page(classes_of(file)[name], file)]


def module_page(file):
    """A module: what it says of itself, its functions, its classes."""
    tree = tree_of(file)
    public = [node for node in tree.body if not getattr(node, "name", "_").startswith("_") and node.name not in INNER]
    page = pages(ast.get_docstring(tree))
    page += [entry(one.name, signature(one), ast.get_docstring(one)) for one in public if isinstance(one, ast.FunctionDef)] + [""]
    return page + [line for one in public if isinstance(one, ast.ClassDef) for line in class_page(one, file)]


def faults_page(kinds):
    page = ["### fault_kinds()", "", "Every kind by name. Here with its site, and the unit of its amount where it has one:", ""]
    for one in kinds:
        unit = "" if one.unit == "none" else f"; {one.unit}"
        page.append(f"- `{one.name}` ({one.site}{unit}): {one.story}" + (" (no check can notice it)" if one.lies else ""))
    return page + [""]


def errors_page():
    page = []
    for node in classes_of("_errors.py").values():
        page.append(entry(node.name, f"({', '.join(ast.unparse(base) for base in node.bases)})", ast.get_docstring(node)))
        page += ["  " + one for one in members(node, "_errors.py")]
    return page + [""]


def plugin_page():
    tree = tree_of("pytest_plugin.py")
    page = [*pages(ast.get_docstring(tree)), "### Fixtures", ""]
    page += [entry(node.name, tidy(": " + ast.unparse(node.returns)), ast.get_docstring(node))
             for node in functions_of(tree) if "pytest.fixture" in decorators(node)]
    markers = next(node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_MARKERS")
    page += ["", "### Markers", "", *[entry(*one.split(": ", 1)[:1], "", one.split(": ", 1)[1]) for one in ast.literal_eval(markers)]]
    page += ["", "### Options", ""]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "group.addoption":
            words = {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg in ("metavar", "help")}
            page.append(entry(ast.literal_eval(node.args[0]), f" {words['metavar']}", words["help"]))
    return page + [""]


def place(field):
    """Where a field stands: byte, or first and last; its bits, unless they are all of them."""
    where = str(field.offset) if field.size == 1 else f"{field.offset}-{field.offset + field.size - 1}"
    narrow = "" if field.bits in (0, 8 * field.size) else f" ({field.bits} bit{'s' if field.bits > 1 else ''})"
    return where + narrow + (", 0's based" if field.zero_based else "")


def wire_page(wire):
    page = [*pages(ast.get_docstring(tree_of("wire.py"))), *class_page(classes_of("_core.pyi")["Record"], "_core.pyi"),
            "`Buffer` is what goes wherever bytes are wanted: bytes, bytearray, memoryview or a record. `record_types()` gives every "
            "record type by name. Each field with its bytes:", ""]
    for name, record in wire.record_types().items():
        fields = [f"`{one}` {place(field)}" for one, field in vars(record).items() if one != "SIZE" and not one.startswith("_")]
        page.append(f"- `{name}`, {record.SIZE} bytes: " + "; ".join(fields))
    return page + [""]


def enums_page():
    return [f"- `{node.name}`: " + ", ".join(f"`{ast.unparse(one.targets[0])}` {ast.literal_eval(one.value):#x}"
                                             for one in node.body if isinstance(one, ast.Assign))
            for node in classes_of("enums.py").values()] + [""]


def options_page():
    page = ["Keyword arguments of the calls whose signature names them. `Time` is seconds, text such as \"250 us\" or \"10 ms\", or a "
            "timedelta. Defaults stand here where they are plain values.", ""]
    for node in classes_of("options.py").values():
        rows = [one for one in node.body if isinstance(one, ast.AnnAssign)]
        remarks = option_remarks(ROOT, [one.target.id for one in rows])
        page += [f"### {node.name}", "", *[entry(ast.unparse(one), *remarks[one.target.id]) for one in rows], ""]
    return page


def link(title):
    return f"[{title}](#{re.sub(r'[^a-z0-9 _-]', '', title.lower()).replace(' ', '-')})"


def make():
    """The whole page."""
    fb, wire, sc = (importlib.import_module(name) for name in ("fabricbench", "fabricbench.wire", "fabricbench.sc"))
    listed = {name for _, files in CLASSES for names in files.values() for name in names} | set(classes_of("_errors.py"))
    if missing := [name for name in fb.__all__ if isinstance(getattr(fb, name), type) and name not in listed]:
        raise SystemExit(f"generate_reference: of fabricbench, these stand in no section: {', '.join(missing)}")
    pieces = [(title, classes_page(files)) for title, files in CLASSES]
    pieces[-1][1].extend(faults_page(fb.fault_kinds().values()))
    pieces.append(("Exceptions", errors_page()))
    pieces += [("fabricbench." + file.split(".")[0], module_page(file)) for file in MODULES]
    statuses = ", ".join(f"`{name}` {getattr(sc, name).sct:X}/{getattr(sc, name).sc:02X}h" for name in sorted(sc.__all__))
    pieces += [("fabricbench.wire", wire_page(wire)), ("fabricbench.sc", [*pages(ast.get_docstring(tree_of("sc.py"))), statuses, ""]),
               ("fabricbench.enums", enums_page()), ("fabricbench.options", options_page()), ("The pytest plugin", plugin_page())]
    page = ["<!-- Written by docs/generate_reference.py; do not edit. -->", "", "# Python reference", "",
            "The [tutorial](python-tutorial.md) comes first; this says everything. Times are seconds and sizes bytes, unless a name or its "
            "text says otherwise. What gives an `Op[X]` has been started: its `wait()` gives the X.", "", "## Contents", ""]
    for title, lines in pieces:
        inner = ", ".join(link(line[4:]) for line in lines if line.startswith("### "))
        page.append(f"- {link(title)}" + (f": {inner}" if inner else ""))
    for title, lines in pieces:
        page += ["", f"## {title}", "", *lines]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(page)).rstrip() + "\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    path, text = HERE / "python-reference.md", make()
    if "--check" not in sys.argv:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        print("docs/python-reference.md is stale: run docs/generate_reference.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
