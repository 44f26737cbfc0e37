"""NetworkDirect providers: install, list and remove, with a catalogue of the test's own."""

import re
import shutil

import pytest

from conftest import PROGRAM

# Modules of the unit tests: a provider, and a library that is none.
MODULES = PROGRAM.parent.parent / "tests"
PROVIDER = MODULES / "libnd_dummy_one.so"
HOLLOW = MODULES / "libnd_hollow.so"
GUID = "{01234567-89AB-CDEF-0123-456789ABCDEF}"

pytestmark = pytest.mark.skipif(not PROVIDER.exists(), reason="the test modules are not built")


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    monkeypatch.setenv("FABRICBENCH_PROVIDERS", str(tmp_path / "providers"))
    monkeypatch.setenv("DUMMY_ONE", "addresses=127.0.0.1,127.0.0.2,::1")
    monkeypatch.delenv("FABRICBENCH_PROVIDER_LIBRARIES", raising=False)
    return tmp_path / "providers"


@pytest.fixture
def networkdirect(fabricbench, catalogue):
    """Runs the command, which must end well: networkdirect("list")"""

    def run(*arguments):
        done = fabricbench("networkdirect", *arguments)
        assert done.code == 0, done.err
        assert done.err == ""
        return done

    return run


@pytest.fixture
def refused(fabricbench, catalogue):
    """Runs it and returns its complaint: one line, and the catalogue is as it was."""

    def run(*arguments, **options):
        before = catalogue.read_bytes() if catalogue.is_file() else None
        done = fabricbench("networkdirect", *arguments, **options)
        assert done.code == 2, done.out
        assert done.out == ""
        assert re.fullmatch(r"fabricbench: [^\n]+\n", done.err)
        assert (catalogue.read_bytes() if catalogue.is_file() else None) == before
        return done.err

    return run


def providers(networkdirect):
    return networkdirect("list", "--json").json["providers"]


def test_install_list_remove(networkdirect):
    assert networkdirect("list").out == "0 providers\n"
    assert networkdirect("install", PROVIDER, "--guid", GUID, "--name", "mine").out == f"installed {GUID} {PROVIDER}\n"
    assert networkdirect("list").out == (f"{GUID} version 2 {PROVIDER}\n    mine\n"
                                         "    loads; 127.0.0.1, 127.0.0.2, ::1\n1 provider\n")
    assert providers(networkdirect) == [{
        "guid": GUID, "version": "2", "path": str(PROVIDER), "name": "mine", "source": "catalogue",
        "loads": True, "problem": None, "addresses": ["127.0.0.1", "127.0.0.2", "::1"]}]
    assert networkdirect("remove", GUID).out == f"removed {GUID} {PROVIDER}\n"
    assert providers(networkdirect) == []


def test_the_entry_is_what_programs_look_for(networkdirect, catalogue):
    networkdirect("install", PROVIDER)
    entry = catalogue.read_text().splitlines()[-1]
    for word in ("service1=0x8e", "flags=0x14", "version=0x20000", "socket_type=0xffffffff", "protocol=0x0", "chain=0x1",
                 "protocol_offset=0x0"):
        assert f" {word} " in entry


def test_a_guid_is_made_from_the_path(networkdirect, monkeypatch):
    """The same path has the same GUID however it is written; GUIDs need no braces, paths need not be whole."""
    monkeypatch.chdir(PROVIDER.parent)
    out = networkdirect("install", f"../tests/{PROVIDER.name}").out
    assert out.endswith(f" {PROVIDER}\n")
    guid = out.split()[1]
    networkdirect("remove", guid.strip("{}").lower())
    assert networkdirect("install", PROVIDER).out.split()[1] == guid
    assert networkdirect("remove", PROVIDER.name).out == f"removed {guid} {PROVIDER}\n"


def test_several_classes_of_one_library(networkdirect):
    networkdirect("install", PROVIDER)
    networkdirect("install", PROVIDER, "--guid", GUID)
    assert len(providers(networkdirect)) == 2
    assert networkdirect("remove", PROVIDER).out.count("removed ") == 2
    assert providers(networkdirect) == []


def test_paths_keep_their_variables(networkdirect, monkeypatch):
    monkeypatch.setenv("ND_FOLDER", str(PROVIDER.parent))
    path = f"%ND_FOLDER%/{PROVIDER.name}"
    assert networkdirect("install", path).out.endswith(f" {path}\n")
    assert providers(networkdirect)[0]["path"] == path
    assert providers(networkdirect)[0]["loads"]
    networkdirect("remove", PROVIDER)


def test_the_projects_own_provider(fabricbench, networkdirect, refused, tmp_path):
    """It is looked for in ../lib, from wherever the command stands."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    program = tmp_path / "bin" / "fabricbench"
    shutil.copy(PROGRAM, program)
    own = tmp_path / "lib" / "libfabricbench_networkdirect.so"
    err = refused("install", executable=program)
    assert f"{own}: the project's provider is not there" in err
    shutil.copy(PROVIDER, own)
    done = fabricbench("networkdirect", "install", executable=program)
    assert done.out == f"installed {{6D1C2E74-93B5-4A0F-A852-0EC7419F36DB}} {own}\n"


def test_the_users_own_catalogue(networkdirect, monkeypatch, tmp_path):
    monkeypatch.delenv("FABRICBENCH_PROVIDERS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    networkdirect("install", PROVIDER)
    assert (tmp_path / "config" / "fabricbench" / "networkdirect-providers").is_file()
    assert len(providers(networkdirect)) == 1


def test_list_shows_what_is_wrong(networkdirect, catalogue, monkeypatch, tmp_path):
    copy = tmp_path / "copy.so"
    shutil.copy(PROVIDER, copy)
    networkdirect("install", copy)
    networkdirect("install", PROVIDER, "--guid", GUID)
    copy.unlink()
    monkeypatch.setenv("DUMMY_ONE", "fail=query")
    text = catalogue.read_text()
    catalogue.write_text(text + text[text.index("provider {0123"):].replace("provider {01234567", "provider {11234567")
                         .replace("version=0x20000", "version=0x1"))
    monkeypatch.setenv("FABRICBENCH_PROVIDER_LIBRARIES", str(HOLLOW))
    gone, mute, old, hollow = providers(networkdirect)
    assert (gone["loads"], gone["problem"].startswith("it cannot be loaded as a library: "), gone["addresses"]) == (False, True, [])
    assert (mute["loads"], mute["problem"]) == (True, "it reports no addresses (0xC000009A)")
    assert (old["version"], old["loads"], old["problem"]) == ("1", True, "only version 2 is used")
    assert (hollow["source"], hollow["problem"]) == ("environment", "it exports no DllGetClassObject")
    out = networkdirect("list").out
    assert "    of no use: it cannot be loaded as a library: " in out
    assert "    loads, but it reports no addresses (0xC000009A)\n" in out
    assert f"version 2 {HOLLOW}\n    FABRICBENCH_PROVIDER_LIBRARIES\n" in out
    assert out.endswith("\n4 providers\n")


def test_no_addresses_is_no_fault(networkdirect, monkeypatch):
    monkeypatch.setenv("DUMMY_ONE", "addresses=")
    networkdirect("install", PROVIDER)
    assert "    loads; no addresses\n" in networkdirect("list").out


def test_what_is_not_installed(refused, monkeypatch, tmp_path):
    text = tmp_path / "text.so"
    text.write_text("not a library")
    assert f"{tmp_path}/none.so: no such file" in refused("install", tmp_path / "none.so")
    assert "it cannot be loaded as a library" in refused("install", text)
    assert "it cannot be loaded as a library" in refused("install", tmp_path)
    assert f"{HOLLOW}: it exports no DllGetClassObject" in refused("install", HOLLOW)
    for guid in ("{}", "nonsense", GUID[:-1], GUID + "0", GUID.replace("8", "G")):
        assert f"'{guid}' is not a GUID" in refused("install", PROVIDER, "--guid", guid)
    assert "--name: the catalogue accepts names of up to 255" in refused("install", PROVIDER, "--name", "x" * 256)
    assert "paths of up to 259" in refused("install", f"/{'x' * 259}")
    monkeypatch.setenv("DUMMY_ONE", "id=7")
    assert "it returns no provider of version 2 for class {" in refused("install", PROVIDER)
    assert "(0x80040111)\n" in refused("install", PROVIDER, "--guid", GUID)
    assert "is not UTF-8 text" in refused("install", "/tmp/\udcff.so")


def test_twice(networkdirect, refused):
    networkdirect("install", PROVIDER)
    assert "} is already in the catalogue" in refused("install", PROVIDER)
    networkdirect("install", PROVIDER, "--guid", GUID)
    assert f"{GUID} is already in the catalogue" in refused("install", PROVIDER, "--guid", GUID.lower())


def test_removing_what_is_not_there(networkdirect, refused, monkeypatch):
    networkdirect("install", PROVIDER)
    for which in (GUID, HOLLOW, "/nowhere.so", "{2F0C5A11-7B3E-4C55-8D10-3A6E5291C477}"):
        assert f"{which}: not in the catalogue; 'fabricbench networkdirect list'" in refused("remove", which)
    monkeypatch.setenv("FABRICBENCH_PROVIDER_LIBRARIES", str(HOLLOW))
    assert "not in the catalogue; FABRICBENCH_PROVIDER_LIBRARIES names it" in refused("remove", HOLLOW)
    assert "GUID|PATH is missing" in refused("remove")


def test_a_catalogue_that_is_none(refused, catalogue, monkeypatch):
    catalogue.write_text("nonsense\n")
    for command in (["list"], ["list", "--json"], ["install", PROVIDER], ["remove", GUID]):
        assert "the catalogue of providers cannot be read (Winsock error 11003)" in refused(*command)
    monkeypatch.setenv("FABRICBENCH_PROVIDERS", "/proc/nowhere/providers")
    assert "cannot be changed: no permission, or no such folder" in refused("install", PROVIDER)


def test_names_of_commands(refused):
    assert "no command 'instal'; known are: install, remove, list" in refused("instal")
