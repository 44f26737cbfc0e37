"""What the headers say of options: their defaults, and the comment at each."""

import functools
import pathlib
import re

#: Where structures of options are declared.
FOLDERS = ["model", "sim"]
MEMBER = re.compile(r"^  [\w:<>, ]+? (\w+)(?: = ([^;]+)|\{([^;]*)\})?;(?:\s*///< (.*))?$")


def default_of(text):
    """A default of C++ as Python says it; nothing for what says no value."""
    text = text.replace("'", "")
    if found := re.fullmatch(r"Duration::(\w+)\((\d+)\)", text):
        return f'"{found[2]} {found[1]}"'
    if found := re.fullmatch(r"(\d+)[uUlL]* (<<|\*) (\d+)[uUlL]*", text):
        return str(int(found[1]) << int(found[3]) if found[2] == "<<" else int(found[1]) * int(found[3]))
    if text in ("true", "false"):
        return text.capitalize()
    return text if re.fullmatch(r'-?\d+|"[^"]*"|0x[0-9a-fA-F]+', text) else ""


@functools.cache
def structures(root):
    """The members of every structure: name, default and comment, by name."""
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.h")):
            for body in re.findall(r"^struct \w+ (?:final )?\{\n(.*?)^\};", path.read_text(encoding="utf-8"), re.M | re.S):
                found.append(members_of(body))
    return found


def members_of(body):
    members, above = {}, []
    for line in body.splitlines():
        if line.startswith("  /// "):
            above.append(line[6:].strip())
        elif match := MEMBER.match(line):
            members[match[1]] = (default_of(match[2] or match[3] or ""), match[4] or " ".join(above))
            above = []
        elif line.strip().startswith("///<") and members:
            last = list(members)[-1]
            members[last] = (members[last][0], members[last][1] + " " + line.strip()[4:].strip())
        else:
            above = []
    return members


def option_remarks(root: pathlib.Path, names):
    """For each option of a structure that has these: its default as it stands behind the type, and what it means."""
    fitting = [members for members in structures(root) if set(names) <= set(members)]
    if not fitting:
        raise SystemExit(f"generate_reference: no structure in {' or '.join(FOLDERS)} has {', '.join(names)}")
    # Where several have them, that with the fewest others.
    members = min(fitting, key=len)
    return {name: (f" = {members[name][0]}" if members[name][0] else "", members[name][1].replace("::", ".")) for name in names}
