#include "qmc/measure/single_particle.hpp"

#include <algorithm>
#include <utility>

#include "qmc/green/coarse_graining.hpp"

namespace plx::qmc {

void measurement_bin::save(number_writer& to) const {
  for (double x : {static_cast<double>(count), sign, order}) to.add(x);
  save_function(to, m);
  to.add(pairs);
  to.add(four_points);
  to.add(correlations);
}

void measurement_bin::load(number_reader& from) {
  count = from.integer<int>();
  sign = from.number();
  order = from.number();
  m = load_function(from);
  pairs = from.matrix();
  four_points = from.numbers();
  correlations = from.numbers();
}

single_particle_accumulator::single_particle_accumulator(const cluster& c, const nonuniform_fourier& transform,
                                                         double beta)
    : cluster_(&c),
      transform_(&transform),
      beta_(beta),
      grids_(c.n_sites(), std::vector<double>(transform.grid_size(), 0.0)) {}

void single_particle_accumulator::add(const snapshot& s) {
  const int k = static_cast<int>(s.vertices.size());
  ++bin_.count;
  bin_.sign += s.sign;
  bin_.order += s.sign * k;
  const double weight = 0.5 * s.sign / cluster_->n_sites();
  points_.resize(k);
  places_.resize(k);
  for (int p = 0; p < k; ++p) places_[p] = s.vertices[p].tau / beta_;
  of_site_.resize(cluster_->n_sites());
  for (int q = 0; q < k; ++q) {
    for (int site = 0; site < cluster_->n_sites(); ++site)
      of_site_[site] = grids_[cluster_->difference(site, s.vertices[q].site)].data();
    const double *up = s.m[0].column(q), *down = s.m[1].column(q);
    for (int p = 0; p < k; ++p)
      points_[p] = {places_[p] - places_[q], weight * (up[p] + down[p]), of_site_[s.vertices[p].site]};
    transform_->spread(points_);
  }
}

void single_particle_accumulator::save(number_writer& to) const {
  bin_.save(to);
  for (const auto& grid : grids_) to.add(grid);
}

void single_particle_accumulator::load(number_reader& from) {
  bin_.load(from);
  for (auto& grid : grids_) {
    const auto values = from.numbers();
    std::copy_n(values.begin(), std::min(values.size(), grid.size()), grid.begin());
  }
}

measurement_bin single_particle_accumulator::take_bin() {
  const int n_sites = cluster_->n_sites(), n_frequencies = transform_->n_frequencies();
  bin_.m = matsubara_function(n_sites, n_frequencies);
  std::vector<std::complex<double>> of_difference(n_frequencies);
  for (int r = 0; r < n_sites; ++r) {
    transform_->transform(grids_[r], of_difference);
    std::fill(grids_[r].begin(), grids_[r].end(), 0.0);
    for (int k = 0; k < n_sites; ++k) {
      const auto phase = std::conj(cluster_->phase(k, r));
      for (int n = 0; n < n_frequencies; ++n) bin_.m(k, n) += phase * of_difference[n];
    }
  }
  symmetrize(*cluster_, bin_.m);
  return std::exchange(bin_, {});
}

}  // namespace plx::qmc
