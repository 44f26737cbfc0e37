"""What counts as a place for a defect, and what a rewritten source says."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import draw  # noqa: E402
import mutate  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def kinds(body: str) -> list[str]:
    return [place.kind for place in mutate.places("int f() {\n" + body + "\n}\n")]


def put(body: str, kind: str) -> str:
    """The body with its first defect of this kind."""
    text = "int f() {\n" + body + "\n}\n"
    place = next(place for place in mutate.places(text) if place.kind == kind)
    return mutate.rewrite(text, {7: place}).split("\n", 2)[2].rsplit("\n}", 1)[0]


class Places(unittest.TestCase):
    def test_each_kind_is_put_where_it_belongs(self):
        table = [
            ("return a < b;", "border", "return a << fb_mutation::border(7) < b;"),
            ("return 5;", "constant", "return fb_mutation::value(7, 5);"),
            ("return x & 0x0F;", "mask", "return x & fb_mutation::mask(7, 0x0F);"),
            ("return a[k + n];", "index", "return a[fb_mutation::index(7, k + n)];"),
            ("a.b = c;", "assignment", "fb_mutation::on(7) ? (void)0 : (void)(a.b = c);"),
            ("++count_;", "assignment", "fb_mutation::on(7) ? (void)0 : (void)(++count_);"),
            ("a->go(b);", "call", "fb_mutation::on(7) ? (void)0 : (void)(a->go(b));"),
            ("if (a) return b;", "check", "if (fb_mutation::never(7, a)) return b;"),
            ("if (a && b) return c;", "condition", "if (fb_mutation::always(7, a) && b) return c;"),
            ("if (a || b) return c;", "condition", "if (fb_mutation::never(7, a) || b) return c;"),
            ("return hostnqn == other;", "coarse", "return hostnqn << fb_mutation::coarse(7) == other;"),
        ]
        for body, kind, wanted in table:
            with self.subTest(body=body):
                self.assertEqual(put(body, kind), wanted)

    def test_what_declares_or_belongs_to_the_bench_is_left_alone(self):
        for body in ("static_assert(kSize == 5);", "constexpr int n = 5;", 'world.trace().mark("a.b", 5);',
                     "if (departs(departure::late)) return 5;", "depart_after(a, 5);", "if (a.refuses()) return 5;", "if (!q.refuse(a, b)) return go(5);",
                     "const auto f = [](Type& stale) { stale.go(5); };", "BENCH_ASSERT(a < b);", "const Type name(other);",
                     "std::array<char, 5> a = {};", "unsigned char a[5];"):
            with self.subTest(body=body):
                self.assertEqual(kinds(body), [])
        self.assertEqual(kinds("switch (a) { case 5: break; }"), [])
        self.assertEqual(mutate.places("void A::depart_before(int a) {\n  if (a < 5) go();\n}\n"), [])
        self.assertEqual(mutate.places("/// For a deviation.\nvoid A::forget(int a) {\n  if (a < 5) go();\n}\n"), [])
        self.assertEqual([place.kind for place in mutate.places("constexpr int kA = 5;\nstruct S { int a = 5; };\n")], [])

    def test_what_only_a_deviation_tells_apart_is_no_other_program(self):
        table = [("if (a && queue.refuse(b, c)) return d;", [("check", False), ("condition", False), ("condition", True)]),
                 ("if (a && !queue.refuse(b, c)) return d;", [("check", False), ("condition", False), ("condition", False)]),
                 ("if (a || !queue.refuse(b, c)) return d;", [("check", False), ("condition", False), ("condition", True)]),
                 ("const bool x = a && departs(b); if (x && e) return d;", [("check", False), ("condition", False), ("condition", True)]),
                 ("if (a == nullptr) return d;  // a deviation went on", [("check", True)]),
                 ("return key.find(a) == key.end();", [("coarse", True)]),
                 ("return key.end_of(a) == key_end;", [("coarse", False)])]
        for body, wanted in table:
            with self.subTest(body=body):
                self.assertEqual([(place.kind, place.equal) for place in mutate.places("int f() {\n" + body + "\n}\n")], wanted)

    def test_lambdas_and_loops_are_looked_into(self):
        self.assertEqual(kinds("const auto f = [&](int a) { b = a; };"), ["assignment"])
        self.assertEqual(kinds("for (int k = 0; k < n; ++k) go(k);"), ["constant", "border", "call"])

    def test_a_void_function_may_end_early(self):
        text = "void f() {\n  go();\n}\n"
        self.assertIn("early", [place.kind for place in mutate.places(text)])

    def test_every_product_source_is_read_and_keeps_its_tokens(self):
        count = 0
        for top in draw.TOPS:
            for file in sorted((ROOT / top).rglob("*.cc")):
                text = file.read_text()
                found = mutate.places(text)
                count += len(found)
                changed = mutate.rewrite(text, dict(enumerate(found, 1)))
                self.assertEqual(text.count("\n") + 1, changed.count("\n"), file)
                # Taking the switches out again gives the source.
                back = changed.split("\n", 1)[1]
                for number, place in sorted(enumerate(found, 1), key=lambda pair: -pair[0]):
                    for _, edit in place.edits:
                        if "{n}" in edit:
                            back = back.replace(edit.replace("{n}", str(number)), "", 1)
                self.assertNotIn("fb_mutation", back, file)
        self.assertGreater(count, 20000)

    def test_every_reviewed_entry_names_a_place(self):
        known = {path: {one.key for one in draw.mutants_of(path)} for path in {key[0] for key in draw.reviewed()}}
        stale = [key for key in draw.reviewed() if key not in known[key[0]]]
        self.assertEqual(stale, [])
        self.assertGreater(len(draw.reviewed()), 40)


if __name__ == "__main__":
    unittest.main()
