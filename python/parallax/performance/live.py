"""Client of a running program's live page: finds its address and reads its JSON. Needs only the standard library."""

from __future__ import annotations

import http.client
import json
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit


class LiveError(Exception):
    """The live page cannot be reached or refuses the request. One line for the user."""


class Gone(LiveError):
    """The program does not answer, or no longer answers."""


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    token: str


def _of_url(text: str, where: str) -> Address:
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    token = parse_qs(parts.query).get("token", [""])[0] if host else ""
    if not host or not port or parts.scheme != "http":
        raise LiveError(f"{where}: expected http://HOST:PORT/?token=..., as the program printed it")
    return Address(host, port, token)


def _files() -> list:
    """live.url of the runs in this folder, the newest first."""
    found = {p for pattern in ("live.url", "*/live.url", "*/*/live.url") for p in Path().glob(pattern)}
    return sorted(found, key=lambda p: p.stat().st_mtime, reverse=True)


def _same(a: str, b: str) -> bool:
    local = {"localhost", "127.0.0.1", "::1"}
    return a == b or {a, b} <= local


def find(target: str | None, token: str | None = None) -> Address:
    """The address that a user means by a URL, HOST:PORT, the folder of a run, or nothing (the newest run here)."""
    token = token or os.environ.get("PLX_TOKEN")
    if target and target.startswith(("http://", "https://")):
        found = _of_url(target, target)
        return Address(found.host, found.port, token or found.token)
    if target is None or Path(target).is_dir():
        folder = Path(target or ".")
        files = [p for p in (folder / "live.url", folder / "plx-run" / "live.url") if p.is_file()]
        files += _files() if target is None else []
        if not files:
            raise LiveError(
                f"{folder}: no live.url here; start the program with --plx:serve=1 (or PLX_SERVE=1) and give this "
                "command its folder (plx-run where none was named), or the URL that it prints"
            )
        return _of_url(files[0].read_text(encoding="utf-8"), str(files[0]))
    host, colon, port = target.rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 65536:
        raise LiveError(f"'{target}': expected a URL, HOST:PORT, or the folder of a run")
    host = host.strip("[]") or "127.0.0.1"
    if token:
        return Address(host, int(port), token)
    for file in _files():
        known = _of_url(file.read_text(encoding="utf-8"), str(file))
        if known.port == int(port) and _same(known.host, host):
            return Address(host, int(port), known.token)
    raise LiveError(
        f"{target}: its token is not known; give the whole URL, --token or PLX_TOKEN, or run this command in the "
        "folder that has the run's live.url"
    )


class LiveRun:
    """One connection to a running program."""

    def __init__(self, address: Address, timeout_s: float = 10):
        self._address = address
        self._timeout_s = timeout_s
        self._connection = None

    def close(self) -> None:
        if self._connection:
            self._connection.close()
        self._connection = None

    def get(self, path: str, **fields):
        """The JSON of a page. Raises Gone if the program does not answer, LiveError if it refuses."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                self._address.host, self._address.port, timeout=self._timeout_s
            )
        headers = {"Authorization": f"Bearer {self._address.token}", "Host": self._host()}
        try:
            self._connection.request("GET", f"{path}?{urlencode(fields)}", headers=headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Gone(f"{self._host()}: no answer ({getattr(error, 'strerror', None) or error})") from error
        if answer.status != 200:
            raise LiveError(f"{self._host()}: {text.decode('utf-8', 'replace').strip()}")
        try:
            return json.loads(text)
        except ValueError as error:
            raise LiveError(
                f"{self._host()}: the answer is not JSON; expected the live page of a program that uses Parallax"
            ) from error

    def _host(self) -> str:
        host = self._address.host
        return f"[{host}]:{self._address.port}" if ":" in host else f"{host}:{self._address.port}"
