"""The live page of a running plx-star, in a real browser: every control is used, and the values change."""

from __future__ import annotations

import json
import math
import time

import chromium
import pytest
from live_run import PROGRAM, Run

pytestmark = pytest.mark.skipif(
    chromium.executable() is None, reason="no chromium here: the live page is not tested (apt-get install chromium)"
)


@pytest.fixture
def page(run):
    with chromium.Chromium() as browser:
        browser.open(run.url)
        browser.wait("document.querySelector('#state').dataset.state === 'running'")
        browser.wait("document.querySelector('#tasks tbody').rows.length > 3")
        browser.wait("tasks.some(t => t.name === 'star.stage')")
        browser.wait("!document.querySelector('#mesh').classList.contains('hidden')")  # nothing below it moves any more
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
    assert cell(page, "star.stage", 13) != "", "every column is filled"
    quantiles = page.value("(t => [t.min_s, t.p50_s, t.p99_s, t.max_s])(tasks.find(t => t.name === 'star.stage'))")
    assert quantiles == sorted(quantiles) and quantiles[0] > 0
    page.wait("Math.max(...timeline.workers.map(w => w.length)) > 0")  # the timeline has slices
    page.wait("timeline.names.filter(n => n === 'star.stage').length === 1")
    for selector in ("[data-chart=tasks] canvas", "[data-chart=time] canvas", "#timeline"):
        first = picture(page, selector)
        page.wait(f"document.querySelector('{selector}').toDataURL() !== {json.dumps(first)}")
    assert page.complaints() == []


def test_every_control_works(page, run, tmp_path):
    # The timeline: another length, and the text of a slice for the pointer and for the arrow keys.
    page.click("#windows button:nth-of-type(2)")
    page.wait("document.querySelector('#span').textContent === 'the last 100 ms'")
    assert page.value("timeline.window_s") == pytest.approx(0.1, rel=0.01)
    page.click("#windows button:nth-of-type(4)")
    page.wait("Math.abs(timeline.window_s - 2) < 0.01")
    page.value("document.querySelector('#timeline').focus()")
    while page.value("document.querySelector('#tip').style.visibility") != "visible":  # worker 0 may have no slices in these 2 s
        page.key("ArrowLeft")
        time.sleep(0.1)
    assert "worker 0" in page.value("document.querySelector('#tip').textContent")

    # The table of tasks: sorting and filter.
    page.click("#tasks th[data-key=name] button")
    assert page.value("document.querySelector('#tasks th[data-key=name]').ariaSort") == "ascending"
    names = "[...document.querySelector('#tasks tbody').rows].map(r => r.cells[0].title)"
    sorted_by_page = page.value(names)
    assert sorted_by_page == sorted(sorted_by_page)
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


def test_the_timeline_zooms_moves_and_searches(page, run):
    page.wait("timeline && timeline.end_s > 4", 600)  # the view ends at the beginning of the run
    page.click("#pause")
    page.wait("document.querySelector('#state').dataset.state === 'paused'")
    given = {"window_s": 2, "names": ["a task", "b task"], "from": [0, 0], "workers": [[[0, 9e5, 2e5, 1]], [[1, 5e5, 1e4, 1]]]}
    page.value("load_view = () => {}")  # the slices stay those of this test
    page.value(f"take_timeline({{ ...timeline, lanes: [], lane_from: [], lane_rows: [], ...{json.dumps(given)} }}), draw_timeline()")
    middle = "gutter + (document.querySelector('#timeline').clientWidth - gutter) / 2"

    def wheel(amount: float, shift: bool = False) -> list:
        """Whether the page handled it, and the part of the window that is shown afterwards."""
        return page.value(
            "(() => { const t = document.querySelector('#timeline'), r = t.getBoundingClientRect(); const e = new WheelEvent('wheel', "
            f"{{ deltaY: {amount}, shiftKey: {json.dumps(shift)}, clientX: r.left + {middle}, clientY: r.top + 5, cancelable: true }}); "
            "t.dispatchEvent(e); return [e.defaultPrevented, ...view]; })()"
        )

    assert wheel(100) == [False, 0, 1], "the newest slices are shown: the page scrolls"
    assert wheel(-1000) == pytest.approx([True, 0.5 - 0.5 * math.exp(-2), 0.5 + 0.5 * math.exp(-2)], abs=2e-3)
    assert page.value(f"piece_at({middle}, timeline.rows[0].y + 3)") == [0, 0]
    assert page.value(f"piece_at({middle}, timeline.rows[1].y + 3)") is None, "its slice is outside of the view"
    size = math.exp(-2)
    left = wheel(0.25 * page.value("document.querySelector('#timeline').clientWidth - gutter"), True)[1]
    assert left == pytest.approx(0.5 - 0.5 * size + 0.25 * size, abs=3e-3)
    bare = picture(page, "#timeline")
    page.click("#task-filter")
    page.type("b")
    page.wait(f"document.querySelector('#timeline').toDataURL() !== {json.dumps(bare)}")
    begin = page.value("1 - timeline.end_s / timeline.window_s")
    assert wheel(1e5)[1] == pytest.approx(begin), "from the beginning of the run"
    page.value("document.querySelector('#timeline').dispatchEvent(new MouseEvent('dblclick'))")
    assert page.value("view") == [0, 1] and page.value("following") is True
    key = "document.querySelector('#timeline').dispatchEvent(new KeyboardEvent('keydown', {{ key: '+', ctrlKey: {} }}))"
    page.value(key.format("true"))
    assert page.value("view") == [0, 1], "the browser's own zoom"
    page.value(key.format("false"))
    assert page.value("view") == [0.25, 0.75]
    page.value("zoom_view(0, 1)")
    size = page.value("2e-5 / timeline.window_s")
    assert page.value("view") == pytest.approx([1 - size, 1], rel=1e-9), "the zoom has a limit"
    page.value("document.querySelector('#timeline').dispatchEvent(new KeyboardEvent('keydown', { key: '0' }))")
    assert page.value("view") == [0, 1]
    assert page.complaints() == []


def test_a_part_of_the_timeline_is_loaded_at_its_own_resolution(page, run):
    page.wait("timeline.end_s > timeline.window_s")  # else the view ends where the run begins
    begin_s = page.value("(() => { const b = timeline.end_s - timeline.window_s; set_view(0.5, 0.01); return b; })()")
    page.wait("timeline.window_s < 0.021")
    assert page.value("timeline.window_s") == pytest.approx(0.02, rel=1e-3)
    assert page.value("timeline.end_s - timeline.window_s") == pytest.approx(begin_s + 1, abs=1e-3)
    assert page.value("view") == [0, 1]
    shown = page.value("[timeline.end_s, document.querySelector('#span').textContent]")
    assert "of the run" in shown[1]
    for _ in range(2):
        assert changes(page, "document.querySelector('#time').textContent"), "the rest of the page continues"
    assert page.value("[timeline.end_s, document.querySelector('#span').textContent]") == shown
    # Further out, into what is not loaded.
    page.value("set_view(-1, 3)")
    page.wait("timeline.window_s > 0.05")
    assert page.value("timeline.window_s") == pytest.approx(0.06, rel=1e-3)
    assert page.value("timeline.end_s") == pytest.approx(shown[0] + 0.02, abs=1e-4)
    page.click("#follow")
    page.wait("document.querySelector('#span').textContent === 'the last 2 s'")
    first = page.value("timeline.end_s")
    page.wait(f"timeline.end_s > {first}")
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


def hover(page, x_us: str, row: int) -> str:
    """The text for the pointer at a time of the window, in a row of the timeline."""
    x = page.value(f"time_to_x({x_us}, document.querySelector('#timeline').clientWidth)")
    page.value(f"document.querySelector('#timeline').onmousemove({{ offsetX: {x}, offsetY: timeline.rows[{row}].y + 8, clientX: 9, clientY: 9 }})")
    return page.value("document.querySelector('#tip').textContent")


def test_many_workers_share_rows_and_a_click_shows_those_of_one(page, run):
    page.click("#pause")
    page.wait("document.querySelector('#state').dataset.state === 'paused'")
    bins = [0] * 10 + [75, 0] * 20 + [100, 1] * 30
    given = {"window_s": 0.6, "bin_us": 1e4, "first": 0, "of": 6, "group": 4, "from": [0, 0], "names": ["a", "b"], "workers": [bins, [50, 0] * 60]}
    page.value(f"take_timeline({{ ...timeline, lanes: [], lane_rows: [], lane_from: [], ...{json.dumps(given)} }}), draw_timeline()")
    assert page.value("timeline.rows.map(r => [r.label, r.workers])") == [["0–3", [0, 4]], ["4–5", [4, 2]]]
    assert "6 workers, 4 in a row" in page.value("document.querySelector('#kept').textContent")
    said = hover(page, "1.5e5", 0)
    assert "workers 0 to 3" in said and "75% of their time" in said and "in a\n" in said, said
    assert page.value("piece_at(time_to_x(5e4, document.querySelector('#timeline').clientWidth), timeline.rows[0].y + 8)") is None
    legend = page.value("document.querySelector('#legend').textContent")  # a: (4 * 0.75 * 0.2 + 2 * 0.5 * 0.6) / (6 * 0.6)
    assert "a 33.3 %" in legend and "b 33.3 %" in legend, legend
    # The two workers of the run, of which a click shows the second.
    page.click("#pause")
    page.wait("timeline.rows[0].worker === 0")
    page.value("show_workers([1, 1])")
    page.wait("timeline.workers.length === 1 && timeline.rows[0].worker === 1")
    assert "workers 1 to 1 of 2" in page.value("document.querySelector('#kept').textContent")
    page.click("#all-workers")
    page.wait("timeline.workers.length === 2 && document.querySelector('#all-workers').classList.contains('hidden')")
    assert page.complaints() == []


def test_phases_are_a_band_above_the_rows(page, run):
    page.click("#pause")
    page.wait("document.querySelector('#state').dataset.state === 'paused'")
    # Two workers run from 0.2 s to 0.6 s of the second, otherwise one; a gap of one bin is no phase.
    rows = [[[0, 0, 3e5, 1], [0, 3.05e5, 6.95e5, 1]], [[1, 2e5, 4e5, 1]]]
    given = {"window_s": 1, "of": 2, "group": 1, "from": [0, 0], "names": ["a", "b"], "workers": rows, "lanes": [], "lane_rows": [], "lane_from": []}
    page.value(f"take_timeline({{ ...timeline, ...{json.dumps(given)} }}), draw_timeline()")
    phases = page.value("timeline.phases.map(p => [p.from, p.to, p.many, p.busy])")
    assert [p[:3] for p in phases] == [[0, 2e5, False], [2e5, 6e5, True], [6e5, 1e6, False]]
    assert [p[3] for p in phases] == pytest.approx([1, 2 - 5e3 / 4e5, 1])
    assert page.value("timeline.top === phase_height && timeline.rows[0].y === phase_height")
    page.value("document.querySelector('#timeline').onmousemove({ offsetX: time_to_x(3.5e5, document.querySelector('#timeline').clientWidth), offsetY: 4, clientX: 9, clientY: 9 })")
    assert page.value("document.querySelector('#tip').textContent").startswith('phase: many workers, "')
    # Workers that are equally busy throughout have no phases, nor have patterns of more than six.
    page.value("timeline.workers = [[[0, 0, 1e6, 1]], []], take_timeline(timeline), draw_timeline()")
    assert page.value("[timeline.phases.length, timeline.rows[0].y]") == [0, 0]
    many = [[1, k * 1e5, 5e4, 1] for k in range(10)]
    page.value(f"timeline.workers = [[[0, 0, 1e6, 1]], {json.dumps(many)}], take_timeline(timeline)")
    assert page.value("timeline.phases.length") == 0
    assert page.complaints() == []


def test_the_phases_are_those_of_the_diagnosis(page, run):
    """The same division as python/parallax/performance/diagnosis/phases.py, of random shares."""
    import numpy as np
    from parallax.performance.diagnosis import phases

    random = np.random.default_rng(3)
    for _ in range(20):
        values = np.clip(random.normal(np.where(random.random(40) < 0.5, 0.3, 0.8), 0.1), 0, 1)
        many = phases._two_means(values, np.ones(40))
        assert page.value(f"two_means({values.tolist()})") == (None if many is None else many.tolist())


def test_the_parent_of_a_slice_is_named_and_marked(page, run):
    page.click("#windows button:nth-of-type(1)")
    page.wait("following && timeline.window_s < 0.03")
    found = None
    for _ in range(100):  # the first slices of a task that have been recorded with their parents
        page.value("choose(null, 0, 0)")
        page.wait("(() => { const k = timeline.rows.findIndex(r => r.pieces.some(p => p[3] === 1)); if (k < 0) return false;"
                  " choose([k, timeline.rows[k].pieces.findLastIndex(p => p[3] === 1)], 9, 9); window.asked_of = timeline; return true; })()")
        page.wait("parent_of !== null || timeline !== asked_of || chosen === null")  # the answer, or a newer timeline
        found = page.value("parent_of && parent_of.parent && parent_of.parent.name && document.querySelector('#tip').textContent")
        if found:
            break
    assert found and ("parent: " in found or "last input from " in found) and ", task " in found, found
    assert page.complaints() == []


def test_functions_are_a_flame_graph_with_their_callers(tmp_path):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    run = Run(tmp_path, "--plx:sample-stacks=500")
    try:
        with chromium.Chromium() as page:
            page.open(run.url)
            callees = "stacks.shown.filter(s => s.f.depth === 1 && stacks.frames[s.f.parent].name === 'star.stage')"
            page.wait(f"stacks && stacks.total > 300 && stacks.shown && {callees}.length > 0")
            page.click("#pause")  # answers would replace the frames, and number them again
            page.wait("document.querySelector('#state').dataset.state === 'paused'")
            assert page.value("document.querySelector('#flames').classList.contains('hidden')") is False
            frames = page.value("stacks.calls")
            own = {name: below for parent, _, below, name in frames if parent < 0}
            assert own["star.stage"] > 0.1 * sum(own.values()), "task types are at the top"
            children = [0] * len(frames)
            for parent, _, below, _ in frames:
                if parent >= 0:
                    children[parent] += below
            assert all(some <= frame[2] - frame[1] for some, frame in zip(children, frames))
            x, y = page.value(f"(s => [s.x + s.w / 2, frame_height * 1.5])({callees}.sort((a, b) => b.w - a.w)[0])")
            page.value(f"document.querySelector('#flame').onmousemove({{ offsetX: {x}, offsetY: {y}, clientX: 9, clientY: 9 }})")
            said = page.value("document.querySelector('#tip').textContent")
            assert "of the samples" in said and said.endswith("called by star.stage"), said
            page.value(f"document.querySelector('#flame').onclick({{ offsetX: {x}, offsetY: {y} }})")
            assert page.value("stacks.shown[1].w") == page.value("document.querySelector('#flame').clientWidth")
            page.click("#pause")
            page.wait("document.querySelector('#flame-facts').textContent.includes('the last 1')")
            page.click("#flame-all")
            assert page.value("enlarged.length") == 0
            assert page.complaints() == []
    finally:
        run.close()


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
    page.wait(f"document.documentElement.scrollWidth <= {width}")


TOO_WIDE = "(t => t.scrollWidth - t.parentElement.clientWidth)(document.querySelector('{}'))"
SHOWN = "[...document.querySelectorAll('#tasks th')].filter(th => !th.hidden).map(th => th.dataset.key)"


@pytest.mark.parametrize("width, height, least", [(1920, 1080, 13), (1366, 768, 9), (800, 600, 7)])
def test_the_tables_fit_their_cards(page, width, height, least):
    page.size(width, height)
    page.wait(f"innerWidth === {width} && {TOO_WIDE.format('#tasks')} <= 0 && {SHOWN}.length >= {least}")
    assert {"name", "now", "share"} <= set(page.value(SHOWN))
    page.click("#more")
    page.wait(f"document.querySelector('#picker').open && {TOO_WIDE.format('#counters')} <= 0")


def test_columns_that_do_not_fit_are_shown_on_request(page):
    page.size(1366, 768)
    page.wait(f"innerWidth === 1366 && {SHOWN}.length < 14")
    assert "stddev_s" not in page.value(SHOWN)
    page.click("#all-columns")
    assert len(page.value(SHOWN)) == 14 and page.value(TOO_WIDE.format("#tasks")) > 0
    page.value("document.querySelector('#tasks th[data-key=stddev_s] button').click()")  # sorts by it
    page.click("#all-columns")
    shown = page.value(SHOWN)
    assert "stddev_s" in shown and len(shown) < 14 and page.value(TOO_WIDE.format("#tasks")) <= 0
    page.size(2600, 1080)
    page.wait(f"{SHOWN}.length === 14 && document.querySelector('#all-columns').classList.contains('hidden')")
    assert page.complaints() == []


def test_the_dark_scheme_is_dark(page):
    color = "getComputedStyle(document.body.parentElement).backgroundColor.match(/\\d+/g).map(Number)"
    assert min(page.value(color)) > 200
    page.dark(True)
    page.wait(f"Math.max(...{color}) < 60")


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
