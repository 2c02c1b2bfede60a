#include "star/state/totals.hpp"

#include <array>

#include "base/assert.hpp"
#include "num/exact_sum.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/driver/agreement.hpp"
#include "star/state/spin.hpp"

namespace plx::star {

namespace {

constexpr int lanes = 8;  // block sizes are multiples of 8

// Kahan summation in eight lanes: sum - lost is the total of a lane.
struct lane_sums {
  std::array<double, lanes> sum{}, lost{};
};

lane_sums add_all(const double* values, int count) {
  lane_sums s;
  for (int i = 0; i < count; i += lanes)
    for (int l = 0; l < lanes; ++l) {
      const double term = values[i + l] - s.lost[l];
      const double next = s.sum[l] + term;
      s.lost[l] = (next - s.sum[l]) - term;
      s.sum[l] = next;
    }
  return s;
}

task_info info() {
  static const probe::name_id name = probe::register_name("star.totals");
  return {name, probe::no_key};
}

}  // namespace

std::vector<double> totals(const gas& g, unsigned workers) {
  const int n_var = g.now.variable_count();
  const auto blocks = g.own();
  std::vector<std::vector<exact_sum>> parts(workers, std::vector<exact_sum>(n_var));
  for_loop(info(), std::size_t{0}, blocks.size(), [&](std::size_t p) {
    const double dx = g.mesh.cell_width(blocks[p]), volume = dx * dx * dx;
    std::vector<exact_sum>& mine = parts[*worker_index()];
    std::vector<double> whole;  // angular momentum in place of spin
    for (int v = 0; v < n_var; ++v) {
      const double* values = g.now.block(blocks[p]) + static_cast<std::ptrdiff_t>(v) * g.now.cells();
      if (g.spin >= 0 && v >= g.spin) values = (whole = angular_momentum(g, blocks[p], v - g.spin)).data();
      const lane_sums s = add_all(values, g.now.cells());
      for (int l = 0; l < lanes; ++l) mine[v].add((s.sum[l] - s.lost[l]) * volume);
    }
  });
  std::vector<exact_sum> sums(n_var);
  for (const auto& p : parts)
    for (int v = 0; v < n_var; ++v) sums[v].add(p[v]);
  sum_over_localities(g.net, sums);
  std::vector<double> result;
  for (const exact_sum& s : sums) result.push_back(s.value());
  return result;
}

}  // namespace plx::star
