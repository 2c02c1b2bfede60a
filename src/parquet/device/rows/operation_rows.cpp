#include "parquet/device/rows/operation_rows.hpp"

#include <cmath>
#include <memory>
#include <span>
#include <string>

#include "parquet/device/grid_tables.hpp"
#include "parquet/device/operations.hpp"
#include "parquet/equations/bethe_salpeter.hpp"

namespace plx::parquet::device {
namespace {

using gpu::testing::operation_cost;
using gpu::testing::operation_data;
using gpu::testing::operation_row;
using gpu::testing::row;
using gpu::testing::row_use;

// Complex arrays are placed as doubles, so that errors of parts are measured.
std::vector<double> values(std::size_t n, double scale) {
  std::vector<double> v(2 * n);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = scale * std::sin(0.7 * static_cast<double>(i % 99991) + scale);
  return v;
}
const complex* of(const double* x) { return reinterpret_cast<const complex*>(x); }
complex* of(double* x) { return reinterpret_cast<complex*>(x); }
// Where an operation raises the bits of a double from 0. Absolute values differ by a rounding: compared only with a
// bound.
std::uint64_t* largest_of(operation_data& d, double bound) {
  return bound > 0 ? reinterpret_cast<std::uint64_t*>(d.in_out<double>(std::vector<double>(1)))
                   : d.scratch<std::uint64_t>(1);
}
std::string largest_in(double bound) { return bound > 0 ? ",largest" : ""; }
constexpr double roundings = 4e-16;  // two, relative

std::string shape_of(int n, int count) { return "n=" + std::to_string(n) + ",count=" + std::to_string(count); }

operation_row weigh_row(int n, int count, row_use use) {
  return row(
      weigh, shape_of(n, count),
      [=](operation_data& d, std::vector<weigh_item>& items) {
        const std::size_t size = static_cast<std::size_t>(n) * n;
        for (int i = 0; i < count; ++i)
          items.push_back({of(d.input<double>(values(size, 1 + i))), of(d.input<double>(values(size, 2))),
                           of(d.input<double>(values(n, 0.3))), of(d.output<double>(2 * size)), n});
        return operation_cost{8.0 * count * n * n, 48.0 * count * n * n};
      },
      use);
}

// The error of a sum of n products is at most n times the rounding of one, relative to the sum of sizes.
operation_row multiply_row(int n, int count, row_use use) {
  return row(
      multiply, shape_of(n, count),
      [=](operation_data& d, std::vector<multiply_item>& items) {
        const std::size_t size = static_cast<std::size_t>(n) * n * count;
        items.push_back({of(d.input<double>(values(size, 1))), of(d.input<double>(values(size, 0.5))),
                         of(d.output<double>(2 * size)), n, count});
        return operation_cost{8.0 * count * std::pow(n, 3), 48.0 * static_cast<double>(size)};
      },
      use, 1e-15 * n);
}

std::shared_ptr<const qmc::cluster> plaquette() {
  return std::make_shared<const qmc::cluster>(qmc::cluster::named("2x2").value());
}

operation_row symmetrize_row(int frequencies, int m, bool hole, row_use use, double bound = 0) {
  return row(
      symmetrize_slab,
      std::string(hole ? "ph" : "pp") + ",frequencies=" + std::to_string(frequencies) + largest_in(bound),
      [=](operation_data& d, std::vector<symmetrize_item>& items) {
        const vertex_grid grid(plaquette(), frequencies, m + 1);
        const int n = grid.rows(m);
        for (int c = 0; c < 2; ++c) {
          const auto* partners = d.input<std::int32_t>(slab_partners(grid, hole, {2 + c, m}));
          auto* change = largest_of(d, bound);
          items.push_back({of(d.in_out<double>(values(static_cast<std::size_t>(n) * n, 1 + c))), partners, change, n,
                           (hole ? 0 : 2) + c});
        }
        return operation_cost{0, 64.0 * n * n};
      },
      use, bound);
}

operation_row rotate_row(int frequencies, int bosons, bool hole, row_use use) {
  return row(
      rotate, std::string(hole ? "ph" : "pp") + ",frequencies=" + std::to_string(frequencies),
      [=](operation_data& d, std::vector<rotate_item>& items) {
        const vertex_grid grid(plaquette(), frequencies, bosons);
        const grid_tables tables(grid);
        const complex* phi = of(d.input<double>(values(grid.size(), 1)));
        const auto at =
            tables.at(d.input<frequency_row>(tables.frequencies), d.input<std::int32_t>(tables.second),
                      d.input<std::int32_t>(tables.transfer),
                      d.input<double>(values(2 * static_cast<std::size_t>(tables.most + 1) * tables.n_momenta, 0.2)));
        operation_cost cost;
        for (const int m : {0, bosons - 1})
          for (const int q : {0, 3}) {
            const int n = grid.rows(m);
            items.push_back(
                {phi, of(d.output<double>(4 * static_cast<std::size_t>(n) * n)), at, hole ? 1 : 0, q, m, n, 2.0});
            cost.bytes += 96.0 * n * n;
          }
        return cost;
      },
      use);
}

operation_row subtract_row(std::size_t n, row_use use, double bound = 0) {
  return row(
      subtract, "n=" + std::to_string(n) + largest_in(bound),
      [=](operation_data& d, std::vector<subtract_item>& items) {
        auto* largest = largest_of(d, bound);
        for (int i = 0; i < 2; ++i)
          items.push_back({of(d.input<double>(values(n, 1))), of(d.input<double>(values(n, 0.9 + i))),
                           of(d.output<double>(2 * n)), largest, n});
        return operation_cost{0, 96.0 * static_cast<double>(n)};
      },
      use, bound);
}

operation_row dot_row(std::size_t n, int parts, row_use use) {
  return row(
      dot, "n=" + std::to_string(n) + ",parts=" + std::to_string(parts),
      [=](operation_data& d, std::vector<dot_item>& items) {
        for (int i = 0; i < parts; ++i)
          items.push_back(
              {of(d.input<double>(values(n, 1))), of(d.input<double>(values(n, 0.9))), d.output<double>(1), n});
        return operation_cost{4.0 * static_cast<double>(n) * parts, 32.0 * static_cast<double>(n) * parts};
      },
      use, 1e-12);
}

operation_row mix_row(std::size_t n, int count, row_use use) {
  return row(
      mix, "n=" + std::to_string(n) + ",count=" + std::to_string(count),
      [=](operation_data& d, std::vector<mix_item>& items) {
        mix_item a{};
        for (int s = 0; s < count; ++s) {
          a.x[s] = of(d.input<double>(values(n, 1 + s)));
          a.r[s] = of(d.input<double>(values(n, 0.1 * s + 0.01)));
          a.c[s] = s == 1 ? 0 : 0.3 - 0.2 * s;
        }
        a.damping = 0.3;
        a.next = of(d.output<double>(2 * n));
        a.size = n;
        a.count = count;
        items.push_back(a);
        return operation_cost{0, 16.0 * (2 * count + 1) * static_cast<double>(n)};
      },
      use);
}

}  // namespace

std::vector<operation_row> operation_rows() {
  return {weigh_row(17, 3, row_use::check),
          weigh_row(513, 8, row_use::time),
          multiply_row(1, 2, row_use::check),
          multiply_row(33, 5, row_use::check),
          multiply_row(129, 2, row_use::check),
          symmetrize_row(3, 0, true, row_use::check),
          symmetrize_row(3, 1, true, row_use::check),
          symmetrize_row(3, 0, false, row_use::check),
          symmetrize_row(3, 1, false, row_use::check),
          symmetrize_row(3, 1, true, row_use::check, roundings),
          symmetrize_row(3, 0, false, row_use::check, roundings),
          symmetrize_row(64, 0, true, row_use::time),
          symmetrize_row(64, 0, false, row_use::time),
          rotate_row(3, 4, true, row_use::check),
          rotate_row(3, 4, false, row_use::check),
          rotate_row(32, 32, true, row_use::time),
          rotate_row(32, 32, false, row_use::time),
          subtract_row(1000, row_use::check),
          subtract_row(1000, row_use::check, roundings),
          subtract_row(4000000, row_use::time),
          dot_row(3000, 5, row_use::check),
          dot_row(1000000, 64, row_use::time),
          mix_row(1000, 3, row_use::check),
          mix_row(1000000, 9, row_use::time)};
}

}  // namespace plx::parquet::device
