"""Rooflines of runs whose points are known by construction."""

from __future__ import annotations

import json

import pytest

from parallax import picture
from parallax.performance.diagnosis import diagnose
from parallax.performance.roofline import roofline_of, roofline_picture, sentence
from parallax.tables import read_table

LIMITS = {"threads": 2, "vector_bits": 512, "flops_per_s": 1e11, "bytes_per_s": 2e10, "array_bytes": 1}


def run_of(folder, rows, limits=LIMITS, idle=0.0, misses=None):
    """rows: (name, seconds in its tasks, flops, bytes); two workers of as long together, with this share of idle time."""
    folder.mkdir()
    head = "name,calls,total_s,mean_s,min_s,max_s,stddev_s,share"
    head += ",flops,bytes" + (",perf:cache-misses" if misses else "")
    lines = [head]
    for name, total, flops, bytes_ in rows:
        lines.append(f"{name},100,{total},{total / 100},0,{total / 100},0,1,{flops},{bytes_}" + (f",{misses[name]}" if misses else ""))
    (folder / "profile.csv").write_text("\n".join(lines) + "\n")
    (folder / "measurement.json").write_text(json.dumps({"limits": limits} if limits else {}))
    tasks = sum(row[1] for row in rows) / 2
    lines = ["worker,tasks_s,overhead_s,background_s,idle_s,tasks,steals"]
    lines += [f"{w},{tasks},0,0,{tasks * idle / (1 - idle)},100,0" for w in range(2)]
    (folder / "workers.csv").write_text("\n".join(lines) + "\n")
    (folder / "waits.csv").write_text("kind,object,name,waits,total_s,max_s\n")
    return folder


def roofline(folder):
    return roofline_of(folder, read_table(folder / "profile.csv"))


def test_a_point_is_the_rate_of_all_workers(tmp_path):
    # Two workers for a second each: 1.8e10 bytes in 2 s are 9e9 per s and worker.
    r = roofline(run_of(tmp_path / "r", [("stream", 2.0, 1.5e9, 1.8e10), ("compute", 2.0, 5e10, 1e9), ("quiet", 1.0, 0, 0)]))
    stream, compute = r.points
    assert (stream.bytes_per_s, stream.flops_per_s) == pytest.approx((1.8e10, 1.5e9))
    assert stream.of_memory == pytest.approx(0.9) and stream.share == pytest.approx(0.4)
    assert stream.intensity == pytest.approx(1 / 12)
    assert sentence(stream) == '"stream" reaches 90.0 % of the memory limit.'
    assert sentence(compute) == '"compute" reaches 50.0 % of the limit of multiply-adds.'


def test_faster_than_memory_is_from_caches(tmp_path):
    r = roofline(run_of(tmp_path / "r", [("inside", 2.0, 1e9, 1e11)]))
    assert sentence(r.points[0]) == '"inside" moves 5.0 times the bandwidth of memory: its data are in caches, or it runs on few workers at a time.'


def test_a_serial_type_that_uses_up_the_memory_is_not_said_to_be_in_caches(tmp_path):
    # One of eight workers at a time, which alone gets 60 % of the bandwidth.
    folder = run_of(tmp_path / "r", [("serial", 2.0, 1e9, 2.4e10), ("wait", 14.0, 1e9, 0)], limits={**LIMITS, "threads": 8})
    serial = roofline(folder).points[1]
    assert serial.of_memory == pytest.approx(4.8)
    assert sentence(serial).endswith("its data are in caches, or it runs on few workers at a time.")
    assert all(f.id != "bandwidth" for f in diagnose(folder).findings)


def test_misses_are_a_lower_bound_of_bytes(tmp_path):
    r = roofline(run_of(tmp_path / "r", [("solve", 2.0, 1e9, 0)], misses={"solve": 1e8}))
    assert r.points[0].bytes_per_s == pytest.approx(64e8) and r.points[0].at_least
    assert sentence(r.points[0]) == '"solve" reaches at least 32.0 % of the memory limit.'
    assert "lower bound" in roofline_picture(r).caption


@pytest.mark.parametrize("limits", [None, {}, {**LIMITS, "bytes_per_s": 0}, {**LIMITS, "threads": "two"}])
def test_without_limits_there_is_no_roofline(tmp_path, limits):
    assert roofline(run_of(tmp_path / "r", [("solve", 2.0, 1e9, 1e9)], limits=limits)) is None


def test_without_flops_or_bytes_there_is_no_picture(tmp_path):
    assert roofline_picture(roofline(run_of(tmp_path / "r", [("copy", 2.0, 0, 1e9), ("count", 1.0, 1e9, 0)]))) is None
    assert roofline(run_of(tmp_path / "none", [("solve", 2.0, 0, 0)])) is None


def test_the_picture_has_the_points_between_the_lines(tmp_path):
    rows = [(f"type {i}", 2.0 - 0.1 * i, 10.0 ** (8 + i % 3), 10.0 ** (9 + i % 2)) for i in range(12)]
    found = roofline_picture(roofline(run_of(tmp_path / "r", rows)))
    assert found.name == "roofline" and '"type 0" reaches' in found.caption
    for theme in (picture.light, picture.dark):
        assert picture.render(found, theme).startswith(b"\x89PNG")


def diagnosed(folder):
    return {finding.id: finding for finding in diagnose(folder).findings}


def test_a_type_at_the_limit_of_memory_is_a_finding(tmp_path):
    found = diagnosed(run_of(tmp_path / "r", [("stream", 2.0, 1e9, 1.8e10), ("other", 0.4, 0, 0)]))["bandwidth"]
    assert found.text == (
        '"stream" uses up the bandwidth of memory: 18.0 GB/s, 90 % of the 20.0 GB/s that 2 threads can get here; it takes 83 % of '
        "the workers' time."
    )
    assert found.figures["task"] == "stream"


@pytest.mark.parametrize(
    "bytes_, idle, other",
    [
        (1.5e10, 0.0, 0.4),  # 75 % of the limit
        (3e10, 0.0, 0.4),  # from caches
        (1.8e10, 0.3, 0.4),  # workers are idle
        (1.8e10, 0.0, 6.0),  # a small part of the time
    ],
)
def test_otherwise_memory_is_not_blamed(tmp_path, bytes_, idle, other):
    rows = [("stream", 2.0, 1e9, bytes_), ("other", other, 0, 0)]
    assert "bandwidth" not in diagnosed(run_of(tmp_path / "r", rows, idle=idle))


def test_misses_alone_are_no_finding(tmp_path):
    run = run_of(tmp_path / "r", [("solve", 2.0, 1e9, 0)], misses={"solve": 2.8e8})
    assert "bandwidth" not in diagnosed(run)
