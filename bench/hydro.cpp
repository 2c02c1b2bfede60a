// The stage kernels alone, on one core: the tiles are already gathered, nothing is exchanged. One cell update is the
// three stages of a Runge-Kutta step of one cell. Each result is the median over alternating runs, in processor time.
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "report.hpp"
#include "star/hydro/stage.hpp"
#include "star/hydro/state.hpp"
#include "timing.hpp"

namespace {
using namespace plx::star;

struct free_memory {
  void operator()(void* p) const { std::free(p); }
};

/// A block in a flow of smooth waves, or of steps of random height (where limiters act everywhere).
class workload {
 public:
  workload(std::string name, hydro_parameters p, int n, isa which, bool rough)
      : name_(std::move(name)), p_(p), which_(which) {
    const int m = n + 2 * ghost_layers, n_var = variable_count(p.n_species);
    const std::size_t cells = static_cast<std::size_t>(m) * m * m;
    tile_.resize(n_var * cells);
    for (std::size_t c = 0; c < cells; ++c) fill(c, cells, m, rough);
    for (int v = 0; v < n_var; ++v)
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i) old_.push_back(tile_[v * cells + ((k + 3) * m + j + 3) * m + i + 3]);
    new_.resize(old_.size());
    scratch_.reset(std::aligned_alloc(64, (stage_scratch_bytes(p, n) + 63) / 64 * 64));
    in_ = {tile_.data(), old_.data(), n, 1.0 / n, 0.05 / n, 0.25};
    out_.u_new = new_.data();
  }

  /// Million cell updates per second, measured over about 10 ms of work.
  double rate() {
    const double cells = std::pow(in_.n, 3);
    const int repeats = std::max(1, static_cast<int>(6e4 / cells));
    const double begin = plx::bench::core_seconds();
    for (int r = 0; r < repeats; ++r) advance_block(p_, in_, out_, scratch_.get(), which_);
    return 1e-6 * cells * repeats / 3.0 / (plx::bench::core_seconds() - begin);
  }
  const std::string& name() const { return name_; }

 private:
  void fill(std::size_t c, std::size_t cells, int m, bool rough) {
    const double step = 6.28 / 40.0;
    const double x = step * static_cast<double>(c % m), y = step * static_cast<double>(c / m % m);
    const double z = step * static_cast<double>(c / m / m);
    primitive w;
    const double s = rough ? 0.5 * std::sin(1e4 * static_cast<double>(c)) : 0.3 * std::sin(x + 2.0 * y - z);
    w.density = 1.0 + s, w.pressure = 1.0 + 0.5 * s, w.velocity = {s, -0.5 * s, 0.3 + s};
    for (int i = 0; i < p_.n_species; ++i)
      w.fraction[i] = 1.0 / p_.n_species + (i == 0 ? 0.1 : i == 1 ? -0.1 : 0.0) * s;
    to_conserved(p_.eos, w, p_.n_species, &tile_[c], static_cast<std::ptrdiff_t>(cells));
  }

  std::string name_;
  hydro_parameters p_;
  isa which_;
  std::vector<double> tile_, old_, new_;
  std::unique_ptr<void, free_memory> scratch_;
  stage_input in_;
  stage_output out_;
};

std::vector<workload> workloads() {
  std::vector<workload> all;
  const isa best = available_isas().back();
  for (int n : {8, 16, 32})
    all.emplace_back("hydro/ppm_hllc/b" + std::to_string(n), hydro_parameters{}, n, best, false);
  for (isa which : available_isas())
    all.emplace_back("hydro/ppm_hllc/b8/" + std::string(name_of(which)), hydro_parameters{}, 8, which, false);
  hydro_parameters p;
  p.riemann = riemann_solver::hll;
  all.emplace_back("hydro/ppm_hll/b8", p, 8, best, false);
  p.riemann = riemann_solver::hllc_lm;
  all.emplace_back("hydro/ppm_hllc_lm/b8", p, 8, best, false);
  all.emplace_back("hydro/ppm_hllc_lm/b8/rough", p, 8, best, true);
  p = {}, p.n_species = 2;
  all.emplace_back("hydro/ppm_hllc/b8/species2", p, 8, best, false);
  p = {}, p.eos = {5.0 / 3.0, eos_kind::white_dwarf, 0.0, 0.1, 1.0};
  all.emplace_back("hydro/ppm_hllc/b8/white_dwarf", p, 8, best, false);
  all.emplace_back("hydro/ppm_hllc/b8/white_dwarf/rough", p, 8, best, true);
  p = {}, p.reconstruct = reconstruction::plm;
  all.emplace_back("hydro/plm_hllc/b8", p, 8, best, false);
  p.reconstruct = reconstruction::mp5;
  all.emplace_back("hydro/mp5_hllc/b8", p, 8, best, false);
  all.emplace_back("hydro/mp5_hllc/b8/rough", p, 8, best, true);
  p = {}, p.scheme = hydro_scheme::full3d, p.riemann = riemann_solver::hll;
  for (isa which : available_isas())
    all.emplace_back("hydro/full3d/b8/" + std::string(name_of(which)), p, 8, which, false);
  all.emplace_back("hydro/full3d/b32", p, 32, best, false);
  p.n_species = 2;
  all.emplace_back("hydro/full3d/b8/species2", p, 8, best, false);
  p.n_species = 0, p.contact_steepening = true;
  all.emplace_back("hydro/full3d/b8/steep", p, 8, best, false);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::report report(argc, argv);
  std::vector<workload> all = workloads();
  std::vector<std::vector<double>> rates(all.size());
  for (int turn = 0; turn < 15; ++turn)
    for (std::size_t w = 0; w < all.size(); ++w) rates[w].push_back(all[w].rate());
  for (std::size_t w = 0; w < all.size(); ++w)
    report.add(all[w].name(), plx::bench::median(rates[w]), "M cell updates/s", plx::bench::higher);
  return report.finish();
}
