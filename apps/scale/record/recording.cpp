#include "recording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "costs.hpp"
#include "net/core/node.hpp"
#include "net/job.hpp"
#include "probe/record/recorder.hpp"
#include "star/driver/balancer.hpp"
#include "star/driver/simulation.hpp"
#include "star/gravity/passes.hpp"

namespace plx::scale {

namespace {

constexpr std::size_t group_bytes = std::size_t{64} << 10;  // of plx-star (star/state/gas.cpp)

using star::gravity::name_of;
using star::gravity::pass_kind;
constexpr std::array kinds{"star.stage",
                           "star.flux_correction",
                           "star.step",
                           "star.totals",
                           "star.refinement",
                           "star.regrid",
                           "star.check",
                           "star.pack",
                           "star.adapt_mesh",
                           name_of(pass_kind::totals),
                           name_of(pass_kind::mean),
                           name_of(pass_kind::masses),
                           name_of(pass_kind::moments),
                           name_of(pass_kind::interactions),
                           name_of(pass_kind::translations),
                           name_of(pass_kind::accelerations),
                           name_of(pass_kind::around),
                           name_of(pass_kind::node_sums),
                           name_of(pass_kind::corrections)};

// Calls, seconds and messages of one locality so far.
struct used {
  std::array<double, kinds.size()> calls{}, seconds{};
  double exec_s = 0.0, idle_s = 0.0, overhead_s = 0.0, background_s = 0.0;
  double messages = 0.0, bytes = 0.0, parcels = 0.0;

  static constexpr std::size_t count = 2 * kinds.size() + 7;
};
static_assert(sizeof(used) == used::count * sizeof(double));

using numbers = std::array<double, used::count>;

numbers used_so_far(job& j) {
  used u;
  const probe::recorder& r = j.home().recorder();
  for (const probe::task_statistics& t : r.tasks())
    for (std::size_t k = 0; k < kinds.size(); ++k)
      if (t.name == kinds[k]) {
        u.calls[k] = static_cast<double>(t.calls);
        u.seconds[k] = t.total_s;
      }
  const probe::worker_times t = r.times(0);
  u.exec_s = t.exec_s, u.idle_s = t.idle_s, u.overhead_s = t.overhead_s, u.background_s = t.background_s;
  if (j.size() > 1) {
    const net::port_counts c = j.node().port().counts();
    u.messages = static_cast<double>(c.messages_sent);
    u.bytes = static_cast<double>(c.bytes_sent);
    u.parcels = static_cast<double>(c.parcels_sent);
  }
  return std::bit_cast<numbers>(u);
}

// From one regrid check to the next.
struct segment {
  std::vector<double> step_s;          // of each step and its totals; the last one includes a regrid check
  std::vector<mesh::location> blocks;  // along the curve
  std::vector<int> part;               // owner of each
  // By step except the last one, whose costs the regrid check consumes; then by process if each runs alone; by block.
  std::vector<std::vector<std::vector<double>>> block_s;
  bool warm = false;     // before the compared segments
  bool changed = false;  // the regrid check at its end changed the mesh
};

class run_recorder {
 public:
  run_recorder(job& j, const record_request& what, const star::input& in, const star::setup& s)
      : j_(j),
        what_(what),
        setup_(s),
        all_(j.node()),
        sim_(in, s, j.home(), what.alone ? step::exchange::alone() : all_),
        every_(static_cast<int>(in.refinement.interval)) {}

  result<std::string> run();

 private:
  result<double> step();
  result<segment> next();
  std::vector<std::vector<double>> gathered(std::vector<double> mine);
  void keep_blocks(segment& s);
  void keep_costs(segment& s);
  std::string text(const std::vector<segment>& segments, const std::vector<std::vector<double>>& use) const;

  job& j_;
  const record_request& what_;
  const star::setup& setup_;
  step::exchange all_;
  star::simulation sim_;
  const int every_;
};

std::vector<std::vector<double>> run_recorder::gathered(std::vector<double> mine) {
  return j_.home().run([&] { return all_.all_gather(std::move(mine)); });
}

// A step and its totals, as in plx-star.
result<double> run_recorder::step() {
  if (sim_.finished())
    return error{
        fmt::format("the run ends after {}: expected more (run.t_end, run.max_steps)", plural(sim_.steps(), "step"))};
  const double begin = monotonic_seconds();
  if (auto r = sim_.step(); !r) return r.error();
  static_cast<void>(sim_.totals());
  return monotonic_seconds() - begin;
}

void run_recorder::keep_blocks(segment& s) {
  const star::gas& g = sim_.state();
  for (const mesh::slot_id slot : g.mesh.blocks()) {
    s.blocks.push_back(g.mesh.where(slot));
    s.part.push_back(g.parts.part_of(g.mesh, slot));
  }
}

// The costs of the blocks since they were last cleared.
void run_recorder::keep_costs(segment& s) {
  sim_.collect_costs();
  const star::gas& g = sim_.state();
  std::vector<double> mine;
  for (const mesh::slot_id slot : g.own()) {
    const star::block_costs::entry e = sim_.costs().of(slot);
    mine.push_back(e.steps > 0.0 ? e.seconds / e.steps : 0.0);
  }
  sim_.costs().clear();
  std::vector<std::vector<double>> all = gathered(std::move(mine));
  if (!what_.alone) {
    for (std::size_t l = 1; l < all.size(); ++l) all[0].insert(all[0].end(), all[l].begin(), all[l].end());
    all.resize(1);
  }
  s.block_s.push_back(std::move(all));
}

result<segment> run_recorder::next() {
  segment s;
  keep_blocks(s);
  for (int i = 0; i < every_; ++i) {
    const auto seconds = step();
    if (!seconds) return seconds.error();
    s.step_s.push_back(*seconds);
    if (i + 1 < every_) keep_costs(s);
  }
  std::vector<mesh::location> after;
  for (const mesh::slot_id slot : sim_.state().mesh.blocks()) after.push_back(sim_.state().mesh.where(slot));
  s.changed = after != s.blocks;
  sim_.collect_costs();
  sim_.costs().clear();
  return s;
}

std::string list_of_blocks(const segment& s) {
  std::string text;
  for (std::size_t i = 0; i < s.blocks.size(); ++i) {
    const mesh::location& l = s.blocks[i];
    text += fmt::format("{}[{},{},{},{},{}]", i == 0 ? "" : ",", l.level, l.x[0], l.x[1], l.x[2], s.part[i]);
  }
  return text;
}

// In us, to 10 ns: [[block, ...] by process, ...] by step.
std::string list_of_costs(const segment& s) {
  std::string text;
  for (const auto& step : s.block_s) {
    text += text.empty() ? "[" : ",[";
    for (std::size_t p = 0; p < step.size(); ++p) {
      text += p == 0 ? "[" : ",[";
      for (std::size_t i = 0; i < step[p].size(); ++i)
        text += fmt::format("{}{:.2f}", i == 0 ? "" : ",", 1e6 * step[p][i]);
      text += "]";
    }
    text += "]";
  }
  return text;
}

std::string run_recorder::text(const std::vector<segment>& segments,
                               const std::vector<std::vector<double>>& use) const {
  const mesh::domain& d = setup_.domain;
  const auto periodic = [&](int axis) { return d.sides[2 * axis] == mesh::boundary::periodic ? "true" : "false"; };
  std::string t = fmt::format(
      "{{\"processes\": {}, \"alone\": {}, \"block_size\": {}, \"root_blocks\": [{}, {}, {}], \"periodic\": [{}, {}, "
      "{}],\n \"stages\": {}, \"variables\": {}, \"steps_per_look\": {}, \"group_bytes\": {},\n",
      j_.size(), what_.alone, d.block_size, d.root_blocks[0], d.root_blocks[1], d.root_blocks[2], periodic(0),
      periodic(1), periodic(2), setup_.scheme.stages, sim_.state().now.variable_count(), every_, group_bytes);
  const star::input& in = sim_.options();
  t += fmt::format(" \"reads_edges\": {}, \"gravity\": {{\"self\": {}, \"order\": {}, \"theta\": {}}},\n",
                   sim_.state().reach == mesh::reach::full, in.gravity.self, in.gravity.order, in.gravity.theta);
  if (what_.alone || j_.size() == 1) {
    const border_costs b = measure_border(sim_.state(), group_bytes);
    t += fmt::format(
        " \"pack_s_per_byte\": {:.6g}, \"unpack_s_per_byte\": {:.6g}, \"lists_s_per_block\": {:.6g}, "
        "\"decision_s_per_block\": {:.6g}, \"plan_s_per_block\": {:.6g}, \"tree_s_per_block\": {:.6g},\n",
        b.pack_s_per_byte, b.unpack_s_per_byte, b.lists_s_per_block, b.decision_s_per_block, b.plan_s_per_block,
        b.tree_s_per_block);
  }
  t += fmt::format(" \"imbalance\": {:.4g}, \"decisions\": {},\n \"kinds\": [\"{}\"],\n \"localities\": [\n",
                   sim_.balance().imbalance(), sim_.balance().decisions(), fmt::join(kinds, "\", \""));
  for (std::size_t l = 0; l < use.size(); ++l) {
    const used u = std::bit_cast<used>([&] {
      numbers n;
      std::copy_n(use[l].begin(), n.size(), n.begin());
      return n;
    }());
    t += fmt::format(
        "{}  {{\"calls\": [{}], \"seconds\": [{:.6g}], \"exec_s\": {:.6g}, \"idle_s\": {:.6g}, \"overhead_s\": "
        "{:.6g},\n"
        "   \"background_s\": {:.6g}, \"messages\": {}, \"bytes\": {}, \"parcels\": {}, \"wall_s\": {:.6g}}}",
        l == 0 ? "" : ",\n", fmt::join(u.calls, ", "), fmt::join(u.seconds, ", "), u.exec_s, u.idle_s, u.overhead_s,
        u.background_s, u.messages, u.bytes, u.parcels, use[l].back());
  }
  t += "],\n \"segments\": [";
  for (std::size_t i = 0; i < segments.size(); ++i)
    t += fmt::format(
        "{}\n  {{\"warm\": {}, \"changed\": {}, \"step_s\": [{:.6g}],\n   \"blocks\": [{}],\n   \"block_us\": "
        "[{}]}}",
        i == 0 ? "" : ",", segments[i].warm, segments[i].changed, fmt::join(segments[i].step_s, ", "),
        list_of_blocks(segments[i]), list_of_costs(segments[i]));
  return t + "]}\n";
}

result<std::string> run_recorder::run() {
  sim_.start();
  std::vector<segment> segments;
  numbers before{};
  for (int i = 0; i < what_.warm + what_.segments; ++i) {
    if (i == what_.warm) {
      j_.run([] {});  // all processes start together, also those that run alone
      before = used_so_far(j_);
    }
    auto s = next();
    if (!s) return s.error();
    s->warm = i < what_.warm;
    segments.push_back(*std::move(s));
  }
  numbers now = used_so_far(j_);
  std::vector<double> mine;
  for (std::size_t i = 0; i < now.size(); ++i) mine.push_back(now[i] - before[i]);
  double wall_s = 0.0;
  for (const segment& s : segments)
    if (!s.warm) wall_s = std::accumulate(s.step_s.begin(), s.step_s.end(), wall_s);
  mine.push_back(wall_s);
  const auto use = gathered(std::move(mine));
  return j_.here() == 0 ? text(segments, use) : std::string();
}

}  // namespace

result<std::string> record(job& j, const record_request& what) {
  const auto in = star::input::from_file(what.input, what.sets);
  if (!in) return in.error();
  const auto s = (*in)->prepare();
  if (!s) return s.error();
  return run_recorder(j, what, **in, *s).run();
}

}  // namespace plx::scale
