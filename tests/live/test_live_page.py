"""The live page of a running plx-star, in a real browser: every control is used, and the values change."""

from __future__ import annotations

import json
import time

import chromium
import pytest

pytestmark = pytest.mark.skipif(
    chromium.executable() is None, reason="no chromium here: the live page is not tested (apt-get install chromium)"
)


@pytest.fixture
def page(run):
    with chromium.Chromium() as browser:
        browser.open(run.url)
        browser.wait("document.querySelector('#state').dataset.state === 'running'")
        browser.wait("document.querySelector('#tasks tbody').rows.length > 3")
        yield browser


def cell(page, row: str, column: int) -> str:
    """The text of a task's cell, "" if there is no such task."""
    return page.value(
        f"[...document.querySelector('#tasks tbody').rows].filter(r => r.cells[0].title === '{row}')"
        f".map(r => r.cells[{column}].textContent)[0] || ''"
    )


def picture(page, selector: str) -> str:
    return page.value(f"document.querySelector({json.dumps(selector)}).toDataURL()")


def changes(page, expression: str) -> bool:
    """Whether a value changes within some polls."""
    before = page.value(expression)
    try:
        page.wait(f"JSON.stringify({expression}) !== {json.dumps(json.dumps(before))}")
    except chromium.PageError:
        return False
    return True


def test_the_values_change(page, run):
    assert page.value("document.querySelector('#program').textContent") == "plx-star"
    assert page.value("document.querySelector('#workers').textContent") == "2"
    assert changes(page, "document.querySelector('#time').textContent")
    page.wait("[...document.querySelectorAll('.chart .value')].every(v => v.textContent !== '–')")
    calls = "tasks.find(t => t.name === 'star.stage').calls"
    before = page.value(calls)
    page.wait(f"{calls} > {before}")
    assert cell(page, "star.stage", 9) != "", "every column is filled"
    assert page.value("Math.max(...timeline.workers.map(w => w.length))") > 0, "the timeline has slices"
    assert page.value("timeline.names").count("star.stage") == 1
    for selector in ("[data-chart=tasks] canvas", "[data-chart=time] canvas", "#timeline"):
        first = picture(page, selector)
        page.wait(f"document.querySelector('{selector}').toDataURL() !== {json.dumps(first)}")
    assert page.complaints() == []


def test_every_control_works(page, run, tmp_path):
    # The timeline: another length, and the text of a slice for the pointer and for the arrow keys.
    page.click("#windows button:nth-of-type(2)")
    page.wait("document.querySelector('#span').textContent === '100 ms'")
    assert page.value("timeline.window_s") == pytest.approx(0.1, rel=0.01)
    page.click("#windows button:nth-of-type(4)")
    page.wait("Math.abs(timeline.window_s - 2) < 0.01")
    page.value("document.querySelector('#timeline').focus()")
    page.key("ArrowLeft")
    page.wait("document.querySelector('#tip').style.visibility === 'visible'")
    assert "worker 0" in page.value("document.querySelector('#tip').textContent")

    # The table of tasks: sorting and filter.
    page.click("#tasks th[data-key=name] button")
    assert page.value("document.querySelector('#tasks th[data-key=name]').ariaSort") == "ascending"
    names = "[...document.querySelector('#tasks tbody').rows].map(r => r.cells[0].title)"
    assert page.value(names) == sorted(page.value(names))
    page.click("#tasks th[data-key=mean_s] button")
    means = page.value("[...document.querySelector('#tasks tbody').rows].map(r => tasks.find(t => t.name === r.cells[0].title).mean_s)")
    assert means == sorted(means, reverse=True)
    page.click("#task-filter")
    page.type("stage")
    page.wait("document.querySelector('#tasks tbody').rows.length === 1")

    # A counter selected by the user.
    page.click("#more")
    page.wait("document.querySelector('#picker').open")
    page.type("machine memory")
    mine = "document.querySelector('#counter-rows tr[data-name=\"/machine/memory/resident\"]')"
    page.wait("[...document.querySelectorAll('#counter-rows tr.hidden')].length > 20")
    assert page.value(f"{mine}.classList.contains('hidden')") is False
    page.wait(f"{mine}.cells[2].textContent.includes('MiB')")
    page.click("#counter-rows tr[data-name='/machine/memory/resident'] input")
    page.click("#picker-close")
    chosen = "[data-chart='/machine/memory/resident']"
    page.wait(f"document.querySelector(\"{chosen} .value\").textContent.includes('MiB')")
    page.click(f"{chosen} .close")
    assert page.value(f'document.querySelector("{chosen}")') is None

    # The slice of the mesh, with the cost of the blocks.
    page.wait("!document.querySelector('#mesh').classList.contains('hidden')")
    assert page.value("document.querySelector('#mesh-title').textContent").startswith("Density")
    step = page.value("mesh.step")
    page.wait(f"mesh.step > {step}")
    page.click("#pause")
    page.wait("document.querySelector('#state').dataset.state === 'paused'")
    density = picture(page, "#picture")
    page.click("#show-cost")
    assert page.value("document.querySelector('#mesh-title').textContent").startswith("Work")
    costs = picture(page, "#picture")
    assert costs != density
    page.click("#show-blocks")
    assert picture(page, "#picture") != costs

    # A paused page does not change.
    still = page.value("document.querySelector('#time').textContent")
    time.sleep(2.5)
    assert page.value("document.querySelector('#time').textContent") == still
    page.click("#pause")
    assert changes(page, "document.querySelector('#time').textContent")
    assert page.complaints() == []


def test_devices_are_rows_below_the_workers(page, run):
    page.click("#pause")
    page.wait("document.querySelector('#state').dataset.state === 'paused'")
    bare = page.value("document.querySelector('#timeline').clientHeight")
    lanes = ["gpu 0 (a, b), stream 1", "gpu 0 (a, b), stream 2", "gpu 1, stream 1"]
    given = {"lanes": lanes, "lane_from": [0, 0, 5e5], "lane_rows": [[[0, 1e5, 2e5, 1]], [[0, 3e5, 1e5, 4]], []]}
    page.value(f"take_timeline({{ ...timeline, ...{json.dumps(given)} }}), draw_timeline()")
    assert page.value("document.querySelector('#timeline-title').textContent") == "Workers and devices"
    assert page.value("timeline.rows.map(r => r.device)") == [None, None, "gpu 0 (a, b)", "", "gpu 1"]
    assert page.value("timeline.rows.map(r => r.label)") == [0, 1, "1", "2", "1"]
    assert page.value("document.querySelector('#timeline').clientHeight") > bare
    assert "streams:" in page.value("document.querySelector('#legend').textContent")
    row = page.value("timeline.rows[3].y + 3")
    x = page.value("gutter + 0.35e6 / (timeline.window_s * 1e6) * (document.querySelector('#timeline').clientWidth - gutter)")
    page.value(
        "document.querySelector('#timeline').onmousemove("
        f"{{ offsetX: {x}, offsetY: {row}, clientX: 10, clientY: 10 }})"
    )
    said = page.value("document.querySelector('#tip').textContent")
    assert "gpu 0 (a, b), stream 2" in said and "4 short slices" in said
    page.value(f"document.querySelector('#timeline').onmousemove({{ offsetX: {x}, offsetY: {row} - 20, clientX: 9, clientY: 9 }})")
    assert page.value("document.querySelector('#tip').style.visibility") == "hidden", "no text beside the slices"
    assert page.complaints() == []


def test_it_loads_nothing_from_other_hosts_and_polls_once_a_second(page, run):
    def sent() -> list:
        page.value("new Promise(done => setTimeout(done, 500))")
        return [e["params"] for e in page.events if e["method"] == "Network.requestWillBeSent"]

    def polls_after_the_first() -> list:  # the first is sent at once, the second at the full second
        times = [r["timestamp"] for r in sent() if "poll.json" in r["request"]["url"]]
        return [t for t in times if t > times[0] + 1.2]

    deadline = time.monotonic() + 300
    while len(late := polls_after_the_first()) < 4 and time.monotonic() < deadline:
        pass
    origin = run.url.split("?")[0]
    urls = [r["request"]["url"] for r in sent()]
    assert all(u.startswith(origin) or u.startswith("data:") for u in urls), urls
    assert len(late) >= 3
    assert len(late) <= 1.3 * (late[-1] - late[0]) + 2, late
    hidden = page.value("document.documentElement.outerHTML.includes(token)")
    assert not hidden, "the token occurs only in the address"


@pytest.mark.parametrize("width, height", [(1366, 768), (1440, 900), (800, 600)])
def test_nothing_exceeds_the_window(page, width, height):
    page.size(width, height)
    page.wait("!document.querySelector('#mesh').classList.contains('hidden')")
    time.sleep(0.3)
    assert page.value("document.documentElement.scrollWidth") <= width


def test_the_dark_scheme_is_dark(page):
    color = "getComputedStyle(document.body.parentElement).backgroundColor.match(/\\d+/g).map(Number)"
    assert min(page.value(color)) > 200
    page.dark(True)
    assert max(page.value(color)) < 60


def test_it_reports_that_the_run_has_ended(page, run):
    run.interrupt()
    page.wait("document.querySelector('#state').dataset.state === 'ended'")
    assert page.value("document.querySelector('#state').textContent").startswith("run ended after")
    assert run.process.wait(timeout=600) == 130
    assert not (run.folder / "run" / "live.url").exists()
    assert page.complaints() == []


def test_it_reports_that_the_run_was_killed(page, run):
    run.close()
    page.wait("document.querySelector('#state').dataset.state === 'lost'")
    assert "trying again" in page.value("document.querySelector('#state').textContent")
