// Sums and largest values over the cells of all blocks, in the same bits for any number of workers and localities:
// compensated within a block, exact between blocks.
//
// Thread safety: all localities call it, each in a task. Cost: that of the function, and an exact sum per sum and
// block. Errors: locality_lost, thrown. Example: star/diagnostics/star_finder.cpp
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "num/exact_sum.hpp"
#include "num/running_sum.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/driver/agreement.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

/// Sums of a block, and largest values.
class block_sums {
 public:
  block_sums(std::size_t sums, std::size_t largest)
      : sums_(sums), largest_(largest, -std::numeric_limits<double>::infinity()) {}

  void add(std::size_t i, double value) { sums_[i].add(value); }
  void add_vector(std::size_t i, const vector& v) {
    for (std::size_t a = 0; a < 3; ++a) add(i + a, v[a]);
  }
  void raise(std::size_t i, double value) { largest_[i] = std::max(largest_[i], value); }
  double sum(std::size_t i) const { return sums_[i].value(); }
  double largest(std::size_t i) const { return largest_[i]; }

 private:
  std::vector<running_sum> sums_;
  std::vector<double> largest_;
};

struct cell_sums {
  std::vector<double> sums, largest;  ///< the largest of no value: -infinity
};

/// Calls of_block(slot, block_sums&) for each local block.
template <class F>
cell_sums sum_over_cells(const gas& g, unsigned workers, std::size_t sums, std::size_t largest, F&& of_block) {
  struct part {
    std::vector<exact_sum> sums;
    std::vector<double> largest;
  };
  const double lowest = -std::numeric_limits<double>::infinity();
  std::vector<part> parts(workers, {std::vector<exact_sum>(sums), std::vector<double>(largest, lowest)});
  const auto own = g.own();
  for_loop({probe::register_name("star.diagnostics"), probe::no_key}, std::size_t{0}, own.size(), [&](std::size_t b) {
    block_sums block(sums, largest);
    of_block(own[b], block);
    part& mine = parts[*worker_index()];
    for (std::size_t i = 0; i < sums; ++i) mine.sums[i].add(block.sum(i));
    for (std::size_t i = 0; i < largest; ++i) mine.largest[i] = std::max(mine.largest[i], block.largest(i));
  });
  part whole{std::vector<exact_sum>(sums), std::vector<double>(largest, lowest)};
  for (const part& p : parts) {
    for (std::size_t i = 0; i < sums; ++i) whole.sums[i].add(p.sums[i]);
    for (std::size_t i = 0; i < largest; ++i) whole.largest[i] = std::max(whole.largest[i], p.largest[i]);
  }
  sum_over_localities(g.net, whole.sums);
  cell_sums all;
  for (const exact_sum& s : whole.sums) all.sums.push_back(s.value());
  all.largest =
      g.net.all_reduce(std::move(whole.largest), [](const std::vector<double>& a, const std::vector<double>& b) {
        std::vector<double> most(a.size());
        std::transform(a.begin(), a.end(), b.begin(), most.begin(), [](double x, double y) { return std::max(x, y); });
        return most;
      });
  return all;
}

/// Calls f(cell, its centre) for the cells of a block.
template <class F>
void for_each_cell(const mesh::block_mesh& m, mesh::slot_id slot, F&& f) {
  const int n = m.block_size();
  std::vector<double> along[3];
  for (int axis = 0; axis < 3; ++axis)
    for (int i = 0; i < n; ++i) along[axis].push_back(m.centre(slot, axis, i));
  int cell = 0;
  for (const double z : along[2])
    for (const double y : along[1])
      for (const double x : along[0]) f(cell++, vector{x, y, z});
}

}  // namespace plx::star
