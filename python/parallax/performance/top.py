"""`parallax top`: a running program in a terminal. The screen is a list of lines made of (style, text) pieces, so that
it can be tested without a terminal; live_terminal.py shows it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ..text import plural

TOTAL = "/threads{locality#0/total}/"
TIME_PARTS = (("exec", "tasks"), ("overhead", "overhead"), ("background", "polling"), ("idle", "idle"))
PART_STYLES = ("blue", "yellow", "magenta", "dim")
TASK_STYLES = ("blue", "yellow", "green", "magenta", "cyan", "red", "bright_blue", "bright_green", "bright_magenta")
ORDERS = ("now", "share", "calls", "mean_s", "p99_s", "max_s", "idle_blame_s", "lock_blame_s", "name")


@dataclass
class State:
    """State kept between two answers."""

    state: str = "connecting"
    problem: str = ""
    data: dict = field(default_factory=dict)
    infos: list = field(default_factory=list)
    values: dict = field(default_factory=dict)
    rates: dict = field(default_factory=dict)  # growth per second of counters that only grow
    tasks: list = field(default_factory=list)
    history: dict = field(default_factory=dict)  # name -> the last numbers
    task_styles: dict = field(default_factory=dict)
    # Choices of the user.
    order: str = "now"
    view: str = "tasks"
    filter: str = ""
    typing: bool = False
    paused: bool = False
    scroll: int = 0

    def take(self, data: dict) -> None:
        """A new answer of /poll.json."""
        if "list" in data:
            self.infos = data["list"]
        before, then = dict(self.values), self.data.get("time_s")
        span = data["time_s"] - then if then is not None else 0
        self.values = {c["name"]: v for c, v in zip(self.infos, data.get("values", []))}
        if span > 0:
            self.rates = {
                c["name"]: (self.values[c["name"]] - before[c["name"]]) / span
                for c in self.infos
                if c["monotonic"] and _number(before.get(c["name"])) and _number(self.values.get(c["name"]))
            }
            self._remember("tasks", self.rates.get(TOTAL + "count/tasks"))
            self._remember("memory", self.values.get("/machine/memory/resident"))
        self._take_tasks(data.get("tasks", []), span)
        self.data = data
        self.state = data["state"]

    def _remember(self, name: str, value) -> None:
        self.history.setdefault(name, deque(maxlen=200)).append(value if _number(value) else 0)

    def _take_tasks(self, tasks: list, span: float) -> None:
        before = {t["name"]: t for t in self.tasks}
        for t in tasks:
            old = before.get(t["name"])
            t["spent"] = max(0.0, t["total_s"] - old["total_s"]) if old else 0.0
            t["rate"] = (t["calls"] - old["calls"]) / span if old and span > 0 else None
        whole = sum(t["spent"] for t in tasks)
        for t in tasks:
            t["now"] = t["spent"] / whole if whole > 0 else t["share"]
            self.task_styles.setdefault(t["name"], TASK_STYLES[len(self.task_styles) % len(TASK_STYLES)])
        self.tasks = tasks

    def mark(self, name: str) -> str:
        """A letter for a task where there are no colours."""
        place = list(self.task_styles).index(name)
        return "abcdefghijklmnopqrstuvwxyz"[place] if place < 26 else "*"

    def time_shares(self) -> list:
        """The parts of the workers' time since the last answer; since the start while there is only one."""
        parts = [self.rates.get(f"{TOTAL}time/{name}") for name, _ in TIME_PARTS]
        if not all(map(_number, parts)) or sum(parts) <= 0:
            parts = [self.values.get(f"{TOTAL}time/{name}") or 0.0 for name, _ in TIME_PARTS]
        whole = sum(parts)
        return [p / whole if whole > 0 else 0.0 for p in parts]

    def overhead_s(self):
        """Overhead per task since the last answer."""
        spent, tasks = (self.rates.get(TOTAL + n) for n in ("time/overhead", "count/tasks"))
        return spent / tasks if _number(spent) and tasks else self.values.get(TOTAL + "time/average-overhead")


def _number(value) -> bool:
    return isinstance(value, (int, float)) and value == value and abs(value) != float("inf")


# ---- numbers in few columns ---------------------------------------------------------------------------------------


def _scaled(value: float, steps) -> str:
    for size, unit in steps:
        if abs(value) >= size * 0.9995 or (size, unit) == steps[-1]:
            v = value / size
            return f"{v:.{0 if abs(v) >= 99.95 or v == 0 else 1 if abs(v) >= 9.995 else 2}f}{unit}"
    return ""


def short(value, unit: str = "1", ascii_only: bool = False) -> str:
    """At most nine columns: 12.6 k, 154 MiB, 4.10 ns."""
    if not _number(value):
        return "-"
    if unit == "bytes":
        return _scaled(value, ((2**40, " TiB"), (2**30, " GiB"), (2**20, " MiB"), (2**10, " KiB"), (1, " B")))
    if unit == "s":
        if value == 0:
            return "0 s"
        return _scaled(value, ((1, " s"), (1e-3, " ms"), (1e-6, " us" if ascii_only else " µs"), (1e-9, " ns")))
    if 0 < abs(value) < 1:
        return f"{value:.3g}"
    if abs(value) < 10000 and float(value).is_integer():
        return str(int(value))
    return _scaled(value, ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"), (1, "")))


def share(value) -> str:
    if not _number(value):
        return "-"
    return "0 %" if value == 0 else "<0.1 %" if value < 0.0005 else f"{100 * value:.1f} %"


def clock(time_s: float) -> str:
    t = int(time_s)
    hours = f"{t // 3600}:{t // 60 % 60:02d}" if t >= 3600 else f"{t // 60}"
    return f"{hours}:{t % 60:02d}"


def fit(text: str, width: int) -> str:
    """The text in exactly `width` columns."""
    return text.ljust(width) if len(text) <= width else text[: max(0, width - 1)] + "~"


# ---- the picture --------------------------------------------------------------------------------------------------


def frame(s: State, width: int, height: int, ascii_only: bool = False) -> list:
    """Lines of (style, text), at most `height` of at most `width` columns."""
    lines = [_headline(s, width)]
    if s.data:
        lines += _measures(s, width, ascii_only)
        lines += _timeline(s, width, max(0, height - len(lines) - 8), ascii_only)
        lines.append([])
        room = max(2, height - len(lines) - 1)
        lines += _tasks(s, width, room, ascii_only) if s.view == "tasks" else _counters(s, width, room, ascii_only)
    lines = lines[: height - 1]
    lines += [[] for _ in range(height - 1 - len(lines))]
    return lines + [_footer(s, width)]


def _cut(pieces: list, width: int) -> list:
    """The pieces as far as they fit."""
    out = []
    for style, text in pieces:
        if width <= 0:
            break
        out.append((style, text[:width]))
        width -= len(text)
    return out


def _headline(s: State, width: int) -> list:
    d = s.data
    words = {"running": ("green", "running"), "ended": ("yellow", "run ended"), "lost": ("red", "connection lost")}
    style, word = ("dim", "paused") if s.paused and s.state == "running" else words.get(s.state, ("dim", s.state))
    line = [("bold", d.get("program") or "parallax top"), ("", "  "), (style, word)]
    if d:
        line.append(("", f"  {clock(d['time_s'])}  {plural(d['workers'], 'worker')}  measuring {share(d['measurement_cost'])}"))
        line.append(("dim", f"  {d['host']} {d['pid']}"))
    if s.problem:
        line = line[:3] + [("", "  " + s.problem)]
    return _cut(line, width)


def _bar(shares: list, width: int, ascii_only: bool) -> list:
    """One line filled in proportion; what is left by rounding goes to the largest."""
    columns = [int(round(p * width)) for p in shares]
    columns[columns.index(max(columns))] += width - sum(columns)
    marks = "#o+." if ascii_only else "██▓░"
    return [(PART_STYLES[i], marks[i] * n) for i, n in enumerate(columns) if n > 0]


def spark(values, width: int, ascii_only: bool) -> str:
    """The last values as a little curve from 0."""
    marks = " .:-=+*#" if ascii_only else " ▁▂▃▄▅▆▇█"
    last = list(values)[-width:]
    most = max(last, default=0)
    return "".join(marks[round(v / most * (len(marks) - 1))] if most > 0 else marks[0] for v in last)


def _measures(s: State, width: int, ascii_only: bool) -> list:
    shares = s.time_shares()
    words = [(PART_STYLES[i], f"{label} {share(shares[i])}  ") for i, (_, label) in enumerate(TIME_PARTS)]
    room = max(10, width - 9 - 1 - sum(len(t) for _, t in words))
    first = [("dim", "workers  "), *_bar(shares, room, ascii_only), ("", " "), *words]
    lines = [_cut(first, width)]
    for name, label, text in (
        ("tasks", "tasks/s", short(s.rates.get(TOTAL + "count/tasks"))),
        ("memory", "memory", short(s.values.get("/machine/memory/resident"), "bytes")),
    ):
        extra = f"  overhead {short(s.overhead_s(), 's', ascii_only)} a task" if name == "tasks" else ""
        curve = spark(s.history.get(name, ()), max(0, width - 21 - len(extra)), ascii_only)
        lines.append(_cut([("dim", fit(label, 9)), ("bold", fit(text, 11)), ("cyan", curve), ("dim", extra)], width))
    return lines


def _timeline(s: State, width: int, room: int, ascii_only: bool) -> list:
    """A line per worker, as many as there is room for: the task that took most of each column's time."""
    t = s.data.get("timeline")
    if not t or room < 1:
        return []
    us, columns = t["window_s"] * 1e6, max(10, width - 9)
    shown = t["workers"] if len(t["workers"]) <= room else t["workers"][: room - 1]
    lines = []
    for i, pieces in enumerate(shown):
        best = [(0.0, None)] * columns
        for name, begin, length, _ in pieces:
            first, last = begin / us * columns, (begin + length) / us * columns
            for c in range(max(0, int(first)), min(columns, int(last) + 1)):
                part = min(last, c + 1) - max(first, c)
                if part > best[c][0]:
                    best[c] = (part, t["names"][name])
        row = []
        for part, name in best:
            mark = " " if name is None else "." if part <= 0.25 else s.mark(name) if ascii_only else "▆"
            row.append((s.task_styles.get(name, "dim"), mark))
        label = f"{t['window_s']:.3g} s" if i == 0 else ""
        lines.append([("dim", fit(label, 5) + fit(str(i), 4)), *_merged(row)])
    if len(shown) < len(t["workers"]):
        lines.append([("dim", f"         and {len(t['workers']) - len(shown)} more workers")])
    return [_cut(line, width) for line in lines]


def _merged(row: list) -> list:
    out: list = []
    for style, text in row:
        if out and out[-1][0] == style:
            out[-1] = (style, out[-1][1] + text)
        else:
            out.append((style, text))
    return out


def _page(s: State, rows: list, room: int) -> list:
    s.scroll = max(0, min(s.scroll, len(rows) - room))
    return rows[s.scroll : s.scroll + room]


def _fits(s: State, text: str) -> bool:
    return all(word in text.lower() for word in s.filter.lower().split())


TASK_COLUMNS = (
    ("calls", "calls", 8, lambda t, a: short(t["calls"])), ("rate", "calls/s", 8, lambda t, a: short(t["rate"])),
    ("now", "now", 7, lambda t, a: share(t["now"])), ("share", "share", 7, lambda t, a: share(t["share"])),
    ("total_s", "total", 8, lambda t, a: short(t["total_s"], "s", a)),
    ("mean_s", "mean", 8, lambda t, a: short(t["mean_s"], "s", a)),
    ("idle_blame_s", "blame", 8, lambda t, a: short(t.get("idle_blame_s"), "s", a)),
    ("p99_s", "p99", 8, lambda t, a: short(t.get("p99_s"), "s", a)),
    ("lock_blame_s", "locks", 8, lambda t, a: short(t.get("lock_blame_s"), "s", a)),
    ("p50_s", "p50", 8, lambda t, a: short(t.get("p50_s"), "s", a)),
    ("max_s", "max", 8, lambda t, a: short(t["max_s"], "s", a)),
)


def _tasks(s: State, width: int, room: int, ascii_only: bool) -> list:
    columns = list(TASK_COLUMNS)
    while len(columns) > 2 and width - sum(c[2] + 1 for c in columns) < 18:
        columns.pop()  # a narrow terminal has the first ones
    name_width = max(8, width - sum(c[2] + 1 for c in columns))
    head = fit(f"task ({len(s.tasks)} kinds)", name_width) + "".join(" " + label.rjust(w) for _, label, w, _ in columns)
    tasks = [t for t in s.tasks if _fits(s, t["name"])]
    tasks.sort(key=lambda t: (t["name"] if s.order == "name" else -(t.get(s.order) or 0), t["name"]))
    lines = [[("reverse", fit(head, width))]]
    for t in _page(s, tasks, room - 1):
        numbers = "".join(" " + of(t, ascii_only).rjust(w) for _, _, w, of in columns)
        mark = s.mark(t["name"]) if ascii_only else "■"
        lines.append([(s.task_styles[t["name"]], mark + " "), ("", fit(t["name"], name_width - 2) + numbers)])
    return [_cut(line, width) for line in lines]


def _counters(s: State, width: int, room: int, ascii_only: bool) -> list:
    name_width = max(20, width - 24)
    lines = [[("reverse", fit(fit(f"counter ({len(s.infos)})", name_width) + "value".rjust(12) + "per s".rjust(12), width))]]
    infos = [c for c in s.infos if _fits(s, c["name"] + " " + c["help"])]
    for c in _page(s, infos, room - 1):
        value, rate = s.values.get(c["name"]), s.rates.get(c["name"])
        numbers = short(value, c["unit"], ascii_only).rjust(12) + short(rate, c["unit"], ascii_only).rjust(12)
        lines.append(_cut([("", fit(c["name"], name_width) + (numbers if _number(rate) else numbers[:12]))], width))
    return lines


def _footer(s: State, width: int) -> list:
    if s.typing:
        return _cut([("reverse", fit(f"filter: {s.filter}_   (Enter: done, Esc: no filter)", width))], width)
    what = "tasks" if s.view == "counters" else "counters"
    keys = f"q quit  s order ({s.order})  c {what}  p pause  up/down  / {s.filter or 'filter'}"
    return _cut([("dim", keys)], width)


# ---- keys ---------------------------------------------------------------------------------------------------------


def press(s: State, key: str) -> bool:
    """Does what a key means; False for the one that quits."""
    if s.typing:
        if key in ("enter", "escape"):
            s.typing = False
            s.filter = s.filter if key == "enter" else ""
        elif key == "backspace":
            s.filter = s.filter[:-1]
        elif len(key) == 1 and key.isprintable():
            s.filter += key
        return True
    if key in ("q", "Q"):
        return False
    if key == "s":
        s.order = ORDERS[(ORDERS.index(s.order) + 1) % len(ORDERS)]
    elif key == "c":
        s.view, s.scroll = ("counters" if s.view == "tasks" else "tasks"), 0
    elif key == "p" and s.state == "running":
        s.paused = not s.paused
    elif key == "/":
        s.typing, s.scroll = True, 0
    elif key == "escape":
        s.filter = ""
    elif key in ("up", "down", "pageup", "pagedown"):
        s.scroll += {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}[key]
        s.scroll = max(0, s.scroll)
    return True


def plain(s: State, width: int = 100) -> str:
    """All of it once, without colours: for a pipe."""
    lines = frame(s, width, 14 + len(s.data.get("timeline", {}).get("workers", [])) + len(s.tasks), ascii_only=True)
    return "\n".join("".join(text for _, text in line).rstrip() for line in lines[:-1]).rstrip()
