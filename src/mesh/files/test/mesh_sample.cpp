// mesh_sample FILE.athdf [PARTS]: writes a small mesh file with known content, for
// python/tests/star/test_mesh_files.py; with PARTS: in the parts that many localities would write. The root grid is 2 x
// 1 x 1 in [-1, 1] x [0, 1] x [0, 1], refined twice towards its middle; rho = 1 + x + 10 y + 100 z, press = 2^level.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "mesh/files/athdf.hpp"
#include "mesh/tree/regrid.hpp"

using namespace plx::mesh;

namespace {

plx::result<void> write_parts(const std::string& path, const block_mesh& mesh, const athdf_info& info, int count,
                              block_filler fill) {
  std::vector<athdf_part> parts;
  const int blocks = static_cast<int>(mesh.block_count());
  for (int k = 0; k < count; ++k) {
    const int begin = blocks * k / count, n = blocks * (k + 1) / count - begin;
    const std::vector<std::int32_t> locality(n, k);
    athdf_info mine = info;
    mine.cost_s = info.cost_s.subspan(begin, n);
    mine.owner = info.owner.subspan(begin, n);
    mine.idle_rate = mine.locality_idle_rate = info.idle_rate.subspan(begin, n);
    mine.locality = locality;
    parts.push_back({"part" + std::to_string(k) + ".h5", static_cast<std::size_t>(n)});
    const std::string file = path.substr(0, path.rfind('/') + 1) + parts.back().file;
    if (auto r = write_athdf_part(file, mesh.blocks().subspan(begin, n), mesh.block_size(), mine, fill); !r) return r;
  }
  return write_athdf_of_parts(path, mesh, info, parts);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs("usage: mesh_sample FILE.athdf [PARTS]\n", stderr);
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
  const auto written =
      argc == 2 ? write_athdf(argv[1], mesh, info, fill) : write_parts(argv[1], mesh, info, std::atoi(argv[2]), fill);
  if (!written) {
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 1;
  }
  return 0;
}
