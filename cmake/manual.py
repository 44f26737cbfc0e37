#!/usr/bin/env python3
"""Man pages and completion for bash and zsh, from what `fabricbench COMMAND --help` says.

    manual.py PROGRAM FOLDER
"""

import pathlib
import re
import subprocess
import sys


class Help:
    """The help of one command, in its parts."""

    def __init__(self, program, path):
        self.path = path
        text = subprocess.run([program, *path, "--help"], capture_output=True, text=True, check=True).stdout
        head, _, self.usage = text.partition("\nUsage: ")
        self.usage = " ".join(self.usage.split("\n\n", 1)[0].split())
        self.description = " ".join(head.split())
        self.commands = self.entries(text, "Subcommands")
        self.options = self.entries(text, "Options")
        self.positionals = self.entries(text, "Positionals")
        found = re.search(r"^Examples?:\n((?:  .*\n)+)", text, re.MULTILINE)
        self.examples = [line[2:] for line in found[1].splitlines()] if found else []
        self.codes = " ".join(re.search(r"^Exit codes?\b.*(?:\n  .*)*", text, re.MULTILINE)[0].split())

    @staticmethod
    def entries(text, title):
        """(name, description) of each entry; the description of a long name is on the lines below it."""
        found = re.search(rf"^{title}:\n((?:  .*\n)+)", text, re.MULTILINE)
        all_ = []
        for line in found[1].splitlines() if found else []:
            if line.startswith(" " * 26):
                all_[-1][1].append(line.strip())
            else:
                name, _, what = line.strip().partition("  ")
                all_.append((name, [what.strip()] if what else []))
        return [(name, " ".join(what)) for name, what in all_]

    @property
    def name(self):
        return "-".join(["fabricbench", *self.path])

    @property
    def words(self):
        return [name.split()[0] for name, _ in self.commands]

    @property
    def flags(self):
        """Each option's names, and what its value is: "" for a flag."""
        all_ = []
        for name, _ in self.options:
            words = name.split()
            all_.append(([one for one in words if one.startswith("-")], " ".join(one for one in words if not one.startswith("-"))))
        return all_


def read_all(program, path=()):
    here = Help(program, list(path))
    yield here
    for word in here.words:
        yield from read_all(program, [*path, word])


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def exit_status(text):
    """"Exit codes: 0 success; 1 failure." is a list, anything else a sentence."""
    head, colon, codes = text.partition(": ")
    rows = [one.partition(" ") for one in codes.rstrip(".").split("; ")]
    if head != "Exit codes" or not colon or not all(code.isdigit() for code, _, _ in rows):
        return [roff(text)]
    return [line for code, _, what in rows for line in (".TP", f".B {code}", roff(what))]


def man_page(page, version, pages):
    lines = [f'.TH {page.name.upper().replace("-", chr(92) + "-")} 1 "" "fabricbench {version}" "User Commands"', ".SH NAME",
             f"{roff(page.name)} \\- {roff(page.description.rstrip('.'))}", ".SH SYNOPSIS", f".B {roff(page.usage)}"]
    for title, entries in (("ARGUMENTS", page.positionals), ("COMMANDS", page.commands), ("OPTIONS", page.options)):
        if entries:
            lines.append(f".SH {title}")
        for name, what in entries:
            lines += [".TP", f".B {roff(name)}", roff(what)]
    lines += [".SH EXIT STATUS", *exit_status(page.codes)]
    lines += [".SH EXAMPLES", ".nf", *(roff(line) for line in page.examples), ".fi", ".SH SEE ALSO"]
    others = [one.name for one in pages if one is not page and (one.path[:-1] == page.path or one.path == page.path[:-1])]
    lines.append(",\n".join(f".BR {roff(one)} (1)" for one in others) if others else ".BR fabricbench (1)")
    return "\n".join(lines).replace(" (1),\n", " (1),\n") + "\n"


def bash_completion(pages):
    rows = []
    for page in pages:
        names = " ".join(page.words + [one for names, _ in page.flags for one in names])
        valued = " ".join(one for names, value in page.flags if value for one in names)
        files = " ".join(one for names, value in page.flags if value in ("FILE", "DIR") for one in names)
        rows.append(f'    "{" ".join(page.path)}") words="{names}"; valued=" {valued} "; files=" {files} "; commands=" {" ".join(page.words)} " ;;')
    table = "\n".join(rows)
    return f"""# bash completion for fabricbench, made from its help.
_fabricbench_table() {{
  case "$1" in
{table}
    *) return 1 ;;
  esac
}}

_fabricbench() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} path= words valued files commands word i
  local previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  COMPREPLY=()
  _fabricbench_table "" || return
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${{COMP_WORDS[i]}}
    [[ $commands == *" $word "* ]] || break
    path=${{path:+$path }}$word
    _fabricbench_table "$path" || return
  done
  if [[ $files == *" $previous "* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [[ $valued == *" $previous "* ]]; then
    return
  elif [[ $current == -* || ${{#commands}} -gt 2 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -o filenames -F _fabricbench fabricbench
"""


def zsh_completion(pages):
    def quoted(text):
        return "'" + text.replace("'", "'\\''").replace(":", "\\:") + "'"

    rows = []
    for page in pages:
        commands = " ".join(quoted(name.split()[0])[:-1] + ":" + quoted(what)[1:] for name, what in page.commands)
        options = " ".join(quoted(names[-1])[:-1] + ":" + quoted(what)[1:]
                           for (names, _), (_, what) in zip(page.flags, page.options))
        rows.append(f'    "{" ".join(page.path)}") commands=({commands}); options=({options}) ;;')
    table = "\n".join(rows)
    return f"""#compdef fabricbench
# zsh completion for fabricbench, made from its help.
_fabricbench_table() {{
  case "$1" in
{table}
    *) return 1 ;;
  esac
}}

_fabricbench() {{
  local -a commands options
  local path_ word i
  _fabricbench_table ""
  for ((i = 2; i < CURRENT; ++i)); do
    word=$words[i]
    [[ ${{commands[(r)$word:*]}} == $word:* ]] || break
    path_=${{path_:+$path_ }}$word
    _fabricbench_table "$path_" || return
  done
  if [[ $PREFIX == -* ]]; then
    _describe option options
  elif (( ${{#commands}} )); then
    _describe command commands
  else
    _files
  fi
}}
_fabricbench "$@"
"""


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    pages = list(read_all(program))
    (folder / "man1").mkdir(parents=True, exist_ok=True)
    for page in pages:
        (folder / "man1" / f"{page.name}.1").write_text(man_page(page, version, pages))
    (folder / "fabricbench.bash").write_text(bash_completion(pages))
    (folder / "_fabricbench").write_text(zsh_completion(pages))


if __name__ == "__main__":
    main()
