#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/critical_path.hpp"
#include "trace/profile.hpp"
#include "trace/task_plots.hpp"

namespace plx::probe {
namespace {

/// The tasks of a worker; empty for a device.
std::span<const trace_slice> tasks_of(const trace_data& data, std::size_t worker) {
  if (data.is_device(worker)) return {};
  return data.workers[worker];
}

}  // namespace

concurrency_counter::concurrency_counter(std::size_t cells, std::size_t most_names)
    : cells_(cells), most_names_(most_names) {
  PLX_ASSERT(cells > 0, cells);
}

void concurrency_counter::survey(name_id name, ticks begin, ticks end) {
  begin_ = std::min(begin_, begin), end_ = std::max(end_, end);
  if (totals_.size() <= name) totals_.resize(name + std::size_t{1}, -1);
  totals_[name] = std::max(0.0, totals_[name]) + static_cast<double>(ticks_between(begin, end));
}

/// The largest ones, largest first.
void concurrency_counter::choose_names() {
  std::vector<name_id> all;
  for (name_id n = 0; n < totals_.size(); ++n)
    if (totals_[n] >= 0) all.push_back(n);
  std::stable_sort(all.begin(), all.end(), [this](name_id a, name_id b) { return totals_[a] > totals_[b]; });
  all.resize(std::min(all.size(), most_names_));
  row_of_.assign(totals_.size(), most_names_);
  for (std::size_t i = 0; i < all.size(); ++i) row_of_[all[i]] = i;
  found_.names = std::move(all);
  found_.running.assign(found_.names.size(), std::vector<double>(cells_, 0.0));
  found_.other.assign(cells_, 0);
}

/// Adds the slice's time to the cells that it overlaps, as a share of each cell.
void concurrency_counter::add(name_id name, ticks begin, ticks end) {
  if (found_.other.empty() && end_ > begin_) choose_names();
  if (end <= begin || name >= row_of_.size() || begin < begin_) return;
  std::vector<double>& row = row_of_[name] < most_names_ ? found_.running[row_of_[name]] : found_.other;
  const double width = static_cast<double>(end_ - begin_) / static_cast<double>(cells_);
  const double from = static_cast<double>(begin - begin_) / width, to = static_cast<double>(end - begin_) / width;
  const std::size_t first = std::min(static_cast<std::size_t>(from), cells_ - 1);
  const std::size_t last = std::min(static_cast<std::size_t>(to), cells_ - 1);
  for (std::size_t c = first; c <= last; ++c) {
    const double low = std::max(from, static_cast<double>(c)), high = std::min(to, static_cast<double>(c + 1));
    row[c] += std::max(0.0, high - low);
  }
}

concurrency concurrency_counter::take(ticks origin) {
  if (end_ <= begin_) return {};
  found_.begin_s = begin_ > origin ? seconds(begin_ - origin) : 0;
  found_.cell_s = seconds(end_ - begin_) / static_cast<double>(cells_);
  return std::move(found_);
}

concurrency concurrency_over_time(const trace_data& data, std::size_t cells, std::size_t most_names) {
  concurrency_counter counter(cells, most_names);
  for (std::size_t w = 0; w < data.workers.size(); ++w)
    for (const trace_slice& s : tasks_of(data, w)) counter.survey(s.name, s.begin, s.end);
  for (std::size_t w = 0; w < data.workers.size(); ++w)
    for (const trace_slice& s : tasks_of(data, w)) counter.add(s.name, s.begin, s.end);
  return counter.take(data.origin);
}

result<void> write_concurrency_csv(const trace_data& data, const std::string& path, std::size_t cells) {
  return write_concurrency_csv(concurrency_over_time(data, cells), path);
}

result<void> write_concurrency_csv(const concurrency& c, const std::string& path) {
  std::string text = "time_s,running";
  const auto out = std::back_inserter(text);
  for (const name_id n : c.names) (text += ',') += csv_field(name_of(n));
  text += ",other\n";
  for (std::size_t i = 0; i < c.other.size(); ++i) {
    double sum = c.other[i];
    for (const auto& row : c.running) sum += row[i];
    fmt::format_to(out, "{:.9g},{:.4g}", c.begin_s + (static_cast<double>(i) + 0.5) * c.cell_s, sum);
    for (const auto& row : c.running) fmt::format_to(out, ",{:.4g}", row[i]);
    fmt::format_to(out, ",{:.4g}\n", c.other[i]);
  }
  return write_measurement(path, text);
}

namespace {

/// A pseudo-random number in [0, 1) that depends only on the task (splitmix64's mixing).
double draw(std::uint64_t n) {
  n += 0x9e3779b97f4a7c15ull;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ull;
  n = (n ^ n >> 27) * 0x94d049bb133111ebull;
  return static_cast<double>((n ^ n >> 31) >> 11) * 0x1p-53;
}

double since(ticks origin, ticks t) { return t > origin ? seconds(t - origin) : 0; }

}  // namespace

result<void> write_scatter_csv(const trace_data& data, const trace_graph& graph, double share,
                               const std::string& path) {
  auto sink = text_sink::create(path);
  if (!sink) return sink.error();
  result<void> done = (*sink)->write("kind,name,begin_s,value,id,key,worker,wait_s\n");
  std::unordered_map<name_id, std::uint32_t> sparsest;
  for (const trace_graph::task& t : graph.tasks()) sparsest[t.name] = std::max(sparsest[t.name], t.every);
  std::string line;
  for (std::size_t i = 0; i < graph.tasks().size() && done; ++i) {
    const trace_graph::task& t = graph.tasks()[i];
    const double of_all = std::min(share, 1.0 / sparsest[t.name]);
    if (draw(t.id != 0 ? t.id : i) >= of_all * t.every) continue;
    const trace_graph::piece& first = graph.pieces_of(t)[0];
    line.clear();
    const auto out = std::back_inserter(line);
    fmt::format_to(out, "{},{},{:.9f},{:.9f},", graph.is_device(first.worker) ? "device" : "task",
                   csv_field(name_of(t.name)), since(data.origin, first.begin), seconds(graph.length_of(t)));
    if (t.id != 0) fmt::format_to(out, "{}", t.id);
    line += ',';
    if (t.key != no_key) fmt::format_to(out, "{}", t.key);
    fmt::format_to(out, ",{},", first.worker);
    if (first.ready != 0) fmt::format_to(out, "{:.9f}", since(first.ready, first.begin));
    line += '\n';
    done = (*sink)->write(line);
  }
  for (const trace_sample& s : data.samples)
    if (done)
      done = (*sink)->write(
          fmt::format("counter,{},{:.9f},{:.9g},,,,\n", csv_field(s.name), since(data.origin, s.when), s.value));
  return done ? (*sink)->commit() : done;
}

namespace {

using index = trace_graph::index;

/// DOT escapes quotes and backslashes in texts; \n is a line break.
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

/// For each node, the task types that lead to it through joins: sorted names.
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

/// Number of tasks of `second` that waited for some task of `first`.
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
  return write_measurement(path, g.tasks().size() <= most_single ? task_graph_dot(g) : kind_graph_dot(g));
}

namespace {

/// Collects paths in the order of their first occurrence.
class grower {
 public:
  explicit grower(const trace_graph& g) : graph_(g) {}

  std::vector<call_path> grow() {
    const auto& tasks = graph_.tasks();
    place_.assign(tasks.size(), call_path::none);
    for (trace_graph::index t = 0; t < tasks.size(); ++t) {
      const std::uint32_t at = place_of(t);
      ++tree_[at].tasks;
      tree_[at].own_s += seconds(graph_.length_of(tasks[t]));
    }
    return std::move(tree_);
  }

 private:
  /// Places a task after its makers, without recursion, since chains may be as long as the program.
  std::uint32_t place_of(trace_graph::index t) {
    chain_.clear();
    for (auto m = t; m != trace_graph::none && place_[m] == call_path::none; m = graph_.maker(m)) {
      if (chain_.size() > graph_.tasks().size()) break;  // cannot happen: makers form no cycles
      chain_.push_back(m);
    }
    for (; !chain_.empty(); chain_.pop_back()) {
      const auto m = chain_.back(), maker = graph_.maker(m);
      place_[m] = child(maker == trace_graph::none ? call_path::none : place_[maker], graph_.tasks()[m].name);
    }
    return place_[t];
  }

  std::uint32_t child(std::uint32_t parent, name_id name) {
    const std::uint64_t key = (std::uint64_t{parent} << 32) | name;
    const auto [there, fresh] = children_.try_emplace(key, 0);
    if (!fresh) return there->second;
    for (std::uint32_t p = parent; p != call_path::none; p = tree_[p].parent)
      if (tree_[p].name == name) return there->second = p;
    const std::uint32_t depth = parent == call_path::none ? 0 : tree_[parent].depth + 1;
    tree_.push_back({.parent = parent, .name = name, .depth = depth});
    return there->second = static_cast<std::uint32_t>(tree_.size() - 1);
  }

  const trace_graph& graph_;
  std::vector<call_path> tree_;
  std::vector<std::uint32_t> place_;  // of each task
  std::vector<trace_graph::index> chain_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
};

/// Depth first, children of a node in descending order of time.
std::vector<call_path> in_order(std::vector<call_path> tree) {
  for (std::size_t i = tree.size(); i-- > 0;) {
    tree[i].below_s += tree[i].own_s;
    if (tree[i].parent != call_path::none) tree[tree[i].parent].below_s += tree[i].below_s;
  }
  std::vector<std::vector<std::uint32_t>> children(tree.size() + 1);  // the last entry: roots
  for (std::uint32_t i = 0; i < tree.size(); ++i)
    children[tree[i].parent == call_path::none ? tree.size() : tree[i].parent].push_back(i);
  for (auto& c : children)  // ascending: they are taken from the end
    std::stable_sort(c.begin(), c.end(), [&](auto a, auto b) { return tree[a].below_s < tree[b].below_s; });
  std::vector<call_path> sorted;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open;  // node, new index of its parent
  for (const std::uint32_t r : children.back()) open.emplace_back(r, call_path::none);
  while (!open.empty()) {
    const auto [node, parent] = open.back();
    open.pop_back();
    const auto number = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(tree[node]);
    sorted.back().parent = parent;
    for (const std::uint32_t c : children[node]) open.emplace_back(c, number);
  }
  return sorted;
}

double sum_of(const std::vector<call_path>& tree) {
  double sum = 0;
  for (const call_path& p : tree) sum += p.own_s;
  return sum;
}

/// True if another child of the same parent is printed after this one.
std::vector<bool> has_next(const std::vector<call_path>& tree, double least_s) {
  std::vector<bool> next(tree.size());
  std::unordered_map<std::uint32_t, bool> met;
  for (std::size_t i = tree.size(); i-- > 0;) {
    if (tree[i].below_s < least_s) continue;
    next[i] = std::exchange(met[tree[i].parent], true);
  }
  return next;
}

std::string branch(const std::vector<call_path>& tree, const std::vector<bool>& next, std::size_t i) {
  std::string text = tree[i].depth == 0 ? "" : next[i] ? "|- " : "`- ";
  for (std::uint32_t p = tree[i].parent; p != call_path::none && tree[p].depth != 0; p = tree[p].parent)
    text.insert(0, next[p] ? "|  " : "   ");
  return text;
}

}  // namespace

std::vector<call_path> call_tree(const trace_graph& g) { return in_order(grower(g).grow()); }

std::string call_tree_text(const std::vector<call_path>& tree, double least_share) {
  const double all_s = sum_of(tree), least_s = least_share * all_s;
  const auto next = has_next(tree, least_s);
  std::string text = fmt::format("{:>11} {:>8} {:>8} {:>7}  {}\n", "tasks", "own", "total", "share", "task");
  std::size_t hidden = 0;
  double hidden_s = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const call_path& p = tree[i];
    if (p.below_s < least_s) {
      ++hidden;
      hidden_s += p.own_s;
      continue;
    }
    text += fmt::format("{} {} {} {}  {}{}\n", right(count_text(p.tasks), 11), right(time_text(p.own_s), 8),
                        right(time_text(p.below_s), 8), right(share_text(all_s > 0 ? p.below_s / all_s : 0), 7),
                        branch(tree, next, i), shortened(name_of(p.name), 60));
  }
  if (hidden != 0)
    text +=
        fmt::format("and {} further {}, {} in total\n", count_text(hidden), noun(hidden, "path"), time_text(hidden_s));
  return text;
}

result<void> write_call_tree_csv(const std::vector<call_path>& tree, const std::string& path) {
  const double all_s = sum_of(tree);
  std::string text = "depth,path,name,tasks,own_s,below_s,share\n";
  std::vector<std::string> names(tree.size());
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const call_path& p = tree[i];
    names[i] = (p.parent == call_path::none ? "" : names[p.parent] + " > ") + std::string(name_of(p.name));
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.9g},{:.9g},{:.6f}\n", p.depth, csv_field(names[i]),
                   csv_field(name_of(p.name)), p.tasks, p.own_s, p.below_s, all_s > 0 ? p.below_s / all_s : 0);
  }
  return write_measurement(path, text);
}

namespace {

struct found_piece {
  const trace_slice* slice;
  unsigned worker;
};

/// In order of their begin.
std::vector<found_piece> pieces_of(const trace_data& data) {
  std::vector<found_piece> all;
  for (unsigned w = 0; w < data.workers.size(); ++w)
    for (const trace_slice& s : data.workers[w]) all.push_back({&s, w});
  std::sort(all.begin(), all.end(),
            [](const found_piece& a, const found_piece& b) { return a.slice->begin < b.slice->begin; });
  return all;
}

std::size_t first_of_middle(std::size_t n, std::size_t most) { return n > most ? (n - most) / 2 : 0; }

}  // namespace

result<void> write_job_tables(const job_trace_data& trace, const std::string& folder, std::size_t most) {
  const auto time = [&](ticks t) { return t > trace.data.origin ? seconds(t - trace.data.origin) : 0.0; };
  const std::vector<found_piece> pieces = pieces_of(trace.data);
  std::string text = "locality,worker,name,key,begin_s,end_s\n";
  ticks first = ~ticks{0}, last = 0;
  const std::size_t from = first_of_middle(pieces.size(), most);
  for (std::size_t i = from; i < std::min(pieces.size(), from + most); ++i) {
    const trace_slice& s = *pieces[i].slice;
    const unsigned l = trace.job.locality_of(pieces[i].worker);
    first = std::min(first, s.begin), last = std::max(last, s.end);
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.9f},{:.9f}\n", l,
                   pieces[i].worker - trace.job.localities[l].first_worker, csv_field(name_of(s.name)),
                   s.key == no_key ? std::string() : fmt::format("{}", s.key), time(s.begin), time(s.end));
  }
  if (auto r = write_measurement(folder + "/job_timeline.csv", text); !r) return r;

  std::vector<const trace_message*> parcels;
  for (const trace_message& m : trace.job.messages)
    if (m.received != 0 && m.sent >= first && m.sent <= last) parcels.push_back(&m);
  text = "from,to,name,bytes,sent_s,received_s\n";
  const std::size_t begin = first_of_middle(parcels.size(), most);
  for (std::size_t i = begin; i < std::min(parcels.size(), begin + most); ++i)
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.9f},{:.9f}\n", parcels[i]->from, parcels[i]->to,
                   csv_field(name_of(parcels[i]->name)), parcels[i]->bytes, time(parcels[i]->sent),
                   time(parcels[i]->received));
  return write_measurement(folder + "/job_parcels.csv", text);
}

}  // namespace plx::probe
