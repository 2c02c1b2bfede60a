"""The counters of a running plx-dca: on the live page, in /metrics, and its progress line."""

from __future__ import annotations

import http.client
import signal
import subprocess
import time
from urllib.parse import parse_qs, urlsplit

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


def test_the_counters_of_a_run_are_served(tmp_path):
    (tmp_path / "in.toml").write_text(INPUT)
    errors = tmp_path / "stderr.txt"
    command = [str(BIN / "plx-dca"), "in.toml", "--out", "run", "--threads", "2", "--plx:serve=127.0.0.1:0"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=errors.open("w"))
    try:
        file, text, end = tmp_path / "run/live.url", "", time.monotonic() + 300
        while "NaN" in line_of(text, "plx_dca_lambda_d"):
            assert child.poll() is None and time.monotonic() < end, errors.read_text() + text
            time.sleep(0.1)
            text = get(file.read_text().strip(), "/metrics") if file.exists() else ""
        listed = get(file.read_text().strip(), "/counters.json")
        for name in NAMES:
            assert f"/dca{{locality#0/total}}/{name}" in listed, name
        assert float(line_of(text, "plx_dca_count_measurements_total").split()[-1]) >= 2 * 1600
        assert 0 < float(line_of(text, "plx_dca_lambda_d").split()[-1]) < 1
        assert 0.1 < float(line_of(text, "plx_dca_acceptance").split()[-1]) < 0.9
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=600)
    assert child.returncode == 130
    lines = errors.read_text().splitlines()
    assert any("iteration 1/2: mu" in line and "accepted 0." in line and "drift " in line for line in lines), lines


def line_of(text: str, name: str) -> str:
    """The sample of a metric."""
    return next((line for line in text.splitlines() if line.startswith(name)), "NaN")
