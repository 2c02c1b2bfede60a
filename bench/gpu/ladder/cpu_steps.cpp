#include "gpu/ladder/cpu_steps.hpp"

#include <algorithm>
#include <cstdlib>

#include "mesh/gather.hpp"
#include "rt/async.hpp"
#include "rt/future.hpp"
#include "star/hydro/stage.hpp"

namespace plx::bench {

using namespace plx::star;

struct cpu_steps::hand {
  hand(const hydro_parameters& p, int n, int n_var) {
    scratch = std::aligned_alloc(64, (stage_scratch_bytes(p, n) + 63) / 64 * 64);
    for (auto& f : face) f.resize(static_cast<std::size_t>(n_var) * n * n);
  }
  ~hand() { std::free(scratch); }
  hand(const hand&) = delete;
  hand& operator=(const hand&) = delete;
  mesh::tile_scratch tile;
  void* scratch;
  std::vector<double> face[mesh::face_count];
  double largest_rate = 0;
};

cpu_steps::cpu_steps(const mesh::block_mesh& mesh, const device::gas_options& o, unsigned workers)
    : now(device::mesh_variables(0), mesh.block_size()),
      mesh_(mesh),
      o_(o),
      a_(device::mesh_variables(0), mesh.block_size()),
      b_(device::mesh_variables(0), mesh.block_size()) {
  for (mesh::arena* a : {&now, &a_, &b_}) a->resize(mesh.slot_count());
  for (unsigned i = 0; i < workers; ++i)
    hands_.push_back(std::make_unique<hand>(o.hydro, mesh.block_size(), now.variable_count()));
}
cpu_steps::~cpu_steps() = default;

void cpu_steps::advance(hand& mine, int stage, mesh::slot_id slot) {
  const mesh::arena& source = stage == 0 ? now : stage == 1 ? a_ : b_;
  mesh::arena& target = stage == 1 ? b_ : a_;
  stage_input in;
  in.tile = mesh::gather_tile(mesh_, source, slot, o_.sides, mine.tile, mesh::reach::full);
  in.u_old = now.block(slot);
  in.n = mesh_.block_size();
  in.dx = mesh_.cell_width(slot);
  in.dt = dt;
  in.weight = o_.scheme.weight[stage];
  stage_output out;
  out.u_new = target.block(slot);
  for (int f = 0; f < mesh::face_count; ++f) out.face_flux[f] = mine.face[f].data();
  advance_block(o_.hydro, in, out, mine.scratch);
  if (stage + 1 == o_.scheme.stages) mine.largest_rate = std::max(mine.largest_rate, out.max_signal_rate);
}

void cpu_steps::step() {
  const auto& blocks = mesh_.blocks();
  for (auto& h : hands_) h->largest_rate = 0;
  for (int stage = 0; stage < o_.scheme.stages; ++stage) {
    std::atomic<std::size_t> next{0};
    std::vector<plx::future<void>> all;
    for (auto& h : hands_)
      all.push_back(plx::async([&, mine = h.get()] {
        for (std::size_t i = next++; i < blocks.size(); i = next++) advance(*mine, stage, blocks[i]);
      }));
    for (auto& f : all) f.get();
  }
  std::swap(now, o_.scheme.stages == 2 ? b_ : a_);
  double rate = 0;
  for (const auto& h : hands_) rate = std::max(rate, h->largest_rate);
  dt = o_.cfl / rate;
}

}  // namespace plx::bench
