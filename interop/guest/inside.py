"""A program inside a root: chroot in namespaces of its own, without privilege."""

import pathlib
from collections.abc import Iterable

NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount")
# Arguments: the root, the number of folders, the folders, the program. A file system in memory takes the folders of
# both sides: nothing is written into the cache.
ENTER = """set -e
root=$1 folders=$2
shift 2
made=$root/mnt
mount -t tmpfs none "$made"
for each in "$root"/*; do
  name=${each##*/}
  if [ "$name" = mnt ]; then continue; fi
  if [ -L "$each" ]; then cp -P "$each" "$made/$name"; continue; fi
  mkdir "$made/$name"
  case $name in
  proc | dev | sys | tmp) mount --rbind "/$name" "$made/$name" ;;
  *) mount --rbind "$each" "$made/$name" ;;
  esac
done
while [ "$folders" -gt 0 ]; do
  mkdir -p "$made$1"
  mount --rbind "$1" "$made$1"
  folders=$((folders - 1))
  shift
done
cd /
exec chroot "$made" "$@"
"""


def entered(root: pathlib.Path, program: Iterable[str], folders: Iterable[pathlib.Path] = ()) -> list[str]:
    """The command that runs a program of the root, which sees these folders of this machine."""
    seen = [str(one) for one in folders]
    return [*NAMESPACES, "sh", "-c", ENTER, "sh", str(root), str(len(seen)), *seen, *program]
