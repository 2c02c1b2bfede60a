#include "star/output/series/shells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "num/exact_sum.hpp"
#include "num/symmetric.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/driver/agreement.hpp"
#include "star/hydro/state.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

namespace {

constexpr std::size_t fixed_sums = 3;  // cells, volume, mass; then weight times value of each variable

// What is known of some shells: sums [shell][fixed_sums + variables], extremes [shell][variables].
struct shell_sums {
  std::size_t shells, variables;
  std::vector<exact_sum> sums;
  std::vector<double> largest, largest_negated;  // of the values, and of their negatives

  shell_sums(std::size_t n, std::size_t v)
      : shells(n),
        variables(v),
        sums(n * (fixed_sums + v)),
        largest(n * v, -std::numeric_limits<double>::infinity()),
        largest_negated(largest) {}
  exact_sum& sum(std::size_t shell, std::size_t i) { return sums[shell * (fixed_sums + variables) + i]; }
};

double larger_of(double a, double b) { return a > b || std::isnan(a) ? a : b; }

std::vector<double> larger_of_all(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all(a.size());
  std::transform(a.begin(), a.end(), b.begin(), all.begin(), larger_of);
  return all;
}

class shell_adder {
 public:
  shell_adder(const series_options& s, std::span<const output_variable> variables, const gas& g,
              const hydro_parameters& p)
      : s_(s),
        g_(g),
        p_(p),
        count_(variables.size()),
        edges_(s.edges_in(g.mesh.box())),
        variables_(variables.begin(), variables.end()) {
    variables_.push_back(all_variables(0)[0]);  // the density
  }

  const std::vector<double>& edges() const { return edges_; }

  void add(mesh::slot_id slot, shell_sums& to) const {
    const int n = g_.mesh.block_size();
    const auto cells = static_cast<std::size_t>(g_.now.cells());
    std::vector<double> values(cells * variables_.size());
    fill_variables(variables_, g_, p_, slot, values.data());
    const double width = g_.mesh.cell_width(slot), volume = width * width * width;
    std::size_t cell = 0;
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i, ++cell) {
          const double r = std::sqrt(symmetric_norm2(g_.mesh.centre(slot, 0, i) - s_.centre[0],
                                                     g_.mesh.centre(slot, 1, j) - s_.centre[1],
                                                     g_.mesh.centre(slot, 2, k) - s_.centre[2]));
          if (r < edges_.front() || r >= edges_.back()) continue;
          const auto shell =
              static_cast<std::size_t>(std::upper_bound(edges_.begin(), edges_.end(), r) - edges_.begin() - 1);
          add_cell(&values[cell], cells, shell, volume, to);
        }
  }

 private:
  void add_cell(const double* values, std::size_t stride, std::size_t shell, double volume, shell_sums& to) const {
    const double mass = values[count_ * stride] * volume, weight = s_.weighted_by_mass() ? mass : volume;
    to.sum(shell, 0).add(1.0);
    to.sum(shell, 1).add(volume);
    to.sum(shell, 2).add(mass);
    for (std::size_t v = 0; v < count_; ++v) {
      const double value = values[v * stride];
      to.sum(shell, fixed_sums + v).add(weight * value);
      double& largest = to.largest[shell * count_ + v];
      double& negated = to.largest_negated[shell * count_ + v];
      largest = larger_of(largest, value);
      negated = larger_of(negated, -value);
    }
  }

  const series_options& s_;
  const gas& g_;
  const hydro_parameters& p_;
  std::size_t count_;
  std::vector<double> edges_;
  std::vector<output_variable> variables_;  // and the density
};

std::string header_of(std::span<const output_variable> variables) {
  std::string text = "step,time,r_inner,r_outer,cells,volume,mass";
  for (const output_variable& v : variables) text += fmt::format(",{0},{0}_min,{0}_max", v.name);
  return text + "\n";
}

}  // namespace

std::string shell_table(const series_options& s, std::span<const output_variable> variables, const gas& g,
                        const hydro_parameters& p, unsigned workers, std::int64_t step, double time) {
  const shell_adder adder(s, variables, g, p);
  const auto shells = static_cast<std::size_t>(s.bins);
  std::vector<shell_sums> parts(workers, shell_sums(shells, variables.size()));
  const auto own = g.own();
  for_loop({probe::register_name("star.shells"), probe::no_key}, std::size_t{0}, own.size(),
           [&](std::size_t b) { adder.add(own[b], parts[*worker_index()]); });
  shell_sums& all = parts.front();
  for (std::size_t w = 1; w < parts.size(); ++w) {
    for (std::size_t i = 0; i < all.sums.size(); ++i) all.sums[i].add(parts[w].sums[i]);
    all.largest = larger_of_all(all.largest, parts[w].largest);
    all.largest_negated = larger_of_all(all.largest_negated, parts[w].largest_negated);
  }
  sum_over_localities(g.net, all.sums);
  all.largest = g.net.all_reduce(std::move(all.largest), larger_of_all);
  all.largest_negated = g.net.all_reduce(std::move(all.largest_negated), larger_of_all);

  std::string text = header_of(variables);
  const auto out = std::back_inserter(text);
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t shell = 0; shell < shells; ++shell) {
    const double cells = all.sum(shell, 0).value(), volume = all.sum(shell, 1).value(),
                 mass = all.sum(shell, 2).value();
    fmt::format_to(out, "{},{},{},{},{:.0f},{},{}", step, time, adder.edges()[shell], adder.edges()[shell + 1], cells,
                   volume, mass);
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const std::size_t i = shell * variables.size() + v;
      const double mean = all.sum(shell, fixed_sums + v).value() / (s.weighted_by_mass() ? mass : volume);
      if (cells > 0.0)
        fmt::format_to(out, ",{},{},{}", mean, -all.largest_negated[i], all.largest[i]);
      else
        fmt::format_to(out, ",{0},{0},{0}", unknown);
    }
    text += '\n';
  }
  return text;
}

}  // namespace plx::star
