"""Messages of MPI in the traces of plx-exec: both ends of each are paired, whatever the order of receives."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections import Counter, defaultdict

import pytest
from built import BIN, needs

pytestmark = [*needs("mpi_messages", job=True), *needs("plx-exec"), *needs("plx-trace")]
RANKS = 3


def run(*command) -> subprocess.CompletedProcess:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messages")
    mpirun = ["mpirun", "-n", RANKS, "--oversubscribe", "--allow-run-as-root"]
    alone = run(*mpirun, BIN / "mpi_messages", folder)
    measured = run(*mpirun, BIN / "plx-exec", "-q", "-t", "-m", "-o", folder / "run", BIN / "mpi_messages", folder)
    assert measured.stdout == alone.stdout
    assert alone.stdout == "all messages have arrived\n"
    return folder


def program_lines(folder, kind: str) -> Counter:
    """The messages by the program's own record: (from, to, tag, bytes), as often as each occurs."""
    found = Counter()
    for rank in range(RANKS):
        for line in (folder / f"{rank}.txt").read_text().splitlines():
            what, *numbers = line.split()
            peer, tag, size = map(int, numbers)
            if what == kind:
                found[(rank, peer, tag, size) if kind == "sent" else (peer, rank, tag, size)] += 1
    return found


def json_trace(folder) -> dict:
    done = run(BIN / "plx-trace", "json", folder / "run", "-o", folder / "trace.json.gz")
    assert done.stderr.count("warning") == 0 and "time of day" not in done.stderr, done.stderr
    return json.loads(gzip.decompress((folder / "trace.json.gz").read_bytes()))


def test_each_message_has_both_ends(folder):
    trace = json_trace(folder)
    slices = [e for e in trace["traceEvents"] if e.get("cat") == "parcel" and e["ph"] == "X"]
    begun = [e for e in slices if "to" in e["args"]]
    ended = [e for e in slices if "from" in e["args"]]
    sent = Counter((e["pid"] - 1, e["args"]["to"], e["args"]["tag"], e["args"]["bytes"]) for e in begun)
    received = Counter((e["args"]["from"], e["pid"] - 1, e["args"]["tag"], e["args"]["bytes"]) for e in ended)
    assert sent == program_lines(folder, "sent")
    assert received == sent
    assert program_lines(folder, "received") <= received
    assert [one["parcels_unmatched"] for one in trace["otherData"]["localities"]] == [0] * RANKS
    # Sizes grow with each message of a sender, and its numbers count from 1 for each receiver, communicator and tag.
    streams = defaultdict(list)
    for e in begun:
        a = e["args"]
        streams[e["pid"] - 1, a["to"], a["communicator"], a["tag"]].append((a["number"], a["bytes"]))
    for stream in streams.values():
        stream.sort()
        assert [number for number, _ in stream] == list(range(1, len(stream) + 1))
        assert [size for _, size in stream] == sorted(size for _, size in stream)
    communicators = {key[2] for key in streams if key[3] in (50, 51, 52)}
    assert len(communicators) == 6
    # An arrow leads forward in time: the processes of one host have one clock.
    arrows = defaultdict(dict)
    for e in trace["traceEvents"]:
        if e.get("cat") == "parcel" and e["ph"] in "sf":
            arrows[e["id"]][e["ph"]] = e["ts"]
    assert len(arrows) == sum(sent.values())
    assert all(a["s"] < a["f"] for a in arrows.values())
    marks = [e["name"] for e in trace["traceEvents"] if e.get("cat") == "measurement"]
    assert marks == []


def test_work_after_a_receive_depends_on_the_send(folder):
    """One arrow of the graph per message of two ranks, from within the call that sends to a slice after the one that receives."""
    trace = json_trace(folder)
    slices = defaultdict(list)
    for e in trace["traceEvents"]:
        if e["ph"] == "X" and e.get("cat") != "parcel":
            slices[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["name"]))
    arrows = defaultdict(dict)
    for e in trace["traceEvents"]:
        if e.get("cat") == "waited for":
            arrows[e["id"]][e["ph"]] = e
    between = [(a["s"], a["f"]) for a in arrows.values() if a["s"]["pid"] != a["f"]["pid"]]
    ways = Counter((s["pid"] - 1, f["pid"] - 1) for s, f in between)
    expected = Counter()
    for (sender, receiver, _, _), n in program_lines(folder, "sent").items():
        if sender != receiver:
            expected[sender, receiver] += n
    assert ways == expected
    for s, f in between:
        [sends] = [name for begin, end, name in slices[s["pid"], s["tid"]] if begin <= s["ts"] < end]
        assert sends in ("MPI_Send", "MPI_Ssend", "MPI_Isend", "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Startall")
        assert [name for begin, _, name in slices[f["pid"], f["tid"]] if begin == f["ts"]] == ["main"]
    run(BIN / "plx-trace", "critical", folder / "run")
    assert json.loads((folder / "run" / "critical_path.json").read_text())["missing"]["edges_against_time"] == 0


def test_every_export_has_the_messages(folder):
    n = sum(program_lines(folder, "sent").values())
    run(BIN / "plx-trace", "perfetto", folder / "run", "-o", folder / "trace.pftrace.gz")
    text = gzip.decompress((folder / "trace.pftrace.gz").read_bytes())
    assert b"messages sent" in text and b"messages received" in text and b"MPI_Send" in text
    done = subprocess.run([BIN / "plx-trace", "otf2", folder / "run", "-o", folder / "otf2"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("no OTF2: " + done.stderr)
    if subprocess.run(["which", "otf2-print"], capture_output=True).returncode != 0:
        pytest.skip("no otf2-print")
    events = run("otf2-print", folder / "otf2" / "traces.otf2").stdout
    assert events.count("MPI_SEND") == n and events.count("MPI_RECV") == n
    assert events.count('("tag" <') == events.count('("communicator" <') == 2 * n
