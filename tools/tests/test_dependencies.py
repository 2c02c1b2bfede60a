"""The table of dependencies is the same in CMake and for people; probes see what is there and what is not."""

import re
import sys

import dependencies
import install
import probing
import pyenv
import pytest
from console import ROOT


def cmake_names():
    text = "\n".join(line.split("#")[0] for line in (ROOT / "cmake" / "dependencies.cmake").read_text().splitlines())
    packages = set(re.findall(r"find_package\((\w+)", text)) | set(re.findall(r"pkg_check_modules\((\w+)", text))
    programs = set(re.findall(r"find_program\(\w+ (\w+)", text))
    return (packages | programs) - {"Threads", "TOMLPP"}


def test_table_and_cmake_name_the_same_libraries():
    assert cmake_names() == {row.cmake for row in dependencies.TABLE if row.cmake}


def test_every_row_says_how_to_get_it_and_what_for():
    for row in dependencies.TABLE:
        assert row.purpose and dependencies.how_to_get(row) or row.name == "Python venv"
        assert row.needed_by or row.without, f"{row.name}: optional rows say what one loses"


def test_missing_library_is_seen_as_missing():
    row = dependencies.Dependency(
        "nothing", "test", ("build",), ("libnothing-dev",), pkg_config="nothing-at-all", header="nothing/at_all.h"
    )
    found = probing.probe(row)
    assert not found.present and "no header nothing/at_all.h" in found.problem


def test_missing_program_is_seen_as_missing():
    found = probing.probe(dependencies.Dependency("nothing", "test", ("build",), (), programs=("no-such-program-here",)))
    assert not found.present and "not in PATH" in found.problem


def test_too_old_is_missing_and_says_both_versions():
    row = next(row for row in dependencies.TABLE if row.name == "pkg-config")
    old = dependencies.Dependency(row.name, row.purpose, row.needed_by, row.apt, programs=row.programs, minimum="99")
    found = probing.probe(old)
    assert not found.present and "too old, expected 99" in found.problem


def test_another_variant_of_a_library_is_missing(tmp_path, monkeypatch):
    (tmp_path / "variant.pc").write_text("extralib=-lm\nName: variant\nDescription: x\nVersion: 1.0\n")
    monkeypatch.setenv("PKG_CONFIG_PATH", str(tmp_path))
    row = dependencies.Dependency("variant", "a test", ("build",), ("libvariant-dev",), pkg_config="variant",
                                  pkg_config_variable=("extralib", "pthread", "the build with threads"))
    found = probing.probe(row)
    assert not found.present and "expected the build with threads" in found.problem
    (tmp_path / "variant.pc").write_text("extralib=-lpthread\nName: variant\nDescription: x\nVersion: 1.0\n")
    assert probing.probe(row).present


@pytest.mark.parametrize("text, expected", [("14.0.6", (14, 0, 6)), ("1_74", (1, 74)), ("9", (9,))])
def test_versions_compare_as_numbers(text, expected):
    assert probing.version_tuple(text) == expected


def test_without_rights_the_exact_command_is_printed(monkeypatch, capsys):
    row = dependencies.Dependency("nothing", "a test", ("build",), ("libnothing-dev",), header="nothing/at_all.h")
    monkeypatch.setattr(dependencies, "TABLE", (row,))
    monkeypatch.setattr(install, "can_install", lambda: False)
    with pytest.raises(SystemExit) as stop:
        install.ensure(["build"])
    assert stop.value.code == 2
    assert "apt-get install -y --no-install-recommends libnothing-dev" in capsys.readouterr().err


def test_nothing_is_installed_when_everything_is_there(monkeypatch):
    monkeypatch.setattr(dependencies, "TABLE", tuple(row for row in dependencies.TABLE if row.name == "pkg-config"))
    monkeypatch.setattr(install, "apt_install", lambda packages: pytest.fail(f"installs {packages}"))
    install.ensure(["build", "headers"])


def test_optional_is_tried_once_and_no_failure(monkeypatch, tmp_path, capsys):
    row = dependencies.Dependency(
        "nothing", "a test", (), ("libnothing-dev",), header="nothing/at_all.h", wanted_by=("build",), without="less"
    )
    tried = []
    monkeypatch.setattr(dependencies, "TABLE", (row,))
    monkeypatch.setattr(install, "can_install", lambda: True)
    monkeypatch.setattr(install, "apt_install", lambda packages: tried.append(packages))
    monkeypatch.setattr(install, "OPTIONAL_TRIED", tmp_path / "tried")
    install.ensure(["build"])
    install.ensure(["build"])
    assert tried == [["libnothing-dev"]]
    assert "without nothing: less" in capsys.readouterr().out


def test_python_modules_that_are_there_already_are_used_without_pip(monkeypatch):
    monkeypatch.setattr(pyenv, "venv_python", lambda: None)
    monkeypatch.setattr(pyenv, "has", lambda interpreter, modules: True)
    monkeypatch.setattr(pyenv, "_fill", lambda kind: pytest.fail("calls pip"))
    assert pyenv.ensure("test") == sys.executable


def test_without_pip_and_modules_both_commands_are_printed(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(pyenv, "venv_python", lambda: None)
    monkeypatch.setattr(pyenv, "has", lambda interpreter, modules: False)
    monkeypatch.setattr(pyenv, "_fill", lambda kind: False)
    monkeypatch.setattr(pyenv, "WISHES_TRIED", tmp_path / "tried")
    with pytest.raises(SystemExit) as stop:
        pyenv.ensure("report")
    text = capsys.readouterr().err
    assert stop.value.code == 2 and "pip install -r tools/requirements.txt" in text and "python3-h5py" in text


def test_wishes_are_tried_once_where_the_needed_modules_are_there(monkeypatch, tmp_path):
    tried = []
    monkeypatch.setattr(pyenv, "venv_python", lambda: None)
    monkeypatch.setattr(pyenv, "has", lambda interpreter, modules: "yt" not in modules)
    monkeypatch.setattr(pyenv, "_fill", lambda kind: tried.append(kind))
    monkeypatch.setattr(pyenv, "WISHES_TRIED", tmp_path / "tried")
    assert [pyenv.ensure("test") for _ in range(2)] == [sys.executable] * 2
    assert tried == ["test"]
