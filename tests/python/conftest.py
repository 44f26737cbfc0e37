import importlib.util
import pathlib
import signal
import sys

# A shell's background ignores SIGINT, and so would all programs that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The package of the release build, unless PYTHONPATH names another.
if importlib.util.find_spec("fabricbench") is None:
    sys.path.insert(0, str(ROOT / "build" / "release" / "python"))
#: Where the package under test lies, for the processes that tests start.
PACKAGE = pathlib.Path(importlib.util.find_spec("fabricbench").origin).parents[1]
