"""`make mutants`: changes random places of the package and counts what the tests notice.

    .venv/bin/python tests/support/mutation.py src/surefind/text --tests tests/unit/text

The same seed changes the same places. Each change is tested with the tests that run its line, the
quickest first. The checkout, `--tree`, is copied and stays as it is.
"""

import argparse
import ast
import gc
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import coverage
import pytest

# Imported before the first fork, so that a run doesn't have to; the package itself is not.
HEAVY = ("fastapi", "hypothesis", "numpy", "onnxruntime", "qdrant_edge", "tokenizers")
OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
# pytest warns that it can't rewrite plugins that are imported already.
OPTIONS = ("-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
WHOLE_FILE = 0
TESTS_S = 60.0  # the tests of one change, by their usual time; what exceeds it is not run


def say(*lines: object) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


class Mutation(NamedTuple):
    line: int
    name: str
    make: Callable[[], None]


class CoveringTest(NamedTuple):
    seconds: float
    name: str


class Mutations(ast.NodeVisitor):
    """Every change that can be made to a module, in the order of its nodes."""

    def __init__(self, module: ast.Module) -> None:
        self.found: list[Mutation] = []
        self.visit(module)

    def _replace(self, node: ast.AST, field: str, value: object, line: int = 0) -> None:
        name = f"{type(node).__name__}.{field}"
        line = line or int(getattr(node, "lineno", 0))
        self.found.append(Mutation(line, name, lambda: setattr(node, field, value)))

    def _negate(self, node: ast.AST, field: str, test: ast.expr) -> None:
        if ast.unparse(test) != "TYPE_CHECKING":
            self._replace(node, field, ast.UnaryOp(ast.Not(), test), test.lineno)

    def visit_Compare(self, node: ast.Compare) -> None:
        for index, operator in enumerate(node.ops):
            if opposite := OPPOSITE.get(type(operator)):
                changed = [*node.ops[:index], opposite(), *node.ops[index + 1 :]]
                self._replace(node, "ops", changed)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp | ast.BoolOp) -> None:
        if opposite := OPPOSITE.get(type(node.op)):
            self._replace(node, "op", opposite())
        self.generic_visit(node)

    visit_BoolOp = visit_BinOp  # noqa: N815

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._negate(node, "operand", node.operand)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, "value", not node.value)
        elif isinstance(node.value, int | float):
            self._replace(node, "value", node.value + 1)

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> None:
        self._negate(node, "test", node.test)
        self.generic_visit(node)

    visit_IfExp = visit_While = visit_If  # noqa: N815

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for index, test in enumerate(node.ifs):
            negated: ast.expr = ast.UnaryOp(ast.Not(), test)
            changed = [*node.ifs[:index], negated, *node.ifs[index + 1 :]]
            self._replace(node, "ifs", changed, test.lineno)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value and ast.unparse(node.value) != "None":
            self._replace(node, "value", ast.Constant(None))
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._remove_statements(node)
        for part in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def _remove_statements(self, function: ast.AST) -> None:
        removable = (ast.AugAssign, ast.Break, ast.Continue, ast.Raise)
        for node in ast.walk(function):
            for field in ("body", "orelse", "finalbody"):
                body = getattr(node, field, None)
                if not isinstance(body, list):
                    continue  # that of a lambda or a conditional expression
                for index, one in enumerate(body):
                    called = isinstance(one, ast.Expr) and not isinstance(one.value, ast.Constant)
                    if called or isinstance(one, removable):
                        changed = [*body[:index], ast.Pass(), *body[index + 1 :]]
                        self._replace(node, field, changed, one.lineno)


class CoverageContexts:
    """A pytest plugin that measures which test runs which line, and for how long."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured = measured
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.measured.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid)


class Project:
    """A copy of a checkout, whose files are changed."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        files = subprocess.run(["git", "ls-files", "-z"], cwd=tree, stdout=-1, check=True).stdout
        copy = ["cp", "--parents", "-t", str(self.folder)]
        subprocess.run([*copy, *files.decode().rstrip("\0").split("\0")], cwd=tree, check=True)
        shared = tree.resolve().parent / "shared"
        if shared.exists():
            (folder / "shared").symlink_to(shared.resolve())

    def modules(self, paths: Sequence[str]) -> list[str]:
        found = {
            file
            for path in (self.folder / path for path in paths)
            for file in ([path] if path.is_file() else path.rglob("*.py"))
        }
        return sorted(file.relative_to(self.folder).as_posix() for file in found)

    def forked(self, work: Callable[[], int], limit_s: float) -> int | None:
        """The exit code of work in a process of its own; None past the limit."""
        gc.freeze()
        child = os.fork()
        if not child:
            os.setsid()
            os.chdir(self.folder)
            sys.path[0] = str(self.folder / "src")
            os.environ["PYTHONPATH"] = str(self.folder / "src")
            log = os.open(self.folder.parent / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            try:
                code = work()
            except BaseException:  # noqa: BLE001 - nothing of the parent may run in the child
                traceback.print_exc()
                code = 100
            sys.stderr.flush()
            os._exit(code)
        ends = time.monotonic() + limit_s
        while time.monotonic() < ends:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None

    def covering_tests(
        self, tests: Sequence[str], options: Sequence[str]
    ) -> dict[tuple[str, int], list[CoveringTest]]:
        """The passing tests that run each line and each file, quickest first."""
        report = self.folder.parent / "covering.json"

        def measure() -> int:
            measured = coverage.Coverage(
                data_file=None, config_file=False, branch=False, source=["src/surefind"]
            )
            plugin = CoverageContexts(measured)
            measured.start()
            pytest.main([*tests, *OPTIONS, *options], [plugin])
            measured.stop()
            data = measured.get_data()
            lines = {
                file.removeprefix(f"{self.folder}/"): data.contexts_by_lineno(file)
                for file in data.measured_files()
            }
            found = {"lines": lines, "seconds": plugin.seconds, "failed": sorted(plugin.failed)}
            report.write_text(json.dumps(found))
            return 0

        if self.forked(measure, limit_s=3600) != 0:
            raise SystemExit(self.output())
        found = json.loads(report.read_text())
        failed = set(found["failed"])
        say(f"{len(found['seconds'])} tests, {len(failed)} failed", *sorted(failed))
        covering: dict[tuple[str, int], set[CoveringTest]] = defaultdict(set)
        for file, lines in found["lines"].items():
            for line, names in lines.items():
                passed = {CoveringTest(found["seconds"][name], name) for name in names if name}
                passed = {test for test in passed if test.name not in failed}
                covering[file, int(line)] |= passed
                covering[file, WHOLE_FILE] |= passed
        return {place: sorted(tests) for place, tests in covering.items()}

    def output(self) -> str:
        return (self.folder.parent / "output").read_text(errors="replace")[-3000:]

    def tested(self, module: str, mutation: int, tests: Sequence[CoveringTest]) -> str:
        """What the tests say to a change."""
        chosen: list[str] = []
        seconds = 0.0
        for test in tests:
            seconds += test.seconds
            if chosen and seconds > TESTS_S:
                break
            chosen.append(test.name)
        if not chosen:
            return "not run"
        file = self.folder / module
        original = file.read_text()
        tree = ast.parse(original)
        Mutations(tree).found[mutation].make()
        file.write_text(ast.unparse(ast.fix_missing_locations(tree)))
        for compiled in file.parent.glob(f"__pycache__/{file.stem}.*"):
            compiled.unlink()

        def test_it() -> int:
            sys.dont_write_bytecode = True
            return int(pytest.main([*chosen, "-x", *OPTIONS]))

        try:
            code = self.forked(test_it, limit_s=60 + 10 * min(seconds, TESTS_S))
        finally:
            file.write_text(original)
        return {None: "killed, too slow", 0: "SURVIVED"}.get(code, "killed")


def sample(
    project: Project, paths: Sequence[str], count: int, seed: int
) -> list[tuple[str, int, Mutation]]:
    every = [
        (module, number, mutation)
        for module in project.modules(paths)
        for number, mutation in enumerate(
            Mutations(ast.parse((project.folder / module).read_text())).found
        )
    ]
    say(f"{len(every)} possible changes in {len({module for module, *_ in every})} files")
    return random.Random(seed).sample(every, min(count, len(every)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", help="files or folders to change")
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--tree", type=Path, default=Path(), help="a checkout of the project")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--select", default="", help="the -m of pytest")
    arguments = parser.parse_args()
    os.environ["CI"] = "1"  # the same examples of property tests for every change
    for name in HEAVY:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        project = Project(arguments.tree, Path(folder).resolve())
        covering = project.covering_tests(arguments.tests, ["-m", arguments.select])
        results: Counter[str] = Counter()
        for module, number, mutation in sample(
            project, arguments.paths, arguments.count, arguments.seed
        ):
            tests = covering.get((module, mutation.line))  # none for lines that an import runs
            tests = tests or covering.get((module, WHOLE_FILE), [])
            result = project.tested(module, number, tests)
            results[result] += 1
            say(f"{module}:{mutation.line} {mutation.name}: {result}")
        killed = sum(count for result, count in results.items() if result.startswith("killed"))
        say(f"{killed} of {results.total()} killed: {dict(results)}")


if __name__ == "__main__":
    main()
