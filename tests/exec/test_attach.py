"""plx-exec --attach and parallax top PID: programs that were started without measurement."""

from __future__ import annotations

import csv
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from built import BIN, ROOT, needs

pytestmark = [*needs("known_graph"), *needs("plx-exec"), *needs("plx-trace")]


def without_settings() -> dict:
    return {k: v for k, v in os.environ.items() if not k.startswith("PLX_")}


def attach(process, *arguments, code=0, **options) -> subprocess.CompletedProcess:
    command = [BIN / "plx-exec", "--attach", str(process), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=without_settings(), **options)
    assert done.returncode == code, done.stderr
    return done


def wait_for(condition):
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def listens(process) -> bool:
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    accepts = "00010000"  # its flags: bound before, it refuses connections
    return any(words[-1] == f"@parallax/{process.pid}" and words[3] == accepts for words in lines)


@pytest.fixture
def program():
    """Runs tasks until it is killed."""
    running = subprocess.Popen([BIN / "known_graph", str(10**12), "100"], env=without_settings(), stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: listens(running))
        yield running
    finally:
        running.kill()
        running.wait()


def measuring(process, *arguments, **more) -> subprocess.Popen:
    return subprocess.Popen([BIN / "plx-exec", "--attach", str(process), *arguments], env=without_settings(), **more)


def has_slices(folder, bytes_=10_000) -> bool:
    trace = folder / "trace.plxt"
    return trace.exists() and trace.stat().st_size > bytes_


def test_a_part_of_a_run_is_recorded(program, tmp_path):
    for number in ("first", "second"):
        client = measuring(program.pid, "-t", "-o", tmp_path / number, "--plx:sample-stacks=100", stderr=subprocess.PIPE, text=True)
        wait_for(lambda: has_slices(tmp_path / number))  # noqa: B023
        client.send_signal(signal.SIGINT)
        lines = client.communicate(timeout=600)[1].splitlines()
        assert client.returncode == 0 and len(lines) == 2, lines
        assert f"measuring process {program.pid} (known_graph)" in lines[0]
        assert lines[1] == f"plx-exec: the measurement of process {program.pid} is in '{tmp_path / number}'"
        with open(tmp_path / number / "profile.csv", newline="") as file:
            assert int({row["name"]: row for row in csv.DictReader(file)}["leaf"]["calls"]) > 100
        assert (tmp_path / number / "stacks.csv").exists()
    stats = [
        subprocess.run([BIN / "plx-trace", "stats", tmp_path / n], capture_output=True, text=True, check=True) for n in ("first", "second")
    ]
    assert all("leaf" in s.stdout and "has no end" not in s.stderr for s in stats)
    times = []
    for n in ("first", "second"):
        found = subprocess.run(
            [BIN / "plx-trace", "find", tmp_path / n, "--order", "first", "--rows", "1048576"], capture_output=True, text=True, check=True
        )
        times.append([float(line.split()[0]) for line in found.stdout.splitlines()[3:]])
    assert min(times[1]) > max(times[0]), "times count from the start of the run"
    assert program.poll() is None


def test_it_ends_upon_a_signal_and_without_its_client(program, tmp_path):
    for number, wanted in ((signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)):
        folder = tmp_path / str(int(number))
        client = measuring(program.pid, "-q", "-t", "-o", folder)
        wait_for(lambda: has_slices(folder))  # noqa: B023
        client.send_signal(number)
        assert client.wait(timeout=600) == wanted
        wait_for(lambda: (folder / "profile.csv").exists() and (folder / "measurement.json").exists())
    wait_for(lambda: attach_answers(program, tmp_path / "after"))
    assert program.poll() is None


def attach_answers(program, folder) -> bool:
    command = [BIN / "plx-exec", "-q", "--force", "--attach", str(program.pid), "--seconds", "0.05", "-o", folder]
    return subprocess.run(command, capture_output=True, env=without_settings(), timeout=600).returncode == 0


def test_a_program_that_is_killed_leaves_its_trace(program, tmp_path):
    client = measuring(program.pid, "-t", "-o", tmp_path / "run", stderr=subprocess.PIPE, text=True)
    wait_for(lambda: has_slices(tmp_path / "run", bytes_=1 << 18))  # whole chunks: the last one of 64 KiB may be incomplete
    program.kill()
    stderr = client.communicate(timeout=600)[1]
    assert client.returncode == 1 and "ended without writing its files" in stderr.splitlines()[-1]
    stats = subprocess.run([BIN / "plx-trace", "stats", tmp_path / "run"], capture_output=True, text=True, check=True)
    assert "leaf" in stats.stdout and "has no end" in stats.stderr


def test_a_program_that_ends_writes_its_files(tmp_path):
    program = subprocess.Popen([BIN / "known_graph", "20000", "1000"], env=without_settings(), stdout=subprocess.DEVNULL)
    wait_for(lambda: listens(program))
    attach(program.pid, "-q", "-o", tmp_path / "run")
    assert program.wait(timeout=600) == 0
    with open(tmp_path / "run/profile.csv", newline="") as file:
        assert int({row["name"]: row for row in csv.DictReader(file)}["leaf"]["calls"]) == 20_000_000


def test_refusals_are_one_line_and_leave_no_folder(program, tmp_path):
    def refused(process, *arguments, **options) -> str:
        done = attach(process, "-o", tmp_path / "no", *arguments, code=125, **options)
        assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("plx-exec: ") and not (tmp_path / "no").exists()
        return done.stderr

    other = subprocess.Popen(["sleep", "1000"])
    try:
        assert "(sleep) does not accept attachments: expected a program with a runtime of Parallax" in refused(other.pid)
    finally:
        other.kill()
        other.wait()
    assert f"there is no process {other.pid}" in refused(other.pid)
    assert "expected a process id" in refused("x")
    assert "expected no program" in refused(program.pid, "/bin/true")
    assert "are for programs that plx-exec starts" in refused(program.pid, "-d")
    assert "cannot be set in a running program" in refused(program.pid, "--plx:threads=3")
    assert "expected seconds above 0" in refused(program.pid, "--seconds", "0")
    client = measuring(program.pid, "-q", "-t", "-o", tmp_path / "run")
    wait_for(lambda: (tmp_path / "run/trace.plxt").exists())
    assert f"process {client.pid} measures it already" in refused(program.pid)
    client.send_signal(signal.SIGINT)
    client.wait(timeout=600)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    assert "is not empty" in attach(program.pid, "-o", tmp_path / "full", code=125).stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the rights to run as another user")
def test_another_user_is_refused(program, tmp_path):
    tmp_path.chmod(0o777)
    command = [sys.executable, "-c", "import os; os.setgid(65534); os.setuid(65534); os.execv(os.environ['P'], os.environ['A'].split())"]
    environment = {"P": str(BIN / "plx-exec"), "A": f"plx-exec --attach {program.pid} -o /tmp/plx_nobody"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 125 and "belongs to another user" in done.stderr and len(done.stderr.splitlines()) == 1
    talk = (
        "import os, socket; os.setgid(65534); os.setuid(65534); s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET);"
        f"s.connect('\\0parallax/{program.pid}'); s.send(b'parallax 1\\nserve'); print(s.recv(100).decode())"
    )
    done = subprocess.run([sys.executable, "-c", talk], capture_output=True, text=True, timeout=600)
    assert done.stdout == "error\nit belongs to another user\n", "the program checks, too"


def names_of_threads(process) -> list:
    return [(p / "comm").read_text().strip() for p in Path(f"/proc/{process.pid}/task").iterdir()]


def test_a_request_to_a_stopped_program_is_forgotten(program, tmp_path):
    program.send_signal(signal.SIGSTOP)
    done = attach(program.pid, "-t", "-o", tmp_path / "late", code=125)
    assert "does not answer: it is stopped" in done.stderr and not (tmp_path / "late").exists()
    program.send_signal(signal.SIGCONT)
    wait_for(lambda: attach_answers(program, tmp_path / "after"))
    assert not (tmp_path / "late").exists()


@pytest.mark.parametrize("settings", [{}, {"PLX_DIAGNOSE": "1"}], ids=["alone", "diagnose"])
def test_a_program_does_not_accept_attachments(settings, tmp_path):
    environment = {**without_settings(), **settings, "PLX_ATTACH": "0", "PLX_OUTPUT": str(tmp_path / "own")}
    program = subprocess.Popen([BIN / "known_graph", str(10**12), "100"], env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: float(Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()[11]) > 20)  # it works: 0.2 s
        assert "plx-attach" not in names_of_threads(program) and not listens(program)
        assert "without attach=0" in attach(program.pid, "-o", tmp_path / "no", code=125).stderr
        assert "without attach=0" in refused_top(program.pid) and not (tmp_path / "no").exists()
    finally:
        program.kill()
        program.wait()


TOP = [sys.executable, "-B", "-m", "parallax", "top"]


def settings_of_top() -> dict:
    return {**without_settings(), "PYTHONPATH": str(ROOT / "python"), "PYTHONIOENCODING": "utf-8", "TERM": "xterm"}


def top(process, **options) -> subprocess.CompletedProcess:
    return subprocess.run([*TOP, str(process)], capture_output=True, text=True, timeout=300, env=settings_of_top(), **options)


def refused_top(process, **options) -> str:
    done = top(process, **options)
    assert done.returncode != 0 and not done.stdout and len(done.stderr.splitlines()) == 1, done
    return done.stderr


def test_top_shows_a_program_that_serves_no_page(program):
    for _ in range(2):
        done = top(program.pid)
        assert done.returncode == 0, done.stderr
        assert "known_graph" in done.stdout and "leaf" in done.stdout
    wait_for(lambda: "plx-live" not in names_of_threads(program))


def test_refusals_of_top_are_one_line(program):
    other = subprocess.Popen(["sleep", "1000"])
    try:
        assert f"process {other.pid} (sleep) does not accept attachments" in refused_top(other.pid)
    finally:
        other.kill()
        other.wait()
    assert f"there is no process {other.pid}" in refused_top(other.pid)
    program.send_signal(signal.SIGSTOP)
    assert f"process {program.pid} (known_graph) does not answer: it is stopped" in refused_top(program.pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the rights to run as another user")
def test_top_refuses_a_program_of_another_user(program):
    # The modules are imported first, as the other user may not be allowed to read them.
    command = f"""
import os
from parallax.performance.live import LiveError, of_process
os.setgid(65534)
os.setuid(65534)
try:
    of_process({program.pid})
except LiveError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-B", "-c", command], capture_output=True, text=True, timeout=300, env=settings_of_top())
    assert done.stdout == f"process {program.pid} (known_graph) belongs to another user, or is set-user-id\n", done.stderr


# Answers as a program with a runtime does, once.
ANSWERS = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(f"\\0parallax/{os.getpid()}")
s.listen(1)
print("listens", flush=True)
c = s.accept()[0]
c.recv(100)
c.send(sys.argv[1].encode())
c.recv(100)
"""


@pytest.mark.parametrize(
    "answer, line",
    [
        ("ok\nhttp://192.0.2.1:80/?token=1", "serves its page at 192.0.2.1 only: give its URL"),
        ("ok\nhttp://127.0.0.1.example.com:80/?token=1", "serves its page at 127.0.0.1.example.com only: give its URL"),
        ("ok\nhttp://127.0.0.1@example.com:80/?token=1", "serves its page at example.com only: give its URL"),
        ("ok\nfile:///etc/passwd", "expected http://HOST:PORT/?token=..."),
        ("error\nno \x1b[2J memory", ": no ?[2J memory"),
        ("", "it has just ended"),
    ],
)
def test_top_connects_to_this_machine_only(answer, line):
    program = subprocess.Popen([sys.executable, "-c", ANSWERS, answer], stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == "listens\n"
        assert line in refused_top(program.pid)
    finally:
        program.kill()
        program.wait()


def test_a_page_ends_with_a_top_that_is_killed(program):
    master, slave = pty.openpty()
    reader = subprocess.Popen([*TOP, str(program.pid)], env=settings_of_top(), stdin=slave, stdout=slave, stderr=slave)
    try:
        text = b""
        while b"leaf" not in text:
            assert select.select([master], [], [], 120)[0], text
            text += os.read(master, 65536)
        assert "plx-live" in names_of_threads(program)
        reader.kill()
        wait_for(lambda: "plx-live" not in names_of_threads(program))
    finally:
        reader.kill()
        reader.wait()
        os.close(master)
        os.close(slave)
    assert "leaf" in top(program.pid).stdout


@pytest.mark.parametrize("address", ["127.0.0.1:0", "0.0.0.0:0"])
def test_top_shows_a_program_that_serves_a_page(address, tmp_path):
    environment = {**without_settings(), "PLX_SERVE": address, "PLX_SERVE_BEYOND_LOOPBACK": "1", "PLX_OUTPUT": str(tmp_path)}
    program = subprocess.Popen([BIN / "known_graph", str(10**12), "100"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: listens(program))
        assert "leaf" in top(program.pid).stdout
        assert names_of_threads(program).count("plx-live") == 1
    finally:
        program.kill()
        program.wait()


def test_files_are_written_where_the_client_asks(tmp_path):
    """PLX_OUTPUT of the program is for files of its own."""
    environment = {**without_settings(), "PLX_OUTPUT": str(tmp_path / "own")}
    program = subprocess.Popen([BIN / "known_graph", str(10**12), "100"], env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: listens(program))
        attach(program.pid, "-q", "-t", "-o", tmp_path / "asked", "--seconds", "0.1")
        assert (tmp_path / "asked/trace.plxt").exists() and (tmp_path / "asked/profile.csv").exists()
        assert not (tmp_path / "own").exists()
        done = attach(program.pid, "-t", "-o", tmp_path / "small", "--seconds", "0.1", "--plx:trace-records=1024")
        assert done.stderr.splitlines()[0] == "plx-exec: trace-records=1024: buffers for 262144 records exist already and are used"
    finally:
        program.kill()
        program.wait()


def test_top_shows_a_program_that_is_measured(tmp_path):
    environment = {**without_settings(), "PLX_TRACE": "1", "PLX_OUTPUT": str(tmp_path / "run")}
    program = subprocess.Popen([BIN / "known_graph", str(10**12), "100"], env=environment, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: listens(program))
        assert "leaf" in top(program.pid).stdout
        assert "it has been measured since its start, into" in attach(program.pid, "-o", tmp_path / "no", code=125).stderr
    finally:
        program.kill()
        program.wait()
