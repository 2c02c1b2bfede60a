"""The parts of the commands that decide what a reader sees."""

import ast
import graphlib
import os
import re
import subprocess

import builds
import dependencies
import install
import probing
import pyenv
import pytest
import run_bench
import run_demo
import run_lint
import run_parallax
import run_tests
from console import ROOT


def plx(*arguments):
    return subprocess.run([str(ROOT / "plx"), *arguments], capture_output=True, text=True)


def test_help_names_every_command():
    text = plx("help").stdout
    assert all(f"./plx {name}" in text for name in ("demo", "test", "bench", "build", "lint", "doctor", "help"))


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["build", "--preset", "nonsense"], ["lint", "nonsense"], ["doctor", "x"]]
)
def test_wrong_usage_is_code_2_and_names_what_is_expected(arguments):
    done = plx(*arguments)
    assert done.returncode == 2
    assert "nonsense" in done.stderr or "'x'" in done.stderr


def test_a_mistyped_command_names_the_nearest():
    done = plx("diagnos")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "'diagnos' is not a command; did you mean diagnose? expected demo" in done.stderr


@pytest.mark.parametrize("command", ["build", "test", "lint", "demo", "bench", "docs", "doctor"])
def test_help_of_a_command(command):
    done = plx(command, "--help")
    assert done.returncode == 0
    assert f"./plx {command}" in done.stdout and done.stderr == ""


def test_doctor_of_a_task_lists_what_the_task_lacks(monkeypatch, capsys):
    lacking = {"Boost.Context", "oneTBB"}  # the second is optional

    def probe(row):
        return probing.Found(row.name not in lacking, problem="not found")

    monkeypatch.setattr(probing, "probe", probe)
    assert install.main(["build"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 and lines[0].startswith("Boost.Context: not found. Get it: ") and "libboost-context-dev" in lines[0]
    lacking.clear()
    assert install.main(["build"]) == 0
    assert "Everything" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, parts",
    [(["text", "words", "layers"], []), (["headers", "text"], ["headers"]), ([], ["format", "headers", "docs"]), (["--fix"], ["format"])],
)
def test_lint_asks_only_for_what_its_checks_need(monkeypatch, arguments, parts):
    asked = []
    monkeypatch.setattr(install, "ensure", asked.append)
    monkeypatch.setattr(run_lint, "run_check", lambda name: 0)
    monkeypatch.setattr(run_lint, "format_sources", lambda: 0)
    assert run_lint.main(arguments) == 0
    assert asked == [parts]
    needed = {row.name for row in dependencies.TABLE if set(parts) & set(row.needed_by)}
    assert ("doxygen" in needed) == ("docs" in parts) and ("clang-format" in needed) == ("format" in parts)


def test_failing_part_shows_the_error_and_not_the_rest():
    log = [
        "[1/3] Building CXX object a.o",
        "[2/3] Building CXX object b.o",
        "FAILED: b.o ",
        "/usr/bin/ccache /usr/bin/c++ -c b.cpp",
        "b.cpp:1:1: error: no",
        "[3/3] Building CXX object c.o",
        "c.cpp:1:1: warning: unused",
    ]
    assert builds.failing_part(log) == "FAILED: b.o \nb.cpp:1:1: error: no"


def test_failing_part_without_mark_is_the_end_of_the_log():
    assert builds.failing_part(["x", "ninja: error: loading 'build.ninja'"]).endswith("loading 'build.ninja'")


def test_benchmarks_are_not_built_for_tests_unless_a_test_runs_them(monkeypatch):
    listing = "all: phony\nbench/all: phony\nbench/net/all: phony\nsrc/rt/all: phony\nbench_fib: phony\nbench_coalescing: phony\n"
    monkeypatch.setattr(builds, "output_of", lambda command: listing)
    assert builds.tested("release") == ["src/rt/all", "bench_coalescing"]
    run = set()
    for folder in run_tests.PYTHON_TESTS:
        for path in (ROOT / folder).rglob("*.py"):
            run |= set(re.findall(r'BIN / "(bench_\w+)"', path.read_text()))
    assert run == set(builds.TESTED_BENCHMARKS)


JUNIT = """<testsuite><testcase name="rt.a.b" classname="rt.a.b" time="0.5" status="run"/>
<testcase name="rt.a.c" time="1" status="fail"><failure message=""/><system-out>expected 1</system-out></testcase>
<testcase name="mesh.d" time="0" status="notrun"><skipped/></testcase></testsuite>"""


def test_junit_is_read_and_a_failure_makes_the_exit_code(tmp_path, capsys):
    (tmp_path / "x.xml").write_text(JUNIT)
    cases = run_tests.read_junit(tmp_path / "x.xml", lambda node: node.get("name").split(".")[0])
    assert [case.state for case in cases] == ["passed", "failed", "skipped"]
    assert run_tests.summary({"release": cases}, 2.0) == 1
    text = capsys.readouterr().out
    assert "FAILED rt.a.c (release)" in text and "expected 1" in text and "1 of 3 tests failed, 1 skipped" in text
    assert run_tests.summary({"release": cases[:1]}, 2.0) == 0


def test_no_tests_at_all_is_no_success(capsys):
    assert run_tests.summary({"release": []}, 1.0) == 1


@pytest.mark.parametrize(
    "rows, message",
    [
        ({}, "expected a list"),
        ([{"name": "a/b", "value": "1", "unit": "s", "better": "lower"}], "value"),
        ([{"name": "a/b", "value": 1, "unit": "s", "better": "less"}], "expected lower or higher"),
    ],
)
def test_benchmark_rows_off_the_convention_are_refused(rows, message, capsys):
    with pytest.raises(SystemExit):
        run_bench.check_rows(rows, "bench_a")
    assert message in capsys.readouterr().err


def test_the_inputs_of_the_demonstrations_exist():
    assert list(run_demo.INPUTS) == ["blast", "merger"]
    assert all(toml.is_file() for toml in run_demo.INPUTS.values())


def test_demo_never_writes_into_a_folder_that_exists(monkeypatch, tmp_path):
    monkeypatch.setattr(run_demo, "ROOT", tmp_path)
    monkeypatch.setattr(run_demo.time, "strftime", lambda form: "demo-now")
    first = run_demo.fresh_folder()
    first.mkdir(parents=True)
    assert first == tmp_path / "runs" / "demo-now"
    assert run_demo.fresh_folder() == tmp_path / "runs" / "demo-now-2"


def test_another_compiler_builds_in_folders_of_its_own(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    assert builds.folder_of("debug").name == "debug"
    monkeypatch.setenv("CXX", "c++")
    assert builds.folder_of("debug").name == "debug"
    other = tmp_path / "other++-9"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("CXX", str(other))
    assert builds.folder_of("debug").name == "debug-other++-9"


@pytest.mark.parametrize("seeds", ["-3", "many"])
def test_a_wrong_number_of_seeds_is_refused(seeds):
    done = plx("test", "--seeds", seeds)
    assert done.returncode == 2 and "--seeds" in done.stderr


def test_a_python_environment_of_another_user_is_an_error_of_two_lines(tmp_path, monkeypatch, capsys):
    venv = tmp_path / "repository" / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").touch()
    monkeypatch.setattr(pyenv, "VENV", venv)
    monkeypatch.setattr(pyenv, "WISHES_TRIED", venv.parent / "build" / "tried")
    monkeypatch.setattr(pyenv, "has", lambda interpreter, modules: False)
    venv.parent.chmod(0)
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)  # root may look everywhere
    try:
        assert pyenv.venv_python() is None and not pyenv.may_fill()
        with pytest.raises(SystemExit):
            pyenv.ensure("report")
    finally:
        os.seteuid(me)
        venv.parent.chmod(0o755)
    err = capsys.readouterr().err
    assert "numpy" in err and "may not use or change" in err and "Traceback" not in err


def test_tools_do_not_import_each_other_in_circles():
    files = {path.stem: path for folder in ("tools", "bench/harness") for path in (ROOT / folder).glob("*.py")}
    graph = {}
    for name, path in files.items():
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
        names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        graph[name] = names & set(files)
    assert graph["install"] >= {"console", "dependencies", "probing"}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


def test_scale_builds_the_simulator_and_hands_it_on(monkeypatch, tmp_path):
    built = []
    monkeypatch.setattr(run_parallax, "build", built.append)
    monkeypatch.setattr(run_parallax, "run", lambda arguments, python=None: arguments)
    program = str(run_parallax.PROGRAMS / "plx-scale")
    assert run_parallax.main(["scale", "RUN", "--workers", "4"]) == ["scale", "RUN", "--workers", "4", "--program", program]
    assert run_parallax.main(["scale", "--help"]) == ["scale", "--help"]
    real, out = tmp_path / "real.json", tmp_path / "out"
    found = run_parallax.main(["scale", "check", "--from", str(real), "--out", str(out), "--limit", "9"])
    assert found == ["scale-check", str(real), "--program", program, "--out", str(out), "--limit=9.0"]
    assert built == [["plx-scale"], ["plx-scale"]]
    assert run_parallax.main(["compare", "a", "b"]) == ["compare", "a", "b"]


@pytest.mark.parametrize("run, what", [("none", "does not exist"), ("", "has no trace.plxt")])
def test_what_if_refuses_a_run_without_a_trace_before_it_builds(tmp_path, run, what):
    done = plx("what-if", str(tmp_path / run))
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and what in done.stderr
