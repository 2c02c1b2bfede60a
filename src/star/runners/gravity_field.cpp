#include "star/runners/gravity_field.hpp"

#include <utility>

#include "rt/for_loop.hpp"
#include "star/gravity/self_gravity.hpp"
#include "star/runners/host_pass_data.hpp"
#include "star/step/gas_step.hpp"
#include "step/border.hpp"
#include "step/node_graph.hpp"
#include "step/task_runner.hpp"

namespace plx::star {

using gravity::self_gravity;

// The passes before a first stage, without the stage.
class gravity_field::passes final : public gas_passes {
 public:
  passes(const gas& g, const gravity::gravity_options& o)
      : gas_(g),
        module_(self_gravity::make(o, g.mesh.block_size()).value()),
        recipe_(make_recipe()),
        runner_(recipe_, g.net) {}

  void solve() {
    runner_.adopt(gas_.mesh, gas_.parts);
    data_.adopt(runner_.nodes(), rows_of_fields(runner_.nodes()), module_tables());
    // The passes of gravity only read the state.
    auto& now = const_cast<mesh::arena&>(gas_.now);
    data_.set_places(now, now, now);
    runner_.run();
    const auto own = gas_.own();
    for_loop({probe::register_name("star.gravity_field"), probe::no_key}, std::size_t{0}, own.size(),
             [&](std::size_t b) { add_correction(own[b]); });
  }
  double* values(mesh::slot_id slot) const { return data_.view().field(results_, slot); }

  std::unique_ptr<step::pass_kernel> advance(int, work_fields) override { return none(); }
  std::unique_ptr<step::pass_kernel> correct_fluxes(int) override { return none(); }
  std::unique_ptr<step::pass_kernel> check_state(int) override { return none(); }
  std::unique_ptr<step::pass_kernel> portable(std::unique_ptr<portable_code> code, int) override {
    return step::kernel([this, code = std::move(code)](step::node_id node) {
      pass_view v = data_.view();
      v.time = &zero_, v.dt = &zero_, v.carried = &not_carried_;
      code->run(v, node);
    });
  }

 private:
  static std::unique_ptr<step::pass_kernel> none() {
    return step::kernel([](step::node_id) {});
  }
  std::vector<step::transfer> field_transfers(int index, const std::vector<step::stencil>& read_at) override {
    step::node_values& values = data_.field(index, module_fields()[static_cast<std::size_t>(index)].doubles);
    if (read_at.empty()) return {};
    borders_.push_back(std::make_unique<step::node_border>(values, read_at));
    std::vector<step::transfer> all;
    for (const step::stencil at : read_at) all.push_back({at, borders_.back().get()});
    return all;
  }
  step::recipe make_recipe() {
    step::recipe r;
    stage_fields f;
    f.start = f.now = r.add_field({.name = "u", .given = true, .nodes = step::node_set::blocks, .storage = 0});
    f.sums = add_sums(r, module_->sums());
    std::vector<node_field> own;
    module_->before_stage(r, f, own, *this);
    results_ = own[self_gravity::results].index, correction_ = own[self_gravity::correction].index;
    return r;
  }
  // The acceleration u + w x (x - c) that makes total force and torque zero (gravity::correction_count).
  void add_correction(mesh::slot_id slot) const {
    const pass_view& v = data_.view();
    const double* c = v.field(correction_, slot);
    double* g = values(slot);
    const int n3 = v.cells();
    for (int i = 0; i < n3; ++i) {
      const double x[3] = {v.centre(slot, 0, i % v.n) - c[6], v.centre(slot, 1, i / v.n % v.n) - c[7],
                           v.centre(slot, 2, i / (v.n * v.n)) - c[8]};
      for (int a = 0; a < 3; ++a)
        g[(1 + a) * n3 + i] += c[a] + (c[3 + (a + 1) % 3] * x[(a + 2) % 3] - c[3 + (a + 2) % 3] * x[(a + 1) % 3]);
    }
  }

  const gas& gas_;
  std::unique_ptr<self_gravity> module_;
  std::vector<std::unique_ptr<step::border>> borders_;
  host_pass_data data_;
  int results_ = 0, correction_ = 0;
  double zero_ = 0.0;
  std::int32_t not_carried_ = 0;
  step::recipe recipe_;
  step::task_runner runner_;
};

gravity_field::gravity_field(const gas& g, const gravity::gravity_options& o)
    : passes_(std::make_unique<passes>(g, o)) {}
gravity_field::~gravity_field() = default;
void gravity_field::solve() { passes_->solve(); }
const double* gravity_field::values(mesh::slot_id slot) const { return passes_->values(slot); }

}  // namespace plx::star
