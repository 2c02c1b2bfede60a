"""The findings of `parallax diagnose` for programs that are slow in known ways (diagnose_cases.cpp).
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import children
import launched
import pytest
from built import BIN, ROOT, needs

pytest.importorskip("numpy")

PROGRAM, JOB = BIN / "diagnose_cases", BIN / "diagnose_job"
pytestmark = [pytest.mark.alone, *needs("diagnose_cases")]


# For the measurements of a run to be valid: the largest share of the run in which its threads had no core; for programs
# that have too few cores on purpose, the most CPU time of other programs per second.
most_kept = 0.02
most_foreign = 0.1

CROWDED = ("many_workers", "own_threads", "other_programs")


def kept_from_cores_s(processes: list, known: dict) -> float:
    """How long the threads of the processes, including those that have ended, were ready but had no core."""
    for pid in processes:
        for stat in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                known[stat] = 1e-9 * float(stat.read_text().split()[1])
            except (OSError, IndexError):
                pass  # the thread has ended
    return sum(known.values())


def times_of_cores() -> tuple:
    """(the CPU time of all programs of the machine so far, how long the host gave its cores to other machines)."""
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split(maxsplit=9)[1:9])
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) * tick_s, steal * tick_s


def own_s() -> float:
    """The CPU time of this process and of the children that have ended, with their children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def two_cores() -> None:
    """Restricts the calling process to two cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def raise_priority() -> None:
    """Raises the priority of the calling process, if permitted."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    except OSError:
        pass  # not permitted for this user


def watched(command: list, started: int = 0, crowded: bool = False, **how) -> tuple:
    """Runs a command, which starts this many processes. (The completed process, whether the measurement of the run is valid.)"""
    begin, (busy_s, stolen_s), foreign_s, known = time.monotonic(), times_of_cores(), own_s(), {}
    last, longest_s, kept_s, processes = begin, 0.0, 0.0, []
    child = children.start(command, **how)
    while child.poll() is None:
        if len(processes) < 1 + started:
            processes = [child.pid, *children.children_of(child.pid)]
        kept_s = kept_from_cores_s(processes, known)
        longest_s, last = max(longest_s, time.monotonic() - last), time.monotonic()
        time.sleep(0.02)
        assert last - begin < 600
    output, errors = child.communicate()
    assert child.returncode == 0, errors
    # After the last look, and while the whole machine is stopped, nothing is known about the threads.
    longest_s = max(longest_s, time.monotonic() - last)
    passed_s, (busy_now_s, stolen_now_s) = time.monotonic() - begin, times_of_cores()
    foreign_s = (busy_now_s - busy_s) - (own_s() - foreign_s)
    unknown_s = stolen_now_s - stolen_s + max(0.0, longest_s - 0.04)
    valid = foreign_s + unknown_s <= most_foreign * passed_s if crowded else kept_s + unknown_s <= most_kept * passed_s
    return subprocess.CompletedProcess(command, 0, output, errors), valid


def measured(folder: Path, case: str, first: bool, all_cores: bool = False, **settings: str) -> dict:
    """The diagnosis of a run of the case, on two cores or all, and `valid`: whether other programs have not disturbed it."""
    environment = {**os.environ, "PLX_DIAGNOSE": "1", "PLX_OUTPUT": str(folder), **settings}
    folder.parent.mkdir(parents=True, exist_ok=True)

    def prepare() -> None:
        if not all_cores:
            two_cores()
        if first:
            raise_priority()

    command = [PROGRAM, *case.split()]
    _, valid = watched(command, crowded=case in CROWDED, env=environment, cwd=folder.parent, preexec_fn=prepare)
    return {**json.loads(parallax("diagnose", "--json", folder)), "valid": valid, "folder": folder}


def require(name: str, measure, holds) -> None:
    """Asserts holds(measure()). A run fails the test only if it is valid; otherwise the measurement shows other programs on
    the machine, and is repeated."""
    for _ in range(4):
        diagnosis = measure()
        if holds(diagnosis):
            return
        assert not diagnosis["valid"], diagnosis
    pytest.skip(f"other programs used the cores during all runs of {name}")


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """check(case, holds): asserts holds(diagnosis of the case). A run fails the test only if it is valid; otherwise the
    measurement shows other programs on the machine. It is then repeated, with a higher priority if permitted."""
    known: dict = {}

    def checked(case: str, holds) -> None:
        for turn in range(4):
            if case not in known:
                first = turn > 0 or case in CROWDED
                known[case] = measured(tmp_path_factory.mktemp(case) / "run", case, first)
            diagnosis = known[case]
            if holds(diagnosis):
                return
            assert not diagnosis["valid"], diagnosis
            del known[case]
        pytest.skip(f"other programs used the cores during all runs of {case}")

    return checked


def parallax(*arguments, **settings: str) -> str:
    command = [sys.executable, "-B", "-m", "parallax", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **settings}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ids(diagnosis: dict) -> list:
    return [finding["id"] for finding in diagnosis["findings"]]


def finding(diagnosis: dict, wanted: str) -> dict:
    return next((f for f in diagnosis["findings"] if f["id"] == wanted), {"text": ""})


def causes(found: dict) -> list:
    """The id of a finding, alone and with what the finding names."""
    names = [found["id"]]
    if "by" in found:
        names.append(f"{found['id']} by {found['by']}")
    if found.get("blamed"):
        names.append(f"{found['id']} of {found['blamed']}")
    return names


# cause: (the program that provokes it, one that resembles it and does not)
PAIRS = {
    "starvation": ("starved", "chain"),
    "chains": ("chain", "starved"),
    "latency": ("latency", "starved"),
    "grain": ("small_grain", "healthy"),
    "contention": ("lock", "lock_for_short"),
    "imbalance": ("imbalance", "healthy"),
    "serial": ("set_up", "healthy"),
    "memory_growth": ("memory", "memory_at_once"),
    "waiting": ("io", "healthy"),
    "uneven of relax": ("imbalance_that_moves", "fine"),
    "coarse of relax": ("coarse", "fine"),
    "device": ("slow_device", "quick_device"),
    "serial of make": ("fan_in", "fan_in_parts"),
    "serial of alone": ("two_phases", "healthy"),
    "off_core by workers": ("many_workers", "own_threads"),
    "off_core by threads": ("own_threads", "own_threads_asleep"),
    "off_core by programs": ("other_programs", "other_programs_asleep"),
}


# True in any of these runs: the programs hold their workers in sleeps, and other programs use the cores.
OF_ANY = ("waiting", "off_core")


def is_first(diagnosis: dict, wanted: str) -> bool:
    """Whether the cause is in the first sentence, but for those that are true in any of these runs."""
    others = [found for found in diagnosis["findings"] if found["id"] not in OF_ANY or wanted.split()[0] in OF_ANY]
    return bool(others) and wanted in causes(others[0])


def is_found(diagnosis: dict, wanted: str) -> bool:
    return any(wanted in causes(found) for found in diagnosis["findings"])


@pytest.mark.parametrize("wanted", PAIRS)
def test_a_program_that_provokes_a_sentence_gets_it_first(check, wanted):
    holds = is_found if wanted == "memory_growth" else is_first
    check(PAIRS[wanted][0], lambda diagnosis: holds(diagnosis, wanted))


@pytest.mark.parametrize("wanted", PAIRS)
def test_a_similar_program_does_not_get_it(check, wanted):
    check(PAIRS[wanted][1], lambda diagnosis: not is_found(diagnosis, wanted))


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun: many processes cannot be started")
@pytest.mark.skipif(not JOB.exists(), reason=f"{JOB} is not built")
@pytest.mark.parametrize("case", ["late", "early"])
def test_answers_of_another_locality_that_are_late(tmp_path, case):
    """The root needs an answer that takes 20 ms at once, or 40 ms later."""
    settings = launched.environment(PLX_DIAGNOSE="1", PLX_OUTPUT=str(tmp_path / "run"))
    command = launched.command(2, JOB, case)

    def measure() -> dict:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        _, valid = watched(command, started=2, env=settings, preexec_fn=raise_priority)
        return {**json.loads(parallax("diagnose", "--json", tmp_path / "run")), "valid": valid}

    def holds(diagnosis: dict) -> bool:
        if case == "early":
            return "answers" not in ids(diagnosis)
        first = next((found for found in diagnosis["findings"] if found["id"] not in OF_ANY), {"id": ""})
        return first["id"] == "answers" and first["late"] and first["locality"] == 1

    require(case, measure, holds)


def check_that_more_workers_slow_calls_down(folder: Path, case: str, task_type: str, n: int, expected: bool) -> None:
    """Asserts whether `parallax compare` of runs with one worker and with n finds that calls of the type take longer."""
    for turn in range(4):
        runs = [folder / f"{turn}-{workers}" for workers in (1, n)]
        valid = [measured(run, case, True, n > 2, PLX_THREADS=run.name.split("-")[1])["valid"] for run in runs]
        text = parallax("compare", *runs)
        if (f'a call of "{task_type}" takes' in text) == expected:
            return
        assert not all(valid), text
    pytest.skip(f"other programs used the cores during all runs of {case}")


@pytest.mark.parametrize("case, expected", [("false_sharing", True), ("padded", False)])
def test_tasks_that_write_to_the_same_cache_lines_are_found_by_comparing_numbers_of_workers(tmp_path, case, expected):
    """One run cannot show it without hardware counters."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("the tasks share a cache: one processor")
    check_that_more_workers_slow_calls_down(tmp_path, case, "count", 2, expected)


@pytest.mark.slow  # depends on the memory of the machine and on undisturbed cores
@pytest.mark.parametrize("case, expected", [("stream", True), ("stream_in_cache", False)])
def test_tasks_that_use_all_of_the_memory_bandwidth_are_found_by_comparing_numbers_of_workers(tmp_path, case, expected):
    """As many workers as cores. Whether these use up the bandwidth is a property of the machine: threads without the runtime show
    it. They also show whether cores slow each other down by anything else, such as their clock or a shared core."""
    n = len(os.sched_getaffinity(0))
    if n < 2:
        pytest.skip("one processor")
    done = subprocess.run([PROGRAM, "slowdown", case, str(n)], capture_output=True, text=True, check=True, timeout=600)
    slowdown = float(done.stdout)
    if slowdown < 1.5 if expected else slowdown > 1.1:
        reason = "do not use up its memory bandwidth" if expected else "slow each other down without using memory"
        pytest.skip(f"the {n} cores of this machine {reason}: each needs {slowdown:.2f} times the CPU time of one alone")
    check_that_more_workers_slow_calls_down(tmp_path, case, "add", n, expected)


@pytest.mark.parametrize("case, expected", [("triad", True), ("triad_in_cache", False)])
def test_a_type_that_states_its_bytes_and_moves_what_the_memory_gives_is_a_finding(tmp_path, case, expected):
    """From one run, with the bandwidth that as many threads get after it."""
    n = str(len(os.sched_getaffinity(0)))

    def measure() -> dict:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        return measured(tmp_path / "run", case, True, True, PLX_ROOFLINE="1", PLX_THREADS=n)

    require(case, measure, lambda diagnosis: (finding(diagnosis, "bandwidth").get("task") == "triad") == expected)


def named_types(comparison: str) -> set:
    """The task types that a comparison of repeated runs names as a cause."""
    return {line.split()[0] for line in comparison.splitlines() if line.startswith("  ")} & {"long", "short", "reduce"}


def real_time() -> None:
    """No other program takes a core from the calling process, if permitted; otherwise few do."""
    two_cores()
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        raise_priority()


def compared_with(folder: Path, change: str) -> tuple:
    """(the comparison of five runs of "counted" with five of it with a change, the scatter of equal work between the runs)."""
    sets = [folder / "a", folder / "b"]
    for turn in range(5):  # alternately, so that both sets see the same changes of the machine
        for runs, case in zip(sets, ("counted", f"counted {change}")):
            environment = {**os.environ, "PLX_DIAGNOSE": "1", "PLX_OUTPUT": str(runs / str(turn))}
            begin = time.monotonic()
            subprocess.run([PROGRAM, *case.split()], env=environment, check=True, timeout=600, preexec_fn=real_time)
            time.sleep(0.5 * (time.monotonic() - begin))  # the kernel stops real-time threads after 0.95 s in each second
    scatter = 0.0
    for task_type in ("long", "short", "reduce"):
        times = [[seconds_of(run, task_type) for run in sorted(runs.iterdir())] for runs in sets]
        scatter = max(scatter, *(statistics.stdev(each) / statistics.mean(each) for each in times))
    return parallax("compare", *sets), scatter


def seconds_of(run: Path, task_type: str) -> float:
    with open(run / "profile.csv", newline="") as file:
        return next(float(row["total_s"]) for row in csv.DictReader(file) if row["name"] == task_type)


@pytest.mark.slow  # needs all cores without disturbance, at a high priority
@pytest.mark.parametrize("change, expected", [("long=1.03", {"long"}), ("long=1", set())])
def test_a_task_type_that_became_slower_by_three_percent_is_named(tmp_path, change, expected):
    """The length of tasks is counted in ticks of the clock: equal steps of a computation take 1 % to 5 % more or less in another
    run on a machine shared with others. A scatter of 0.5 % leaves an interval of a third of the planted difference. Intervals are
    at 95 %: one comparison in twenty of equal programs may name a type, three in a row do not."""
    scatters = []
    for turn in range(6):
        text, scatter = compared_with(tmp_path / str(turn), change)
        if named_types(text) == expected:
            return
        scatters.append(scatter)
        assert sum(each <= 0.005 for each in scatters) < 3, text
    pytest.skip(f"equal tasks differ by up to {100 * max(scatters):.1f} % between runs on this machine: too much for 3 %")


@pytest.mark.skipif(not (BIN / "plx-what-if").exists(), reason="plx-what-if is not built")
def test_the_gain_is_predicted_by_replay(tmp_path):
    run = tmp_path / "run"
    environment = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}

    def measure() -> dict:
        shutil.rmtree(run, ignore_errors=True)
        valid = measured(run, "lock", False, PLX_TRACE="1")["valid"]
        return {**json.loads(parallax("diagnose", "--json", run, **environment)), "valid": valid}

    def holds(diagnosis: dict) -> bool:
        first = diagnosis["findings"][0]
        predicted = first.get("predicted")
        if first["id"] != "contention" or predicted is None:
            return first["id"] == "contention" and "the gain by replay (" in diagnosis["not_judged"]  # it is too far off
        named = predicted["change"] == 'no waits for the lock "accumulator"' and "by replay of the trace" in first["text"]
        return named and abs(predicted["error"]) <= 0.15 and predicted["gain"] > 0.5

    require("lock", measure, holds)


def test_blocked_calls_are_reported_with_the_bytes_that_they_moved(check):
    """6.6 MB in large pieces, and 3.2 kB in small ones."""

    def first(diagnosis):
        return diagnosis["findings"][0]["id"] == "waiting" and diagnosis["findings"][0]["text"]

    check("slow_writes", lambda diagnosis: first(diagnosis) and "; the program wrote 6." in first(diagnosis))
    check("io", lambda diagnosis: first(diagnosis) and "; the program" not in first(diagnosis))


def test_phases_are_in_the_headline(check):
    check("two_phases", lambda diagnosis: len(diagnosis["phases"]) == 2 and "; workers with work: " in diagnosis["headline"])
    check("healthy", lambda diagnosis: diagnosis["phases"] == [])


def test_the_lock_is_named(check):
    def holds(diagnosis):
        found = finding(diagnosis, "contention")
        # The k-th of 40 waits k times 10 ms: 39 waits, 7.8 s. Some may arrive late and find the lock free, or be
        # overtaken and wait twice.
        as_made = 20 <= found.get("waits", 0) <= 60 and 0.05 <= found["waited_s"] / found["waits"] <= 50
        return as_made and '"accumulator"' in found["text"]

    check("lock", holds)


def test_the_long_task_is_named(check):
    check("imbalance", lambda diagnosis: "the long one" in finding(diagnosis, "imbalance")["text"])


# The task type that runs while others are idle; None: the program does something else than tasks.
BLAMED = {"set_up": "set up", "chain": "link", "imbalance": "the long one", "latency": "bound", "starved": None, "lock": None}


@pytest.mark.parametrize("case", BLAMED)
def test_the_first_finding_names_what_idle_time_is_charged_to(check, case):
    def holds(diagnosis):
        first = diagnosis["findings"][0]
        return first.get("blamed", "") == BLAMED[case] and first["blamed_share"] >= 0.5

    check(case, holds)


def test_the_holder_of_the_lock_is_named(check):
    check("lock", lambda diagnosis: finding(diagnosis, "contention").get("holder") == "deposit")


def blame_of(folder: Path) -> tuple:
    """(what task types are charged + what is unattributed, idle time) in seconds."""
    data = json.loads((folder / "measurement.json").read_text())
    return sum(data["idle_s"].values()), data["time_s"]["idle"]


@pytest.mark.parametrize("case", (*BLAMED, "healthy", "small_grain", "sleeping", "io"))
def test_blame_adds_up_to_the_idle_time(check, case):
    def holds(diagnosis):
        charged_s, idle_s = blame_of(diagnosis["folder"])
        return abs(charged_s - idle_s) <= 0.01 * idle_s + 1e-4

    check(case, holds)


# Those that use the runtime; jobs run as one process. 16 and 23 measure threads, whose waits are charged to none; 19 uses devices
# of the machine, 20 Kokkos.
NOT_MEASURED = ("16", "19", "20", "23")
EXAMPLES = [path for path in sorted(PROGRAM.parent.glob("example_[0-9]*")) if path.name[8:10] not in NOT_MEASURED]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_blame_adds_up_for_the_examples(example, tmp_path):
    environment = {**os.environ, "PLX_PROFILE": "csv", "PLX_THREADS": "4", "PLX_OUTPUT": str(tmp_path / "run")}
    subprocess.run([str(example)], env=environment, cwd=tmp_path, check=True, timeout=300, capture_output=True)
    runs = [path.parent for path in tmp_path.glob("*/measurement.json")]
    assert runs or not any(tmp_path.iterdir())
    for run in runs:
        charged_s, idle_s = blame_of(run)
        assert charged_s == pytest.approx(idle_s, rel=0.01, abs=1e-4)


def test_the_figures_of_starvation_match_the_program(check):
    check("starved", lambda diagnosis: 0.3 <= finding(diagnosis, "starvation").get("busy", 0) <= 0.7)


def test_sleeping_tasks_are_reported(check):
    check("sleeping", lambda diagnosis: "slept for" in finding(diagnosis, "starvation")["text"])


def test_at_most_ten_sentences(check):
    for case in ("healthy", "lock", "memory"):
        check(case, lambda diagnosis: 1 + 2 * len(diagnosis["findings"]) + bool(diagnosis["not_judged"]) <= 10)


def test_a_program_without_the_setting_writes_nothing(tmp_path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PLX_")}
    subprocess.run([str(PROGRAM), "memory_at_once"], check=True, timeout=600, env=environment, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


PLX_EXEC = PROGRAM.parent / "plx-exec"
THREADS = """
import threading, time
time.sleep(1.0)
together = threading.Barrier(8)  # on loaded cores one could end before another begins, and share its row
threads = [threading.Thread(target=lambda: (together.wait(), time.sleep(0.05))) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


EXAMPLE = PROGRAM.parent / "example_23_plx_exec"


@pytest.mark.skipif(not (PLX_EXEC.exists() and EXAMPLE.exists()), reason="plx-exec or the example is not built")
def test_the_lock_of_the_example_of_plx_exec_is_named(tmp_path):
    """Four threads spend their time in or before one lock; the program is not linked with Parallax."""

    def measure() -> dict:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        done, valid = watched([PLX_EXEC, "-d", "-o", tmp_path / "run", EXAMPLE])
        assert done.stdout == "160 entries\n"
        return {**json.loads(parallax("diagnose", "--json", tmp_path / "run")), "valid": valid}

    def holds(diagnosis: dict) -> bool:
        found = next((found for found in diagnosis["findings"] if found["id"] not in OF_ANY), {"id": ""})
        return found["id"] == "contention" and '"table_lock"' in found["text"] and found["share"] > 0.4

    require("the example", measure, holds)


GOMP = PROGRAM.parent / "gomp_program"


@pytest.mark.skipif(not (PLX_EXEC.exists() and GOMP.exists()), reason="plx-exec or gomp_program is not built")
def test_unequal_parts_of_a_region_of_openmp_are_named(tmp_path):
    """One thread of GCC's OpenMP waits in a barrier while the other computes: no lack of cores, and no work of the first."""

    def measure() -> dict:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        settings = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        _, valid = watched([PLX_EXEC, "-d", "-q", "-o", tmp_path / "run", GOMP], env=settings, preexec_fn=raise_priority)
        return {**json.loads(parallax("diagnose", "--json", tmp_path / "run")), "valid": valid}

    def holds(diagnosis: dict) -> bool:
        found = next(iter(diagnosis["findings"]), {"id": "none"})
        return found["id"] == "serial" and '"omp parallel in unequal_regions"' in found["text"] and found["share"] > 0.25

    require("a program with OpenMP", measure, holds)


@pytest.mark.skipif(not PLX_EXEC.exists(), reason=f"{PLX_EXEC} is not built")
@pytest.mark.parametrize("diagnose", [["-d"], []])
def test_threads_at_the_end_of_a_run_do_not_shorten_it(tmp_path, diagnose):
    """Main alone for 1 s, then eight threads for 50 ms: the run is longer than 1 s, and one thread ran for most of it."""

    def measure() -> dict:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        _, valid = watched([PLX_EXEC, *diagnose, "-o", tmp_path / "run", sys.executable, "-c", THREADS])
        diagnosis = json.loads(parallax("diagnose", "--json", tmp_path / "run"))
        assert diagnosis["figures"]["wall_s"] >= 1.0 and diagnosis["headline"].startswith("9 threads")
        return {**diagnosis, "valid": valid}

    require("the threads", measure, lambda diagnosis: finding(diagnosis, "serial").get("serial_s", 0) >= 0.9)
    text = parallax("compare", tmp_path / "run", tmp_path / "run")
    assert "the same was measured in both" in text and "Threads" in text
