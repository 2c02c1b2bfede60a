#include "star/runners/gravity_field.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "rt/for_loop.hpp"
#include "star/device/device_gas.hpp"
#include "star/gravity/passes.hpp"
#include "star/gravity/self_gravity.hpp"
#include "star/step/gas_step.hpp"
#include "step/border.hpp"
#include "step/node_graph.hpp"
#include "step/task_runner.hpp"

namespace plx::star {

using gravity::self_gravity;

namespace {

template <class F>
void for_own_blocks(const gas& g, F&& f) {
  const auto own = g.own();
  for_loop({probe::register_name("star.gravity_field"), probe::no_key}, std::size_t{0}, own.size(),
           [&](std::size_t b) { f(own[b]); });
}

}  // namespace

void gravity_field::hold(const gas& g) {
  step::node_rows rows;
  rows.of.assign(g.mesh.slot_count(), -1);
  for (const mesh::slot_id slot : g.own()) rows.of[static_cast<std::size_t>(slot)] = rows.count++;
  hold(rows, g.mesh.block_size());
}

void gravity_field::hold(const step::node_rows& rows, int block_size) {
  row_of_ = rows.of;
  row_doubles_ = std::ptrdiff_t{4} * block_size * block_size * block_size;
  const std::size_t needed = static_cast<std::size_t>(rows.count) * static_cast<std::size_t>(row_doubles_);
  if (needed <= doubles_) return;
  values_ = nullptr;
  values_ = std::make_unique_for_overwrite<double[]>(needed);
  doubles_ = needed;
}

void gravity_field::correct(const mesh::block_mesh& mesh, mesh::slot_id slot, const double* u_w_c) {
  const double* c = u_w_c;
  double* g = values(slot);
  const int n = mesh.block_size(), n3 = n * n * n;
  for (int i = 0; i < n3; ++i) {
    const double x[3] = {mesh.centre(slot, 0, i % n) - c[6], mesh.centre(slot, 1, i / n % n) - c[7],
                         mesh.centre(slot, 2, i / (n * n)) - c[8]};
    for (int a = 0; a < 3; ++a)
      g[(1 + a) * n3 + i] += c[a] + (c[3 + (a + 1) % 3] * x[(a + 2) % 3] - c[3 + (a + 2) % 3] * x[(a + 1) % 3]);
  }
}

void copy_gravity(const pass_view& from, const work_fields& fields, const gas& g, gravity_field& to) {
  to.hold(g);
  for_own_blocks(g, [&](mesh::slot_id slot) {
    std::copy_n(from.field(fields.field.index, slot), std::ptrdiff_t{4} * from.cells(), to.values(slot));
    to.correct(g.mesh, slot, from.field(fields.correction.index, slot));
  });
}

void read_gravity(device::device_gas& from, const gas& g, gravity_field& to) {
  const auto rows = from.rows_of_gravity();
  to.hold(*rows.field, g.mesh.block_size());
  std::vector<double> corrections(static_cast<std::size_t>(rows.correction->count) * gravity::correction_count);
  from.download_gravity(to.data(), corrections.data());
  for_own_blocks(g, [&](mesh::slot_id slot) {
    const auto row = static_cast<std::size_t>(rows.correction->of[static_cast<std::size_t>(slot)]);
    to.correct(g.mesh, slot, corrections.data() + row * gravity::correction_count);
  });
}

// The passes before a first stage, without the stage.
class gravity_solver::passes final : public gas_passes {
 public:
  passes(const gas& g, const gravity::gravity_options& o)
      : gas_(g),
        module_(self_gravity::make(o, g.mesh.box()).value()),
        recipe_(make_recipe()),
        runner_(recipe_, g.net) {}

  void solve(gravity_field& to) {
    runner_.adopt(gas_.mesh, gas_.parts);
    data_.adopt(runner_.nodes(), rows_of_fields(runner_.nodes()), module_tables());
    // The passes of gravity only read the state.
    auto& now = const_cast<mesh::arena&>(gas_.now);
    data_.set_places(now, now, now);
    runner_.run();
    copy_gravity(data_.view(), field_, gas_, to);
  }

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
    step::node_values& values = data_.field(index, module_fields()[static_cast<std::size_t>(index)].info.doubles);
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
    field_ = module_->potential(own);
    return r;
  }
  const gas& gas_;
  std::unique_ptr<self_gravity> module_;
  std::vector<std::unique_ptr<step::border>> borders_;
  host_pass_data data_;
  work_fields field_;
  double zero_ = 0.0;
  std::int32_t not_carried_ = 0;
  step::recipe recipe_;
  step::task_runner runner_;
};

gravity_solver::gravity_solver(const gas& g, const gravity::gravity_options& o)
    : passes_(std::make_unique<passes>(g, o)) {}
gravity_solver::~gravity_solver() = default;
void gravity_solver::solve(gravity_field& to) { passes_->solve(to); }

}  // namespace plx::star
