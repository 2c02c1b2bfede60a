"""Every operation of the project has a row in the table of operations, so that it is tested and timed."""

import re

from console import ROOT

DECLARED = re.compile(r"^PLX_GPU_OPERATION(?:_WITHOUT_SYCL)?\((\w+), \w+\);", re.MULTILINE)
ROW = re.compile(r"\b(?:row|on_mesh)\(\s*(\w+),")
WITHOUT_ROW = {"spin", "empty", "crash"}  # they compute nothing


def test_every_operation_has_a_row():
    declared = {name for path in (ROOT / "src").rglob("*.hpp") for name in DECLARED.findall(path.read_text())}
    rows = {name for path in (ROOT / "src").rglob("*rows.cpp") for name in ROW.findall(path.read_text())}
    assert {"add", "advance_stage", "finish_step"} <= declared
    missing = sorted(declared - rows - WITHOUT_ROW)
    assert not missing, f"no row in the table of operations (docs/gpu.md): {', '.join(missing)}"
