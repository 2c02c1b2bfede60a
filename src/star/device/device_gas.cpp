#include "star/device/device_gas.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "mesh/location.hpp"

namespace plx::star::device {

namespace {

ghosts_from beyond(mesh::boundary side) {
  switch (side) {
    case mesh::boundary::reflecting:
      return ghosts_from::reflecting;
    case mesh::boundary::inflow:
      return ghosts_from::inflow;
    case mesh::boundary::outflow:
    case mesh::boundary::periodic:
      break;
  }
  return ghosts_from::outflow;
}

}  // namespace

device_gas::device_gas(machine& on, const gas_options& options) : on_(on), options_(options) {
  PLX_ASSERT_EQ(options.hydro.n_species, 0);
  n_var_ = variable_count(options.hydro.n_species);
  std::vector<double> inflow(static_cast<std::size_t>(mesh::face_count * n_var_), 0.0);
  for (int f = 0; f < mesh::face_count; ++f)
    std::copy(options.sides.inflow[f].begin(), options.sides.inflow[f].end(), inflow.begin() + f * n_var_);
  inflow_.set(on_, inflow);
  control_.reserve(on_, 1);
  on_.synchronize();
}

void device_gas::adopt(const mesh::block_mesh& mesh) {
  on_.synchronize();
  n_ = mesh.block_size();
  n_blocks_ = static_cast<int>(mesh.block_count());
  slots_ = mesh.slot_count();
  stride_ = static_cast<std::size_t>(n_var_) * n_ * n_ * n_;
  for (auto& a : arenas_) a.reserve(on_, slots_ * stride_);

  std::vector<block_item> items;
  for (const mesh::slot_id slot : mesh.blocks()) {
    block_item b;
    b.values = static_cast<std::int64_t>(slot * stride_);
    b.dx = mesh.cell_width(slot);
    b.slot = slot;
    for (int f = 0; f < mesh::face_count; ++f) {
      const mesh::neighbour& other = mesh.across(slot, f);
      if (other.kind == mesh::relation::same)
        b.face[f] = {static_cast<std::int64_t>(other.slots[0] * stride_), ghosts_from::block, 0};
      else if (other.kind == mesh::relation::side)
        b.face[f] = {0, beyond(mesh.box().sides[f]), 0};
    }
    items.push_back(b);
  }
  blocks_.set(on_, items);
  reports_.set(on_, std::vector<block_report>(items.size()));
  rates_.set(on_, std::vector<double>(slots_, 0.0));
  on_.synchronize();
  on_.drop_graphs();
  std::fill(std::begin(graph_), std::end(graph_), -1);
}

void device_gas::upload(const mesh::arena& values) {
  PLX_ASSERT(values.rows() == slots_ && values.stride() == stride_, values.rows(), slots_);
  on_.to_device(arenas_[now_].data(), values.base(), slots_ * stride_ * sizeof(double));
  on_.synchronize();
}

void device_gas::download(mesh::arena& values) {
  PLX_ASSERT(values.rows() == slots_ && values.stride() == stride_, values.rows(), slots_);
  on_.from_device(values.base(), arenas_[now_].data(), slots_ * stride_ * sizeof(double));
  on_.synchronize();
}

void device_gas::begin(const step_control& control) {
  control_.set(on_, {&control, 1});
  on_.synchronize();
  steps_at_wait_ = control.steps;
}

void device_gas::put_step() {
  for (int stage = 0; stage < options_.scheme.stages; ++stage) {
    stage_arguments a;
    a.hydro = options_.hydro;
    a.n = n_;
    a.n_blocks = n_blocks_;
    a.stage = stage;
    a.last = stage + 1 == options_.scheme.stages;
    a.weight = options_.scheme.weight[stage];
    a.source = source(stage);
    a.u_old = arenas_[now_].data();
    a.target = target(stage);
    a.slabs = slabs_.data();
    a.inflow = inflow_.data();
    a.fluxes = fluxes_.data();
    a.blocks = blocks_.data();
    a.reports = reports_.data();
    a.control = control_.data();
    on_.advance_stage(a);
  }
  on_.finish_step({n_blocks_, blocks_.data(), reports_.data(), rates_.data(), control_.data()});
}

void device_gas::swap_after_step() { std::swap(now_, options_.scheme.stages == 2 ? b_ : a_); }

// The new state lies where an old one was: as many graphs as places take turns.
void device_gas::step() {
  if (!on_.has_graphs()) {
    put_step();
  } else {
    int& graph = graph_[now_];
    if (graph < 0) {
      on_.begin_graph();
      put_step();
      graph = on_.end_graph();
    }
    on_.replay(graph);
  }
  swap_after_step();
  ++put_;
}

step_control device_gas::wait() {
  const step_control c = control_.get(1).front();
  // Steps after the course stopped have not been: what they were to write holds older states.
  const std::int64_t been = c.steps - steps_at_wait_;
  for (std::int64_t s = been; s < put_; ++s) swap_after_step();
  put_ = 0;
  steps_at_wait_ = c.steps;
  return c;
}

std::vector<double> device_gas::signal_rates() { return rates_.get(slots_); }

}  // namespace plx::star::device
