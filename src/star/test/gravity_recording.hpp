// Test fixtures: the field of self-gravity, as a module that adds the passes of gravity and keeps their results.
//
// Thread safety: one run at a time. Cost: that of a solve. Example: star/test/gravity_test.cpp
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "star/device/portable_operation.hpp"
#include "star/gravity/self_gravity.hpp"

namespace plx::star::test {

/// Potential and acceleration of the cells of all blocks in the first stage of a step, by slot: [4][n^3], with the
/// correction.
struct recorded {
  std::vector<std::vector<double>> values;
  double correction[9] = {};
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
    for (int i = 0; i < v.cells(); ++i) {
      const double x[3] = {v.centre(node, 0, i % v.n) - c[6], v.centre(node, 1, i / v.n % v.n) - c[7],
                           v.centre(node, 2, i / (v.n * v.n)) - c[8]};
      for (int a = 0; a < 3; ++a)
        out[static_cast<std::size_t>((1 + a) * v.cells() + i)] +=
            c[a] + (c[3 + (a + 1) % 3] * x[(a + 2) % 3] - c[3 + (a + 2) % 3] * x[(a + 1) % 3]);
    }
  }
};

class recording final : public step_module {
 public:
  recording(gravity::gravity_options o, int block_size) : inner_(gravity::self_gravity::make(o, block_size).value()) {}
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

}  // namespace plx::star::test
