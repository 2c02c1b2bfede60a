"""The layers of the package: common modules are below parallax.performance, which is below parallax.star."""

import ast
from pathlib import Path

import pytest

package = Path(__file__).parents[1] / "parallax"
entries = ("__init__.py", "__main__.py", "cli.py")  # they dispatch to both subpackages


def imported(path):
    """Dotted names of the modules of parallax that a file imports, functions included."""
    inside = path.relative_to(package.parent).with_suffix("").parts
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(inside[: len(inside) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names.update(f"{module}.{alias.name}" for alias in node.names)
    return {name for name in names if name.split(".")[0] == "parallax"}


def sources(folder):
    found = sorted(folder.rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize("path", sources(package / "performance"), ids=lambda path: path.stem)
def test_performance_never_imports_star(path):
    assert [name for name in imported(path) if name.startswith("parallax.star")] == []


@pytest.mark.parametrize("path", [p for p in sorted(package.glob("*.py")) if p.name not in entries], ids=lambda p: p.stem)
def test_common_modules_import_neither(path):
    above = ("parallax.star", "parallax.performance")
    assert [name for name in imported(path) if name.startswith(above)] == []


def test_the_check_sees_imports_inside_functions():
    assert "parallax.star.run.Run" in imported(package / "cli.py")
    assert "parallax.performance.diagnosis.Evidence" in imported(package / "star" / "facts.py")


def test_folders_are_small():
    for folder in (package, *(f for f in package.rglob("*") if f.is_dir() and f.name != "__pycache__")):
        entries_of_folder = [entry for entry in folder.iterdir() if entry.name != "__pycache__"]
        assert len(entries_of_folder) <= 20, folder
