#include "trace/call_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "base/file.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/profile.hpp"

namespace plx::probe {
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
  if (hidden != 0) text += fmt::format("and {} further paths, {} in total\n", count_text(hidden), time_text(hidden_s));
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
  return write_file(path, text);
}

}  // namespace plx::probe
