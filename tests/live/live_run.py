"""A plx-star that serves its live page, for these tests."""

from __future__ import annotations

import http.client
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from built import BIN

PROGRAM = BIN / "plx-star"

INPUT = """
[problem]
name = "sedov"
[mesh]
root_blocks = [2, 2, 2]
max_level = 2
lower = [-0.5, -0.5, -0.5]
upper = [0.5, 0.5, 0.5]
[refinement]
gradient_of = ["press"]
[run]
t_end = 1000.0
"""


class Run:
    """A running plx-star, until it is stopped."""

    def __init__(self, folder: Path, *settings: str):
        self.folder = folder
        (folder / "in.toml").write_text(INPUT)
        self.process = subprocess.Popen(
            [str(PROGRAM), "in.toml", "--out", "run", "--quiet", "--threads", "2", "--plx:serve=127.0.0.1:0", *settings],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=(folder / "stderr.txt").open("w"),
        )
        file = folder / "run" / "live.url"
        for _ in range(6000):
            if file.exists() or self.process.poll() is not None:
                break
            time.sleep(0.05)
        if not file.exists():
            self.close()
            raise AssertionError(f"no {file}; plx-star said: {(folder / 'stderr.txt').read_text()}")
        self.url = file.read_text().strip()
        parts = urlsplit(self.url)
        self.host, self.port = parts.hostname, parts.port
        self.token = parse_qs(parts.query)["token"][0]

    def get(self, path: str) -> tuple[int, str, str]:
        """Status, type and text of the response."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=600)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        text = answer.read().decode("utf-8")
        connection.close()
        return answer.status, answer.headers["Content-Type"], text

    def interrupt(self) -> None:
        """Interrupts it as a user would: it finishes its step, writes a checkpoint, and ends its runtime."""
        self.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
