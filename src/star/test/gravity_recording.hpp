// Test fixtures: the field of self-gravity, as a module that adds the passes of gravity and keeps their results, and
// one step of a gas with a given density.
//
// Thread safety: one run at a time. Cost: that of a solve. Example: star/test/gravity_test.cpp
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "star/device/portable_operation.hpp"
#include "star/gravity/self_gravity.hpp"
#include "star/gravity/test/direct_sum.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star::test {

/// Potential and acceleration of the cells of all blocks in the first stage of a step, by slot: [4][n^3].
struct recorded {
  std::vector<std::vector<double>> values;     ///< with the correction that makes total force and torque zero
  std::vector<std::vector<double>> as_summed;  ///< without it

  /// Call it before the step.
  void make_room(std::size_t slots) { values.resize(slots), as_summed.resize(slots); }
};

struct record_pass {
  static constexpr const char* name = "test.record";
  static constexpr int threads = 1;
  int results, correction;
  recorded* to;
  void operator()(const pass_view& v, std::int32_t node, int) const {
    const double* from = v.field(results, node);
    const double* c = v.field(correction, node);
    std::vector<double>& out = to->values[static_cast<std::size_t>(node)];
    out.assign(from, from + 4 * v.cells());
    to->as_summed[static_cast<std::size_t>(node)] = out;
    for (int i = 0; i < v.cells(); ++i) {
      const double x[3] = {v.centre(node, 0, i % v.n) - c[6], v.centre(node, 1, i / v.n % v.n) - c[7],
                           v.centre(node, 2, i / (v.n * v.n)) - c[8]};
      for (int a = 0; a < 3; ++a)
        out[static_cast<std::size_t>((1 + a) * v.cells() + i)] +=
            c[a] + (c[3 + (a + 1) % 3] * x[(a + 2) % 3] - c[3 + (a + 2) % 3] * x[(a + 1) % 3]);
    }
  }
};

inline mesh::domain isolated_box(int block_size) {
  mesh::domain d;
  d.block_size = block_size;
  d.sides.fill(mesh::boundary::outflow);
  return d;
}

class recording final : public step_module {
 public:
  recording(gravity::gravity_options o, int block_size) : recording(o, isolated_box(block_size)) {}
  recording(gravity::gravity_options o, const mesh::domain& box)
      : inner_(gravity::self_gravity::make(o, box).value()) {}
  void before_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                    gas_passes& on) const override {
    inner_->before_stage(r, f, own, on);
  }
  void after_stage(step::recipe& r, const stage_fields& f, std::vector<node_field>& own,
                   gas_passes& on) const override {
    inner_->after_stage(r, f, own, on);
    if (f.stage > 0) return;
    const node_field& results = own[gravity::self_gravity::results];
    const node_field& correction = own[gravity::self_gravity::correction];
    r.add({.name = record_pass::name,
           .reads = {{results.field}, {correction.field}, {f.next}},
           .writes = {f.next},
           .kernel = on.portable(device::portable(record_pass{results.index, correction.index, &found}), f.stage)});
  }
  work_fields potential(const std::vector<node_field>& own) const override { return inner_->potential(own); }
  void after_step(step::recipe& r, const stage_fields& f, std::vector<node_field>& own, gas_passes& on) const override {
    inner_->after_step(r, f, own, on);
  }
  std::vector<std::string> sums() const override { return inner_->sums(); }
  mutable recorded found;

 private:
  std::unique_ptr<gravity::self_gravity> inner_;
};

/// The cells of all blocks with the field of these values, by slot.
inline std::vector<gravity::gravity_point> with_field(std::vector<gravity::gravity_point> points, const simulation& sim,
                                                      const std::vector<std::vector<double>>& of) {
  const std::ptrdiff_t cells = sim.state().now.cells();
  auto p = points.begin();
  for (const mesh::slot_id b : sim.state().mesh.blocks()) {
    const std::vector<double>& values = of[static_cast<std::size_t>(b)];
    for (std::ptrdiff_t c = 0; c < cells; ++c, ++p) {
      p->potential = values[static_cast<std::size_t>(c)];
      for (int a = 0; a < 3; ++a) p->acceleration[a] = values[static_cast<std::size_t>((1 + a) * cells + c)];
    }
  }
  return points;
}

/// One step of a gas with this density, at rest; the cells with the field that the module has recorded. `as_summed`:
/// gets them with the field before the correction.
template <class Density>
void step_once(const std::vector<std::string>& sets, recording& module, Density&& density,
               std::vector<gravity::gravity_point>& points, std::vector<gravity::gravity_point>* as_summed = nullptr) {
  const auto in = blast(sets);
  setup s = in->prepare().value();
  s.modules = {&module};
  runtime rt({.workers = 2});
  simulation sim(*in, s, rt);
  sim.start();
  auto& g = const_cast<gas&>(sim.state());
  const int n = g.mesh.block_size(), cells = g.now.cells();
  for (const mesh::slot_id b : g.mesh.blocks()) {
    double* u = g.now.block(b);
    std::fill_n(u, 6 * cells, 0.0);
    for (int c = 0; c < cells; ++c) {
      const int i[3] = {c % n, c / n % n, c / (n * n)};
      gravity::gravity_point p{};
      for (int a = 0; a < 3; ++a) p.x[a] = g.mesh.centre(b, a, i[a]);
      u[c] = density(p.x);
      u[i_energy * cells + c] = 1e3;
      p.width = g.mesh.cell_width(b), p.mass = u[c] * std::pow(p.width, 3);
      points.push_back(p);
    }
  }
  module.found.make_room(g.mesh.slot_count());
  ASSERT_TRUE(sim.step()) << "step";
  if (as_summed != nullptr) *as_summed = with_field(points, sim, module.found.as_summed);
  points = with_field(std::move(points), sim, module.found.values);
}

}  // namespace plx::star::test
