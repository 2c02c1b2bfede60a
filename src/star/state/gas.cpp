#include "star/state/gas.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "mesh/tree/curve_cut.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "step/exchange.hpp"
#include "step/round_end.hpp"

namespace plx::star {

namespace {

// Approximate size of a message of ghost cells or fluxes: large enough that the cost per message is negligible, small
// enough that the first ones are sent long before the last block has finished.
constexpr std::size_t message_bytes = std::size_t{64} << 10;

std::vector<mesh::variable> mesh_variables(const hydro_parameters& p) {
  std::vector<mesh::variable> all;
  for (const variable_info& v : conserved_variables(p.n_species, p.spin))
    all.push_back({.name = v.name, .vector_axis = v.vector_axis, .share_limiter = v.share_limiter, .axial = v.axial});
  all[i_density].kind = mesh::quantity::density;
  all[i_energy].kind = mesh::quantity::energy;
  return all;
}

}  // namespace

gas::gas(const setup& s, step::exchange& with)
    : net(with),
      mesh(s.domain),
      parts(equal_parts(mesh, with.count())),
      now(mesh_variables(s.hydro), s.domain.block_size),
      stage_a(mesh_variables(s.hydro), s.domain.block_size),
      stage_b(mesh_variables(s.hydro), s.domain.block_size),
      sides(s.sides),
      reach(s.hydro.scheme == hydro_scheme::full3d || s.hydro.spin ? mesh::reach::full : mesh::reach::faces),
      spin(spin_variable(s.hydro)) {
  adopt(mesh::block_mesh(s.domain));
}

mesh::curve_parts equal_parts(const mesh::block_mesh& mesh, int count) {
  return {mesh::cut_curve(std::vector<double>(mesh.block_count(), 1.0), count), count};
}

void gas::adopt(mesh::block_mesh next) {
  mesh::curve_parts equal = equal_parts(next, net.count());
  adopt(std::move(next), std::move(equal));
}

void gas::adopt(mesh::block_mesh next, mesh::curve_parts next_parts) {
  mesh = std::move(next);
  parts = std::move(next_parts);
  signal_rate.resize(mesh.slot_count(), 0.0);
  if (elsewhere) return;
  if (net.is_alone()) {
    for (mesh::arena* a : {&now, &stage_a, &stage_b}) a->resize(mesh.slot_count());
    return;
  }
  ghosts = mesh::halo(mesh, parts, net.here(), now.variable_count(), message_bytes, reach);
  const std::size_t face_bytes = sizeof(double) * now.variable_count() * mesh.block_size() * mesh.block_size() / 4;
  between = mesh::flux_halo(mesh, parts, net.here(), std::max<std::size_t>(1, message_bytes / face_bytes));
  std::vector<mesh::slot_id> here(own().begin(), own().end());
  here.insert(here.end(), ghosts.mirrors().begin(), ghosts.mirrors().end());
  for (mesh::arena* a : {&now, &stage_a, &stage_b}) a->hold_only(mesh.slot_count(), here);
}

void gas::make_room(std::size_t slots, std::span<const mesh::slot_id> wanted) {
  signal_rate.resize(std::max(slots, signal_rate.size()), 0.0);
  net.is_alone() ? now.resize(slots) : now.hold(slots, wanted);
}

namespace {

// A round in which each group of ghost cells arrives once.
class mirror_round final : public step::message_handler {
 public:
  explicit mirror_round(gas& g) : g_(g), end_(static_cast<int>(g.ghosts.receives().size())) {}

  void run() {
    g_.net.open(*this);
    const auto sends = g_.ghosts.sends();
    for_loop({probe::register_name("star.pack"), probe::no_key}, std::size_t{0}, sends.size(), [&](std::size_t i) {
      buffer<double> values(sends[i].size());
      for (std::size_t b = 0; b < sends[i].blocks.size(); ++b) pack(sends[i], b, g_.now, values.data());
      step::message_tag tag;
      tag.group = static_cast<std::uint32_t>(g_.ghosts.number(static_cast<int>(i)));
      g_.net.send(sends[i].peer, tag, std::move(values));
    });
    const bool whole = end_.wait();
    g_.net.close();
    if (!whole) end_.fail();
  }
  void arrived(const step::message& m) override {
    const auto& group =
        g_.ghosts.receives()[g_.ghosts.first_receive(static_cast<int>(m.tag.from)) + static_cast<int>(m.tag.group)];
    PLX_ASSERT_EQ(m.values.size(), group.size());
    unpack(group, m.values.data(), g_.now);
    end_.arrive();
  }
  void lost(int peer, const std::string& why) override { end_.lost(peer, why); }

 private:
  gas& g_;
  step::round_end end_;
};

}  // namespace

void refresh_mirrors(gas& g) {
  if (!g.net.is_alone()) mirror_round(g).run();
}

double gas::largest_signal_rate() const {
  double largest = 0.0;
  for (const mesh::slot_id slot : own()) largest = std::max(largest, signal_rate[slot]);
  return largest;
}

void fill_from_problem(const problem& p, const mesh::block_mesh& mesh, mesh::slot_id slot, double t, double* values) {
  const int n = mesh.block_size();
  std::array<std::vector<double>, 3> centre;
  block_cells cells{n, mesh.cell_width(slot), {}};
  for (int axis = 0; axis < 3; ++axis) {
    for (int i = 0; i < n; ++i) centre[axis].push_back(mesh.centre(slot, axis, i));
    cells.centre[axis] = centre[axis].data();
  }
  fill_block(p, cells, t, values);
}

worker_scratch::worker_scratch(unsigned workers, const hydro_parameters& parameters, int block_size) : all_(workers) {
  const int n_var = variable_count(parameters);
  const auto rounded = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::size_t face_bytes = rounded(sizeof(double) * n_var * block_size * block_size);
  const std::size_t kernel_bytes = rounded(stage_scratch_bytes(parameters, block_size));
  for (one& w : all_) {
    w.tile.reserve(n_var, block_size);
    w.memory = std::make_unique<std::byte[]>(kernel_bytes + mesh::face_count * face_bytes + 64);
    std::byte* p = w.memory.get();
    p += (64 - reinterpret_cast<std::uintptr_t>(p) % 64) % 64;
    w.kernel = p;
    p += kernel_bytes;
    for (double*& f : w.face) {
      f = reinterpret_cast<double*>(p);
      p += face_bytes;
    }
  }
}

worker_scratch::one& worker_scratch::mine() {
  const std::optional<unsigned> index = worker_index();
  PLX_ASSERT(index && *index < all_.size());
  return all_[*index];
}

}  // namespace plx::star
