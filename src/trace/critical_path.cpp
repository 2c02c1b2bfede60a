#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/critical_path.hpp"
#include "trace/profile.hpp"

namespace plx::probe {
namespace {

using index = trace_graph::index;

double factor_of(name_factors factors, name_id name) { return name < factors.size() ? factors[name] : 1.0; }

/// Durations of slices multiplied by the factors.
class scaled {
 public:
  scaled(const trace_graph& g, name_factors f) : graph_(g), factors_(f) {}
  [[nodiscard]] double factor(const trace_graph::piece& p) const {
    return factors_.empty() ? 1.0 : factor_of(factors_, graph_.tasks()[p.task].name);
  }
  [[nodiscard]] double length(const trace_graph::piece& p) const {
    return factor(p) * static_cast<double>(p.end - p.begin);
  }
  /// From the begin of the link's source to the moment of the link; 0 for a join.
  [[nodiscard]] double way(const trace_graph::link& l) const {
    if (!graph_.is_piece(l.from)) return 0;
    const trace_graph::piece& p = graph_.pieces()[l.from];
    return factor(p) * static_cast<double>(l.when - p.begin);
  }

 private:
  const trace_graph& graph_;
  name_factors factors_;
};

/// The earliest begin of each node with unlimited workers, and the link that determines it.
struct longest_paths {
  std::vector<double> begin;
  std::vector<const trace_graph::link*> because;  // null for the first node of a path
  index last = trace_graph::none;                 // the last slice of the longest path
  double span = 0;

  longest_paths(const trace_graph& g, const scaled& times) : begin(g.node_count()), because(g.node_count()) {
    for (const index node : g.order()) {
      for (const trace_graph::link& l : g.links(node)) {
        const double at = begin[l.from] + times.way(l);
        if (because[node] != nullptr && at <= begin[node]) continue;
        begin[node] = at;
        because[node] = &l;
      }
      if (!g.is_piece(node)) continue;
      const double end = begin[node] + times.length(g.pieces()[node]);
      if (last == trace_graph::none || end > span) span = end, last = node;
    }
  }
};

/// Totals of each task type, by name id.
std::vector<path_kind> all_kinds(const trace_graph& g) {
  std::vector<path_kind> kinds;
  for (const trace_graph::task& t : g.tasks()) {
    if (t.name >= kinds.size()) kinds.resize(t.name + 1);
    path_kind& k = kinds[t.name];
    k.name = t.name;
    ++k.tasks;
    for (const trace_graph::piece& p : g.pieces_of(t)) {
      k.work += static_cast<double>(p.end - p.begin);
      if (p.ready != 0 && p.ready < p.begin) k.delay += static_cast<double>(p.begin - p.ready);
    }
  }
  return kinds;
}

/// Walks the longest path backwards from its end.
void walk(const trace_graph& g, const longest_paths& longest, critical_path& c, std::vector<path_kind>& kinds) {
  ticks left = 0;  // the moment at which the path leaves this slice
  if (longest.last != trace_graph::none) left = g.pieces()[longest.last].end;
  for (index node = longest.last; node != trace_graph::none;) {
    const trace_graph::piece& p = g.pieces()[node];
    path_kind& kind = kinds[g.tasks()[p.task].name];
    ++kind.on_path;
    kind.path += static_cast<double>(left - p.begin);
    c.path.push_back(node);
    const trace_graph::link* l = longest.because[node];
    while (l != nullptr && !g.is_piece(l->from)) l = longest.because[l->from];
    if (l != nullptr && p.begin > l->when) kind.path_delay += static_cast<double>(p.begin - l->when);
    if (l != nullptr) left = l->when;
    node = l == nullptr ? trace_graph::none : l->from;
  }
  std::reverse(c.path.begin(), c.path.end());
}

}  // namespace

critical_path find_critical_path(const trace_graph& g) {
  const longest_paths longest(g, scaled(g, {}));
  critical_path c;
  c.wall = static_cast<double>(g.wall());
  c.span = longest.span;
  std::vector<path_kind> kinds = all_kinds(g);
  walk(g, longest, c, kinds);
  for (const path_kind& k : kinds) {
    c.work += k.work;
    c.delay += k.delay;
    c.path_delay += k.path_delay;
    if (k.tasks != 0) c.kinds.push_back(k);
  }
  std::stable_sort(c.kinds.begin(), c.kinds.end(), [](const path_kind& a, const path_kind& b) {
    return a.path != b.path ? a.path > b.path : a.work > b.work;
  });
  return c;
}

double span_of(const trace_graph& g, name_factors factors) { return longest_paths(g, scaled(g, factors)).span; }

std::vector<what_if> predict_changes(const replay_model& m, const trace_graph& g, std::span<const name_id> names,
                                     double factor) {
  if (g.worker_count() == 0) return {};
  const double as_it_was = m.run().time;
  std::vector<what_if> answers;
  for (const name_id name : names) {
    std::vector<double> factors(name + std::size_t{1}, 1.0);
    factors[name] = factor;
    const double replayed = m.run({.factors = factors}).time;
    answers.push_back({name, factor, span_of(g, factors), as_it_was > 0 ? m.recorded() * replayed / as_it_was : 0.0});
  }
  return answers;
}

namespace {

double in_seconds(double t) { return t / ticks_per_second(); }
double share(double part, double all) { return all > 0 ? part / all : 0.0; }

const what_if* answer_for(const critical_path_report& r, name_id name) {
  const auto at = std::find_if(r.half.begin(), r.half.end(), [&](const what_if& w) { return w.name == name; });
  return at == r.half.end() ? nullptr : &*at;
}

std::string summary(const critical_path_report& r) {
  const critical_path& c = r.path;
  std::string text = fmt::format(
      "critical path {} of {} ({}), {} {}, delayed by {} in all\n"
      "work {}: average parallelism {:.2f}, achieved {:.2f} of {}\n",
      time_text(in_seconds(c.span)), time_text(in_seconds(c.wall)), share_text(share(c.span, c.wall)),
      count_text(c.path.size()), noun(c.path.size(), "slice"), time_text(in_seconds(c.path_delay)),
      time_text(in_seconds(c.work)), c.parallelism(), share(c.work, c.wall), plural(r.workers, "worker"));
  if (r.missing.any())
    text += fmt::format("the graph is incomplete ({} {} dropped, {} {} without a begin): the path may be longer\n",
                        count_text(r.missing.lost_records), noun(r.missing.lost_records, "record"),
                        count_text(r.missing.headless), noun(r.missing.headless, "task"));
  return text;
}

}  // namespace

critical_path_report report_critical_path(const trace_graph& g, const trace_data& d, std::size_t most_asked) {
  critical_path_report r{
      .path = find_critical_path(g), .half = {}, .workers = g.worker_count(), .missing = g.missing()};
  std::vector<name_id> names;
  for (const path_kind& k : r.path.kinds)
    if (names.size() < most_asked && k.path > 0) names.push_back(k.name);
  r.half = predict_changes(replay_model(g, d), g, names, 0.5);
  return r;
}

std::string critical_path_text(const critical_path_report& r, std::size_t rows) {
  std::string text = summary(r);
  if (r.path.kinds.empty()) return text;
  std::size_t width = 12;
  for (const path_kind& k : r.path.kinds) width = std::max(width, std::min<std::size_t>(name_of(k.name).size(), 38));
  text += fmt::format("{} {:>8} {:>7} {:>9} {:>8} {:>8}   {}\n", padded("task", width), "on path", "share", "slices",
                      "work", "delay", "with half the duration: path, run");
  std::size_t shown = 0;
  for (const path_kind& k : r.path.kinds) {
    if (shown == rows || k.path <= 0) break;
    ++shown;
    text += fmt::format("{} {} {} {} {} {}", padded(shortened(name_of(k.name), 38), width),
                        right(time_text(in_seconds(k.path)), 8), right(share_text(share(k.path, r.path.span)), 7),
                        right(count_text(k.on_path), 9), right(time_text(in_seconds(k.work)), 8),
                        right(time_text(in_seconds(k.path_delay)), 8));
    if (const what_if* w = answer_for(r, k.name); w != nullptr)
      text += fmt::format("   {:+.1f} %, {:+.1f} %", 100 * (share(w->span, r.path.span) - 1),
                          100 * (share(w->wall, r.path.wall) - 1));
    text += '\n';
  }
  if (shown < r.path.kinds.size())
    text +=
        fmt::format("and {} with little or no time on the path\n", plural(r.path.kinds.size() - shown, "task type"));
  return text;
}

result<void> write_critical_path_csv(const critical_path_report& r, const std::string& path) {
  std::string text = "name,tasks,work_s,on_path,path_s,path_share,delay_s,path_delay_s,half_span_s,half_wall_s\n";
  const auto out = std::back_inserter(text);
  for (const path_kind& k : r.path.kinds) {
    fmt::format_to(out, "{},{},{:.9g},{},{:.9g},{:.6f},{:.9g},{:.9g},", csv_field(name_of(k.name)), k.tasks,
                   in_seconds(k.work), k.on_path, in_seconds(k.path), share(k.path, r.path.span), in_seconds(k.delay),
                   in_seconds(k.path_delay));
    if (const what_if* w = answer_for(r, k.name); w != nullptr)
      fmt::format_to(out, "{:.9g},{:.9g}\n", in_seconds(w->span), in_seconds(w->wall));
    else
      text += ",\n";
  }
  return write_measurement(path, text);
}

result<void> write_critical_path_json(const critical_path_report& r, const std::string& path) {
  const critical_path& c = r.path;
  std::string text = fmt::format(
      "{{\"wall_s\":{:.9g},\"work_s\":{:.9g},\"span_s\":{:.9g},\"parallelism\":{:.9g},\"workers\":{},\"delay_s\":{:.9g}"
      ","
      "\"path_delay_s\":{:.9g},\"path_pieces\":{},\n\"missing\":{{\"records\":{},\"headless_tasks\":{},"
      "\"unfinished_tasks\":{},\"edges_with_an_unknown_end\":{},\"edges_against_time\":{}}},\n\"kinds\":[",
      in_seconds(c.wall), in_seconds(c.work), in_seconds(c.span), c.parallelism(), r.workers, in_seconds(c.delay),
      in_seconds(c.path_delay), c.path.size(), r.missing.lost_records, r.missing.headless, r.missing.unfinished,
      r.missing.unknown_edges, r.missing.against_time);
  const auto out = std::back_inserter(text);
  for (const path_kind& k : c.kinds) {
    fmt::format_to(
        out,
        "\n{{\"name\":{},\"tasks\":{},\"work_s\":{:.9g},\"on_path\":{},\"path_s\":{:.9g},\"path_share\":{:.6f},"
        "\"delay_s\":{:.9g},\"path_delay_s\":{:.9g}",
        json_text(name_of(k.name)), k.tasks, in_seconds(k.work), k.on_path, in_seconds(k.path), share(k.path, c.span),
        in_seconds(k.delay), in_seconds(k.path_delay));
    if (const what_if* w = answer_for(r, k.name); w != nullptr)
      fmt::format_to(out, ",\"if_half\":{{\"span_s\":{:.9g},\"wall_s\":{:.9g}}}", in_seconds(w->span),
                     in_seconds(w->wall));
    text += "},";
  }
  if (text.back() == ',') text.pop_back();
  return write_measurement(path, text + "]}\n");
}

}  // namespace plx::probe
