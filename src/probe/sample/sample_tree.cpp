#include "probe/sample/sample_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>

#include "base/symbols.hpp"
#include "base/text.hpp"

namespace plx::probe {
namespace {

/// In the place of a caller's address: the outer functions are not known.
constexpr std::uint64_t unknown_callers = 0;

std::string root_name(std::uint64_t at) {
  switch (static_cast<sampled_activity>(at >> 32)) {
    case sampled_activity::task:
      return std::string(name_of(static_cast<name_id>(at & 0xffffffffu)));
    case sampled_activity::searching:
      return "(search for tasks)";
    case sampled_activity::polling:
      return "(polling)";
    default:
      return "(outside of tasks)";
  }
}

/// Functions of the runtime in which every task runs.
bool only_starts_tasks(std::string_view function) {
  constexpr std::array<std::string_view, 6> names = {"loop_entry",  "sized_entry", "run_scheduled",
                                                     "first_entry", "run_inside",  "run_inline"};
  if (!function.starts_with("plx::detail::")) return function == "make_fcontext" || function == "trampoline";
  return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return function.ends_with(n); });
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------ samples

std::size_t sample_tree::slot_of(std::uint32_t parent, std::uint64_t at) const noexcept {
  std::uint64_t h = (at ^ std::uint64_t{parent} << 40) * 0x9e3779b97f4a7c15u;
  for (h ^= h >> 32;; ++h) {
    const std::size_t i = h & (table_.size() - 1);
    const std::uint32_t n = table_[i];
    if (n == none || (nodes_[n].parent == parent && nodes_[n].at == at)) return i;
  }
}

void sample_tree::grow() {
  table_.assign(std::max<std::size_t>(1024, 2 * table_.size()), none);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) table_[slot_of(nodes_[i].parent, nodes_[i].at)] = i;
}

std::uint32_t sample_tree::child(std::uint32_t parent, std::uint64_t at) {
  if (2 * (nodes_.size() + 1) > table_.size()) grow();
  std::uint32_t& found = table_[slot_of(parent, at)];
  if (found != none) return found;
  if (nodes_.size() >= limit_) return missing;
  nodes_.push_back({parent, at});
  return found = static_cast<std::uint32_t>(nodes_.size() - 1);
}

void sample_tree::add(const stack_sample& s) {
  const std::uint64_t task = s.activity == sampled_activity::task ? s.task : 0u;
  std::uint32_t at = child(none, std::uint64_t{static_cast<std::uint8_t>(s.activity)} << 32 | task);
  const auto descend = [&](std::uint64_t address) {
    const std::uint32_t next = at == missing ? missing : child(at, address);
    if (next != missing) at = next;
    return next != missing;
  };
  bool room = at != missing && (s.whole || descend(unknown_callers));
  // A return address may be the first of the next function: the call is before it.
  for (std::size_t i = s.frames.size(); room && i-- > 0;) room = descend(i == 0 ? s.frames[0] : s.frames[i] - 1);
  if (!room) shortened_ += s.weight;
  if (at != missing) nodes_[at].own += s.weight;
  total_ += s.weight;
  ++samples_;
}

// ------------------------------------------------------------------------------------------------------------- results

namespace {

/// A call tree in the order in which its nodes are found.
class call_builder {
 public:
  explicit call_builder(std::size_t n) { calls_.reserve(n); }

  std::uint32_t child(std::uint32_t parent, const std::string& name) {
    const auto [it, fresh] = children_.try_emplace({parent, name}, static_cast<std::uint32_t>(calls_.size()));
    if (fresh) calls_.push_back({.parent = parent, .name = name});
    return it->second;
  }
  sampled_call& operator[](std::uint32_t i) { return calls_[i]; }

  /// Depth first, the most frequent first.
  std::vector<sampled_call> sorted() {
    for (std::size_t i = calls_.size(); i-- > 0;) {
      calls_[i].below += calls_[i].own;
      if (calls_[i].parent != sampled_call::none) calls_[calls_[i].parent].below += calls_[i].below;
    }
    std::vector<std::vector<std::uint32_t>> below(calls_.size());
    std::vector<std::uint32_t> roots;
    for (std::uint32_t i = 0; i < calls_.size(); ++i)
      (calls_[i].parent == sampled_call::none ? roots : below[calls_[i].parent]).push_back(i);
    const auto rarest_first = [&](std::uint32_t a, std::uint32_t b) {
      return calls_[a].below != calls_[b].below ? calls_[a].below < calls_[b].below : calls_[a].name > calls_[b].name;
    };
    std::vector<sampled_call> out;
    std::vector<std::uint32_t> number(calls_.size()), open;
    const auto push = [&](std::vector<std::uint32_t>& some) {
      std::sort(some.begin(), some.end(), rarest_first);
      open.insert(open.end(), some.begin(), some.end());
    };
    for (push(roots); !open.empty();) {
      const std::uint32_t i = open.back();
      open.pop_back();
      number[i] = static_cast<std::uint32_t>(out.size());
      sampled_call c = std::move(calls_[i]);
      if (c.parent != sampled_call::none) c.parent = number[c.parent], c.depth = out[c.parent].depth + 1;
      const std::uint64_t samples = c.below;
      out.push_back(std::move(c));
      calls_[i].below = samples;  // still compared with its siblings
      push(below[i]);
    }
    return out;
  }

 private:
  std::vector<sampled_call> calls_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> children_;
};

/// The names of functions, each looked up once.
class function_names {
 public:
  const std::string& of(std::uint64_t address) {
    const auto [it, fresh] = names_.try_emplace(address);
    if (fresh) it->second = sampled_function(reinterpret_cast<const void*>(address));
    return it->second;
  }

 private:
  std::unordered_map<std::uint64_t, std::string> names_;
};

}  // namespace

std::vector<std::uint64_t> sample_tree::counts() const {
  std::vector<std::uint64_t> all;
  all.reserve(nodes_.size());
  for (const node& n : nodes_) all.push_back(n.own);
  return all;
}

sample_tree sample_tree::since(const std::vector<std::uint64_t>& then) const {
  sample_tree t(limit_);
  t.nodes_ = nodes_;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (i < then.size()) t.nodes_[i].own -= then[i];
    t.total_ += t.nodes_[i].own;
  }
  return t;
}

std::vector<sampled_call> sample_tree::calls() const {
  call_builder out(nodes_.size());
  function_names names;
  // The call of each node. A function that only starts a task is part of what is above it.
  std::vector<std::uint32_t> call(nodes_.size());
  std::vector<bool> start(nodes_.size());
  std::vector<std::uint64_t> below = counts();
  for (std::size_t i = nodes_.size(); i-- > 0;)
    if (nodes_[i].parent != none) below[nodes_[i].parent] += below[i];
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const node& n = nodes_[i];
    if (below[i] == 0) continue;  // none since `then`: its name is not looked up
    if (n.parent == none) {
      call[i] = out.child(sampled_call::none, root_name(n.at));
      start[i] = n.at >> 32 == static_cast<std::uint64_t>(sampled_activity::task);
    } else {
      const std::string& name = names.of(n.at);
      start[i] = start[n.parent] && only_starts_tasks(name);
      call[i] = start[i] && n.own == 0 ? call[n.parent] : out.child(call[n.parent], name);
    }
    out[call[i]].own += n.own;
  }
  return out.sorted();
}

std::vector<sampled_place> sample_tree::places(std::size_t most) const {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> sums;  // by task type and address
  std::vector<std::uint64_t> root(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const node& n = nodes_[i];
    root[i] = n.parent == none ? n.at : root[n.parent];
    if (n.own != 0 && n.parent != none && n.at != unknown_callers) sums[{root[i], n.at}] += n.own;
  }
  std::vector<sampled_place> out;
  for (const auto& [where, own] : sums)
    out.push_back({root_name(where.first), reinterpret_cast<const void*>(where.second), own});
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.own > b.own; });
  if (out.size() > most) out.resize(most);
  return out;
}

std::string sampled_function(const void* address) {
  if (address == nullptr) return "(callers not known)";
  if (const std::string name = function_name(address); !name.empty()) return brief_function(name);
  const std::string file = loaded_file(address);
  return file.empty() ? "(generated or unloaded code)" : "(in " + file.substr(file.rfind('/') + 1) + ")";
}

std::string collapsed_stacks(const std::vector<sampled_call>& calls) {
  std::string text;
  std::vector<std::string> paths(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const sampled_call& c = calls[i];
    std::string name = printable(c.name);
    std::replace(name.begin(), name.end(), ';', ',');
    paths[i] = c.parent == sampled_call::none ? name : paths[c.parent] + ";" + name;
    if (c.own != 0) fmt::format_to(std::back_inserter(text), "{} {}\n", paths[i], c.own);
  }
  return text;
}

}  // namespace plx::probe
