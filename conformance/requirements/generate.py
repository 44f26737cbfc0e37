#!/usr/bin/python3
"""Turns the requirement ledger into C++ data. AREA.yaml holds an area; AREA-PART.yaml more of it.

    generate.py --out FOLDER [--documents FILE] [--titles FOLDER] LEDGER.yaml...

The titles of cases (titles/SUITE.yaml, "case: title") become a table of their own. Every citation is checked against the
sections of its document, by default in conformance/documents.yaml. A fault in a ledger is one line that names the file
and the entry, and exit code 1.
"""

import argparse
import pathlib
import re
import sys

import yaml

LEVELS = {"mandatory", "recommended", "informative"}
ROLES = {"controller", "cdc", "ddc", "host", "requester", "responder", "endpoint", "management-requester", "bus",
         "provider", "consumer"}
STATES = {"todo", "exception"}
CONFIDENCE = {"confirmed", "read", "memory"}
NEEDED = ["id", "document", "revision", "section", "level", "roles", "text", "answers", "confidence"]
OPTIONAL = ["profile", "see", "since", "state", "reason"]
CONTENTS = {"whole", "unread", "names"}
SIDES = {"host", "controller", "requester", "responder", "endpoint", "bus", "provider", "consumer", "active", "passive",
         "rdma", "tcp"}
DOCUMENTS = pathlib.Path(__file__).resolve().parents[1] / "documents.yaml"
TITLE_MAX = 100
ID = re.compile(r"[a-z][a-z0-9-]*(\.[a-z0-9][a-z0-9-]*){2,}$")


class Fault(Exception):
    pass


class Revision:
    """What is known of the contents of one revision of a document."""

    def __init__(self, name, contents, sections):
        self.name = name
        self.contents = contents
        self.sections = sections

    def title_of(self, section):
        return section if self.contents == "names" else self.sections.get(section)


def read_yaml(path):
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as problem:
        raise Fault(f"{path.name}: not YAML: {' '.join(str(problem).split())}") from problem


def documents_in(path):
    """Revisions by (short name, revision)."""
    found = {}
    for document in read_yaml(path)["documents"]:
        for one in document["revisions"]:
            where = f"{path.name}: {document['short']} {one['revision']}"
            sections = one.get("sections") or {}
            if one["contents"] not in CONTENTS:
                raise Fault(f"{where}: contents '{one['contents']}' is none of {', '.join(sorted(CONTENTS))}")
            if one["contents"] == "whole" and not sections:
                raise Fault(f"{where}: the contents are whole, and there are no sections")
            if any(not isinstance(number, str) for number in sections):
                raise Fault(f"{where}: the number of a section is a string")
            found[document["short"], one["revision"]] = Revision(document["name"], one["contents"], sections)
    return found


def sections_of(entry):
    return [part.strip() for part in str(entry["section"]).split(",")]


def check_citation(entry, documents, where):
    revision = documents.get((entry["document"], str(entry["revision"])))
    if revision is None:
        names = sorted({f"{name} {number}" for name, number in documents})
        raise Fault(f"{where}: documents.yaml has no '{entry['document']} {entry['revision']}', only {', '.join(names)}")
    for section in sections_of(entry):
        if revision.contents == "whole" and section not in revision.sections:
            raise Fault(f"{where}: {entry['document']} {entry['revision']} has no section '{section}'")
    titles = [revision.title_of(section) for section in sections_of(entry)]
    entry["name"] = revision.name
    entry["title"] = "; ".join(titles) if all(titles) else ""
    entry["checked"] = revision.contents != "unread"
    entry["subject"] = subject_of(entry["id"])


def subject_of(requirement):
    """What an id is about: its first word behind the area that names neither a side nor a transport."""
    words = requirement.split(".")[1:]
    return next((word for word in words[:-1] if word not in SIDES), words[-1])


def check_entry(entry, area, where):
    unknown = [key for key in entry if key not in NEEDED + OPTIONAL]
    if unknown:
        raise Fault(f"{where}: unknown key '{unknown[0]}'")
    for key in NEEDED:
        if key not in entry or entry[key] in (None, "", []):
            raise Fault(f"{where}: '{key}' is missing or empty")
    if not ID.match(entry["id"]):
        raise Fault(f"{where}: an id is at least three dotted words in lower case, like area.topic.rule")
    if entry["id"].split(".")[0] != area:
        raise Fault(f"{where}: ids in this file begin with '{area}.'")
    if entry["level"] not in LEVELS:
        raise Fault(f"{where}: level '{entry['level']}' is none of {', '.join(sorted(LEVELS))}")
    if entry["confidence"] not in CONFIDENCE:
        raise Fault(f"{where}: confidence '{entry['confidence']}' is none of "
                    f"{', '.join(sorted(CONFIDENCE))}")
    if entry["confidence"] == "memory" and entry["level"] == "mandatory":
        raise Fault(f"{where}: a rule whose text was not read (confidence 'memory') may recommend only")
    for key in ("roles", "answers", "see"):
        if not isinstance(entry.get(key, []), list):
            raise Fault(f"{where}: '{key}' is a list")
    for role in entry["roles"]:
        if role not in ROLES:
            raise Fault(f"{where}: role '{role}' is none of {', '.join(sorted(ROLES))}")
    state = entry.get("state")
    if state is not None and state not in STATES:
        raise Fault(f"{where}: state '{state}' is none of {', '.join(sorted(STATES))}; "
                    "'covered' follows from the cases")
    if state is not None and not entry.get("reason"):
        raise Fault(f"{where}: an entry in state '{state}' gives a reason")
    if state is None and entry.get("reason"):
        raise Fault(f"{where}: a reason belongs to a state (todo or exception)")


def load(path, documents):
    document = read_yaml(path)
    if not isinstance(document, dict) or not isinstance(document.get("requirements"), list):
        raise Fault(f"{path.name}: a ledger has a list 'requirements'")
    defaults = document.get("defaults") or {}
    area = path.stem.split("-")[0]
    entries = []
    for number, raw in enumerate(document["requirements"], 1):
        if not isinstance(raw, dict):
            raise Fault(f"{path.name}: entry {number} is not a mapping")
        entry = {**defaults, **raw}
        where = f"{path.name}: entry {number} ({entry.get('id', 'without id')})"
        check_entry(entry, area, where)
        check_citation(entry, documents, where)
        entries.append(entry)
    return area, entries


def quote(text):
    text = " ".join(str(text).split())
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def quote_list(values):
    return "{" + ", ".join(quote(value) for value in values) + "}"


def ids_header(area, entries):
    lines = ["// Generated from the requirement ledger.", "#pragma once", "", "#include <string_view>", "",
             f"namespace fb::conformance::ids_{area} {{",
             "inline constexpr std::string_view kIds[] = {"]
    lines += [f"    {quote(entry['id'])}," for entry in sorted(entries, key=lambda e: e["id"])]
    lines += ["};", f"}}  // namespace fb::conformance::ids_{area}", ""]
    return "\n".join(lines)


def all_ids_header(areas):
    lines = ["// Generated from the requirement ledger: every area.", "#pragma once", ""]
    lines += [f'#include "conformance/requirements/ids_{area}.h"' for area in sorted(areas)]
    lines += ["", "#define FB_LEDGER_AREAS(X) \\"]
    lines += [f"  X({area}) \\" for area in sorted(areas)]
    lines += ["  static_assert(true)", ""]
    return "\n".join(lines)


def data_source(entries):
    """Constants throughout: nothing runs at start, and the table compiles in a moment. One constant a requirement:
    compilers evaluate each within so many steps."""
    lines = ["// Generated from the requirement ledger.", '#include "conformance/requirements/ledger.h"', "",
             "namespace fb::conformance {", "namespace {", ""]
    rows = []
    for number, entry in enumerate(sorted(entries, key=lambda e: e["id"])):
        lists = []
        for key in ("roles", "answers", "see"):
            if entry.get(key):
                lists.append(f"k{key.capitalize()}{number}")
                lines.append(f"constexpr std::string_view {lists[-1]}[] = {quote_list(entry[key])};")
            else:
                lists.append("{}")
        fields = [quote(entry[key]) for key in ("id", "document", "revision", "section", "title", "name")]
        fields += ["true" if entry["checked"] else "false", quote(entry.get("since", "")), quote(entry["subject"]),
                   quote(entry["level"])]
        fields += [lists[0], quote(entry.get("profile", "")), lists[2], quote(entry["text"]), lists[1],
                   quote(entry["confidence"]), quote(entry.get("state") or ""),
                   quote(entry.get("reason") or "")]
        lines += [f"constexpr Requirement k{number} = {{" + ",\n    ".join(fields) + "};", ""]
        rows.append(f"    k{number},")
    lines += ["constexpr Requirement kLedger[] = {", *rows, "};", "", "}  // namespace", "",
              "std::span<const Requirement> ledger() { return kLedger; }", "",
              "}  // namespace fb::conformance", ""]
    return "\n".join(lines)


def check_title(title, where):
    """A title says stimulus and result, on one line."""
    if not isinstance(title, str) or ": " not in title:
        raise Fault(f"{where}: a title is 'stimulus: result'")
    if len(title) > TITLE_MAX or not title.isascii() or not title.isprintable():
        raise Fault(f"{where}: a title has at most {TITLE_MAX} printable ASCII characters")
    if title[-1] in ". ":
        raise Fault(f"{where}: a title ends with neither a full stop nor a space")


def titles_in(folder):
    """(case, title), by case."""
    found, used = {}, {}
    for path in sorted(folder.glob("*.yaml")) if folder else []:
        for case, title in (read_yaml(path) or {}).items():
            where = f"{path.name}: {case}"
            check_title(title, where)
            if case in found:
                raise Fault(f"{where}: the case has a title already")
            if used.setdefault(title, case) != case:
                raise Fault(f"{where}: the title of {used[title]}")
            found[case] = title
    return sorted(found.items())


def titles_source(titles):
    # A view that knows its length costs a constant expression no steps; clang allows a million of them.
    rows = [f"    {{{quote(case)}sv, {quote(title)}sv}}," for case, title in titles]
    return "\n".join(["// Generated from the titles of cases.", '#include "conformance/requirements/titles.h"', "",
                      "namespace fb::conformance {", "namespace {", "",
                      "using namespace std::string_view_literals;", "",
                      f"constexpr CaseTitle kTitles[{max(1, len(rows))}] = {{", *rows, "};", "", "}  // namespace", "",
                      f"std::span<const CaseTitle> case_titles() {{ return std::span(kTitles).first({len(rows)}); }}", "",
                      "}  // namespace fb::conformance", ""])


def write_if_changed(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--documents", type=pathlib.Path, default=DOCUMENTS)
    parser.add_argument("--titles", type=pathlib.Path)
    parser.add_argument("ledgers", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    everything, areas, seen = [], {}, {}
    try:
        documents = documents_in(options.documents)
        for path in options.ledgers:
            area, entries = load(path, documents)
            for entry in entries:
                if entry["id"] in seen:
                    raise Fault(f"{path.name}: '{entry['id']}' stands in {seen[entry['id']]} already")
                seen[entry["id"]] = path.name
            areas.setdefault(area, []).extend(entries)
            everything += entries
        titles = titles_in(options.titles)
    except Fault as fault:
        print(f"ledger: {fault}", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    for area, entries in areas.items():
        write_if_changed(options.out / f"ids_{area}.h", ids_header(area, entries))
    write_if_changed(options.out / "ledger_ids.h", all_ids_header(areas))
    write_if_changed(options.out / "ledger_data.cc", data_source(everything))
    write_if_changed(options.out / "titles_data.cc", titles_source(titles))
    return 0


if __name__ == "__main__":
    sys.exit(main())
