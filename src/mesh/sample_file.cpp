// mesh_sample FILE.athdf: writes a small mesh file with known content, for python/tests/test_mesh_files.py.
// The root grid is 2 x 1 x 1 in [-1, 1] x [0, 1] x [0, 1], refined twice towards its middle; rho = 1 + x + 10 y + 100
// z, press = 2^level.
#include <cmath>
#include <cstdio>
#include <vector>

#include "mesh/athdf.hpp"
#include "mesh/regrid.hpp"

using namespace plx::mesh;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: mesh_sample FILE.athdf\n", stderr);
    return 2;
  }
  domain d;
  d.root_blocks = {2, 1, 1};
  d.lower = {-1, 0, 0};
  d.max_level = 2;
  d.sides.fill(boundary::outflow);
  block_mesh mesh(d);
  for (int level = 0; level < d.max_level; ++level) {
    std::vector<flag> flags(mesh.slot_count(), flag::keep);
    flags[mesh.find_covering({level, {(2 << level) / 2, 0, 0}})] = flag::refine;
    mesh = plan_regrid(mesh, flags, 1).next;
  }
  std::vector<double> cost(mesh.block_count()), idle(mesh.block_count(), 0.25);
  std::vector<std::int32_t> owner(mesh.block_count());
  for (std::size_t p = 0; p < cost.size(); ++p) {
    cost[p] = 1e-3 * static_cast<double>(p);
    owner[p] = p < cost.size() / 2 ? 0 : 1;
  }
  athdf_info info;
  info.time = 0.75;
  info.cycle = 12;
  info.datasets = {{"prim", {"rho", "press"}}};
  info.cost_s = cost;
  info.owner = owner;
  info.idle_rate = idle;
  const auto fill = [&](slot_id s, int, double* out) {
    for (int k = 0; k < 8; ++k)
      for (int j = 0; j < 8; ++j)
        for (int i = 0; i < 8; ++i) {
          const int cell = (k * 8 + j) * 8 + i;
          out[cell] = 1 + mesh.centre(s, 0, i) + 10 * mesh.centre(s, 1, j) + 100 * mesh.centre(s, 2, k);
          out[512 + cell] = std::ldexp(1.0, mesh.level(s));
        }
  };
  if (const auto written = write_athdf(argv[1], mesh, info, fill); !written) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 1;
  }
  return 0;
}
