"""Defects of the kinds that vendors ship, found in C++ sources by their tokens.

`places(text)` lists every place of a source where a small defect can be put; `rewrite(text, chosen)` gives the source with the
chosen ones behind switches (runtime.h). Only function bodies are looked at. Nothing here knows the cases of the suite.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field

KINDS = {
    "border": "a comparison that takes one more or one less",
    "constant": "a number one larger, a boolean turned round",
    "mask": "a mask that lets every bit through",
    "index": "an index that is always 0",
    "assignment": "an assignment or increment left out",
    "call": "a call left out",
    "check": "a check that never holds",
    "condition": "one part of a condition left out",
    "coarse": "a comparison that leaves out the last byte or the lowest bit",
    "early": "a function that returns at once",
}

TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<raw>R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)")|(?P<string>"(?:\\.|[^"\\])*")
    |(?P<char>'(?:\\.|[^'\\])+')|(?P<num>\.?\d(?:'?[\w.]|[eEpP][+-])*)|(?P<id>[A-Za-z_]\w*)
    |(?P<punct><=>|<<=|>>=|->\*|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])""",
    re.VERBOSE | re.DOTALL)
ASSIGNS = {"=", "+=", "-=", "|=", "&=", "^=", "*=", "/=", "%=", "<<=", ">>="}
IDENTITY = re.compile(
    r"nqn|host_?id|key|uuid|guid|tag|cntlid|eid|digest|secret|token|qpn|nonce|challenge|response|cid|nsid|psn|address|serial|"
    r"crc|guard|instance|sequence", re.IGNORECASE)
# What is the bench's own in a product: deviations, its record of what happened, assertions.
MACHINERY = {"departs", "departs_at", "trace", "mark", "unhooked", "hooks", "hooks_", "hooked_", "tolerates", "refuses", "note", "fold",
             "append_field", "BENCH_ASSERT"}
# A part of a condition that only asks whether a deviation lets the peer's fault pass: without one it always holds.
ASKS = {"&&": re.compile(r"(\w+(\.|->))*(refuse|rejects)\("), "||": re.compile(r"!(\w+(\.|->))*(refuse|rejects)\(")}
# A variable that is true for a deviation alone.
DEVIATES = re.compile(r"\bconst bool (\w+) = (?:[^;|!?(]*&& )?(?:\w+(?:\.|->))*departs\([^;|?]*;")
# What is written above a function that only a deviation calls.
FOR_A_DEVIATION = re.compile(r"/// (For a deviation|A deviation|Deviations)\b")
# What a line says that only a deviation gets to.
DEVIATION_GETS_HERE = re.compile(r"//.*\ba deviation\b")
# Names of functions that do nothing else, and of the parameter of what is done to an object that is gone.
DEPARTURE = re.compile(r"depart_|stale$|send_extra$|complete_all$")
NOT_A_STATEMENT = {"return", "case", "default", "break", "continue", "using", "const", "constexpr", "static", "auto", "typedef",
                   "goto", "throw", "delete", "static_assert", "struct", "class", "enum", "union", "template", "for", "while",
                   "switch", "do", "else", "if", "try", "catch", "new", "co_return", "co_await", "co_yield", "BENCH_ASSERT"}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Place:
    """One defect: what is put before and behind which offsets (`{n}` is the number of its switch)."""
    kind: str
    line: int
    text: str  # the source line, so that a reviewed entry finds its place again
    edits: tuple[tuple[int, str], ...] = field(repr=False)
    equal: bool = False  # the same program, as the text says; it has a number so that its neighbours keep theirs


def tokens_of(text: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(text):
        if text[at] == "#" and (at == 0 or text[:at].rsplit("\n", 1)[-1].strip() == ""):
            while True:  # a directive with its continued lines
                end = text.find("\n", at)
                end = len(text) if end < 0 else end
                if text[end - 1] != "\\":
                    break
                at = end + 1
            at = end
            continue
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"no token at offset {at}: {text[at:at + 20]!r}")
        if match.lastgroup not in ("space", "comment"):
            kind = "string" if match.group("raw") or match.group("string") else match.lastgroup
            found.append(Token(kind or "punct", match.group(), at, match.end()))
        at = match.end()
    return found


def _pairs(tokens: list[Token]) -> dict[int, int]:
    closing, open_ = {")": "(", "]": "[", "}": "{"}, []
    partner: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token.kind != "punct":
            continue
        if token.text in "([{":
            open_.append(index)
        elif token.text in closing and open_:
            partner[open_[-1]] = index
            partner[index] = open_.pop()
    return partner


class _Finder:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.partner = _pairs(self.tokens)
        self.places: list[Place] = []
        self.lines = text.split("\n")
        self.deviates: set[str] = set()

    def at(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def add(self, kind: str, index: int, *edits: tuple[int, str], equal: bool = False) -> None:
        line = self.text.count("\n", 0, self.tokens[index].start) + 1
        equal = equal or DEVIATION_GETS_HERE.search(self.lines[line - 1]) is not None
        self.places.append(Place(kind, line, self.lines[line - 1].strip(), edits, equal))

    # ---- where functions are ----

    def find(self) -> list[Place]:
        self.outside(0, len(self.tokens))
        return sorted(self.places, key=lambda place: (place.edits[0][0], place.kind))

    def outside(self, index: int, end: int) -> None:
        """Namespaces and classes: bodies of functions are looked for."""
        begin = index
        while index < end:
            text = self.at(index)
            if text in ("(", "["):
                index = self.partner.get(index, index) + 1
                continue
            if text == ";":
                begin = index + 1
            elif text == "{":
                close = self.partner.get(index, end)
                head = [token.text for token in self.tokens[begin:index]]
                if "namespace" in head or "extern" in head:
                    self.outside(index + 1, close)
                    begin = close + 1
                elif head and head[0] in ("class", "struct", "enum", "union", "template") and "(" not in head:
                    if "enum" not in head:
                        self.outside(index + 1, close)
                elif "(" in head and "=" not in head and self.is_body(begin, index):
                    aside = any(map(DEPARTURE.match, head)) or self.is_for_a_deviation(begin)
                    if not {"constexpr", "consteval"} & set(head) and not aside:
                        self.body(begin, index, close)
                    begin = close + 1
                index = close + 1
                continue
            index += 1

    def is_body(self, begin: int, index: int) -> bool:
        before = self.at(index - 1)
        if before in (")", "const", "noexcept", "override", "final", "&", "&&", "mutable", "}", "{"):
            return True
        head = [token.text for token in self.tokens[begin:index]]
        return "->" in head and ":" not in head  # a trailing return type; `: member_{` initialises

    def is_for_a_deviation(self, begin: int) -> bool:
        line = self.text.count("\n", 0, self.tokens[begin].start) - 1
        while line >= 0 and self.lines[line].startswith("//"):
            if FOR_A_DEVIATION.match(self.lines[line]):
                return True
            line -= 1
        return False

    def body(self, begin: int, index: int, close: int) -> None:
        self.deviates = set(DEVIATES.findall(self.text, self.tokens[index].start, self.tokens[close].start))
        if self.at(begin) == "void" and self.at(index + 1) != "}":
            self.add("early", begin, (self.tokens[index].end, " if (fb_mutation::on({n})) return;"))
        self.statements(index + 1, close)

    # ---- statements ----

    def statements(self, index: int, end: int) -> None:
        while index < end:
            index = self.statement(index, end)

    def statement(self, index: int, end: int) -> int:
        """Looks at the statement that begins here; gives the index behind it, or of the statement inside it."""
        text = self.at(index)
        if text in ("else", "do", "try", ";", "}"):
            return index + 1
        if text == "{":
            close = self.partner.get(index, end)
            self.statements(index + 1, close)
            return close + 1
        if text in ("case", "default"):
            while index < end and self.at(index) != ":":
                index += 1
            return index + 1
        if text in ("if", "while", "for", "switch", "catch"):
            fixed = self.at(index + 1) == "constexpr"
            open_ = index + 2 if fixed else index + 1
            close = self.partner.get(open_, end)
            if not fixed and text != "catch":
                machinery = self.is_machinery(open_, close) or self.is_gone_on(open_, close)
                if text == "if" and not machinery:
                    self.condition(open_, close)
                if text == "if" and machinery:  # what it guards is the deviation, or the record
                    return (self.partner.get(close + 1, end) if self.at(close + 1) == "{" else self.end_of(close + 1, end)) + 1
                self.expression(open_ + 1, close)
            return close + 1
        last = self.end_of(index, end)
        if text in ("static_assert", "using", "typedef", "constexpr", "template", "struct", "class", "enum", "goto"):
            return last + 1
        if text == "static" and self.at(index + 1) == "constexpr":
            return last + 1
        if self.is_machinery(index, last):
            return last + 1
        kind = self.droppable(index, last)
        if kind:
            self.add(kind, index, (self.tokens[index].start, "fb_mutation::on({n}) ? (void)0 : (void)("),
                     (self.tokens[last].start, ")"))
        self.expression(index, last)
        return last + 1

    def is_machinery(self, index: int, end: int) -> bool:
        return any(token.text in MACHINERY or token.text.startswith("depart_") for token in self.tokens[index:end])

    def is_gone_on(self, open_: int, close: int) -> bool:
        """`if (!queue.refuse(...))`: a deviation lets pass what was to be refused."""
        texts = [token.text for token in self.tokens[open_ + 1:close]]
        return texts[:1] == ["!"] and "refuse" in texts and not {"&&", "||"} & set(texts)

    def end_of(self, index: int, end: int) -> int:
        while index < end and self.at(index) != ";":
            index = self.partner.get(index, index) + 1 if self.at(index) in ("(", "[", "{") else index + 1
        return min(index, end)

    def droppable(self, index: int, last: int) -> str:
        """"assignment", "call" or nothing: whether the statement is one of those and declares nothing."""
        first = self.tokens[index]
        if first.text in NOT_A_STATEMENT or self.at(last) != ";":
            return ""
        if first.text in ("++", "--"):
            return "assignment"
        at = index
        while self.at(at) == "*":
            at += 1
        if at >= last or (self.tokens[at].kind != "id" and self.at(at) != "("):
            return ""
        if re.fullmatch(r"[A-Z_0-9]{3,}", self.at(at)):
            return ""
        if self.at(at) == "(":
            at = self.partner.get(at, last) + 1
        else:
            at += 1
        called = False
        while at < last:
            text = self.at(at)
            if text in ("(", "["):
                called = text == "("
                at = self.partner.get(at, last) + 1
            elif text in (".", "->", "::") and self.tokens[at + 1].kind == "id":
                called = False
                at += 2
            elif text in ("++", "--") and at + 1 == last:
                return "assignment"
            elif text in ASSIGNS:
                return "assignment"
            else:
                return ""
        return "call" if called else ""

    def condition(self, open_: int, close: int) -> None:
        """`if (A && B)`: the whole never holds; each part left out. Conditions that declare are left alone."""
        parts: list[tuple[int, int]] = []
        joint, begin, at = "", open_ + 1, open_ + 1
        while at < close:
            text = self.at(at)
            if text in ("(", "[", "{"):
                at = self.partner.get(at, close) + 1
                continue
            if text == ";" or text == "=":
                return
            if text in ("&&", "||") and at > begin:
                if joint and text != joint:
                    parts, joint = [], "mixed"
                    break
                joint = text
                parts.append((begin, at))
                begin = at + 1
            at += 1
        start, stop = self.tokens[open_].end, self.tokens[close].start
        self.add("check", open_, (start, "fb_mutation::never({n}, "), (stop, ")"))
        if joint in ("&&", "||"):
            parts.append((begin, close))
            word = "always" if joint == "&&" else "never"
            of_deviation = [part for part in parts if joint == "&&" and part[1] == part[0] + 1 and self.at(part[0]) in self.deviates]
            for first, behind in parts:
                if any(token.text == "overlooks" for token in self.tokens[first:behind]):
                    continue  # whether the product departs
                asks = ASKS[joint].match(self.text, self.tokens[first].start) is not None and self.at(behind - 1) == ")"
                self.add("condition", first, (self.tokens[first].start, f"fb_mutation::{word}({{n}}, "), (self.tokens[behind - 1].end, ")"),
                         equal=asks or any(part[0] != first for part in of_deviation))

    # ---- expressions ----

    def expression(self, index: int, end: int) -> None:
        if self.is_machinery(index, end):
            return
        while index < end:
            token = self.tokens[index]
            text = token.text
            if text == "{" and self.at(index - 1) in (")", "mutable", "]"):  # the body of a lambda
                close = self.partner.get(index, end)
                if not any(DEPARTURE.match(one.text) for one in self.tokens[self.partner.get(index - 1, index):index]):
                    self.statements(index + 1, close)
                index = close + 1
                continue
            if token.kind == "num" and re.fullmatch(r"0[xX][0-9a-fA-F']+|\d[\d']*", text) and not self.is_fixed(index):
                self.add("constant", index, (token.start, "fb_mutation::value({n}, "), (token.end, ")"))
            elif text in ("true", "false"):
                self.add("constant", index, (token.start, "fb_mutation::value({n}, "), (token.end, ")"))
            elif token.kind == "punct" and self.is_spaced(token):
                if text in ("<", ">", "<=", ">="):
                    self.add("border", index, (token.start, "<< fb_mutation::border({n}) "))
                elif text in ("==", "!=") and self.is_identity(index):
                    self.add("coarse", index, (token.start, "<< fb_mutation::coarse({n}) "), equal=self.is_iterator(index))
                elif text == "&":
                    self.mask(index, end)
            elif text == "[" and (self.tokens[index - 1].kind == "id" or self.at(index - 1) in ("]", ")")):
                self.subscript(index)
            index += 1

    def is_fixed(self, index: int) -> bool:
        """A number that the compiler needs: an argument of a template, the length of an array. A switch has no effect there."""
        before, after = self.at(index - 1), self.at(index + 1)
        if before == "::" or (before in ("<", ",") and after == ">" and not self.is_spaced(self.tokens[index + 1])):
            return True
        declares = [self.tokens[index - 2].kind, self.tokens[index - 3].kind] == ["id", "id"] if index > 2 else False
        return before == "[" and after == "]" and declares and self.at(index - 3) not in NOT_A_STATEMENT

    def is_spaced(self, token: Token) -> bool:
        return self.text[token.start - 1].isspace() and self.text[token.end:token.end + 1].isspace()

    def is_identity(self, index: int) -> bool:
        near = " ".join(token.text for token in self.tokens[max(0, index - 6):index + 7])
        return "nullptr" not in near and "::" not in near and bool(IDENTITY.search(near))

    def is_iterator(self, index: int) -> bool:
        """Compared with the end of a container: no iterator has a last element."""
        behind = "".join(token.text for token in self.tokens[index + 1:index + 12])
        return re.match(r"[\w.>-]+(\.|->)end\(\)", behind) is not None

    def mask(self, index: int, end: int) -> None:
        first = last = index + 1
        if first >= end or self.tokens[first].kind not in ("id", "num"):
            return
        while self.at(last + 1) == "::" and self.tokens[last + 2].kind == "id":
            last += 2
        if self.at(last + 1) in ("(", "[", ".", "->", "{", "<"):
            return
        if self.tokens[first].kind == "id" and not re.search(r"::|^k[A-Z]", self.text[self.tokens[first].start:self.tokens[last].end]):
            return
        self.add("mask", index, (self.tokens[first].start, "fb_mutation::mask({n}, "), (self.tokens[last].end, ")"))

    def subscript(self, index: int) -> None:
        close = self.partner.get(index)
        if close is None or close == index + 1 or self.at(index + 1) == "[":
            return
        if close == index + 2 and self.tokens[index + 1].kind == "num":
            return
        self.add("index", index, (self.tokens[index].end, "fb_mutation::index({n}, "), (self.tokens[close].start, ")"))


def places(text: str) -> list[Place]:
    """All places of a source, in the order of their offsets."""
    return _Finder(text).find()


def rewrite(text: str, chosen: dict[int, Place]) -> str:
    """The source with these defects behind switches; the keys are their numbers."""
    edits: list[tuple[int, int, str]] = []
    for number, place in chosen.items():
        for order, (offset, put) in enumerate(place.edits):
            edits.append((offset, -number if order else number, put.replace("{n}", str(number))))
    out, at = ['#include "tests/mutation/runtime.h"\n'], 0
    for offset, put in _nested(edits):
        out += [text[at:offset], put]
        at = offset
    return "".join(out) + text[at:]


def _nested(edits: list[tuple[int, int, str]]) -> list[tuple[int, str]]:
    """At one offset what closes comes before what opens."""
    return [(offset, put) for offset, closes, put in
            sorted(((offset, 0 if order < 0 else 1, put) for offset, order, put in edits), key=lambda edit: edit[:2])]
