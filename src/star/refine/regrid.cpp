#include "star/refine/regrid.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "mesh/tree/regrid.hpp"
#include "rt/for_loop.hpp"
#include "star/refine/refinement.hpp"
#include "star/state/gas.hpp"
#include "star/step/gas_step.hpp"
#include "step/exchange.hpp"
#include "step/round_end.hpp"

namespace plx::star {

using mesh::flag;
using mesh::slot_id;

namespace {

task_info info_of(const char* name) { return {probe::register_name(name), probe::no_key}; }

std::vector<bool> new_slots(const regrid_result& r, std::size_t slots) {
  std::vector<bool> is_new(slots, false);
  for (const mesh::family& f : r.refined)
    for (const slot_id child : f.children) is_new[child] = true;
  for (const mesh::family& f : r.merged) is_new[f.parent] = true;
  return is_new;
}

// Applies floors to blocks that no stage has made, and computes their signal rates. `scratch`: gets what they change.
floor_counts check_blocks(gas& g, const setup& s, const std::vector<slot_id>& slots, worker_scratch& scratch) {
  std::vector<stage_output> outs(slots.size());
  const int n = g.mesh.block_size();
  for_loop(info_of("star.check"), std::size_t{0}, slots.size(), [&](std::size_t i) {
    scratch.with_sums(1.0, [&](floor_sums to) -> const stage_output& {
      outs[i].added = to;
      check_cells(s.hydro, g.now.block(slots[i]), n, place_of(g.mesh, slots[i]), {{0, 0, 0}, {n, n, n}}, outs[i]);
      return outs[i];
    });
  });
  floor_counts floors;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    g.signal_rate[slots[i]] = outs[i].max_signal_rate;
    floors.add(outs[i]);
  }
  return floors;
}

/// A block that moves from one locality to another.
struct block_move {
  slot_id slot = mesh::no_slot;
  int from = 0, to = 0;
};

constexpr std::size_t blocks_per_message = 32;
constexpr std::size_t extras = 3;  // numbers after a block's values: signal rate, seconds, steps

// The messages of the moves: one message holds blocks of one pair of localities, up to a maximum.
struct shipment {
  int from = 0, to = 0;
  std::vector<slot_id> slots;
};

std::vector<shipment> shipments_of(std::span<const block_move> moves) {
  std::map<std::pair<int, int>, std::size_t> filling;
  std::vector<shipment> all;
  for (const block_move& m : moves) {
    const auto [at, fresh] = filling.try_emplace({m.from, m.to}, all.size());
    if (!fresh && all[at->second].slots.size() == blocks_per_message) at->second = all.size();
    if (at->second == all.size()) all.push_back({m.from, m.to, {}});
    all[at->second].slots.push_back(m.slot);
  }
  return all;
}

class moving final : public step::message_handler {
 public:
  moving(gas& g, block_costs& costs, std::span<const block_move> moves)
      : g_(g), costs_(costs), all_(shipments_of(moves)), end_(to_come()) {}

  void run() {
    if (!exchange_all()) end_.fail();
    for (const auto& [slot, cost] : arrived_costs_) costs_.set(slot, cost);
  }

  void arrived(const step::message& m) override {
    const shipment& s = all_[m.tag.group];
    const std::size_t values = value_count();
    PLX_ASSERT_EQ(m.values.size(), s.slots.size() * (values + extras));
    const double* from = m.values.data();
    for (const slot_id slot : s.slots) {
      std::copy_n(from, values, g_.now.block(slot));
      const std::lock_guard guard(lock_);
      g_.signal_rate.at(slot) = from[values];
      arrived_costs_.push_back({slot, {from[values + 1], from[values + 2]}});
      from += values + extras;
    }
    end_.arrive();
  }
  void lost(const std::exception_ptr& loss) override { end_.lost(loss); }

 private:
  bool exchange_all() {
    step::exchange::open_round round(g_.net);
    round.begin(*this);
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].from == g_.net.here()) {
        step::message_tag tag;
        tag.group = static_cast<std::uint32_t>(i);
        g_.net.send(all_[i].to, tag, packed(all_[i]));
      }
    return end_.wait();
  }
  int to_come() const {
    return static_cast<int>(
        std::count_if(all_.begin(), all_.end(), [&](const shipment& s) { return s.to == g_.net.here(); }));
  }
  std::size_t value_count() const { return static_cast<std::size_t>(g_.now.variable_count()) * g_.now.cells(); }

  buffer<double> packed(const shipment& s) {
    const std::size_t values = value_count();
    buffer<double> all(s.slots.size() * (values + extras));
    double* to = all.data();
    for (const slot_id slot : s.slots) {
      std::copy_n(g_.now.block(slot), values, to);
      const block_costs::entry cost = costs_.of(slot);
      to[values] = g_.signal_rate.at(slot);
      to[values + 1] = cost.seconds;
      to[values + 2] = cost.steps;
      costs_.set(slot, {});
      to += values + extras;
    }
    return all;
  }

  gas& g_;
  block_costs& costs_;
  const std::vector<shipment> all_;
  step::round_end end_;
  std::mutex lock_;
  std::vector<std::pair<slot_id, block_costs::entry>> arrived_costs_;
};

// The moves that turn the partition `held` into `wanted`, in the order of the curve.
std::vector<block_move> moves_between(const mesh::block_mesh& mesh, const mesh::curve_parts& held,
                                      const mesh::curve_parts& wanted) {
  std::vector<block_move> moves;
  for (int position = 0; position < static_cast<int>(mesh.block_count()); ++position)
    if (const int from = held.part_of(position), to = wanted.part_of(position); from != to)
      moves.push_back({mesh.blocks()[static_cast<std::size_t>(position)], from, to});
  return moves;
}

// Moves the values, signal rates and measured costs of blocks in `now`. Requires: the same list on all localities;
// memory at both ends (gas::make_room). Cost: one message per 32 blocks and pair of localities, and its bytes.
void move_blocks(gas& g, block_costs& costs, std::span<const block_move> moves) {
  if (!moves.empty()) moving(g, costs, moves).run();
}

// One regrid, from the plan to the blocks of the next mesh at their destination.
class moving_on {
 public:
  moving_on(gas& g, next_mesh& next, const regrid_tools& tools)
      : g_(g), plan_(*next.plan), held_(next.held), tools_(tools), slots_(next.plan->next.slot_count()) {}

  void make_blocks() {
    collect_siblings();
    std::vector<std::size_t> refined, merged;
    std::vector<slot_id> room;
    for (std::size_t i = 0; i < plan_.refined.size(); ++i)
      if (g_.owns(plan_.refined[i].parent)) {
        refined.push_back(i);
        room.insert(room.end(), plan_.refined[i].children.begin(), plan_.refined[i].children.end());
      }
    for (std::size_t i = 0; i < plan_.merged.size(); ++i)
      if (g_.owns(plan_.merged[i].children[0])) {
        merged.push_back(i);
        room.push_back(plan_.merged[i].parent);
      }
    g_.make_room(slots_, room);
    for_loop(info_of("star.regrid"), std::size_t{0}, refined.size(), [&](std::size_t i) {
      mesh::refine_values(plan_, g_.mesh, g_.now, refined[i], g_.sides, tools_.scratch.mine().tile);
      refine_spin(g_, plan_.refined[refined[i]]);
    });
    for_loop(info_of("star.regrid"), std::size_t{0}, merged.size(), [&](std::size_t i) {
      mesh::merge_values(plan_, g_.now, merged[i]);
      merge_spin(g_, plan_.merged[merged[i]]);
    });
    tools_.costs.move(plan_.refined, plan_.merged);
  }

  void adopt(const mesh::curve_parts& wanted) {
    const double begin = monotonic_seconds();
    const std::vector<block_move> moves = moves_between(plan_.next, held_, wanted);
    make_room_for(moves);
    move_blocks(g_, tools_.costs, moves);
    const double moved = monotonic_seconds();
    g_.adopt(std::move(plan_.next), wanted);
    if (moves.empty()) return;
    const auto mine = std::count_if(moves.begin(), moves.end(), [&](const block_move& m) {
      return m.from == g_.net.here() || m.to == g_.net.here();
    });
    tools_.balance.moved(static_cast<std::size_t>(mine) * g_.now.stride() * sizeof(double), moved - begin,
                         monotonic_seconds() - moved);
  }

 private:
  // Collects families that the partition divides at the locality of the first child.
  void collect_siblings() {
    std::vector<block_move> moves;
    for (const mesh::family& f : plan_.merged)
      for (const slot_id child : f.children)
        if (const int from = g_.parts.part_of(g_.mesh, child), to = g_.parts.part_of(g_.mesh, f.children[0]);
            from != to)
          moves.push_back({child, from, to});
    make_room_for(moves);
    move_blocks(g_, tools_.costs, moves);
  }

  void make_room_for(const std::vector<block_move>& moves) {
    std::vector<slot_id> room;
    for (const block_move& m : moves)
      if (m.to == g_.net.here()) room.push_back(m.slot);
    g_.make_room(slots_, room);
  }

  gas& g_;
  mesh::regrid_plan& plan_;
  const mesh::curve_parts& held_;
  const regrid_tools& tools_;
  const std::size_t slots_;
};

}  // namespace

next_mesh plan_next_mesh(gas& g, const std::vector<flag>& flags, int coarsen_after, std::int64_t steps,
                         balancer& balance) {
  const std::size_t block_bytes = g.now.stride() * sizeof(double);
  if (mesh::count_requests(g.mesh, flags, coarsen_after)) {
    if (g.net.is_alone()) return {std::nullopt, g.parts, g.parts};
    mesh::curve_parts wanted = balance.decide(g.mesh, g.parts, block_bytes, steps);
    if (wanted == g.parts) return {std::nullopt, g.parts, g.parts};
    return {mesh::regrid_plan{g.mesh, {}, {}}, g.parts, std::move(wanted)};
  }
  mesh::regrid_plan plan = mesh::plan_regrid(g.mesh, flags, coarsen_after);
  mesh::curve_parts held = inherited_parts(plan, g.mesh, g.parts);
  if (g.net.is_alone()) return {std::move(plan), held, held};
  balance.carry(plan.refined, plan.merged);
  mesh::curve_parts wanted = balance.decide(plan.next, held, block_bytes, steps);
  return {std::move(plan), std::move(held), std::move(wanted)};
}

regrid_result regrid(gas& g, const setup& s, next_mesh next, const regrid_tools& tools) {
  if (!next.changed()) return {};
  regrid_result result{next.plan->refined, next.plan->merged, next.wanted != next.held, {}, {}};
  moving_on work(g, next, tools);
  if (next.plan->changed()) work.make_blocks();
  work.adopt(next.wanted);
  const std::vector<bool> is_new = new_slots(result, g.mesh.slot_count());
  std::vector<slot_id> to_check;
  for (const slot_id slot : g.own())
    if (is_new[slot]) to_check.push_back(slot);
  result.floors = check_blocks(g, s, to_check, tools.scratch);
  result.added = tools.scratch.take_added();
  refresh_mirrors(g);
  return result;
}

floor_counts build_initial(gas& g, const setup& s, const refinement_options& options, const problem& p,
                           worker_scratch& scratch, block_limit& limit,
                           const std::function<const gravity_field&()>& solve) {
  const auto fill = [&](const std::vector<slot_id>& slots) {
    for_loop(info_of("star.initial"), std::size_t{0}, slots.size(),
             [&](std::size_t i) { fill_from_problem(p, g.mesh, slots[i], 0.0, g.now.block(slots[i])); });
    refresh_mirrors(g);
  };
  fill({g.own().begin(), g.own().end()});
  // refinement.fill_blocks strengthens the thresholds ten times at most, and levels may follow each time.
  const int most = (options.fill_blocks ? 14 : 4) * static_cast<int>(s.domain.max_level);
  for (int round = 0; round < most; ++round) {
    const double before = limit.weakening();
    const gravity_field* gravity = options.potential_levels.empty() ? nullptr : &solve();
    const std::vector<flag> flags = limit.choose(g.mesh, [&](double weakening) {
      std::vector<flag> at = refinement_flags(g, s, options, scratch, weakening, gravity);
      for (flag& f : at) f = std::max(f, flag::keep);
      return at;
    });
    mesh::regrid_plan plan = mesh::plan_regrid(g.mesh, flags, 1);
    if (!plan.changed() && limit.weakening() == before) break;
    if (!plan.changed()) continue;  // the next thresholds may request more
    std::vector<bool> filled(std::max(g.mesh.slot_count(), plan.next.slot_count()), false);
    for (const slot_id slot : g.own()) filled[slot] = true;  // new blocks have other slots
    g.adopt(std::move(plan.next));
    std::vector<slot_id> missing;
    for (const slot_id slot : g.own())
      if (!filled[slot]) missing.push_back(slot);
    fill(missing);
  }
  if (g.spin >= 0) start_spin(g, scratch);
  const floor_counts floors = check_blocks(g, s, {g.own().begin(), g.own().end()}, scratch);
  scratch.take_added();  // the state begins with what they have changed
  refresh_mirrors(g);
  return floors;
}

floor_counts build_initial(gas& g, const setup& s, const refinement_options& options, const problem& p,
                           worker_scratch& scratch) {
  block_limit limit(options);
  PLX_ASSERT(options.potential_levels.empty());
  return build_initial(g, s, options, p, scratch, limit, {});
}

namespace {

constexpr int last_step = 1024;      // a factor of 2^128
constexpr int most_steps_back = 8;   // per check
constexpr double eighths[8] = {1.0,  // 2^(i/8), the same bits everywhere
                               1.0905077326652577,
                               1.189207115002721,
                               1.2968395546510096,
                               1.4142135623730951,
                               1.5422108254079407,
                               1.681792830507429,
                               1.8340080864093424};

}  // namespace

double block_limit::factor(int step) {
  const int whole = (step + 8 * last_step) / 8 - last_step;  // rounded down
  return std::ldexp(eighths[step - 8 * whole], whole);
}

void block_limit::restore(double state) { step_ = std::clamp(static_cast<int>(state), first_step_, last_step); }

// A mesh above the limit, which can only be coarsened, fits if all its requests together would bring it below.
bool block_limit::fits(const mesh::block_mesh& mesh, const std::vector<mesh::flag>& flags) const {
  const int votes = mesh.block_count() > most_ ? 1 : coarsen_after_;
  if (!mesh::changes_mesh(mesh, flags, votes)) return mesh.block_count() <= most_;
  return mesh::plan_regrid(mesh, flags, votes).next.block_count() <= most_;
}

std::vector<mesh::flag> block_limit::choose(const mesh::block_mesh& mesh,
                                            const std::function<std::vector<mesh::flag>(double)>& flags_at) {
  std::vector<mesh::flag> flags = flags_at(factor(step_));
  if (!present()) return flags;
  if (fits(mesh, flags)) {
    for (int i = 0; i < most_steps_back && step_ > first_step_; ++i) {
      std::vector<mesh::flag> stronger = flags_at(factor(step_ - 1));
      if (!fits(mesh, stronger)) break;
      flags = std::move(stronger);
      --step_;
    }
    return flags;
  }
  // The mesh of `low` does not fit; that of step_ does, or step_ is the last.
  int low = step_;
  for (int width = 1; low < last_step; width *= 2) {
    step_ = std::min(low + width, last_step);
    flags = flags_at(factor(step_));
    if (step_ == last_step || fits(mesh, flags)) break;
    low = step_;
  }
  while (step_ - low > 1) {
    const int middle = low + (step_ - low) / 2;
    std::vector<mesh::flag> stronger = flags_at(factor(middle));
    if (fits(mesh, stronger)) {
      flags = std::move(stronger);
      step_ = middle;
    } else {
      low = middle;
    }
  }
  return flags;
}

}  // namespace plx::star
