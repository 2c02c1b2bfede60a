#include "border_costs.hpp"

#include <algorithm>
#include <vector>

#include "base/clock.hpp"
#include "mesh/halo.hpp"
#include "mesh/regrid.hpp"

namespace plx::scale {

namespace {

constexpr int turns = 15;

template <class F>
double best_of(F&& f) {
  double best = 1e30;
  for (int i = 0; i < turns; ++i) {
    const double begin = monotonic_seconds();
    f();
    best = std::min(best, monotonic_seconds() - begin);
  }
  return best;
}

}  // namespace

border_costs measure_border(const star::gas& g, std::size_t group_bytes) {
  border_costs c;
  if (g.mesh.block_count() < 2) return c;
  const mesh::curve_parts parts = star::equal_parts(g.mesh, 2);
  const auto lists = [&] { return mesh::halo(g.mesh, parts, 0, g.now.variable_count(), group_bytes); };
  const mesh::halo halo = lists();
  std::size_t out = 0, in = 0, blocks = 0;
  std::vector<std::vector<double>> sent, received;
  for (const mesh::halo_group& s : halo.sends()) {
    sent.emplace_back(s.size());
    out += s.size() * sizeof(double);
    blocks += s.blocks.size();
  }
  for (const mesh::halo_group& r : halo.receives()) {
    received.emplace_back(r.size(), 1.0);
    in += r.size() * sizeof(double);
    blocks += r.blocks.size();
  }
  if (out == 0 || in == 0) return c;
  mesh::arena mirrors(g.now.variables(), g.now.block_size());
  mirrors.resize(g.mesh.slot_count());
  c.pack_s_per_byte = best_of([&] {
                        for (std::size_t i = 0; i < sent.size(); ++i)
                          for (std::size_t b = 0; b < halo.sends()[i].blocks.size(); ++b)
                            mesh::pack(halo.sends()[i], b, g.now, sent[i].data());
                      }) /
                      static_cast<double>(out);
  c.unpack_s_per_byte = best_of([&] {
                          for (std::size_t i = 0; i < received.size(); ++i)
                            mesh::unpack(halo.receives()[i], received[i].data(), mirrors);
                        }) /
                        static_cast<double>(in);
  const std::vector<mesh::flag> stay(g.mesh.slot_count(), mesh::flag::keep);
  c.plan_s_per_block =
      best_of([&] { return mesh::plan_regrid(g.mesh, stay, 2); }) / static_cast<double>(g.mesh.block_count());
  c.lists_s_per_block = best_of(lists) / static_cast<double>(blocks);
  return c;
}

}  // namespace plx::scale
