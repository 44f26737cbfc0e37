"""The package's sources and stubs: what a class, a function or an attribute says of itself, a line of Markdown each."""

import ast
import importlib.util
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
if importlib.util.find_spec("fabricbench") is None:
    sys.path.insert(0, str(ROOT / "build/release/python"))
PACKAGE = pathlib.Path(importlib.util.find_spec("fabricbench").origin).parent


def tree_of(file):
    return ast.parse((PACKAGE / file).read_text(encoding="utf-8"))


def lines_of(file):
    return (PACKAGE / file).read_text(encoding="utf-8").splitlines()


def classes_of(file):
    return {node.name: node for node in tree_of(file).body if isinstance(node, ast.ClassDef)}


def functions_of(node):
    return [one for one in node.body if isinstance(one, ast.FunctionDef)]


def decorators(node):
    return [ast.unparse(one) for one in node.decorator_list]


def tidy(code):
    """Types and defaults as people write them."""
    code = re.sub(r"Unpack\[(\w+)\]", r"\1", code.replace("fb.", ""))
    code = re.sub(r"Iterator\[(\w+)\]", r"\1", re.sub(r"\b_([TRW])(_co)?\b", r"\1", code))
    return re.sub(r"(?<![ =])=(?! )", " = ", code)


def prose(text):
    """A docstring in one paragraph, for a list; ``x`` is code as in Markdown."""
    return re.sub(r"\s+", " ", text or "").strip().replace("``", "`")


def pages(text):
    """A docstring as paragraphs, with its examples as blocks."""
    parts = []
    for part in re.split(r"\n\s*\n", textwrap.dedent(text or "").strip()):
        if ">>>" in part:
            part = f"```pycon\n{part[part.index('>>>'):].rstrip()}\n```"
        elif part.startswith("    "):
            part = f"```sh\n{textwrap.dedent(part)}\n```"
        else:
            part = prose(part)
        parts.append(part)
    return ["\n\n".join(parts), ""]


def signature(function):
    """Its arguments without self and what is not for everybody, and what it gives."""
    given = function.args
    given.posonlyargs, given.args = [], [*given.posonlyargs, *given.args]
    if given.args and given.args[0].arg in ("self", "cls"):
        del given.args[0]
    kept = [number for number, one in enumerate(given.kwonlyargs) if not one.arg.startswith("_")]
    given.kwonlyargs, given.kw_defaults = [given.kwonlyargs[i] for i in kept], [given.kw_defaults[i] for i in kept]
    gives = ast.unparse(function.returns) if function.returns else "None"
    return tidy(f"({ast.unparse(given)})" + (f" -> {gives}" if gives != "None" else ""))


def entry(name, kind, story):
    return f"- `{name}{kind}`" + (f": {prose(story)}" if story else "")


def remark(lines, node):
    """The comment `#:` above an attribute."""
    above, found = node.lineno - 2, []
    while above >= 0 and lines[above].strip().startswith("#:"):
        found.insert(0, lines[above].strip()[2:].strip())
        above -= 1
    return " ".join(found)


def attribute(node, lines):
    """An attribute as a line; None for what is no public one."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return None
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    name = target.attr if isinstance(target, ast.Attribute) else ast.unparse(target)
    kind = f": {ast.unparse(node.annotation)}" if isinstance(node, ast.AnnAssign) else ""
    if name.startswith("_"):
        return None
    if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "_Feature":
        return entry(name, ": int", ast.literal_eval(node.value.args[1]) + " May be set.")
    if isinstance(node.value, ast.Constant) and not isinstance(target, ast.Attribute):
        kind += f" = {ast.unparse(node.value)}"
    return entry(name, kind, remark(lines, node))


def members(node, file):
    """What a class has, a line each: attributes, properties and methods in the order of the source."""
    lines, found = lines_of(file), []
    for base in node.bases:
        if ast.unparse(base).startswith("_") and ast.unparse(base) in classes_of(file):
            found += members(classes_of(file)[ast.unparse(base)], file)
    settable = {one.name for one in functions_of(node) if f"{one.name}.setter" in decorators(one)}
    for one in node.body:
        if not isinstance(one, ast.FunctionDef):
            found.append(attribute(one, lines))
        elif one.name == "__init__":
            # In a constructor, what is said of an attribute makes it public.
            found += [attribute(part, lines) for part in one.body if remark(lines, part)]
        elif not one.name.startswith("_") and not {"overload", f"{one.name}.setter"} & set(decorators(one)):
            story = ast.get_docstring(one) or ""
            if "property" in decorators(one):
                found.append(entry(one.name, ": " + ast.unparse(one.returns), story + (" May be set." if one.name in settable else "")))
            else:
                of = f"{node.name}." if "classmethod" in decorators(one) else ""
                found.append(entry(of + one.name, signature(one), story))
    return [one for one in found if one]
