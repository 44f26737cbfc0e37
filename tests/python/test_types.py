"""The types: mypy has nothing to say, the stubs are what the module is, and everything public says what it is for."""

import ast
import enum
import importlib
import importlib.util
import inspect
import keyword
import os
import re
import subprocess
import sys
import tomllib

import pytest

import fabricbench as fb
from conftest import PACKAGE, ROOT
from fabricbench import _core

SOURCES = PACKAGE / "fabricbench"
#: What fabricbench/__init__.py exports, and what scripts import beside it.
MODULES = [fb, *(value for value in map(vars(fb).get, fb.__all__) if inspect.ismodule(value)), importlib.import_module("fabricbench.suite")]


def public(names):
    return {name for name in names if not name.startswith("_")}


# ---- mypy ----

def mypy(*arguments, cwd):
    """What mypy --strict says, as with the installed package."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "MYPYPATH")}
    environment["PYTHONPATH"] = str(PACKAGE)
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", *arguments],
                          cwd=cwd, env=environment, capture_output=True, text=True)


def test_the_package_is_typed():
    done = mypy("-p", "fabricbench", cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


RIGHT = """
import numpy
import fabricbench as fb
from fabricbench import commands, enums, sc, wire
from fabricbench.suite import CaseResult, Suite


class Slow(fb.TargetProduct):
    def latency(self, command: fb.SeenCommand) -> str | None:
        return "250 us" if command.opcode == enums.IoOpcode.READ else None

    def completion(self, command: fb.SeenCommand, cqe: wire.Cqe) -> fb.Answer | None:
        cqe.dw0 = cqe.dw0 + 1
        return fb.Answer.WITHHOLD if command.name == "Flush" else None


async def scenario(world: fb.World, space: fb.Namespace) -> int:
    data = await space.read(0, blocks=2)
    await world.sleep("1 ms")
    await space.write(2, data)
    return len(data)


with fb.World(seed=1, latency="10 us", record=True) as world:
    subsystem = world.subsystem(size="1M", product=Slow(), kas=5, self_test={"short_time": 0.5})
    host = world.host()
    controller: fb.Controller = host.connect(subsystem, kato_ms=5000, reconnect_delay="10 ms").wait()
    space = controller.namespaces[0]
    data: bytes = space.read(0).wait(limit="1 s")
    room: bytearray = space.read(0, into=bytearray(512)).wait()
    into = space.read(0, into=numpy.zeros(512, "u1")).wait()
    space.write(0, into).wait()
    space.write(0, wire.IdentifyController()).wait()
    length: int = space.read(0).then(len).wait()
    moved: int = world.run(scenario(world, space))
    controller.features.kato = 10_000
    kato: int = controller.features.kato
    temperature: int = controller.log.smart().wait().ctemp
    command = commands.read(nsid=1, lba=0, blocks=8).copy(nsid=99, fua=1)
    command.sgl1 = wire.SglPlain(length=512)
    zero_based: bool = wire.ReadWriteSqe.nlb.zero_based
    queue = host.raw_admin(subsystem)
    answer = queue.send(command, room=4096, keep_cid=True).wait()
    queue.post(bytes(command))
    if answer.status == sc.invalid_namespace_or_format and not answer.status.dnr:
        info: wire.IdentifyController = answer.check("identify").as_record(wire.IdentifyController)
    bus = world.mctp_bus()
    drive = bus.add_drive(device={"vpd_writable": True})
    kelvins: int = bus.requester(timeout=0.5).endpoint(drive).health().wait().ctemp

result: CaseResult = Suite().run("connect_refuses_sqsize_zero", "rdma")
"""

#: Each marked line is refused, and no other.
WRONG = """
import fabricbench as fb
from fabricbench import commands, wire


class Odd(fb.TargetProduct):
    def latency(self, command: fb.SeenCommand) -> bytes:  # refused
        return b""


with fb.World(seed=1, latency="10 us") as world:
    subsystem = world.subsystem(serial=5)  # refused
    host = world.host(product=Odd())  # refused
    controller = host.connect(subsystem, kato=5000).wait()  # refused
    space = controller.namespaces[0]
    text: str = space.read(0).wait()  # refused
    space.read(0, into=b"for reading")  # refused
    space.write(0, "text")  # refused
    number: int = space.write(0, b"").wait()  # refused
    commands.read(lba=0)  # refused
    commands.read(1, 0).copy(nsidd=99)  # refused
    wire.SmartLog(temprature=1)  # refused
    wire.Cqe().dw0 = "1"  # refused
    queue = host.raw_queue(subsystem, qid=1)
    queue.send(5)  # refused
    queue.send(bytes(64), None, 0, True)  # refused
    queue.send(bytes(64)).wait(limit=[1])  # refused
    world.mctp_bus().add_drive(device={"vpd_writeable": True})  # refused
    fb.Status("invalid_field", True)  # refused
"""


def test_a_users_program_is_held_against_the_types(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    # Its own cache: errors inside the package are nothing of a user's. Older mypy wants to be told that Unpack is meant.
    done = mypy("--config-file", "", "--enable-incomplete-feature", "Unpack", "--cache-dir", str(ROOT / "build" / "mypy" / "programs"),
                "right.py", "wrong.py", cwd=tmp_path)
    refused = {int(line) for line in re.findall(r"^wrong\.py:(\d+): error", done.stdout, re.MULTILINE)}
    marked = {number for number, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# refused")}
    assert "right.py" not in done.stdout, done.stdout
    assert refused == marked, done.stdout + done.stderr


# ---- stubs and what they stand for ----

class Stub:
    """A stub's content by name: a function's definitions, a class as a Stub, or None for anything else."""

    def __init__(self, tree):
        self.doc = ast.get_docstring(tree)
        self.content = {}
        #: What is said of each name, in a docstring or in a string below it.
        self.docs = {}
        before = None
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                self.content.setdefault(node.name, []).append(node)
                self.docs[node.name] = ast.get_docstring(node) or self.docs.get(node.name)
            elif isinstance(node, ast.ClassDef):
                self.content[node.name] = Stub(node)
            elif isinstance(node, ast.AnnAssign):
                self.content[node.target.id] = None
            elif isinstance(node, ast.Assign):
                self.content.update(dict.fromkeys(target.id for target in node.targets))
            elif isinstance(node, ast.ImportFrom):
                # Only "import x as x" hands a name on.
                self.content.update(dict.fromkeys(alias.name for alias in node.names if alias.asname == alias.name))
            elif isinstance(node, ast.Expr) and isinstance(before, ast.AnnAssign):
                self.docs[before.target.id] = node.value.value
            before = node


def stub(name):
    return Stub(ast.parse((SOURCES / f"{name}.pyi").read_text(encoding="utf-8")))


CORE = stub("_core")
COMMANDS = stub("commands")
WIRE = stub("wire")


def is_property(definitions):
    return any(isinstance(one, ast.Name) and one.id == "property" for one in definitions[0].decorator_list)


def parameters_of(signature):
    """Parameters and defaults of ``name(self: X, arg0: int, *, on: bool = True) -> Y``, which pybind11 puts before a text."""
    text = signature.split(" -> ")[0]
    while "[" in text:
        text = re.sub(r"\[[^\[\]]*\]", "", text)
    found = re.findall(r"[(,] ?(\*{0,2}\w*)(?=[:,)])(?::[^,=)]*(?:= ([^,)]*))?)?", text)
    return [(name, default) for name, default in found if name not in ("self", "")]


def parameters_in_stub(definition, method):
    """The same of a definition: what has no name in C++ is positional alone."""
    given = definition.args
    places = [*given.posonlyargs, *given.args]
    defaults = [""] * (len(places) - len(given.defaults)) + [ast.unparse(one) for one in given.defaults]
    named = [place.arg for place in places]
    for number in range(len(given.posonlyargs)):
        named[number] = f"arg{number - method}"
    all_of_them = list(zip(named, defaults))[int(method):]
    if given.kwonlyargs:
        all_of_them.append(("*", ""))
        all_of_them += [(one.arg, ast.unparse(default) if default else "") for one, default in zip(given.kwonlyargs, given.kw_defaults)]
    if given.kwarg:
        all_of_them.append((f"**{given.kwarg.arg}", ""))
    return all_of_them


def differences(where, runtime, stubbed, method=False):
    """What a stub says otherwise than the module."""
    faults = [f"{where}.{name}: not in the stub" for name in sorted(public(runtime) - public(stubbed))]
    faults += [f"{where}.{name}: only in the stub" for name in sorted(public(stubbed) - public(runtime))]
    for name in sorted(public(runtime) & public(stubbed)):
        value, said = runtime[name], stubbed[name]
        if isinstance(said, Stub):
            faults += differences(f"{where}.{name}", vars(value), said.content, method=True)
        elif isinstance(said, list):
            if is_property(said) != isinstance(value, property):
                faults.append(f"{where}.{name}: a property in one, a method in the other")
            elif not is_property(said) and not said[0].args.vararg:
                wanted = parameters_of(value.__doc__.splitlines()[0])
                given = parameters_in_stub(said[0], method)
                if wanted != given:
                    faults.append(f"{where}.{name}: {wanted} in the module, {given} in the stub")
    return faults


def test_the_stub_of_the_extension_is_what_it_is():
    faults = differences("_core", vars(_core), CORE.content)
    assert not faults, "\n".join(faults)
    assert "__version__" in CORE.content


def test_the_stub_of_commands_is_what_they_are():
    faults = differences("commands", vars(_core.commands), COMMANDS.content)
    assert not faults, "\n".join(faults)
    assert public(fb.commands.__all__) == public(COMMANDS.content)


def test_generated_stubs_are_of_this_module():
    assert public(WIRE.content) == set(fb.wire.__all__)
    for name, record in _core.record_types.items():
        fields = {field for field in vars(record) if not keyword.iskeyword(field)}
        assert public(WIRE.content[name].content) - {"copy"} == public(fields), name
    assert public(stub("sc").content) == set(fb.sc.__all__)


# ---- what is said of everything ----

def undocumented_in_stub(where, said):
    faults = [] if said.doc else [where]
    return faults + [f"{where}.{name}" for name in said.content if not name.startswith("_") and name != "SIZE" and not said.docs.get(name)]


def undocumented_class(where, cls):
    if cls.__module__ == "fabricbench._core":
        return undocumented_in_stub(where, CORE.content[cls.__name__])
    # A data class or a named tuple without words gets its signature.
    doc = vars(cls).get("__doc__")
    faults = [] if doc and not doc.startswith(f"{cls.__name__}(") else [where]
    if not issubclass(cls, enum.Enum):
        for name, value in vars(cls).items():
            function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            if not name.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)) and not function.__doc__:
                faults.append(f"{where}.{name}")
    return faults


def undocumented(module):
    where = module.__name__.rpartition(".")[2]
    faults = [] if module.__doc__ else [where]
    if module is fb.commands:
        return faults + [f"{where}.{name}" for name in COMMANDS.content if not COMMANDS.docs[name]]
    if module is fb.wire:
        records = [name for name in WIRE.content if isinstance(WIRE.content[name], Stub)]
        # copy() says the same of all of them.
        return faults + [one for name in records for one in undocumented_in_stub(f"{where}.{name}", WIRE.content[name])
                         if not one.endswith(".copy")]
    for name in getattr(module, "__all__", None) or public(vars(module)):
        value = getattr(module, name)
        if not getattr(value, "__module__", "").startswith("fabricbench"):
            continue
        if inspect.isclass(value):
            faults += undocumented_class(f"{where}.{name}", value)
        elif inspect.isfunction(value) and not value.__doc__:
            faults.append(f"{where}.{name}")
    return faults


def test_everything_public_says_what_it_is():
    faults = [one for module in MODULES for one in undocumented(module)]
    assert not faults, "nothing is said of " + ", ".join(faults)


# ---- the package as it is installed ----

def test_what_is_installed_is_the_whole_package(tmp_path):
    subprocess.run(["cmake", "--install", PACKAGE.parent, "--prefix", tmp_path], check=True, capture_output=True)
    packages = tmp_path / "lib" / f"python3.{sys.version_info.minor}" / "dist-packages"
    files = {path.name for path in (packages / "fabricbench").iterdir()}
    assert files == {path.name for path in SOURCES.iterdir() if path.name != "__pycache__"}
    assert not any(path.is_symlink() for path in (packages / "fabricbench").iterdir())
    done = subprocess.run([sys.executable, "-c", "import fabricbench, fabricbench.options; print(fabricbench.__file__)"], cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(packages)}, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == str(packages / "fabricbench" / "__init__.py")
    # The command beside it finds what it loads into other programs.
    done = subprocess.run([tmp_path / "bin" / "fabricbench", "mctp", "exec", "--", "printenv", "LD_PRELOAD"], check=True,
                          capture_output=True, text=True)
    assert done.stdout.strip() == str(tmp_path / "lib" / "fabricbench" / "libfabricbench_mctp.so")


def test_the_project_file_is_of_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["name"], project["version"]) == ("fabricbench", fb.__version__)
