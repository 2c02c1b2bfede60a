// ---- the parent of a slice ----------------------------------------------------------------------------------------
let parent_of = null, parent_timer = null;  // parent_of: the answer about `chosen`
const workers_in = row => row.workers ? row.workers[1] : 1;
async function load_parent(piece, px, py) {
  const mine = timeline, row = mine && mine.rows[piece[0]], slice = row && row.pieces[piece[1]];
  if (!slice) return;  // a newer answer has fewer
  const { worker } = row, [, begin, length] = slice, window_us = mine.window_s * 1e6;
  const fields = { parents: 1, worker, end: mine.end, before_us: window_us - begin - length / 2, window_us };
  try {
    const reply = await fetch("slice.json?" + new URLSearchParams(fields), { headers: { Authorization: "Bearer " + token }, cache: "no-store" });
    const answer = reply.ok && await reply.json();
    if (!answer || timeline !== mine || !chosen || chosen[0] !== piece[0] || chosen[1] !== piece[1]) return;
    parent_of = answer;
    draw_timeline();
    tip(explain_piece(chosen), px, py);
  } catch { /* the run has ended, or the connection is lost, which the next poll reports */ }
}
const task_text = id => `task ${id}`;  // as plx-trace find prints it
function explain_parent() {
  if (!parent_of || !parent_of.slice) return "";
  const { slice, parent } = parent_of, key = slice.key === null ? "" : `, key ${slice.key}`;
  if (!slice.task) return key + "\nits parent was not recorded: the page was not open yet";
  const own = `, ${task_text(slice.task)}${key}\n`, begin = timeline.rows[chosen[0]].pieces[chosen[1]][1];
  if (parent_of.join) return own + "made ready by several tasks: a group or when_all";
  if (!parent) return own + "made ready by no other task";
  const how = parent_of.several ? "last input from " : "parent: ";
  if (parent.name === null) return `${own}${how}${task_text(parent.task)}, whose slices are below 1 µs, still run, or are no longer kept`;
  return `${own}${how}${parent.name}, ${task_text(parent.task)}, on worker ${parent.worker}, begun ${show((begin - parent.begin) * 1e-6, "s")} before`;
}
// The slice of the parent, where it is visible, and a line from it to the child.
function draw_parent(g, w, child_x) {
  const parent = parent_of && parent_of.parent, row = parent && timeline.rows.find(r => r.worker !== undefined && r.worker === parent.worker);
  if (!row) return;
  const child = timeline.rows[chosen[0]], from = time_to_x(parent.begin, w), to = time_to_x(parent.begin + parent.length, w);
  g.strokeStyle = ink.accent, g.lineWidth = 2.5;
  const left = Math.max(gutter, from), right = Math.min(w, to);
  if (right > gutter && left < w) g.strokeRect(left, row.y + 1, Math.max(2, right - left), row_height - 2);
  g.lineWidth = 1.5, g.setLineDash([4, 3]), g.beginPath();
  g.moveTo(Math.max(gutter, Math.min(to, child_x)), row.y + row_height / 2), g.lineTo(child_x, child.y + row_height / 2), g.stroke(), g.setLineDash([]);
}

// ---- phases -------------------------------------------------------------------------------------------------------
// Intervals of the window in which many, or few, workers ran tasks: the segmentation of ./plx diagnose
// (python/parallax/performance/diagnosis/phases.py), of the time in slices by bin instead of samples of the idle time.
const phase_bins = 200, least_step = 0.25, least_length = 0.05, most_phases = 6;
function phases_of(rows, window_us) {
  const of = rows.filter(r => r.worker !== undefined || r.workers), n_workers = of.reduce((sum, r) => sum + workers_in(r), 0);
  const bin_us = window_us / phase_bins, first = Math.ceil(Math.max(0, ...of.map(r => r.from)) / bin_us), n = phase_bins - first;
  if (n_workers < 2 || n <= 10) return [];
  const busy = Array(n).fill(0), origin = first * bin_us;
  const each_part = (use, lowest, highest) => {  // of a piece within [lowest, highest)
    for (const r of of) for (const [name, begin, length, , share] of r.pieces) {
      const from = Math.max(begin, lowest), to = Math.min(begin + length, highest);
      if (to > from) use(name, from, to, (share || 1) * workers_in(r) / n_workers);
    }
  };
  each_part((name, from, to, share) => {
    for (let k = Math.floor((from - origin) / bin_us); k < n && origin + k * bin_us < to; ++k)
      busy[k] += share * (Math.min(to, origin + (k + 1) * bin_us) - Math.max(from, origin + k * bin_us)) / bin_us;
  }, origin, window_us);
  const many = two_means(busy);
  if (!many) return [];
  const starts = [];  // of phases
  for (let k = 0, end; k < n; k = end) {
    for (end = k + 1; end < n && many[end] === many[k]; ++end);
    const short = end - k < least_length * n || end - k < 2;
    if (!short && (!starts.length || many[starts[starts.length - 1].at] !== many[k])) starts.push({ bin: starts.length ? k : 0, at: k });
  }
  if (starts.length < 2 || starts.length > most_phases) return [];
  return starts.map(({ bin, at }, i) => {
    const end = i + 1 < starts.length ? starts[i + 1].bin : n, sums = new Map(), from = origin + bin * bin_us, to = origin + end * bin_us;
    each_part((name, a, b, share) => sums.set(name, (sums.get(name) || 0) + share * (b - a)), from, to);
    const main = [...sums].sort((a, b) => b[1] - a[1])[0];
    const mean = busy.slice(bin, end).reduce((sum, v) => sum + v, 0) / (end - bin);
    return { from, to, many: many[at], busy: mean * n_workers, of: n_workers, main: main ? main[0] : -1 };
  });
}
// Whether each value is in the upper of two groups, which leave the least scatter within; null if these are too similar.
function two_means(values) {
  const v = [...values].sort((a, b) => a - b), total = v.reduce((sum, x) => sum + x, 0);
  let below = 0, best = -1, cut = 0, step = 0;
  for (let i = 0; i + 1 < v.length; ++i) {
    below += v[i];
    const low = below / (i + 1), high = (total - below) / (v.length - i - 1), between = below * low + (total - below) * high;
    if (between > best) best = between, cut = i, step = high - low;
  }
  return step < least_step ? null : values.map(x => x > v[cut]);
}
const phase_name = p => `${p.many ? "many" : "few"} workers${p.main < 0 ? "" : `, "${timeline.names[p.main]}"`}`;
function draw_phases(g, w) {
  for (const p of timeline.phases || []) {
    const left = Math.max(gutter, time_to_x(p.from, w)), right = Math.min(w, time_to_x(p.to, w));
    if (right <= left) continue;
    g.globalAlpha = 0.16, g.fillStyle = p.many ? ink.series[0] : ink.series[1], g.fillRect(left, 0, right - left - 1, phase_height - 3);
    g.globalAlpha = 1;
    g.save(), g.beginPath(), g.rect(left, 0, right - left - 4, phase_height), g.clip();
    g.fillStyle = ink.text, g.textAlign = "left", g.fillText(`${digits(p.busy)} of ${p.of} busy: ${phase_name(p)}`, left + 4, (phase_height - 3) / 2 + 0.5), g.restore();
  }
}
function explain_phase(px, py) {
  const t = x_to_time(px, $("timeline").clientWidth), p = py < timeline.top && px >= gutter && timeline.phases.find(q => t >= q.from && t < q.to);
  return p && `phase: ${phase_name(p)}\n${digits(p.busy)} of ${p.of} workers in tasks, for ${show((p.to - p.from) * 1e-6, "s")}`;
}
