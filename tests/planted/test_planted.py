"""The list of planted errors fits the sources; `./plx test --planted` plants them."""

from pathlib import Path

import pytest
from errors import ERRORS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("planted", ERRORS, ids=lambda planted: planted.error)
def test_the_correct_text_occurs_once(planted):
    assert (ROOT / planted.file).read_text().count(planted.correct) == 1
    assert planted.wrong != planted.correct
