// ---- the timeline -------------------------------------------------------------------------------------------------
const windows = [0.02, 0.1, 0.5, 2, 10];
let window_s = 2, timeline = null, chosen = null;  // chosen: [row, index] of the slice with a tooltip
// The part of the loaded window that is drawn, as shares of it. While `following`, the window is the newest one and the
// view is all of it. Otherwise the view may also be wider, until the slices of the part that it shows have been loaded.
let view = [0, 1], following = true, newest = null, loading = null;
const least_view_s = 2e-5, most_view_s = 60;
const length_text = s => s >= 1 ? s + " s" : s * 1000 + " ms";
for (const s of windows) {
  const b = make_element("button", { textContent: length_text(s) });
  b.setAttribute("aria-pressed", s === window_s);
  b.onclick = () => {
    window_s = s;
    for (const other of $("windows").children) other.setAttribute("aria-pressed", other === b);
    follow();
  };
  $("windows").append(b, " ");
}
let gutter = 34, row_height = 26;
// At most this many rows of workers: of several workers each, if there are more of them. `range`: the first one and the
// number of those that are shown; null: all.
const most_rows = 32;
let range = null;
const timeline_fields = () => ({ parents: 1, rows: most_rows, ...(range ? { first: range[0], count: range[1] } : {}) });
// Rows: the workers, then the streams of each device under its name.
function take_timeline(t) {
  timeline = t, parent_of = null;
  const first = t.first || 0, group = t.group || 1, of = range ? range[1] : t.of;
  t.rows = group > 1 ? t.workers.map((bins, i) => group_row(t, bins, first + i * group, Math.min(group, of - i * group), t.from[i]))
    : t.workers.map((pieces, i) => ({ pieces, from: t.from[i], label: first + i, who: "worker " + (first + i), worker: first + i }));
  gutter = group > 1 ? 56 : 34;
  t.phases = phases_of(t.rows, t.window_s * 1e6);
  t.lanes.forEach((lane, i) => {
    const [device, stream] = lane.split(/, (?=[^,]*$)/), opens = !i || !t.lanes[i - 1].startsWith(device + ", ");
    t.rows.push({ pieces: t.lane_rows[i], from: t.lane_from[i], label: stream.replace(/^stream /, ""), who: lane, device: opens ? device : "" });
  });
}
// The bins of several workers as pieces of which the last number is the share of the workers' time.
function group_row(t, bins, first, n, from) {
  const pieces = [];
  for (let k = 0, bin = 0; k < bins.length; ++bin) {
    const share = bins[k++];
    if (share) pieces.push([bins[k++], bin * t.bin_us, t.bin_us, 0, share / 100]);
  }
  return { pieces, from, label: n > 1 ? `${first}–${first + n - 1}` : first, who: n > 1 ? `workers ${first} to ${first + n - 1}` : `worker ${first}`, workers: [first, n] };
}
const heading_height = 17, phase_height = 17;
function place_rows() {
  const n = timeline.rows.length;
  timeline.top = timeline.phases && timeline.phases.length ? phase_height : 0;
  row_height = n <= 4 ? 30 : n <= 16 ? 20 : 14;
  let y = timeline.top;
  for (const r of timeline.rows) y += r.device ? heading_height : 0, r.y = y, y += row_height;
  return y;
}
/// Microseconds of the window to pixels, and back.
const time_scale = w => (w - gutter) / (timeline.window_s * 1e6 * (view[1] - view[0]));
const time_to_x = (t, w) => gutter + (t - timeline.window_s * 1e6 * view[0]) * time_scale(w);
const x_to_time = (px, w) => timeline.window_s * 1e6 * view[0] + (px - gutter) / time_scale(w);
function set_view(from, size) {
  const share = s => s / timeline.window_s, begin = share(timeline.window_s - timeline.end_s);  // that of the run
  const end = Math.max(1, share((last ? last.time_s : 0) - timeline.end_s) + 1);
  size = Math.max(share(least_view_s), Math.min(share(most_view_s), end - begin, size));
  from = Math.max(begin, Math.min(end - size, from));
  view = [from, from + size], following = false;
  draw_timeline();
  load_soon();
}
function load_soon() {
  clearTimeout(loading);
  if (!following && !drag) loading = setTimeout(load_view, 120);
}
// Fetches the slices of the part that is shown, at its own resolution.
async function load_view() {
  const mine = view, begin_s = timeline.end_s - timeline.window_s, [from_s, to_s] = view.map(part => (begin_s + part * timeline.window_s).toFixed(7));
  try {
    const reply = await fetch("timeline.json?" + new URLSearchParams({ from_s, to_s, ...timeline_fields() }), { headers: { Authorization: "Bearer " + token }, cache: "no-store" });
    const part = reply.ok && await reply.json();
    if (!part || view !== mine || drag) return;  // it has moved since, or will
    take_timeline(part), chosen = null, view = [0, 1];
    draw_timeline();
  } catch { /* the run has ended, or the connection is lost, which the next poll reports: what is there stays */ }
}
function follow() {
  clearTimeout(loading);
  if (newest) take_timeline(newest);
  view = [0, 1], following = true, chosen = null;
  draw_timeline();
  poll_now();
}
$("follow").onclick = () => follow();
// Shows some of the workers, or all.
function show_workers(some) {
  range = some, newest = null;
  $("all-workers").classList.toggle("hidden", !range);
  if (following && !paused && !ended) return poll_now();
  following = false;
  load_view();
}
$("all-workers").onclick = () => show_workers(null);
function zoom_view(factor, at) {
  set_view(at - (at - view[0]) * factor, (view[1] - view[0]) * factor);
}
// Slices of other task types are pale.
function passes_filter(name) {
  return $("task-filter").value.toLowerCase().split(/\s+/).every(word => name.toLowerCase().includes(word));
}
function draw_timeline() {
  if (!timeline) return;
  const [g, w, h] = surface($("timeline"), place_rows() + 16);
  $("timeline-title").textContent = timeline.lanes.length ? "Workers and devices" : "Workers";
  const begin_s = timeline.end_s - timeline.window_s, shown_s = timeline.window_s * (view[1] - view[0]);
  const moment = share => +(begin_s + share * timeline.window_s).toFixed(shown_s > 1 ? 3 : shown_s > 1e-3 ? 6 : 8) + " s";
  $("span").textContent = following ? "the last " + length_text(timeline.window_s >= 1 ? +timeline.window_s.toFixed(3) : +timeline.window_s.toFixed(4))
    : `${show(shown_s, "s")} from ${moment(view[0])} of the run on`;
  $("follow").classList.toggle("hidden", following);
  const us = timeline.window_s * 1e6, scale = time_scale(w), x = t => time_to_x(t, w);
  const fades = timeline.names.map(name => !passes_filter(name));
  const oldest = Math.max(0, ...timeline.from);
  $("kept").textContent = (range ? `; workers ${range[0]} to ${range[0] + timeline.workers.length - 1} of ${timeline.of}` : timeline.group > 1 ? `; ${timeline.of} workers, ${timeline.group} in a row` : "") +
    (oldest > 0 ? `; slices of ${following ? "the last " + show(timeline.window_s - oldest * 1e-6, "s") : "its newer part"} are kept` : "") +
    (timeline.every > 1 ? "; short slices are sampled" : "");
  g.textBaseline = "middle";
  draw_phases(g, w);
  timeline.rows.forEach(({ pieces, from, label, y, device }) => {
    const known = Math.max(gutter, Math.min(w, x(from)));
    if (device) g.fillStyle = ink.muted, g.textAlign = "left", g.fillText(device, 2, y - heading_height / 2 + 1);
    g.fillStyle = ink.grid, g.fillRect(known, y + 2, w - known, row_height - 4);
    g.strokeStyle = ink.grid, g.lineWidth = 1, g.beginPath();  // hatched: overwritten
    for (let k = gutter; k < known; k += 8) g.moveTo(k, y + row_height - 2), g.lineTo(Math.min(k + row_height - 4, known), y + row_height - 2 - Math.min(row_height - 4, known - k));
    g.stroke();
    g.fillStyle = ink.muted, g.textAlign = "right", g.fillText(label, gutter - 8, y + row_height / 2);
    g.save(), g.beginPath(), g.rect(gutter, y, w - gutter, row_height), g.clip();
    const shown = pieces.filter(([, begin, length]) => x(begin) < w && x(begin + length) > gutter - 1);
    for (const [name, begin, length, count, share] of shown) {
      const height = (row_height - 4) * (share || 1), room = share ? -0.5 : length * scale > 4 ? 0.6 : 0;  // groups have no gaps
      g.fillStyle = task_color(timeline.names[name]);
      g.globalAlpha = fades[name] ? 0.12 : count > 1 ? 0.72 : 1;
      g.fillRect(x(begin), y + row_height - 2 - height, Math.max(0.6, length * scale - room), height);
    }
    g.globalAlpha = 1;
    if (row_height >= 20) for (const [name, begin, length, count] of shown) {  // names where they fit
      const left = Math.max(gutter, x(begin)), room = x(begin + length) - left - 8, text = timeline.names[name];
      if (count !== 1 || room < 30 || fades[name]) continue;
      g.save(), g.beginPath(), g.rect(left, y, room + 6, row_height), g.clip();
      g.fillStyle = dark.matches ? "#10141a" : "#fff", g.textAlign = "left", g.fillText(text, left + 4, y + row_height / 2), g.restore();
    }
    g.restore();
  });
  if (chosen) {
    const { pieces, y } = timeline.rows[chosen[0]], [, begin, length] = pieces[chosen[1]], left = Math.max(gutter, x(begin));
    g.strokeStyle = ink.text, g.lineWidth = 1.5, g.strokeRect(left, y + 2, Math.max(2, Math.min(w, x(begin + length)) - left), row_height - 4);
    draw_parent(g, w, left);
  }
  const ago = share => !following ? moment(share) : share >= 1 ? "now" : "−" + length_text(+(timeline.window_s * (1 - share)).toPrecision(4));
  g.fillStyle = ink.muted, g.textAlign = "left", g.fillText(ago(view[0]), gutter, h - 7);
  g.textAlign = "center", g.fillText(ago((view[0] + view[1]) / 2), gutter + (w - gutter) / 2, h - 7);
  g.textAlign = "right", g.fillText(ago(view[1]), w, h - 7);
  draw_legend(us);
}
function draw_legend(us) {
  const of_lanes = timeline.lane_rows.map(pieces => ({ pieces })), of_workers = timeline.rows.slice(0, timeline.workers.length);
  const entries = [[of_workers, 8, ""], [of_lanes, 6, "streams:"]].flatMap(([rows, at_most, who]) => {
    const sums = new Map(), whole = us * rows.reduce((sum, r) => sum + workers_in(r), 0);
    for (const r of rows) for (const [name, , length, , share] of r.pieces) sums.set(name, (sums.get(name) || 0) + length * (share || 1) * workers_in(r));
    const most = [...sums].sort((a, b) => b[1] - a[1]).slice(0, at_most).map(([name, sum]) => {
      const swatch = make_element("span", { className: "swatch" });
      swatch.style.background = task_color(timeline.names[name]);
      return make_element("span", { title: timeline.names[name] }, swatch, `${timeline.names[name]} ${percent(sum / whole)}`);
    });
    return most.length && who ? [make_element("span", { textContent: who }), ...most] : most;
  });
  $("legend").replaceChildren(...entries);
  if (!entries.length) $("legend").textContent = "no slices of a microsecond or longer in this interval";
}
function piece_at(px, py) {
  if (!timeline) return null;
  const w = $("timeline").clientWidth, row = timeline.rows.findIndex(r => py >= r.y && py < r.y + row_height);
  const t = x_to_time(px, w), slack = 1.5 / time_scale(w);
  if (row < 0 || px < gutter) return null;
  const i = timeline.rows[row].pieces.findIndex(([, b, l]) => t >= b - slack && t <= b + l + slack);
  return i < 0 ? null : [row, i];
}
function explain_piece(c) {
  const { pieces, who } = timeline.rows[c[0]], [name, begin, length, count, share] = pieces[c[1]], from = timeline.window_s - begin * 1e-6;
  if (share) return `${who}, ${following ? show(from, "s") + " ago" : `at ${+(timeline.end_s - from).toFixed(7)} s`}, for ${show(length * 1e-6, "s")}\n${coarse(share)} of their time in tasks, most of it in ${timeline.names[name]}\na click shows these workers`;
  return `${timeline.names[name]}\n${who}, ${following ? show(from, "s") + " ago" : `at ${+(timeline.end_s - from).toFixed(7)} s`}\n` + (count > 1 ? `${count} short slices, ${show(length * 1e-6, "s")} in total, most of it in ${timeline.names[name]}` : show(length * 1e-6, "s") + explain_parent());
}
function tip(text, px, py) {
  const t = $("tip");
  t.style.visibility = text ? "visible" : "hidden";
  if (!text) return;
  t.textContent = text;
  t.style.left = Math.max(4, Math.min(px + 14, innerWidth - t.offsetWidth - 8)) + "px";
  t.style.top = Math.max(4, Math.min(py + 16, innerHeight - t.offsetHeight - 8)) + "px";
}
// The wheel zooms at the pointer; dragging, and the wheel with Shift, move; a double click returns to the newest slices.
$("timeline").addEventListener("wheel", e => {
  if (!timeline) return;
  const w = $("timeline").clientWidth, size = view[1] - view[0], across = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
  if (following && !across && e.deltaY > 0) return;  // nothing to do: the page scrolls
  e.preventDefault();
  if (across) set_view(view[0] + (e.deltaX || e.deltaY) / (w - gutter) * size, size);
  else zoom_view(Math.exp(0.002 * e.deltaY), x_to_time(e.offsetX, w) / (timeline.window_s * 1e6));
}, { passive: false });
let drag = null, dragged = false;  // drag: the pointer and the view when it began
$("timeline").onpointerdown = e => { drag = [e.offsetX, view[0]], dragged = false; $("timeline").setPointerCapture(e.pointerId); };
$("timeline").onpointermove = e => {
  const size = view[1] - view[0];
  if (drag && timeline && Math.abs(e.offsetX - drag[0]) + !following > 3) dragged = true, set_view(drag[1] - (e.offsetX - drag[0]) / ($("timeline").clientWidth - gutter) * size, size);
};
$("timeline").onpointerup = $("timeline").onpointercancel = () => { drag = null; load_soon(); };
$("timeline").ondblclick = follow;
$("timeline").onclick = e => {
  const row = timeline && !dragged && timeline.rows.find(r => e.offsetY >= r.y && e.offsetY < r.y + row_height);
  if (row && row.workers) tip(""), chosen = null, show_workers(row.workers);
};
$("timeline").onmousemove = e => { choose(piece_at(e.offsetX, e.offsetY), e.clientX, e.clientY); if (!chosen && timeline) tip(explain_phase(e.offsetX, e.offsetY), e.clientX, e.clientY); };
$("timeline").onmouseleave = $("timeline").onblur = () => choose(null, 0, 0);
// The slice with a tooltip. Its parent is requested when the pointer rests.
function choose(piece, px, py) {
  const same = chosen && piece && chosen[0] === piece[0] && chosen[1] === piece[1];
  chosen = piece;
  if (!same) parent_of = null, clearTimeout(parent_timer);
  draw_timeline();
  tip(chosen && explain_piece(chosen), px, py);
  if (!chosen || same) return;
  const { pieces, worker } = timeline.rows[chosen[0]];
  if (worker !== undefined && pieces[chosen[1]][3] === 1 && timeline.end) parent_timer = setTimeout(() => load_parent(piece, px, py), 100);
}
$("timeline").onkeydown = e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;  // shortcuts of the browser
  if (timeline && (e.key === "+" || e.key === "-")) return zoom_view(e.key === "+" ? 0.5 : 2, (view[0] + view[1]) / 2);
  if (timeline && e.key === "0") return follow();
  if (e.key === "Enter" && chosen && timeline.rows[chosen[0]].workers) return show_workers(timeline.rows[chosen[0]].workers);
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[e.key];
  if (!step || !timeline || !timeline.rows.length) return;
  e.preventDefault();
  const clamp = (v, n) => Math.max(0, Math.min(v, n - 1));
  const row = clamp((chosen ? chosen[0] : 0) + step[0], timeline.rows.length), { pieces, y } = timeline.rows[row];
  const next = pieces.length ? [row, chosen ? clamp(chosen[1] + step[1], pieces.length) : pieces.length - 1] : null;
  const box = $("timeline").getBoundingClientRect(), x = next ? time_to_x(pieces[next[1]][1], box.width) : 0;
  choose(next, box.left + x, box.top + y + row_height);
};
