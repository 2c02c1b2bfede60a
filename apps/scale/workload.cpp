#include "workload.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cmath>
#include <numeric>

#include "base/text.hpp"
#include "star/gravity/self_gravity.hpp"

namespace plx::scale {

namespace {

// Reads the values of one file; keeps the first error.
class reader {
 public:
  reader(const toml::table& table, std::string path) : table_(table), path_(std::move(path)) {}

  double number(const char* key, double least) {
    const auto found = table_.at_path(key).value<double>();
    if (!found || !std::isfinite(*found) || *found < least)
      complain(key, fmt::format("expected a number of {} or more, found {}", least,
                                found ? fmt::format("{}", *found) : "none"));
    return found.value_or(least);
  }

  /// As number(), for a value that may be missing: then 0.
  double optional(const char* key) { return table_.at_path(key) ? number(key, 0.0) : 0.0; }

  int whole(const char* key, int least) { return static_cast<int>(number(key, least)); }

  template <class T>
  std::vector<T> list(const char* key, std::size_t count = 0) {
    std::vector<T> out;
    if (const toml::array* found = table_.at_path(key).as_array())
      for (const toml::node& n : *found)
        if (const auto value = n.value<T>()) out.push_back(*value);
    if (out.empty() || (count != 0 && out.size() != count)) {
      complain(key, fmt::format("expected a list of {}, found {}", plural(count, "value"), out.size()));
      out.resize(count);
    }
    return out;
  }

  /// A table of numbers of 0 or more, which may be missing.
  std::map<std::string, double, std::less<>> numbers(const char* key) {
    std::map<std::string, double, std::less<>> out;
    if (const toml::table* found = table_.at_path(key).as_table())
      for (const auto& [name, value] : *found) {
        const double number = value.value<double>().value_or(-1.0);
        if (!(number >= 0.0) || !std::isfinite(number))
          complain(key, fmt::format("{}: expected a number of 0 or more", std::string_view(name.str())));
        out.emplace(name.str(), number);
      }
    return out;
  }

  /// A value that may be missing: then false.
  bool flag(const char* key) {
    if (!has(key)) return false;
    const auto found = table_.at_path(key).value<bool>();
    if (!found) complain(key, "expected true or false");
    return found.value_or(false);
  }

  bool has(const char* key) const { return static_cast<bool>(table_.at_path(key)); }

  void complain(const char* key, const std::string& what) {
    if (complaint_.empty()) complaint_ = fmt::format("{}: {}: {}", path_, key, what);
  }
  const std::string& complaint() const { return complaint_; }

 private:
  const toml::table& table_;
  std::string path_;
  std::string complaint_;
};

mesh::domain read_domain(reader& in) {
  mesh::domain box;
  box.block_size = in.whole("mesh.block_size", 6);
  box.max_level = in.whole("mesh.max_level", 0);
  const auto roots = in.list<std::int64_t>("mesh.root_blocks", 3);
  const auto periodic = in.list<bool>("mesh.periodic", 3);
  for (int a = 0; a < 3; ++a) {
    box.root_blocks[a] = static_cast<int>(roots[a]);
    box.upper[a] = box.lower[a] + static_cast<double>(roots[a]);
    for (int upper = 0; upper < 2; ++upper)
      box.sides[2 * a + upper] = periodic[a] ? mesh::boundary::periodic : mesh::boundary::outflow;
  }
  return box;
}

void read_blocks(reader& in, workload& w) {
  w.block_s = in.list<double>("blocks.seconds");
  const std::size_t n = w.block_s.size();
  const auto level = in.list<std::int64_t>("blocks.level", n), x = in.list<std::int64_t>("blocks.x", n),
             y = in.list<std::int64_t>("blocks.y", n), z = in.list<std::int64_t>("blocks.z", n);
  const auto cut = [](std::int64_t v) { return static_cast<std::int32_t>(v); };
  for (std::size_t i = 0; i < n; ++i) {
    w.blocks.push_back({cut(level[i]), {cut(x[i]), cut(y[i]), cut(z[i])}});
    if (!(w.block_s[i] >= 0.0) || !std::isfinite(w.block_s[i]))
      in.complain("blocks.seconds", fmt::format("expected 0 or more, found {}", w.block_s[i]));
  }
}

// The owner of each block: at least one block per locality, ascending along the curve (step_graph.cpp checks the order,
// because only the mesh knows the curve).
void read_parts(reader& in, workload& w) {
  if (!in.has("blocks.part")) return;
  for (const std::int64_t p : in.list<std::int64_t>("blocks.part", w.blocks.size())) {
    if (p < 0 || p > 1 << 20) in.complain("blocks.part", fmt::format("expected localities from 0 on, found {}", p));
    w.part.push_back(static_cast<int>(p));
  }
}

void read_costs(reader& in, work_costs& c) {
  c.totals_s = in.number("costs.totals_s", 0.0);
  c.look_s = in.number("costs.look_s", 0.0);
  c.rebuild_s = in.number("costs.rebuild_s", 0.0);
  c.step_s = in.number("costs.step_s", 0.0);
  c.root_s = in.number("costs.root_s", 0.0);
  c.jitter = in.number("costs.jitter", 0.0);
  c.handoff_s = in.optional("costs.handoff_s");
  c.plan_s = in.optional("costs.plan_s");
  c.lists_s = in.optional("costs.lists_s");
  c.tree_s = in.optional("costs.tree_s");
}

void read_gravity(reader& in, workload& w) {
  if (!in.has("gravity")) return;
  star::gravity::gravity_options g;
  g.self = true, g.constant = 1.0;
  g.order = in.whole("gravity.order", 0);
  g.theta = in.number("gravity.theta", 0.0);
  if (const auto made = star::gravity::self_gravity::make(g, isolated(w.box)); !made)
    in.complain("gravity", made.error().message);
  w.carried = in.number("gravity.carried", 0.0);
  if (w.carried > 1.0) in.complain("gravity.carried", fmt::format("expected a fraction, found {}", w.carried));
  w.gravity = g;
}

}  // namespace

double workload::stepping_s() const { return std::accumulate(block_s.begin(), block_s.end(), 0.0); }

double workload::seconds_of(std::string_view type) const {
  const auto found = task_s.find(type);
  return found == task_s.end() ? 0.0 : found->second;
}

result<workload> read_workload(const std::string& path) {
  toml::table table;
  try {
    table = toml::parse_file(path);
  } catch (const toml::parse_error& e) {
    return error{fmt::format("{}: line {}: {}", path, e.source().begin.line, e.description())};
  }
  reader in(table, path);
  workload w;
  w.box = read_domain(in);
  w.stages = in.whole("run.stages", 2);
  if (w.stages > 3) in.complain("run.stages", fmt::format("expected 2 or 3, found {}", w.stages));
  w.variables = in.whole("run.variables", 1);
  w.reads_edges = in.flag("run.reads_edges");
  w.steps_per_look = in.number("run.steps_per_look", 1.0);
  w.changes_per_look = in.optional("run.changes_per_look");
  read_costs(in, w.costs);
  w.task_s = in.numbers("tasks");
  read_gravity(in, w);
  read_blocks(in, w);
  read_parts(in, w);
  if (!in.complaint().empty()) return error{in.complaint()};
  if (auto fine = mesh_of(w); !fine) return error{fmt::format("{}: {}", path, fine.error().message)};
  return w;
}

workload mirrored(const workload& one, const std::array<int, 3>& copies) {
  workload all = one;
  all.blocks.clear();
  if (copies != std::array<int, 3>{1, 1, 1}) all.part.clear();
  all.block_s.clear();
  for (int a = 0; a < 3; ++a) {
    all.box.root_blocks[a] *= copies[a];
    all.box.upper[a] = all.box.lower[a] + copies[a] * (one.box.upper[a] - one.box.lower[a]);
  }
  for (int k = 0; k < copies[2]; ++k)
    for (int j = 0; j < copies[1]; ++j)
      for (int i = 0; i < copies[0]; ++i)
        for (std::size_t b = 0; b < one.blocks.size(); ++b) {
          mesh::location l = one.blocks[b];
          const std::array<int, 3> copy{i, j, k};
          for (int a = 0; a < 3; ++a) {
            const auto n = static_cast<std::int32_t>(one.box.blocks_along(a, l.level));
            l.x[a] = n * copy[a] + (copy[a] % 2 == 0 ? l.x[a] : n - 1 - l.x[a]);
          }
          all.blocks.push_back(l);
          all.block_s.push_back(one.block_s[b]);
        }
  return all;
}

result<mesh::block_mesh> mesh_of(const workload& w) {
  if (auto fine = w.box.check(); !fine) return fine.error();
  std::vector<mesh::leaf> leaves;
  leaves.reserve(w.blocks.size());
  for (const mesh::location& l : w.blocks) leaves.push_back({l, static_cast<mesh::slot_id>(leaves.size()), 0});
  return mesh::block_mesh::from_leaves(w.box, std::move(leaves));
}

}  // namespace plx::scale
