#include "parquet/solver/solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "gpu/device.hpp"
#include "gpu/error.hpp"
#include "net/team.hpp"
#include "num/dense/linear_algebra.hpp"
#include "parquet/device/resident_vertices.hpp"
#include "parquet/device/streamed_products.hpp"
#include "parquet/distribution/network_use.hpp"
#include "parquet/distribution/rotation_exchange.hpp"
#include "parquet/equations/bethe_salpeter.hpp"
#include "parquet/equations/rotation.hpp"
#include "parquet/equations/schwinger_dyson.hpp"
#include "parquet/solver/mixing.hpp"
#include "rt/async.hpp"
#include "rt/for_loop.hpp"
#include "rt/future.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

// Keeps NaN, which compares with nothing.
void keep_largest(double& largest, double x) {
  if (x > largest || std::isnan(x)) largest = x;
}

class loop {
 public:
  loop(const hubbard_model& model, std::shared_ptr<const vertex_grid> grid, const solver_settings& settings,
       solver_observer& observer, const team& members)
      : model_(model),
        grid_(std::move(grid)),
        settings_(settings),
        observer_(observer),
        team_(members),
        stop_(observer.stop_flag()),
        unit_(model.u > 0 ? model.u : 1),
        first_(grid_->first_slab(members.rank(), members.size())),
        last_(grid_->first_slab(members.rank() + 1, members.size())),
        mixing_(parts(), settings.history, settings.damping, members) {
    mixing_.input().back() = 1;  // the density
    if (!members.is_alone()) exchange_.emplace(*grid_, team_, settings.rotation);
  }

  result<parquet_solution> run(const saved_solver_state* from) {
    if (from != nullptr)
      if (auto r = load(*from); !r) return r.error();
    if (!take_device()) return failure_of_device();
    parquet_solution out;
    out.grid = grid_;
    prepare();
    out.stopped = team_.any(is_stopping());  // others add to Gamma from here on
    if (out.stopped) {
      save();
      return out;
    }
    for (int i = iterations_; i < settings_.iterations; ++i) {
      const double begin = monotonic_seconds();
      iteration_report now;
      if (!iterate(now)) {
        save();  // of the iteration before
        if (!device_error_.empty()) return failure_of_device();
        out.stopped = true;
        return out;
      }
      now.iteration = i;
      now.seconds = monotonic_seconds() - begin;
      if (i == 0) first_residual_ = now.residual;
      now.seconds_left = estimate_left(now);
      observer_.iterated(now);
      out.last = now;
      if (!std::isfinite(now.residual) || now.residual > 1e4 * std::max(first_residual_, 1.0)) return diverged(now);
      out.converged = now.residual <= settings_.tolerance;
      if (out.converged) break;
      if (now.residual > 100 * least_residual_) mixing_.restart();  // the history misleads
      least_residual_ = std::min(least_residual_, now.residual);
      on_device([&] { mixing_.advance(); });
      if (resident_ && !devices_work()) return failure_of_device();
      iterations_ = i + 1;
      if (iterations_ == settings_.iterations) break;
      prepare();
      out.stopped = team_.any(observer_.stop_requested() || is_stopping());
      if (team_.any(out.stopped || observer_.save_requested())) save();
      if (out.stopped) return out;
    }
    out.sigma = sigma_of(mixing_.input());
    out.green = std::make_shared<const propagator>(
        out.converged ? *std::move(green_) : propagator(model_, out.sigma, density_of(mixing_.input())));
    on_device([&] { finish(out); });
    if (resident_ && !devices_work()) return failure_of_device();
    return out;
  }

 private:
  // Memory for the products on the device, if there is one. False if that of any locality fails. Collective.
  bool take_device() {
    if (settings_.device == nullptr) return true;
    gpu::device& on = *settings_.device;
    on_device([&] {
      if (team_.is_alone() && settings_.resident) try {
          resident_.emplace(on, *grid_, settings_.history + 1);
          mixing_.keep_in(*resident_);
          return;
        } catch (const gpu::error& e) {
          if (e.kind() != gpu::failure::out_of_memory) throw;
          resident_.reset();
          log_info("plx-parquet: slabs stream through the device, because vertices and history do not fit: {}",
                   e.what());
        }
      streamed_.emplace(on, *grid_, streamed_products::lanes_for(on.get_runtime().worker_count()));
    });
    return devices_work();
  }
  // Calls f() unless the device has failed.
  template <class F>
  void on_device(F&& f) {
    if (device_fails_.load(std::memory_order_relaxed)) return;
    try {
      f();
    } catch (const gpu::error& e) {
      keep_error(e);
    }
  }
  void keep_error(const gpu::error& e) {
    const std::lock_guard guard(device_lock_);
    if (device_error_.empty()) device_error_ = e.what();
    if (e.kind() == gpu::failure::device_lost) device_lost_ = true;
    device_fails_.store(true, std::memory_order_relaxed);
  }
  // The vertices of the state for the host. False if they are lost with the device, or it refuses the copies.
  bool fetch() {
    if (!resident_) return true;
    if (device_lost_) return false;
    try {
      mixing_.fetch();
      return true;
    } catch (const gpu::error& e) {
      keep_error(e);
      return false;
    }
  }
  // False if the device of any locality has failed; then all have the error of the first one. Collective.
  bool devices_work() {
    const unsigned first = team_.first_with(!device_error_.empty());
    if (first == team_.size()) return true;
    std::vector<std::uint64_t> text;
    if (first == team_.rank()) text.assign(device_error_.begin(), device_error_.end());
    text = team_.gather(std::move(text));
    device_error_.assign(text.begin(), text.end());
    if (!team_.is_alone()) device_error_ = fmt::format("locality {}: {}", first, device_error_);
    return false;
  }
  error failure_of_device() const {
    if (team_.rank() != 0) return error{""};
    return error{fmt::format("run.device: {}; run.device = \"cpu\" needs none", device_error_)};
  }

  // F of the solution, in the memory of the residual: Gamma of its vertices, and those.
  void make_full(parquet_solution& out) {
    const auto& x = mixing_.input();
    auto& f = mixing_.residual();
    const vertex_reader phi(*grid_, *out.green, x.data(), first_);
    if (exchange_) {
      struct nothing_follows final : rotation_listener {
        void complete(int, bool) override {}
      } listener;
      exchange_->prepare(*out.green, f.data());
      team_.any(false);  // others add to Gamma from here on
      exchange_->rotate(phi, listener);
    } else {
      for_loop({probe::register_name("parquet/full"), probe::no_key}, first_, last_, [&](int s) {
        for (const bool ph : {true, false})
          irreducible_slab(phi, ph, grid_->transfer_of(s), matrix_of(s, ph, 0), matrix_of(s, ph, 1));
      });
    }
    for (std::size_t i = 0; i < own_size(); ++i) f[i] += x[i];
    out.full = std::move(f);
    out.full.resize(own_size());
  }

  // The vertices of a solution: those of the present input.
  void finish(parquet_solution& out) {
    if (resident_) resident_->fetch(mixing_.slot(), mixing_.input().data(), nullptr);
    if (settings_.full && out.converged) make_full(out);
    out.phi = std::move(mixing_.input());
    out.phi.resize(own_size());
    out.first_slab = first_;
    out.last_slab = last_;
    for (int s = first_; s < last_; ++s)
      for (const channel c : all_channels) {
        const std::size_t rows = grid_->rows(grid_->transfer_of(s).frequency);
        out.limits.push_back(out.phi[local(grid_->offset(s, c)) + rows * rows - 1]);
      }
    out.limits = team_.gather(std::move(out.limits));
    if (!settings_.gather || team_.is_alone()) return;
    const auto all = team_.gather(std::vector<complex>(out.phi.begin(), out.phi.end()));
    out.phi.assign(all.begin(), all.end());
    out.first_slab = 0;
    out.last_slab = grid_->n_slabs();
  }

  void save() {
    solver_state state;
    number_writer to(state.numbers);
    to.add(iterations_);
    to.add(first_residual_);
    to.add(least_residual_);
    to.add(seconds_);
    to.add(residuals_);
    mixing_.save(to);
    state.first_slab = first_;
    state.last_slab = last_;
    if (!fetch()) return;
    for (const auto& v : mixing_.stored_parts()) state.vectors.emplace_back(v);
    observer_.save(state);
  }
  result<void> load(const saved_solver_state& state) {
    number_reader from(state.numbers());
    iterations_ = from.integer<int>();
    first_residual_ = from.number();
    least_residual_ = from.number();
    seconds_ = from.number();
    residuals_ = from.numbers();
    const bool whole = mixing_.load(from) && from.is_complete();
    result<void> read;
    if (!whole)
      read = error{"the saved state is not one of this grid and loop.history"};
    else if (iterations_ >= settings_.iterations)
      read = error{fmt::format("loop.iterations: expected more than {}, which the saved state has made, found {}",
                               iterations_, settings_.iterations)};
    else
      read = state.read(first_, last_, mixing_.stored_parts());
    return team_.agree(read);
  }

  std::size_t local(std::size_t offset) const noexcept { return offset - grid_->slab_offset(first_); }
  std::size_t own_size() const noexcept { return local(grid_->slab_offset(last_)); }
  // The mixed vector: the own slabs, Sigma, and the density. One part per slab, and one for the rest.
  std::vector<std::size_t> parts() const {
    std::vector<std::size_t> p;
    for (int s = first_; s <= last_; ++s) p.push_back(local(grid_->slab_offset(s)));
    p.push_back(own_size() + static_cast<std::size_t>(grid_->n_momenta()) * settings_.sigma_frequencies + 1);
    return p;
  }
  qmc::matsubara_function sigma_of(const anderson_mixing::vector& x) const {
    qmc::matsubara_function sigma(grid_->n_momenta(), settings_.sigma_frequencies);
    const complex* at = x.data() + own_size();
    for (int k = 0; k < sigma.n_momenta(); ++k)
      for (int n = 0; n < sigma.n_frequencies(); ++n) sigma(k, n) = *at++;
    return sigma;
  }
  static double density_of(const anderson_mixing::vector& x) { return x.back().real(); }

  // The propagator of the present input, and the beginning of Gamma where the rotations add to it. A collective call
  // must follow.
  void prepare() {
    green_.emplace(model_, sigma_of(mixing_.input()), density_of(mixing_.input()), stop_);
    if (exchange_) exchange_->prepare(*green_, mixing_.residual().data());
  }

  // Products of the slabs whose rotated vertices are complete.
  class products final : public rotation_listener {
   public:
    products(loop& l, const vertex_reader& phi) : loop_(l), phi_(phi), all_(2 * l.reports_.size()) {}
    ~products() override {
      for (auto& one : all_)
        if (one.valid()) one.wait();
    }
    void complete(int slab, bool particle_hole) override {
      all_[2 * (slab - loop_.first_) + (particle_hole ? 0 : 1)] =
          async(name(), [this, slab, particle_hole] { loop_.multiply_slab(phi_, slab, particle_hole); });
    }
    void wait() {
      for (auto& one : all_) one.get();
    }
    static task_info name() { return {probe::register_name("parquet/transfer"), probe::no_key}; }

   private:
    loop& loop_;
    const vertex_reader& phi_;
    std::vector<future<void>> all_;
  };

  bool is_stopping() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }

  // Stores g(x) - x as the residual of the mixing. Returns false if the iteration was stopped, or a device failed.
  // Loops skip their work once the flag is set; then the members agree.
  bool iterate(iteration_report& now) {
    std::optional<network_share> share;
    if (exchange_) share.emplace();
    const auto& x = mixing_.input();
    auto& r = mixing_.residual();
    const propagator& g = *green_;
    const vertex_reader phi(*grid_, g, x.data(), first_);
    now.density = g.density();
    reports_.assign(last_ - first_, {});
    std::vector<complex> of_slabs;
    if (resident_) {
      on_device([&] { of_slabs = resident_->iterate(g, mixing_.slot(), settings_.symmetrize, reports_, stop_); });
    } else if (exchange_) {
      products made(*this, phi);
      now.rotation = exchange_->rotate(phi, made);
      made.wait();
    } else {
      for_loop(products::name(), first_, last_, [&](int s) {
        for (const bool ph : {true, false}) {
          if (is_stopping()) return;
          irreducible_slab(phi, ph, grid_->transfer_of(s), matrix_of(s, ph, 0), matrix_of(s, ph, 1));
          multiply_slab(phi, s, ph);
        }
      });
    }
    if (settings_.device != nullptr && !devices_work()) return false;
    if (!resident_) of_slabs = vertex_limits::of_slabs(*grid_, r.data(), first_, last_);
    const vertex_limits limits(*grid_, team_.gather(std::move(of_slabs)));
    const auto sigma = schwinger_dyson(limits, g);
    if (team_.any(is_stopping())) return false;
    for_loop({probe::register_name("parquet/residual"), probe::no_key}, resident_ ? last_ : first_, last_, [&](int s) {
      double& largest = reports_[s - first_].change;
      for (std::size_t i = local(grid_->slab_offset(s)); i < local(grid_->slab_offset(s + 1)); ++i) {
        r[i] -= x[i];
        if (may_exceed(largest, r[i])) keep_largest(largest, std::abs(r[i]));
      }
    });
    std::size_t at = own_size();
    for (int k = 0; k < sigma.n_momenta(); ++k)
      for (int n = 0; n < sigma.n_frequencies(); ++n, ++at) {
        r[at] = sigma(k, n) - x[at];
        keep_largest(now.residual, std::abs(r[at]) / unit_);
      }
    r[at] = g.density() - x[at];
    keep_largest(now.residual, std::abs(r[at]));
    combine_reports(now);
    if (share) combine_work(now.rotation, share->value());
    return true;
  }

  // The reports of all slabs, of all localities.
  void combine_reports(iteration_report& now) const {
    std::vector<double> numbers;
    for (const auto& report : reports_) {
      numbers.insert(numbers.end(),
                     {report.change, *std::max_element(report.asymmetry.begin(), report.asymmetry.end())});
      numbers.insert(numbers.end(), report.eigenvalues.begin(), report.eigenvalues.end());
    }
    numbers = team_.gather(std::move(numbers));
    constexpr std::size_t n = 2 + all_channels.size();
    PLX_ASSERT_EQ(numbers.size(), n * grid_->n_slabs());
    for (int s = 0; s < grid_->n_slabs(); ++s) {
      const double* report = numbers.data() + n * s;
      keep_largest(now.residual, report[0] / unit_);
      now.asymmetry = std::max(now.asymmetry, report[1] / unit_);
      for (std::size_t c = 0; c < all_channels.size() && grid_->transfer_of(s).frequency == 0; ++c)
        now.eigenvalues[c].push_back(report[2 + c]);  // the slabs at w = 0 are the first ones
    }
  }

  // The work of all localities: the longest time, sums, the mean share of messages.
  void combine_work(rotation_work& work, double share) const {
    const auto all = team_.gather(std::vector<double>{work.seconds, work.sent_bytes, static_cast<double>(work.parcels),
                                                      static_cast<double>(work.messages), share});
    rotation_work sum;
    sum.how = work.how;
    for (std::size_t i = 0; i < all.size(); i += 5) {
      sum.seconds = std::max(sum.seconds, all[i]);
      sum.sent_bytes += all[i + 1];
      sum.parcels += static_cast<std::int64_t>(all[i + 2]);
      sum.messages += static_cast<std::int64_t>(all[i + 3]);
      sum.overhead += all[i + 4] / team_.size();
    }
    work = sum;
  }

  // Where Gamma of a slab is, and then its new reducible vertex: channel i of the particle-hole or particle-particle
  // channels.
  matrix_view<complex> matrix_of(int s, bool ph, int i) {
    const int n = grid_->rows(grid_->transfer_of(s).frequency);
    return {mixing_.residual().data() + local(grid_->offset(s, all_channels[(ph ? 0 : 2) + i])), n, n, n};
  }

  // Replaces Gamma of two channels of a slab by the new reducible vertices.
  void multiply_slab(const vertex_reader& phi, int s, bool ph) {
    if (is_stopping()) return;
    const transfer q = grid_->transfer_of(s);
    const int first = ph ? 0 : 2;
    const complex* old = mixing_.input().data() + local(grid_->offset(s, all_channels[first]));
    std::array<std::vector<complex>, 2> weights;
    auto& report = reports_[s - first_];
    for (int i = 0; i < 2; ++i) {
      weights[i] = pair_weights(*grid_, phi.green(), all_channels[first + i], q);
      if (q.frequency == 0) report.eigenvalues[first + i] = leading_eigenvalue(matrix_of(s, ph, i), weights[i]).real();
    }
    if (streamed_) {
      on_device([&] {
        const auto asymmetry =
            streamed_->multiply({q, ph, old, matrix_of(s, ph, 0).data, std::move(weights), settings_.symmetrize});
        std::copy_n(asymmetry.begin(), 2, report.asymmetry.begin() + first);
      });
      return;
    }
    const int n = grid_->rows(q.frequency);
    complex_matrix f(n, n), next(n, n);
    for (int i = 0; i < 2; ++i, old += static_cast<std::size_t>(n) * n) {
      const matrix_view<complex> gamma = matrix_of(s, ph, i);
      for (int b = 0; b < n; ++b)
        for (int a = 0; a < n; ++a) f(a, b) = gamma(a, b) + old[a + static_cast<std::size_t>(b) * n];
      solve_bethe_salpeter(gamma, weights[i], f, next);
      if (settings_.symmetrize) report.asymmetry[first + i] = symmetrize(*grid_, all_channels[first + i], q, next);
      for (int b = 0; b < n; ++b) std::copy_n(&next(0, b), n, &gamma(0, b));
    }
  }

  // From the decay of the residual over the last ten iterations.
  double estimate_left(const iteration_report& now) {
    residuals_.push_back(now.residual);
    seconds_ += now.seconds;
    const std::size_t n = residuals_.size(), span = std::min<std::size_t>(10, n - 1);
    if (span < 3) return -1;
    const double decay = std::log(residuals_[n - 1 - span] / now.residual) / static_cast<double>(span);
    if (!(decay > 0)) return -1;
    if (now.residual <= settings_.tolerance) return 0;  // it may be zero
    const double left = std::log(now.residual / settings_.tolerance) / decay;
    return std::clamp(left, 0.0, double(settings_.iterations - now.iteration - 1)) * seconds_ / static_cast<double>(n);
  }

  error diverged(const iteration_report& now) const {
    const leading worst = leading_of(now);
    const auto q = grid_->lattice().momentum(worst.momentum);
    return error{
        fmt::format("the iteration diverges: expected vertices that settle, found a change of {:.2g} U after {}; the "
                    "largest eigenvalue is {:.3g}, {}, at ({:.3g}, {:.3g}); lower loop.damping ({:.3g}), or raise "
                    "model.temperature",
                    now.residual, plural(now.iteration + 1, "iteration"), worst.eigenvalue, name_of(worst.of), q[0],
                    q[1], settings_.damping)};
  }

  hubbard_model model_;
  std::shared_ptr<const vertex_grid> grid_;
  solver_settings settings_;
  solver_observer& observer_;
  team team_;
  const std::atomic<bool>* stop_;  // or nullptr
  double unit_;                    // of changes of vertices: U, or the unit of energy if that is zero
  int first_, last_;               // own slabs
  anderson_mixing mixing_;
  std::optional<rotation_exchange> exchange_;
  std::optional<streamed_products> streamed_;  // at most one of the two
  std::optional<resident_vertices> resident_;
  std::mutex device_lock_;
  std::string device_error_;  // guarded by device_lock_ within an iteration; empty: none
  std::atomic<bool> device_fails_ = false;
  bool device_lost_ = false;          // guarded in the same way
  std::optional<propagator> green_;   // of the present input
  std::vector<slab_report> reports_;  // of the own slabs
  int iterations_ = 0;                // made
  double first_residual_ = 0, least_residual_ = HUGE_VAL;
  std::vector<double> residuals_;
  double seconds_ = 0;  // of all iterations
};

}  // namespace

result<parquet_solution> solve(const hubbard_model& model, std::shared_ptr<const vertex_grid> grid,
                               const solver_settings& settings, solver_observer& observer, const team& members,
                               const saved_solver_state* from) {
  PLX_ASSERT(model.u >= 0 && settings.iterations > 0 && settings.tolerance > 0, model.u, settings.iterations);
  PLX_ASSERT(settings.sigma_frequencies >= 2 * grid->frequencies() + grid->bosons(), settings.sigma_frequencies);
  return loop(model, std::move(grid), settings, observer, members).run(from);
}

result<parquet_solution> solve(const hubbard_model& model, std::shared_ptr<const vertex_grid> grid,
                               const solver_settings& settings, solver_observer& observer) {
  return solve(model, std::move(grid), settings, observer, team());
}

}  // namespace plx::parquet
