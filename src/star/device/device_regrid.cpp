// Functions of a device_gas between steps: refinement criteria, values of new blocks, totals.
#include <algorithm>
#include <span>

#include "base/clock.hpp"
#include "mesh/tree/regrid.hpp"
#include "star/device/device_gas.hpp"
#include "star/device/operations.hpp"
#include "star/hydro/stage.hpp"
#include "star/step/gas_step.hpp"

namespace plx::star::device {

// Limits and ranges are copied only if they differ from those of the last check.
void device_gas::put_marks(const cell_criteria& criteria) {
  const bool reads_neighbours = (criteria.gradient_of | criteria.curvature_of) != 0 || !criteria.species.empty();
  if (reads_neighbours) put_ghosts(arenas_[now_].data(), control_.data() + 1);
  if (limits_here_ != criteria.limits) limits_.set(on_, limits_here_ = criteria.limits);
  if (ranges_here_ != criteria.species) ranges_.set(on_, ranges_here_ = criteria.species);
  marks_arguments a;
  a.hydro = options_.hydro;
  a.n = n_, a.n_blocks = n_blocks_;
  a.gradient_of = criteria.gradient_of, a.curvature_of = criteria.curvature_of;
  a.gradient_refine = criteria.gradient_refine, a.gradient_coarsen = criteria.gradient_coarsen;
  a.curvature_refine = criteria.curvature_refine, a.curvature_coarsen = criteria.curvature_coarsen;
  a.buffer = criteria.buffer;
  a.of_sound = criteria.of_sound;
  a.n_levels = static_cast<int>(criteria.limits.size()) / level_limit_count;
  a.limits = limits_.data();
  a.n_ranges = static_cast<int>(criteria.species.size() / 3);
  a.ranges = ranges_.data();
  a.source = arenas_[now_].data();
  a.slabs = slabs_.data();
  a.inflow = inflow_.data();
  a.blocks = blocks_.data();
  a.marks = marks_.data();
  a.turn = ++turn_;
  a.changed = marks_changed_.data();
  on_.launch(mark_cells, a);
}

found_marks device_gas::marks(const cell_criteria& criteria) {
  put_marks(criteria);
  on_.copy(changed_here_.data(), marks_changed_.data(), sizeof turn_);
  on_.synchronize();
  const std::span<const std::uint32_t> words(words_here_.data(), 2 * static_cast<std::size_t>(n_blocks_));
  if (words_known_ && *changed_here_.data() != turn_) return {words, true};
  words_known_ = false;  // if the copy fails
  on_.copy(words_here_.data(), marks_.data(), words.size_bytes());
  on_.synchronize();
  words_known_ = true;
  return {words, false};
}

double device_gas::time_marks(const cell_criteria& criteria, int repeats) {
  words_known_ = false;
  put_marks(criteria);
  on_.synchronize();
  const double begin = monotonic_seconds();
  for (int i = 0; i < repeats; ++i) put_marks(criteria);
  on_.synchronize();
  return (monotonic_seconds() - begin) / repeats;
}

std::vector<block_report> device_gas::make_blocks(const mesh::regrid_plan& plan, const mesh::block_mesh& old) {
  const auto place = [this](mesh::slot_id slot) { return static_cast<std::int64_t>(slot * stride_); };
  std::vector<child_item> children;
  std::vector<merged_item> merged;
  std::vector<std::int64_t> places;
  for (const mesh::family& f : plan.refined)
    for (int c = 0; c < 8; ++c)
      children.push_back({old.position(f.parent), c, place(f.children[c]), 0.5 * old.cell_width(f.parent)});
  for (const mesh::family& f : plan.merged) {
    merged_item m{place(f.parent), {}, old.cell_width(f.children[0])};
    for (int c = 0; c < 8; ++c) m.from[c] = place(f.children[c]);
    merged.push_back(m);
  }
  for (const child_item& c : children) places.push_back(c.to);
  for (const merged_item& m : merged) places.push_back(m.to);
  std::vector<block_place> positions;
  for (const mesh::family& f : plan.refined)
    for (const mesh::slot_id child : f.children) positions.push_back(place_of(plan.next, child));
  for (const mesh::family& f : plan.merged) positions.push_back(place_of(plan.next, f.parent));

  arenas_[now_].grow(on_, plan.next.slot_count() * stride_, slots_ * stride_);
  children_.set(on_, children);
  merged_.set(on_, merged);
  new_blocks_.set(on_, places);
  new_places_.set(on_, positions);
  checks_.set(on_, std::vector<block_report>(places.size()));
  put_ghosts(arenas_[now_].data(), control_.data() + 1);
  on_.synchronize();

  move_arguments m;
  m.fields = fields_;
  m.n = n_, m.spin = spin_variable(options_.hydro);
  m.n_children = static_cast<int>(children.size()), m.n_merged = static_cast<int>(merged.size());
  m.central = central_;
  m.source = arenas_[now_].data();
  m.slabs = slabs_.data();
  m.inflow = inflow_.data();
  m.blocks = blocks_.data();
  m.children = children_.data();
  m.merged = merged_.data();
  on_.launch(move_values, m);

  check_arguments c;
  c.hydro = options_.hydro;
  c.n = n_, c.n_items = static_cast<int>(places.size());
  c.source = arenas_[now_].data();
  c.items = new_blocks_.data();
  c.places = new_places_.data();
  c.reports = checks_.data();
  c.added.sums = added_.data();
  on_.launch(check_blocks, c);
  slots_ = std::max(slots_, plan.next.slot_count());  // slots that have values
  return checks_.get(places.size());
}

namespace {

double value_of(const exact_limbs& sum) {
  exact_sum exact;
  add_limbs(sum, exact);
  return exact.value();
}

}  // namespace

void device_gas::put_totals(const double* values, const step_control* control, int kept, int every, exact_limbs* sums) {
  totals_arguments a;
  a.n = n_, a.n_var = n_var_, a.n_blocks = n_blocks_;
  a.spin = spin_variable(options_.hydro);
  a.every = every;
  a.steps_kept = kept;
  a.source = values;
  a.blocks = blocks_.data();
  a.sums = sums;
  a.control = control;
  on_.launch(sum_totals, a);
}

std::vector<double> device_gas::totals() {
  std::vector<exact_sum> sums(static_cast<std::size_t>(n_var_));
  add_totals(sums);
  std::vector<double> values;
  for (const exact_sum& s : sums) values.push_back(s.value());
  return values;
}

void device_gas::add_totals(std::span<exact_sum> sums) {
  const std::vector<exact_limbs> zero(static_cast<std::size_t>(n_var_));
  sum_now_.set(on_, zero);
  put_totals(arenas_[now_].data(), control_.data() + 1, 0, 1, sum_now_.data());
  const std::vector<exact_limbs> found = sum_now_.get(zero.size());
  for (std::size_t v = 0; v < found.size(); ++v) add_limbs(found[v], sums[v]);
}

void device_gas::collect_totals(std::int64_t begin) {
  const std::vector<exact_limbs> sums = sums_.get(no_sums_.size());
  for (std::size_t r = 0; r < results_.size(); ++r) {
    const std::int64_t step = begin + static_cast<std::int64_t>(r) + 1;
    if (step % options_.totals_every != 0) continue;
    for (int v = 0; v < n_var_; ++v)
      results_[r].totals.push_back(value_of(sums[static_cast<std::size_t>(step % steps_kept) * n_var_ + v]));
  }
}

std::vector<exact_sum> device_gas::take_added() {
  const std::vector<exact_limbs> copies = added_.get(static_cast<std::size_t>(added_copies) * n_var_);
  added_.set(on_, std::vector<exact_limbs>(copies.size()));
  on_.synchronize();
  std::vector<exact_sum> sums(static_cast<std::size_t>(n_var_));
  for (std::size_t c = 0; c < copies.size(); ++c) add_limbs(copies[c], sums[c % sums.size()]);
  return sums;
}

void device_gas::collect_added(std::int64_t begin) {
  if (std::none_of(results_.begin(), results_.end(), [](const step_result& r) { return r.course.added_terms > 0; }))
    return;
  const std::vector<exact_limbs> all = added_of_steps_.get(no_sums_.size());
  for (std::size_t r = 0; r < results_.size(); ++r) {
    if (results_[r].course.added_terms == 0) continue;
    const std::int64_t step = begin + static_cast<std::int64_t>(r) + 1;
    results_[r].added.resize(static_cast<std::size_t>(n_var_));
    for (int v = 0; v < n_var_; ++v)
      add_limbs(all[static_cast<std::size_t>(step % steps_kept) * n_var_ + v],
                results_[r].added[static_cast<std::size_t>(v)]);
  }
}

}  // namespace plx::star::device
