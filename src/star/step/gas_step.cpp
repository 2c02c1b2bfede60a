#include "star/step/gas_step.hpp"

#include <fmt/format.h>

#include <utility>

namespace plx::star {

using step::field_id;
using step::node_set;
using step::stencil;

namespace {

constexpr int flux_storage = 3;  // after the places of the state; then those of modules

// The kernels of a recipe that is only checked.
class no_passes final : public gas_passes {
 public:
  std::unique_ptr<step::pass_kernel> advance(int) override { return none(); }
  std::unique_ptr<step::pass_kernel> correct_fluxes(int) override { return none(); }
  std::unique_ptr<step::pass_kernel> check_state(int) override { return none(); }
  node_field add_node_field(step::recipe& r, std::string name, int, std::vector<stencil> read_at,
                            const node_field* in_place_of) override {
    const int index = in_place_of != nullptr ? in_place_of->index : fields_++;
    return {r.add_field(module_field(r, std::move(name), index, std::move(read_at))), index};
  }
  std::unique_ptr<step::pass_kernel> portable(std::unique_ptr<portable_code>, int) override { return none(); }

 private:
  static std::unique_ptr<step::pass_kernel> none() {
    return step::kernel([](step::node_id) {});
  }
  int fields_ = 0;
};

}  // namespace

result<void> check_modules(const integrator& scheme, std::span<const step_module* const> modules) {
  for (const step_module* m : modules)
    if (m == nullptr) return error{"additional physics: expected modules, found a null pointer"};
  no_passes none;
  return gas_step(scheme, none, modules).check();
}

step::field_info module_field(step::recipe& r, std::string name, int index, std::vector<stencil> read_at) {
  if (index >= pass_view::most_fields)
    r.refuse(
        {fmt::format("additional physics: expected at most {} fields, found another one, {}; join fields into one with "
                     "more doubles per node",
                     pass_view::most_fields, name)});
  return {.name = std::move(name), .shared_at = std::move(read_at), .storage = flux_storage + 1 + index};
}

// For each Runge-Kutta stage s: the state u[s + 1] of each block from u[s], of which it reads its neighbours' cells,
// and from u[0]. Where a neighbour across a face is finer, the block's fluxes are then replaced by those of the finer
// blocks.
step::recipe gas_step(const integrator& scheme, gas_passes& gas, std::span<const step_module* const> modules) {
  step::recipe r;
  const auto state = [&](int s) {
    return r.add_field({.name = fmt::format("u{}", s),
                        .given = s == 0,
                        .shared_at = {stencil::neighbours},
                        .nodes = node_set::blocks,
                        .storage = state_place(s),
                        .tag = s - 1,
                        .transfers = gas.state_transfers(s)});
  };
  std::vector<std::vector<node_field>> fields(modules.size());  // by module
  stage_fields f;
  f.start = f.now = state(0);
  for (f.stage = 0; f.stage < scheme.stages; ++f.stage) {
    f.next = state(f.stage + 1);
    const field_id fluxes = r.add_field({.name = fmt::format("fluxes{}", f.stage),
                                         .shared_at = {stencil::finer_faces},
                                         .nodes = node_set::blocks,
                                         .storage = flux_storage,
                                         .tag = f.stage,
                                         .transfers = gas.flux_transfers(f.stage)});
    for (std::size_t m = 0; m < modules.size(); ++m) modules[m]->before_stage(r, f, fields[m], gas);
    r.add({.name = "star.stage",
           .where = node_set::blocks,
           .reads = {{f.now, stencil::neighbours}, {f.now}, {f.start}},
           .writes = {f.next, fluxes},
           .kernel = gas.advance(f.stage)});
    r.add({.name = "star.flux_correction",
           .where = node_set::beside_finer,
           .reads = {{fluxes, stencil::finer_faces}, {f.next}},
           .writes = {f.next},
           .kernel = gas.correct_fluxes(f.stage)});
    const std::size_t passes = r.passes().size();
    for (std::size_t m = 0; m < modules.size(); ++m) modules[m]->after_stage(r, f, fields[m], gas);
    if (r.passes().size() > passes)
      r.add({.name = "star.check_state",
             .where = node_set::blocks,
             .reads = {{f.next}},
             .writes = {f.next},
             .kernel = gas.check_state(f.stage)});
    f.now = f.next;
  }
  r.publish({f.now, stencil::neighbours});
  return r;
}

}  // namespace plx::star
