"""The list of planted errors fits the sources; `./plx test --planted` plants them."""

import subprocess
import sys
from pathlib import Path

import pytest
from errors import ERRORS

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import run_planted  # noqa: E402


@pytest.mark.parametrize("planted", ERRORS, ids=lambda planted: planted.error)
def test_the_correct_text_occurs_once(planted):
    assert (ROOT / planted.file).read_text().count(planted.correct) == 1
    assert planted.wrong != planted.correct


def test_the_copy_has_the_files_of_the_tree_and_keeps_its_build(tmp_path, monkeypatch):
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    for path in (tree / "src" / "kept.cpp", tree / "src" / "deleted.cpp", copy / "build" / "kept.o", copy / ".venv" / "kept"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    subprocess.run(["git", "init", "--quiet", tree], check=True)
    subprocess.run(["git", "-C", tree, "add", "."], check=True)
    monkeypatch.setattr(run_planted, "ROOT", tree)
    monkeypatch.setattr(run_planted, "COPY", copy)
    run_planted.update_copy()
    assert (copy / "src" / "deleted.cpp").is_file()
    (tree / "src" / "deleted.cpp").unlink()  # git lists it still
    (copy / "src" / "unlisted.cpp").write_text("")
    run_planted.update_copy()
    files = {path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file()}
    assert files == {"src/kept.cpp", "build/kept.o", ".venv/kept"}
