"""A running plx-dca: its counters on the live page and in /metrics, its picture of the self-energy, its progress line."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import signal
import struct
import subprocess
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import chromium
import pytest
from built import BIN

INPUT = """
[loop]
temperatures = [1.0, 0.5]
first_iterations = 2
iterations = 100000
frequencies = 32
[solver]
walkers = 2
measurements = 1600
[pairing]
frequencies = 2
"""
NAMES = ("count/measurements", "acceptance", "order", "sign", "iteration", "self-energy-change", "lambda-d", "left")


def get(url: str, path: str) -> str:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=600)
    connection.request("GET", path, headers={"Authorization": f"Bearer {parse_qs(parts.query)['token'][0]}"})
    text = connection.getresponse().read().decode("utf-8")
    connection.close()
    return text


@contextlib.contextmanager
def running(folder: Path, *settings: str):
    """A run, with the URL of its page; stopped by SIGTERM, with a checkpoint."""
    (folder / "in.toml").write_text(INPUT)
    command = [str(BIN / "plx-dca"), "in.toml", "--out", "run", "--threads", "2", "--plx:serve=127.0.0.1:0", *settings]
    with (folder / "stderr.txt").open("w") as errors:
        child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)
    try:
        file = folder / "run/live.url"
        wait_for(lambda: file.exists() or child.poll() is not None)
        assert child.poll() is None, (folder / "stderr.txt").read_text()
        yield file.read_text().strip()
        assert child.poll() is None, (folder / "stderr.txt").read_text()
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=600)
    assert child.returncode == 130


def wait_for(value, timeout_s: float = 300):
    """The first true value of a function."""
    end = time.monotonic() + timeout_s
    while not (found := value()):
        assert time.monotonic() < end, f"waited {timeout_s} s"
        time.sleep(0.1)
    return found


def test_the_counters_of_a_run_are_served(tmp_path):
    with running(tmp_path) as url:
        wait_for(lambda: "NaN" not in line_of(get(url, "/metrics"), "plx_dca_lambda_d"))
        text, listed = get(url, "/metrics"), get(url, "/counters.json")
        for name in NAMES:
            assert f"/dca{{locality#0/total}}/{name}" in listed, name
        assert float(line_of(text, "plx_dca_count_measurements_total").split()[-1]) >= 2 * 1600
        assert 0 < float(line_of(text, "plx_dca_lambda_d").split()[-1]) < 1
        assert 0.1 < float(line_of(text, "plx_dca_acceptance").split()[-1]) < 0.9
    lines = (tmp_path / "stderr.txt").read_text().splitlines()
    assert any("iteration 1/2: mu" in line and "accepted 0." in line and "drift " in line for line in lines), lines


def test_each_iteration_gives_a_picture_of_the_self_energy(tmp_path):
    with running(tmp_path, "--set", "loop.temperatures=[1.0]", "--set", "loop.first_iterations=100000") as url:
        mesh = wait_for(lambda: json.loads(get(url, "/mesh.json")))
        iterations = len((tmp_path / "run/iterations.csv").read_text().splitlines()) - 1
        assert 1 <= mesh["step"] <= iterations
        assert mesh["title"] == f"-Im Sigma(K, i pi T) at T 1, iteration {mesh['step']}"
        assert (mesh["lower"], mesh["upper"], mesh["unit"], mesh["blocks"]) == ([-1, -1], [1, 1], "t", [])
        # The middle of each patch of the 2x2 cluster, (0, 0) to (pi, pi): three values, two of them equal by symmetry.
        n = mesh["width"]
        levels = struct.unpack(f"<{n * n}H", base64.b64decode(mesh["values"]))
        patches = [levels[y * n + x] for y in (n // 2, n - 1) for x in (n // 2, n - 1)]
        assert set(levels) == set(patches) and len(set(patches)) == 3 and patches[1] == patches[2]
        assert min(levels) == 0 and max(levels) == 65534 and 0 < mesh["low"] < mesh["high"]
        wait_for(lambda: json.loads(get(url, "/mesh.json"))["step"] > mesh["step"])


@pytest.mark.skipif(chromium.executable() is None, reason="no chromium here (apt-get install chromium)")
def test_the_page_draws_the_self_energy(tmp_path):
    with running(tmp_path) as url, chromium.Chromium() as page:
        page.open(url)
        page.wait("mesh && mesh.title.includes('lambda_d')")
        assert page.value("document.querySelector('#mesh').checkVisibility()")
        assert page.value("document.querySelector('#mesh-title').textContent === mesh.title")
        assert page.value("document.querySelector('#mesh-facts').textContent").startswith("step ")
        # A picture without blocks has neither their cost nor their outlines, and its title is complete.
        assert page.value("[...document.querySelectorAll('#mesh button')].some(b => b.checkVisibility())") is False
        assert page.value("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('#mesh-title'))")
        colours = "new Set(new Uint32Array(document.querySelector('#picture').getContext('2d').getImageData(0, 0, 300, 300).data.buffer))"
        assert page.value(f"{colours}.size") >= 2  # two of the three values may have one of the 256 colours
        assert page.value("new Set(cells).size") == 3
        assert page.complaints() == []


def line_of(text: str, name: str) -> str:
    """The sample of a metric."""
    return next((line for line in text.splitlines() if line.startswith(name)), "NaN")
