#include "step_graph.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "mesh/between/halo.hpp"
#include "star/gravity/passes.hpp"
#include "star/gravity/self_gravity.hpp"
#include "star/runners/stepper.hpp"
#include "star/step/gas_step.hpp"
#include "step/task_graph.hpp"

namespace plx::scale {

namespace {

// The ghosts and fluxes that one locality sends; the borders of all states and fluxes share them.
struct halos {
  const workload& w;
  const exchange& how;
  std::vector<step::border_group> ghosts{}, fluxes{};
  int here = -1;

  void adopt(const step::node_graph& nodes) {
    if (std::exchange(here, nodes.here()) == nodes.here()) return;
    const std::size_t bytes = how.coalesced ? how.group_bytes : 1;  // 1: a group per block
    const mesh::halo halo(nodes.mesh(), nodes.parts(), here, w.variables, bytes, w.reach());
    ghosts = star::border_groups(halo.sends());
    if (!how.coalesced)
      for (step::border_group& g : ghosts) g.doubles = doubles_of_readers(nodes, g);
    const auto face = static_cast<std::size_t>(w.variables) * w.box.block_size * w.box.block_size / 4;
    const auto most_faces = std::max<std::size_t>(1, bytes / (sizeof(double) * face));
    fluxes = star::border_groups(mesh::flux_halo(nodes.mesh(), nodes.parts(), here, most_faces).sends(), face);
  }
  // The sum over the readers of a group's block: each gets a message of its own.
  std::size_t doubles_of_readers(const step::node_graph& nodes, const step::border_group& g) const {
    std::size_t cells = 0;
    for (const mesh::slot_id reader : nodes.mesh().touching(g.nodes.front())) {
      if (nodes.owner(reader) != g.peer) continue;
      for (const mesh::block_box& b : mesh::read_boxes(nodes.mesh(), reader, w.reach()))
        if (b.slot == g.nodes.front()) cells += static_cast<std::size_t>(b.cells());
    }
    return cells * static_cast<std::size_t>(w.variables);
  }
};

class halo_border final : public step::border {
 public:
  halo_border(halos& all, bool of_fluxes) : all_(all), of_fluxes_(of_fluxes) {}
  void adopt(const step::node_graph& nodes, const step::border_use&) override {
    all_.adopt(nodes);
    sends_ = of_fluxes_ ? all_.fluxes : all_.ghosts;
  }
  void pack(std::size_t, std::size_t, double*) const override {}
  void unpack(std::size_t, const double*) override {}

 private:
  halos& all_;
  bool of_fluxes_;
};

// The stage in which a pass runs; one more than the last for the end of the step.
struct replayed_kernel final : step::pass_kernel {
  explicit replayed_kernel(int s) : stage(s) {}
  int stage;
};

// The passes of a step without their code, and the real borders.
class replayed_passes final : public star::gas_passes {
 public:
  explicit replayed_passes(halos& all) : halos_(all) {}

  std::unique_ptr<step::pass_kernel> advance(int stage, star::work_fields) override { return kernel(stage); }
  std::unique_ptr<step::pass_kernel> correct_fluxes(int stage) override { return kernel(stage); }
  std::unique_ptr<step::pass_kernel> check_state(int stage) override { return kernel(stage); }
  std::unique_ptr<step::pass_kernel> portable(std::unique_ptr<star::portable_code>, int stage) override {
    return kernel(stage);
  }
  std::vector<step::transfer> state_transfers(int) override {
    return {{step::stencil::neighbours, keep(std::make_unique<halo_border>(halos_, false))}};
  }
  std::vector<step::transfer> flux_transfers(int) override {
    return {{step::stencil::finer_faces, keep(std::make_unique<halo_border>(halos_, true))}};
  }

 private:
  std::vector<step::transfer> field_transfers(int index, const std::vector<step::stencil>& read_at) override {
    if (read_at.empty()) return {};
    const int doubles = module_fields()[static_cast<std::size_t>(index)].info.doubles;
    values_.push_back(std::make_unique<step::node_values>(static_cast<std::size_t>(doubles)));
    step::border* const by = keep(std::make_unique<step::node_border>(*values_.back(), read_at));
    std::vector<step::transfer> all;
    for (const step::stencil at : read_at) all.push_back({at, by});
    return all;
  }
  step::border* keep(std::unique_ptr<step::border> b) { return borders_.emplace_back(std::move(b)).get(); }
  static std::unique_ptr<step::pass_kernel> kernel(int stage) { return std::make_unique<replayed_kernel>(stage); }

  halos& halos_;
  std::vector<std::unique_ptr<step::border>> borders_;
  std::vector<std::unique_ptr<step::node_values>> values_;  // without memory
};

// The first solve of a step does nothing if the fields of the step before are still valid (layout::may_skip).
bool may_skip(const step::pass& p) {
  using star::gravity::pass_kind;
  constexpr pass_kind solve[] = {pass_kind::totals,    pass_kind::mean,         pass_kind::masses,
                                 pass_kind::moments,   pass_kind::interactions, pass_kind::translations,
                                 pass_kind::node_sums, pass_kind::corrections,  pass_kind::accelerations};
  return static_cast<const replayed_kernel&>(*p.kernel).stage == 0 &&
         std::any_of(std::begin(solve), std::end(solve),
                     [&](pass_kind k) { return std::string_view(p.name) == star::gravity::name_of(k); });
}

class stages_builder {
 public:
  /// Requires: all of them outlive it.
  stages_builder(const workload& w, const exchange& how, const mesh::block_mesh& m, const mesh::curve_parts& parts);

  /// Called once.
  work_graph build();

 private:
  using mesh_node = step::node_id;
  struct timed {
    int pass = 0;  // the first of the task
    double seconds = 0.0;
  };

  step::recipe recipe_of_step();
  const step::pass& pass(int p) const { return recipe_.passes()[static_cast<std::size_t>(p)]; }
  int owner(mesh_node n) const { return owner_[static_cast<std::size_t>(n)]; }
  node_id& task_of(mesh_node n, int p) {
    return task_[static_cast<std::size_t>(n) * recipe_.passes().size() + static_cast<std::size_t>(p)];
  }
  double jittered(double seconds);
  std::vector<timed> tasks_on(mesh_node n) const;
  void divide_measured_times();
  void add_tasks(mesh_node n);
  void connect_own(mesh_node n);
  bool is_new_edge(node_id before, node_id after);
  void add_locality(int here);
  std::size_t readers_at(int peer, std::size_t carrier, mesh_node n) const;
  void add_messages(std::size_t carrier, int peer, std::span<const mesh_node> nodes, double bytes, int parts);

  const workload& work_;
  const exchange& how_;
  const mesh::curve_parts& parts_;
  std::unique_ptr<star::gravity::self_gravity> gravity_;
  halos halos_;
  replayed_passes passes_;
  step::recipe recipe_;
  step::task_graph tasks_;
  step::node_graph nodes_;
  std::vector<int> owner_;            // by node of the mesh
  std::vector<double> node_s_;        // by node of the mesh: all its tasks
  std::vector<node_id> task_;         // by node of the mesh and pass: the task that runs it
  std::vector<node_id> last_before_;  // by node of the graph: the newest edge to it begins there
  reduction end_;
  work_graph g_;
  std::mt19937_64 random_;
};

std::unique_ptr<star::gravity::self_gravity> gravity_of(const workload& w) {
  if (!w.gravity) return nullptr;
  auto made = star::gravity::self_gravity::make(*w.gravity, isolated(w.box));
  PLX_ASSERT(made, made ? "" : made.error().message.c_str());
  return *std::move(made);
}

stages_builder::stages_builder(const workload& w, const exchange& how, const mesh::block_mesh& m,
                               const mesh::curve_parts& parts)
    : work_(w),
      how_(how),
      parts_(parts),
      gravity_(gravity_of(w)),
      halos_{w, how},
      passes_(halos_),
      recipe_(recipe_of_step()),
      tasks_(recipe_),
      nodes_(m, parts, 0, recipe_.uses_tree()),
      owner_(nodes_.node_count(), -1),
      task_(nodes_.node_count() * recipe_.passes().size(), no_node),
      random_(how.seed) {
  tasks_.adopt(nodes_);
  for (std::size_t n = 0; n < owner_.size(); ++n)
    if (const auto node = static_cast<mesh_node>(n); tasks_.passes_of(node) != 0) owner_[n] = nodes_.owner(node);
}

step::recipe stages_builder::recipe_of_step() {
  star::integrator scheme{};
  scheme.stages = work_.stages;
  const star::step_module* const modules[] = {gravity_.get()};
  return star::gas_step(scheme, passes_, std::span(modules, gravity_ != nullptr ? 1 : 0));
}

// The factor has mean 1: the total work of all tasks remains as measured, to rounding.
double stages_builder::jittered(double seconds) {
  const double sigma = work_.costs.jitter;
  if (!(sigma > 0.0)) return seconds;
  return seconds * std::lognormal_distribution<double>(-0.5 * sigma * sigma, sigma)(random_);
}

// With the mean seconds of their types. A task is named after its first pass, as in the profile of the run.
std::vector<stages_builder::timed> stages_builder::tasks_on(mesh_node n) const {
  std::vector<timed> all;
  const std::uint64_t passes = tasks_.passes_of(n);
  for (int p = step::first_pass(passes); p >= 0; p = step::next_pass(passes, p)) {
    if (!all.empty() && tasks_.inputs(n, p) == 0) continue;
    const double share = may_skip(pass(p)) ? 1.0 - work_.carried : 1.0;
    all.push_back({p, share * work_.seconds_of(pass(p).name)});
  }
  return all;
}

// The seconds of a block contain equal shares of those of the refined nodes above it (star::block_costs::collect). They
// are divided between the block and these nodes in the ratio of their means, so the sum remains as measured.
void stages_builder::divide_measured_times() {
  const mesh::tree& tree = nodes_.tree();
  const std::size_t count = nodes_.node_count(), slots = nodes_.mesh().slot_count();
  std::vector<double> mean(count, 0.0), above(count, 0.0), unit(count, 0.0);
  std::vector<int> blocks_below(count, 1);
  for (std::size_t n = 0; n < count; ++n)
    if (owner_[n] >= 0)
      for (const timed& t : tasks_on(static_cast<mesh_node>(n))) mean[n] += t.seconds;
  const auto each_child = [&](std::size_t n, auto&& f) {
    for (const mesh_node child : tree.child_list(static_cast<mesh_node>(n))) f(static_cast<std::size_t>(child));
  };
  for (std::size_t n = slots; n < count; ++n) {
    blocks_below[n] = 0;
    each_child(n, [&](std::size_t child) { blocks_below[n] += blocks_below[child]; });
  }
  const auto share = [&](std::size_t n) { return mean[n] / blocks_below[n]; };
  for (std::size_t n = count; n-- > slots;)
    each_child(n, [&](std::size_t child) { above[child] = above[n] + share(n); });
  node_s_.assign(count, 0.0);
  for (std::size_t n = 0; n < slots; ++n) {
    const double whole = mean[n] + above[n], measured = work_.block_s[n];
    if (whole > 0.0) unit[n] = measured / whole;
    node_s_[n] = whole > 0.0 ? unit[n] * mean[n] : measured;
  }
  for (std::size_t n = slots; n < count; ++n) {
    each_child(n, [&](std::size_t child) { unit[n] += unit[child]; });
    node_s_[n] = unit[n] * share(n);
  }
}

void stages_builder::add_tasks(mesh_node n) {
  std::vector<timed> all = tasks_on(n);
  const double whole = node_s_[static_cast<std::size_t>(n)];
  double sum = 0.0;
  for (const timed& t : all) sum += t.seconds;
  for (timed& t : all) t.seconds = sum > 0.0 ? t.seconds * whole / sum : whole / static_cast<double>(all.size());
  std::size_t next = 0;
  node_id task = no_node;
  for (int p = step::first_pass(tasks_.passes_of(n)); p >= 0; p = step::next_pass(tasks_.passes_of(n), p)) {
    if (next < all.size() && all[next].pass == p) task = g_.add_task(owner(n), jittered(all[next++].seconds));
    task_of(n, p) = task;
  }
}

// Edges that follow each other from one node of the graph: is this the first one to `after`?
bool stages_builder::is_new_edge(node_id before, node_id after) {
  if (last_before_.size() <= after) last_before_.resize(g_.size() + 1, no_node);
  return std::exchange(last_before_[after], before) != before;
}

// Edges from the tasks of a node to those of its own locality, the one to the node's next task first: the runner posts
// tasks in the order of passes and links, and the next one of the node last; a worker takes the newest first.
void stages_builder::connect_own(mesh_node n) {
  const auto connect = [&](node_id before, node_id after) {
    if (is_new_edge(before, after)) g_.edge(before, after);
  };
  node_id after = end_.in[owner(n)];
  for (std::uint64_t left = tasks_.passes_of(n); left != 0;) {
    const int p = std::bit_width(left) - 1;
    left ^= std::uint64_t{1} << p;
    const node_id task = task_of(n, p);
    if (task != after) connect(task, std::exchange(after, task));
    const std::vector<int>& provided = tasks_.provided_by(p);
    for (std::size_t i = provided.size(); i-- > 0;) {
      const step::link& l = tasks_.links()[static_cast<std::size_t>(provided[i])];
      if (!tasks_.is_last_source(l, p, n)) continue;
      const auto readers = nodes_.readers_of(l.values.at, n);
      for (std::size_t r = l.readers.size(); r-- > 0;)
        for (std::size_t k = readers.size(); k-- > 0;)
          if (owner(readers[k]) == owner(n) && (tasks_.passes_of(readers[k]) >> l.readers[r] & 1) != 0)
            connect(task, task_of(readers[k], l.readers[r]));
    }
  }
}

// The begin of the step, and the messages that a locality sends.
void stages_builder::add_locality(int here) {
  const double share = static_cast<double>(parts_.blocks(nodes_.mesh(), here).size()) / nodes_.mesh().block_count();
  const node_id begin = g_.add_task(here, work_.costs.handoff_s + work_.costs.step_s * share);
  const bool is_alone = parts_.count() == 1;
  nodes_.move_to(here);
  if (!is_alone) tasks_.adopt_borders();
  for (const mesh_node n : tasks_.order(is_alone)) {
    const int first = step::first_pass(tasks_.passes_of(n));
    if (tasks_.inputs(n, first) == 0) g_.edge(begin, task_of(n, first));
  }
  if (is_alone) return;
  for (std::size_t l = 0; l < tasks_.links().size(); ++l) {
    if (!tasks_.is_carrier(l)) continue;
    const step::border& by = *tasks_.links()[l].by;
    const bool is_of_nodes = dynamic_cast<const step::node_border*>(&by) != nullptr;
    for (const step::border_group& group : by.sends()) {
      const double bytes = sizeof(double) * static_cast<double>(group.doubles);
      if (how_.coalesced) add_messages(l, group.peer, group.nodes, bytes, 1);
      // Otherwise a message for each reader: all values of a node; what halo_border counts are those of all readers.
      for (std::size_t i = 0; !how_.coalesced && i < group.nodes.size(); ++i) {
        const auto readers = static_cast<int>(readers_at(group.peer, l, group.nodes[i]));
        add_messages(l, group.peer, std::span(group.nodes).subspan(i, 1),
                     bytes / static_cast<double>(group.nodes.size()) * (is_of_nodes ? readers : 1), readers);
      }
    }
  }
}

// The nodes of a locality that read the values of a node, in passes or after the step.
std::size_t stages_builder::readers_at(int peer, std::size_t carrier, mesh_node n) const {
  std::vector<mesh_node> all;
  for (const step::link& l : tasks_.links()) {
    if (l.carrier != static_cast<int>(carrier)) continue;
    for (const mesh_node reader : nodes_.readers_of(l.values.at, n))
      if (owner(reader) == peer && (l.is_published || (tasks_.passes_of(reader) & l.reader_bits) != 0))
        all.push_back(reader);
  }
  std::sort(all.begin(), all.end());
  return static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
}

// Messages that leave and arrive together: `parts` of `bytes` in all, without headers.
void stages_builder::add_messages(std::size_t carrier, int peer, std::span<const mesh_node> nodes, double bytes,
                                  int parts) {
  const step::link& values = tasks_.links()[carrier];
  const node_id m = g_.add_message(nodes_.here(), peer, bytes + parts * how_.header_bytes, parts);
  bool is_awaited = false;
  for (const step::link& l : tasks_.links()) {
    if (l.carrier != static_cast<int>(carrier)) continue;
    for (const mesh_node n : nodes)
      for (const int r : l.readers)
        for (const mesh_node reader : nodes_.readers_of(l.values.at, n))
          if (owner(reader) == peer && (tasks_.passes_of(reader) >> r & 1) != 0 && is_new_edge(m, task_of(reader, r)))
            g_.edge(m, task_of(reader, r)), is_awaited = true;
  }
  if (!is_awaited) g_.edge(m, end_.in[peer]);
  for (const mesh_node n : nodes) {
    const std::uint64_t sources = tasks_.passes_of(n) & values.source_bits;
    const node_id task = task_of(n, std::bit_width(sources) - 1);
    g_.copies(task, bytes / static_cast<double>(nodes.size()));
    g_.edge(task, m);
  }
}

work_graph stages_builder::build() {
  end_ = add_reduction(g_, parts_.count(), how_, how_.agree_bytes);
  const auto each_node = [&](auto&& f) {
    for (std::size_t n = 0; n < owner_.size(); ++n)
      if (owner_[n] >= 0) f(static_cast<mesh_node>(n));
  };
  divide_measured_times();
  each_node([&](mesh_node n) { add_tasks(n); });
  each_node([&](mesh_node n) { connect_own(n); });
  for (int l = 0; l < parts_.count(); ++l) add_locality(l);
  g_.finish();
  return std::move(g_);
}

}  // namespace

work_graph stages_of_step(const workload& w, const exchange& how, const mesh::block_mesh& mesh,
                          const mesh::curve_parts& parts) {
  return stages_builder(w, how, mesh, parts).build();
}

}  // namespace plx::scale
