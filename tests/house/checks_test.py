#!/usr/bin/env python3
"""The checks of the house must find what they look for: each case is a small tree with one fault."""
import contextlib
import io
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

import check_core  # noqa: E402
import check_docs  # noqa: E402
import check_floors  # noqa: E402
import check_format  # noqa: E402
import check_style  # noqa: E402

FUNCTION = "int f() {\n  return 1;\n}\n"


def run(check, files, *words):
    """(exit code, output) of a check over a tree given as {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = check.main(["check", folder, *words])
        return code, output.getvalue()


class Floors(unittest.TestCase):
    def refused(self, files, *words):
        code, output = run(check_floors, files)
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)

    def include(self, includer, included):
        return {includer: f'#include "{included}"\n', f"include/{included}": "#pragma once\n"}

    def test_downward_and_allowed_siblings_pass(self):
        for includer, included in (("src/ops/a.cpp", "skein/tensor/t.h"), ("src/data/files/a.cpp", "skein/text/t.h"),
                                   ("tools/x.cpp", "skein/cli/c.h"), ("src/nn/a.cpp", "skein/nn/b.h")):
            code, output = run(check_floors, self.include(includer, included))
            self.assertEqual(code, 0, output)

    def test_upward(self):
        self.refused(self.include("src/core/a.cpp", "skein/tensor/t.h"), "src/core/a.cpp:1", "points up")

    def test_siblings(self):
        self.refused(self.include("src/kernels/cpu/a.cpp", "skein/comm/c.h"), "sibling comm")
        self.refused(self.include("src/text/a.cpp", "skein/data/files/d.h"), "sibling data")

    def test_circle(self):
        self.refused({"include/skein/nn/a.h": '#include "skein/nn/b.h"\n',
                      "include/skein/nn/b.h": '#include "skein/nn/a.h"\n'}, "circle", "a.h", "b.h")

    def test_one_type_in_two_headers(self):
        bench, scaling = "include/skein/bench/b.h", "include/skein/scaling/fit/s.h"
        self.refused({bench: "namespace skein::bench {\nstruct Figure {\n", scaling: "namespace skein::bench {\nstruct Figure final {\n"}, "s.h:2", "Figure", "b.h")
        others = {bench: "namespace skein::bench {\nstruct Figure {\n", scaling: "namespace skein::scaling::fit {\nstruct Figure {\nstruct Figure::Part {\n"}
        self.assertEqual(run(check_floors, others)[0], 0)

    def test_namespaces_follow_folders(self):
        plan, store = "src/scaling/plan/p.cpp", "src/data/stores/s.h"
        self.refused({plan: "namespace skein::scaling {\nint x;\n}\n"}, "opens skein::scaling,", "skein::scaling::plan")
        self.refused({plan: "namespace skein {\nint x;\n}\n"}, "opens skein,")
        ahead = "namespace skein {\nclass Model;\n}  // namespace skein\n\nnamespace skein::data {\nint x;\n}\n"
        self.assertEqual(run(check_floors, {store: ahead, "src/ops/var.cpp": "namespace skein {\n}\n"})[0], 0)

    def test_foreign_library_outdoors(self):
        self.refused({"src/train/a.cpp": "#include <mpi.h>\n"}, "comm only")
        self.assertEqual(run(check_floors, {"src/comm/a.cpp": "#include <mpi.h>\n"})[0], 0)

    def test_missing_file_unknown_floor_and_empty_tree(self):
        self.refused({"src/nn/a.cpp": '#include "skein/nn/none.h"\n'}, "names no file")
        self.refused({"src/utils/a.cpp": "\n"}, "no known floor")
        self.refused({}, "no source found")

    def test_rooms(self):
        self.refused(self.include("src/data/files/a.cpp", "skein/data/stores/s.h"), "looks from room files at stores")
        self.refused(self.include("src/train/a.cpp", "skein/train/tasks/t.h"), "from room the floor itself at tasks")
        self.refused({"src/data/a.cpp": "\n"}, "the floor itself is no known room")
        self.refused({"src/data/cellar/a.cpp": "\n"}, "cellar is no known room")
        self.refused(self.include("src/models/new/a.cpp", "skein/models/gpt/g.h"), "looks from room new at gpt")
        self.refused(self.include("src/models/config.cpp", "skein/models/new/n.h"), "from room the floor itself at new")
        for includer, included in (("src/models/registry.cpp", "skein/models/new/n.h"),
                                   ("src/models/new/a.cpp", "skein/models/m.h")):
            self.assertEqual(run(check_floors, self.include(includer, included))[0], 0)
        for includer, included in (("src/data/stores/a.cpp", "skein/data/files/f.h"), ("src/train/tasks/a.cpp", "skein/train/t.h"),
                                   ("src/comm/world.cpp", "skein/comm/tcp/t.h")):
            self.assertEqual(run(check_floors, self.include(includer, included))[0], 0)

    def test_full_rooms(self):
        files = {f"src/nn/a{i}.cpp": "\n" for i in range(25)}
        self.assertEqual(run(check_floors, files)[0], 0)
        self.refused({**files, "src/nn/b.cpp": "\n"}, "src/nn: 26 sources, above 25")
        self.refused({f"tests/nn/{i}_test.cpp": "\n" for i in range(26)} | {"src/nn/a.cpp": "\n"}, "tests/nn: 26 sources, above 25")


class Style(unittest.TestCase):
    def spans(self, text):
        return check_style.functions(text)

    def body(self, lines):
        return "void f() {\n" + "  g();\n" * (lines - 2) + "}\n"

    def test_finds_functions_only(self):
        self.assertEqual(self.spans(FUNCTION), [(1, 3)])
        self.assertEqual(self.spans("namespace a::b {\nstruct S {\n  int x{1};\n  int y = 2;\n};\n}\n"), [])
        self.assertEqual(self.spans("constexpr int t[] = {1, 2};\nvoid f(S s = {});\n"), [])
        text = "class A final : public B<int> {\n public:\n  int f() const { return 1; }\n};\n"
        self.assertEqual(self.spans(text), [(3, 3)])

    def test_heads_over_several_lines(self):
        self.assertEqual(self.spans("template <class T = int>\nT f(int a,\n    int b) {\n}\n"), [(1, 4)])
        self.assertEqual(self.spans("A::A(int x)\n    : a_{x}, b_(x) {\n  g();\n}\n"), [(1, 4)])
        self.assertEqual(self.spans("A& operator=(const A& a) {\n  return *this;\n}\n"), [(1, 3)])
        self.assertEqual(self.spans("const auto f = [](int x) {\n  return x;\n};\n"), [(1, 3)])

    def test_braces_in_text_do_not_count(self):
        text = "int f() {\n  g(\"{\", '{', R\"({{)\");  // {\n  /* { */\n#define X {\n  int n = 1'000;\n}\n"
        self.assertEqual(self.spans(text), [(1, 6)])

    def test_long_function(self):
        short = FUNCTION * 20
        self.assertEqual(run(check_style, {"src/nn/a.cpp": short + self.body(60)})[0], 0)
        code, output = run(check_style, {"src/nn/a.cpp": short + self.body(61)})
        self.assertEqual(code, 1)
        self.assertIn("a function of 61 lines, above 60", output)
        self.assertEqual(run(check_style, {"src/kernels/cpu/a.cpp": short + self.body(150)})[0], 0)
        self.assertEqual(run(check_style, {"src/kernels/cpu/a.cpp": short + self.body(151)})[0], 1)

    def test_counts_parameters(self):
        def most(head):
            return check_style.parameters_of(head)
        self.assertEqual(most("void f()"), 0)
        self.assertEqual(most("void f(std::map<int, long> a, int (&b)[2], std::function<void(int, int)> c = {1, 2})"), 3)
        self.assertEqual(most("template <class T, class U> A::A(int x, int y) : a_{x, y, 1}, b_(x, y, 1)"), 2)
        self.assertEqual(most("bool operator()(int a, int b) const noexcept(noexcept(a))"), 2)
        self.assertEqual(most("bool operator<(const A& a, const A& b)"), 2)
        self.assertEqual(most("const int x = f(1, 2, 3)"), 0)
        self.assertEqual(most("void f(int a, bool b = 1 << 2 > 3, int c = 4)"), 3)
        self.assertEqual(most("struct alignas(16) A"), 0)

    def test_too_many_parameters(self):
        def list_of(count):
            return ", ".join(f"std::pair<int, int> x{i}" for i in range(count))
        for form in ("void f({});\n", "template <class T>\nvoid f({}) {{\n}}\n", "struct A {{\n  A({});\n}};\n",
                     "void f() {{\n  g([=]({}) {{ return 1; }});\n}}\n"):
            code, output = run(check_style, {"src/nn/a.cpp": FUNCTION + form.format(list_of(7))})
            self.assertEqual(code, 0, output)
            code, output = run(check_style, {"src/nn/a.cpp": FUNCTION + form.format(list_of(8))})
            self.assertEqual(code, 1, form)
            self.assertIn("a function with 8 parameters, above 7", output)
        calls = "void f() {\n  g(1, 2, 3, 4, 5, 6, 7, 8);\n  h[0](1, 2, 3, 4, 5, 6, 7, 8);\n}\n"
        self.assertEqual(run(check_style, {"src/nn/a.cpp": calls})[0], 0)

    def test_outputs_of_kernels(self):
        good = "void add(Cpu, const Tensor& a, Out b = {});\nvoid add(Cuda on, Out a,\n         Out b);\nvoid some(Cpu, int a, const SomeOuts& b);\ndouble sum(Cpu, int a);\n"
        path = "include/skein/kernels/a.h"
        self.assertEqual(run(check_style, {"src/nn/a.cpp": FUNCTION, path: good})[0], 0)
        for bad in ("void add(Cpu, const Tensor& a, const Tensor& out);\n", "void add(Cuda, Out a, int64_t to);\n",
                    "void add(Cpu);\n"):
            code, output = run(check_style, {"src/nn/a.cpp": FUNCTION, path: good + bad})
            self.assertEqual(code, 1, bad)
            self.assertIn("a.h:6: a kernel whose outputs are not its last parameters", output)

    def test_long_file(self):
        self.assertEqual(run(check_style, {"src/nn/a.cpp": FUNCTION + "\n" * 397})[0], 0)
        for long in ({"src/nn/a.cpp": FUNCTION + "\n" * 398}, {"src/nn/a.cpp": FUNCTION, "tests/nn/a_test.cpp": "\n" * 401}):
            code, output = run(check_style, long)
            self.assertEqual(code, 1)
            self.assertIn("401 lines, above 400", output)

    def test_share_of_short_functions(self):
        code, output = run(check_style, {"src/nn/a.cpp": FUNCTION * 8 + self.body(21)})
        self.assertEqual(code, 1)
        self.assertIn("88.9% of functions are within 20 lines", output)

    def test_casts(self):
        cast = "int f(long a) {\n  return static_cast<int>(a);\n}\n"
        said = "const char* g() {\n  return \"static_cast<int>\";  // static_cast<int>\n}\n"
        lines = 1000 // check_style.MOST_CASTS
        few = {"src/nn/a.cpp": cast + "\n" * (lines - 3), "tools/b.cpp": cast, "include/skein/nn/c.h": said}
        self.assertEqual(run(check_style, few)[0], 0)
        code, output = run(check_style, {"src/nn/a.cpp": cast + "\n" * (lines - 4)})
        self.assertEqual(code, 1)
        self.assertIn("1 static_cast are ", output)
        self.assertIn(f"a thousand lines, above {check_style.MOST_CASTS}", output)


class Core(unittest.TestCase):
    BERT = {"src/models/bert/architecture.cpp": 'options.add("model.pooler", c.pooler, "");\n'}
    TABLE = {check_core.FIELD_LIST: "{&Sequence::tokens}, {&Batch::targets}, {&Batch::values}, {&Batch::known},\n"}
    HEADER = "include/skein/ops/a.h"
    OPS = {HEADER: "namespace skein::ops {\nVar gain(const Var& x,\n         int64_t to);\nstruct S {};\n"}

    def passes(self, check, files):
        code, output = run(check_core, files, check)
        self.assertEqual(code, 0, output)

    def refused(self, check, files, *words):
        code, output = run(check_core, files, check)
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)

    def each_refused(self, check, path, codes, files=None):
        for code in codes:
            self.refused(check, {**(files or {}), path: f"\n{code}\n"}, f"{path}:2")

    def test_architectures(self):
        for path in ("src/train/a.cpp", "include/skein/nn/a.h", "tools/a.cpp", "src/models/config.cpp"):
            self.each_refused("architectures", path, (
                "if (is_bert(c)) f();", "const Bert* model;", "bert_options(c).pooler;", "Kind::bert;",
                '#include "skein/models/bert/bert.h"', 'f(name() == "bert");', 'f("model.pooler");'), self.BERT)
        allowed = "// like BERT\nSpan bertha;\n" + 'fail("give model.architecture=bert and model.pooler");\n'
        self.passes("architectures", {
            **self.BERT, "src/train/a.cpp": allowed, "src/models/registry.cpp": "bert_architecture();\n",
            "src/convert/a.cpp": "is_bert(c);\n", "src/text/a.cpp": "split_bert(text);\n"})
        self.refused("architectures", {"src/models/config.cpp": "\n"}, "no architecture has a folder")

    def test_decoding(self):
        for path in ("src/generate/a.cpp", "include/skein/generate/a.h"):
            self.each_refused("generate", path, (
                "pp.send(x, 1);", "recv_bytes(&x, 1);", "f(mesh.stage());", "i % stages;", "mesh.pp().size();"))
        self.passes("generate", {"src/generate/a.cpp": "// of the last stage\npipeline.run(step, pass);\n"})

    def test_models(self):
        self.each_refused("models", "src/models/bert/a.cpp", (
            "tp.all_reduce_sum(x);", "kernels::norm(Cpu{}, x);", "on_device(device, f);",
            '#include "skein/comm/group.h"', '#include "skein/ops/collective.h"'))
        self.passes("models", {"src/models/a.cpp": "kernels::RotaryWaves f(C c);  // all_reduce(x)\n"})

    def test_names_of_tensors(self):
        self.each_refused("tensors", "src/train/a.cpp", (
            'if (name == "head.weight") f();', 'name.starts_with("block.");', 'name.ends_with(".bias");',
            'f("classifier.weight" != name);', 'p.tensor() == "anything";', 'parameter.name.substr(2);',
            'name.find("final_norm");', 'name == fmt::format("block.{}.gain", i);'))
        self.passes("tensors", {
            "src/nn/a.cpp": 'add("head.weight");\nkey == "model.bias";\n', "src/convert/a.cpp": 'name == "head.weight";\n'})

    def test_fields_of_a_batch(self):
        self.passes("fields", {**self.TABLE, "src/data/a.cpp": "f(batch.tokens, batch.values, batch.known);\n"})
        self.each_refused("fields", "src/data/a.cpp", (
            "for (auto part : {&Batch::targets}) f(part);",
            "for (auto* part : {&b.source.tokens, &b.targets,  &b.values, &b.known}) f(part);"), self.TABLE)
        self.refused("fields", {"src/data/a.cpp": "\n"}, "lists no field")

    def test_texts_of_ops(self):
        self.refused("ops", self.OPS, "no test in tests/ops tells what gain refuses")
        self.refused("ops", {**self.OPS, "tests/ops/a.cpp": 'other("gain");\n"again: x"\n'}, "gain refuses")
        self.passes("ops", {**self.OPS, "tests/ops/a.cpp": '"gain: x must have values"\n'})
        self.passes("ops", {**self.OPS, "tests/support/op_cases.h": '{"gain",\n{x}}\n'})
        self.refused("ops", {}, "no op found")

    def test_commands(self):
        files = {"src/cli/main.cpp": "\n", "src/cli/command.h": "\n", "src/cli/fit.cpp": "int fit_command(A a) {}\n"}
        self.passes("commands", files)
        self.refused("commands", {**files, "src/cli/prompts.h": "\n"}, "src/cli/prompts.h: a header")
        self.refused("commands", {**files, "src/cli/prompts.cpp": "\n"}, "makes no command prompts")
        self.refused("commands", {**files, "src/cli/command.cpp": "\nclass A {\n"}, "command.cpp:2: A has no unit test")

    def test_invariants(self):
        def noted(lines):
            return {name: "// x\n//\n" * lines + "\n// y\n" for name in check_core.NOTED}
        for lines in (5, 15):
            self.passes("notes", noted(lines))
        for lines in (4, 16):
            self.refused("notes", noted(lines), f"src/parallel/pipeline.cpp: begins with {lines} lines")
        self.refused("notes", {}, "begins with 0 lines")

    def test_all(self):
        self.assertIn("9 faults", run(check_core, {**self.BERT, **self.TABLE, **self.OPS})[1])


class Docs(unittest.TestCase):
    WHOLE = {"docs/tour.md": "`nn/stack.h` and `src/nn/stack.cpp`: `Stack::run()`, `f64`\n",
             "docs/how-to-add.md": "`src/nn/NAME.cpp`, [the tour](tour.md), `--x=y/z`\n",
             "docs/README.md": "# Pages\n\n1. [Tour](tour.md): a walk.\n2. [New](how-to-add.md): how.\n1. [Trust](reliability.md): who.\n2. [Help](troubleshooting.md): what.\n",
             "docs/troubleshooting.md": "| message | cause |\n|---|---|\n| `a stack of ... is ...; it should be ...` | . |\n\n| it says |\n|---|\n| `else` |\n",
             "SECURITY.md": "| held | `nn/stack_test.cpp`, `tests/faults/calls` |\n",
             "docs/reliability.md": "`tests/faults/calls COUNT`\n",
             "tests/nn/stack_test.cpp": "\n", "tests/faults/calls": "\n",
             "include/skein/nn/stack.h": "class Stack { void run(double f64); };\n", "src/nn/stack.cpp": 'fail("a stack of {} is %s; it "\n     "should be {:.1f}", a);\n'}

    def table(self, rooms=None):
        def used(names):
            return " ".join(f"`{name or '/'}`" for name in sorted(names))

        def cell(folder):
            return "; ".join(f"`{room or '/'}` → {used(names)}" for room, names in rooms.get(folder, {}).items())

        rooms = check_floors.ROOMS if rooms is None else rooms
        floors = {**check_floors.FLOORS, "tools": "tools"}
        return "".join(f"| {floor} | `{folder}` | . | {cell(folder)} |\n" for folder, floor in floors.items())

    def refused(self, files, *words):
        code, output = run(check_docs, {"CONTRIBUTING.md": self.table(), **self.WHOLE, **files})
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)

    def test_what_is_there_passes(self):
        code, output = run(check_docs, {"CONTRIBUTING.md": self.table(), **self.WHOLE})
        self.assertEqual(code, 0, output)

    def test_paths(self):
        self.refused({"docs/tour.md": "\n`nn/block.h`, `src/nn`\n"}, "docs/tour.md:2: there is no nn/block.h", "1 faults")
        self.refused({"docs/tour.md": "`src/nn/block/`, `CHANGES.md`\n"}, "no src/nn/block/", "no CHANGES.md")
        self.refused({"docs/tour.md": "`nn/stack.h` [there](there.md#part)\n"}, "no there.md")
        self.refused({"docs/how-to-add.md": "`src/layers/NAME.cpp`\n"}, "no src/layers/NAME.cpp")
        self.refused({"docs/how-to-add.md": "nothing\n"}, "docs/how-to-add.md: names no file")

    def test_names(self):
        self.refused({"docs/tour.md": "`nn/stack.h`: `Stack::walk`\n"}, "docs/tour.md:1: no source says Stack::walk")
        self.refused({"docs/tour.md": "`nn/stack.h`: `make_stack()`\n"}, "no source says make_stack()")

    def test_promises(self):
        self.refused({"SECURITY.md": "`nn/block_test.cpp`\n"}, "SECURITY.md:1: there is no test nn/block_test.cpp")
        self.refused({"docs/reliability.md": "`tests/faults/kills 100`\n"}, "there is no test tests/faults/kills")
        self.refused({"SECURITY.md": "all is well\n"}, "SECURITY.md: names no test")

    def test_finds_a_script_that_is_not_there(self):
        self.refused({"launch/skein.def": "# launch/skein.def\n# exec /usr/share/launch/plot-loss runs\n"}, "launch/skein.def:2: there is no launch/plot-loss", "1 faults")
        self.refused({"docs/tour.md": "`nn/stack.h`, launch/build.\n"}, "docs/tour.md:1: there is no launch/build", "1 faults")

    def test_contents(self):
        listed = self.WHOLE["docs/README.md"]
        self.refused({"docs/cluster.md": "\n", "docs/laws/fit.md": "\n"}, "docs/README.md: docs/cluster.md is not listed", "docs/laws/fit.md is not", "2 faults")
        self.refused({"docs/README.md": listed + "2. [Away](away.md): gone.\n"}, "docs/README.md:7: there is no page away.md")
        self.refused({"docs/README.md": listed + "2. [Tour](tour.md): again.\n"}, "docs/README.md:7: tour.md is listed again")
        self.refused({"docs/README.md": listed.replace(": a walk.", "")}, "docs/README.md:3: no sentence says what tour.md holds")
        self.refused({"docs/README.md": "# Pages\n"}, "docs/tour.md is not listed", "4 faults")

    def test_messages(self):
        told = self.WHOLE["docs/troubleshooting.md"]
        self.refused({"docs/troubleshooting.md": told.replace("stack", "heap")}, 'docs/troubleshooting.md:3: no source says "a heap of"', "1 faults")
        self.refused({"docs/troubleshooting.md": told.replace("should be", "was")}, 'no source says "; it was"')
        self.refused({"docs/troubleshooting.md": "`a stack of`\n"}, "docs/troubleshooting.md: tells no message")

    def test_the_table(self):
        self.refused({"CONTRIBUTING.md": self.table().replace("| 5 |", "| 4 |")}, "nn is of floor 5, the table has 4")
        self.refused({"CONTRIBUTING.md": self.table().replace("`cli`", "`shell`")}, "the table has none", "no folder shell")
        train = {**check_floors.ROOMS["train"], "optim": {""}}
        self.refused({"CONTRIBUTING.md": self.table({**check_floors.ROOMS, "train": train})}, "the rooms of train")
        self.refused({"CONTRIBUTING.md": "\n"}, "core is of floor 1, the table has none")


@unittest.skipUnless(shutil.which(check_format.PROGRAM), "there is no clang-format")
class Format(unittest.TestCase):
    STYLE = {".clang-format": "BasedOnStyle: Google\n"}

    def test_what_is_not_formatted(self):
        files = {"src/nn/a.cpp": "int f();\n", "tests/nn/b.h": "int  f();\n"}
        code, output = run(check_format, {**self.STYLE, **files})
        self.assertEqual(code, 1)
        self.assertIn("tests/nn/b.h: run clang-format", output)
        self.assertIn("2 files, 1 of them not formatted", output)

    def test_what_is_formatted(self):
        self.assertEqual(run(check_format, {**self.STYLE, "src/nn/a.cpp": "int f();\n"})[0], 0)
        self.assertEqual(run(check_format, self.STYLE)[0], 1)

    def test_long_lines(self):
        style = {".clang-format": "BasedOnStyle: Google\nColumnLimit: 100\n"}
        raw = 'auto a =\n    R"(' + "x" * 100 + ')";\n'
        self.assertEqual(run(check_format, {**style, "src/nn/a.cpp": raw + "//" + "·" * 98 + "\n"})[0], 0)
        code, output = run(check_format, {**style, "src/nn/a.cpp": raw + "//" + "x" * 99 + "\n"})
        self.assertEqual(code, 1)
        self.assertIn("src/nn/a.cpp:3: a line of 101 columns, above 100", output)


if __name__ == "__main__":
    unittest.main()
