#include "probe/export/graph_dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "base/file.hpp"
#include "probe/critical_path.hpp"
#include "probe/export/units.hpp"

namespace plx::probe {
namespace {

using index = trace_graph::index;

/// DOT's texts escape quotes and backslashes; \n is a new line.
std::string dot_text(std::string_view text) {
  std::string quoted;
  for (const char c : shortened(text, 40)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted;
}

/// From white to orange.
std::string colour(double share) {
  return fmt::format("#ff{:02x}{:02x}", 0xff - static_cast<int>(90 * share), 0xff - static_cast<int>(200 * share));
}

constexpr const char* heading =
    "digraph tasks {\n  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=11];\n"
    "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#777777\"];\n";

/// For each node, the kinds of tasks that lead to it through joins: sorted names.
std::vector<std::vector<name_id>> kinds_through_joins(const trace_graph& g) {
  const index n_pieces = static_cast<index>(g.pieces().size());
  std::vector<std::vector<name_id>> kinds(g.node_count() - n_pieces);
  for (const index node : g.order()) {
    if (g.is_piece(node)) continue;
    std::vector<name_id>& mine = kinds[node - n_pieces];
    for (const trace_graph::link& l : g.links(node)) {
      if (g.is_piece(l.from))
        mine.push_back(g.tasks()[g.pieces()[l.from].task].name);
      else
        mine.insert(mine.end(), kinds[l.from - n_pieces].begin(), kinds[l.from - n_pieces].end());
      if (mine.size() < 64) continue;
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    }
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  }
  return kinds;
}

/// How many tasks of `second` waited for some of `first`.
std::map<std::pair<name_id, name_id>, std::uint64_t> kind_edges(const trace_graph& g) {
  const index n_pieces = static_cast<index>(g.pieces().size());
  const auto joins = kinds_through_joins(g);
  std::map<std::pair<name_id, name_id>, std::uint64_t> edges;
  std::vector<name_id> from;
  for (index t = 0; t < g.tasks().size(); ++t) {
    from.clear();
    const trace_graph::task& task = g.tasks()[t];
    for (index node = task.first_piece; node < task.first_piece + task.n_pieces; ++node) {
      for (const trace_graph::link& l : g.links(node)) {
        if (!g.is_piece(l.from))
          from.insert(from.end(), joins[l.from - n_pieces].begin(), joins[l.from - n_pieces].end());
        else if (g.pieces()[l.from].task != t)
          from.push_back(g.tasks()[g.pieces()[l.from].task].name);
      }
    }
    std::sort(from.begin(), from.end());
    from.erase(std::unique(from.begin(), from.end()), from.end());
    for (const name_id f : from) ++edges[{f, task.name}];
  }
  return edges;
}

}  // namespace

std::string task_graph_dot(const trace_graph& g) {
  const critical_path path = find_critical_path(g);
  std::vector<bool> critical(g.tasks().size());
  for (const index p : path.path) critical[g.pieces()[p].task] = true;
  ticks longest = 1;
  for (const trace_graph::task& t : g.tasks()) longest = std::max(longest, g.length_of(t));
  std::string text = heading;
  const auto out = std::back_inserter(text);
  for (index t = 0; t < g.tasks().size(); ++t) {
    const trace_graph::task& task = g.tasks()[t];
    const ticks length = g.length_of(task);
    fmt::format_to(out, "  t{} [label=\"{}", t, dot_text(name_of(task.name)));
    if (task.key != no_key) fmt::format_to(out, " #{}", task.key);
    fmt::format_to(out, "\\n{}\", fillcolor=\"{}\"{}];\n", time_text(seconds(length)),
                   colour(static_cast<double>(length) / static_cast<double>(longest)),
                   critical[t] ? ", penwidth=3" : "");
  }
  for (index t = 0; t < g.tasks().size(); ++t)
    for (const index p : g.parents(t))
      fmt::format_to(out, "  t{} -> t{}{};\n", p, t,
                     critical[p] && critical[t] ? " [penwidth=2.5, color=\"#000000\"]" : "");
  return text + "}\n";
}

std::string kind_graph_dot(const trace_graph& g) {
  const critical_path path = find_critical_path(g);
  double most = 1;
  for (const path_kind& k : path.kinds) most = std::max(most, k.work);
  std::string text = heading;
  const auto out = std::back_inserter(text);
  for (const path_kind& k : path.kinds) {
    fmt::format_to(out, "  n{} [label=\"{}\\n{} tasks, {}\\n{} of the critical path\", fillcolor=\"{}\"];\n", k.name,
                   dot_text(name_of(k.name)), count_text(k.tasks), time_text(k.work / ticks_per_second()),
                   share_text(path.span > 0 ? k.path / path.span : 0), colour(k.work / most));
  }
  for (const auto& [ends, n] : kind_edges(g))
    fmt::format_to(out, "  n{} -> n{} [label=\"{}\"];\n", ends.first, ends.second, count_text(n));
  return text + "}\n";
}

result<void> write_graph_dot(const trace_graph& g, const std::string& path, std::size_t most_single) {
  return write_file(path, g.tasks().size() <= most_single ? task_graph_dot(g) : kind_graph_dot(g));
}

}  // namespace plx::probe
