#include "qmc/dca/function_results.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>

#include "net/action.hpp"
#include "net/collectives.hpp"
#include "net/core/node.hpp"
#include "qmc/dca/conclude.hpp"
#include "qmc/dca/evaluate_rows.hpp"
#include "rt/mutex.hpp"

namespace plx::qmc {
namespace {

constexpr std::size_t n_values = 4;

// The object of this locality, while it exists, and the actions that use it.
class function_service final : public net::service {
 public:
  explicit function_service(net::node& n) : node_(n) {}
  void peer_lost(locality_id peer) override {
    const lock_guard lock(mutex_);
    lost_ = peer;
  }
  void begin(function_results* object) {
    const lock_guard lock(mutex_);
    object_ = object;
  }
  // Returns when no action uses the object.
  void end() {
    unique_lock lock(mutex_);
    object_ = nullptr;
    unused_.wait(lock, [this] { return users_ == 0; });
  }
  function_results* acquire() {
    const lock_guard lock(mutex_);
    if (object_ == nullptr) {
      if (lost_ != no_locality) std::rethrow_exception(node_.loss_of(lost_));
      throw std::runtime_error("functions of two particles are requested after the end of the run");
    }
    ++users_;
    return object_;
  }
  void release() {
    const lock_guard lock(mutex_);
    if (--users_ == 0) unused_.notify_all();
  }

 private:
  net::node& node_;
  mutex mutex_;
  condition_variable unused_;
  function_results* object_ = nullptr;
  unsigned users_ = 0;
  locality_id lost_ = no_locality;
};

// Keeps the object alive for an action.
class user {
 public:
  user() : service_(net::node_here().get<function_service>()), object_(service_.acquire()) {}
  ~user() { service_.release(); }
  user(const user&) = delete;
  user& operator=(const user&) = delete;
  function_results* operator->() const noexcept { return object_; }

 private:
  function_service& service_;
  function_results* object_;
};

}  // namespace

future<std::vector<double>> qmc_add_bins(std::uint64_t f, std::vector<double> sum) {
  return user()->add_bins(f, std::move(sum));
}
void qmc_take_rows(std::vector<double> rows, std::uint64_t n) { user()->take_rows(std::move(rows), n); }
function_results::values qmc_evaluate_held(std::uint64_t f, std::vector<double> sum) {
  return user()->evaluate_held(f, sum);
}

function_results::function_results(team members, const four_point_set& set, const transfer_bubble& bubble,
                                   double expansion_k, std::function<bool()> stop)
    : members_(std::move(members)), set_(set), bubble_(bubble), expansion_k_(expansion_k), stop_(std::move(stop)) {
  if (!members_.is_alone()) net::node_here().get<function_service>().begin(this);
}

function_results::~function_results() {
  ending_ = true;
  if (!members_.is_alone()) net::node_here().get<function_service>().end();
}

// A stop on this locality ends the rows of the others meanwhile.
template <class T>
T function_results::wait(future<T> f) const {
  constexpr std::chrono::milliseconds period(10);
  while (f.wait_for(period) != future_status::ready) stops();
  return f.get();
}

void function_results::hold(const impurity& problem, std::vector<bin_functions> bins) {
  problem_ = problem;
  bins_ = std::move(bins);
}

std::size_t function_results::elements() const noexcept {
  const auto size = static_cast<std::size_t>(pair_index{problem_.g0.n_momenta(), set_.n_frequencies}.size());
  return 2 * size * size;
}

template <class F>
void function_results::for_each(std::size_t f, const bin_functions& bin, F&& add) const {
  const std::size_t n = elements(), first = f * n;
  PLX_ASSERT_GE(bin.sums.size(), first + n);
  for (std::size_t i = 0; i < n; ++i) add(i, bin.sums[first + i] / bin.count);
}

future<std::vector<double>> function_results::add_bins(std::size_t f, std::vector<double> sum) {
  for (const auto& bin : bins_) for_each(f, bin, [&](std::size_t i, double x) { sum[i] += x; });
  const unsigned next = members_.rank() + 1;
  if (next == members_.size()) return make_ready_future(std::move(sum));
  return async<&qmc_add_bins>(members_.communicator().members()[next], static_cast<std::uint64_t>(f), std::move(sum));
}

void function_results::take_rows(std::vector<double> rows, std::size_t n) {
  rows_ = std::move(rows);
  n_bins_ = n;
}

auto function_results::evaluate_held(std::size_t f, const std::vector<double>& sum) const -> values {
  if (bins_.empty()) return {};
  const pair_index window{problem_.g0.n_momenta(), set_.n_frequencies};
  const std::size_t width = rows_.size() / bins_.size();
  values out;
  out.second.resize(n_values * bins_.size());
  const auto done = evaluate_rows(
      bins_.size(), [this] { return stops(); },
      [&](std::size_t b) -> result<void> {
        const auto row = std::span(rows_).subspan(b * width, width);
        std::vector<double> others(elements());
        for_each(f, bins_[b],
                 [&](std::size_t i, double x) { others[i] = (sum[i] - x) / (static_cast<double>(n_bins_) - 1); });
        const auto v = evaluate_row(f, row, four_point_from(window, 0, row[0], others.data()));
        if (!v) return v.error();
        std::copy(v->begin(), v->end(), out.second.begin() + static_cast<std::ptrdiff_t>(n_values * b));
        return {};
      });
  if (!done) return {done.error().message, {}};
  if (!*done) out.second.clear();
  return out;
}

result<std::vector<double>> function_results::evaluate_row(std::size_t f, std::span<const double> row,
                                                           complex_matrix mean) const {
  const impurity& p = problem_;
  const auto green = green_of(p, row);
  const auto sigma = self_energy_of(p.g0, green, p.u, averages_of(p, expansion_k_, row).density, p.beta);
  const auto s = solve_transfer(*p.lattice, {p.lattice->n_sites(), set_.n_frequencies}, set_.functions[f],
                                std::move(mean), green, sigma, bubble_, p.u, p.mu, p.beta);
  if (!s) return s.error();
  return std::vector<double>{s->cluster, s->lattice, s->bubble, s->leading};
}

result<bool> function_results::evaluate(std::span<const std::vector<double>> rows, std::span<const std::size_t> counts,
                                        table& out) {
  const std::size_t n = rows.size() - 1, n_functions = set_.functions.size();
  out.rows.assign(rows.size(), std::vector<double>(n_values * n_functions));
  out.means.clear();
  if (n_functions == 0) return true;
  PLX_ASSERT_EQ(counts.size(), members_.size());
  const std::size_t width = one_particle_numbers(problem_);
  // Each locality gets the rows of its bins.
  std::vector<future<void>> sent;
  for (std::size_t rank = 0, first = 0; rank < counts.size(); first += counts[rank++]) {
    std::vector<double> share;
    for (std::size_t i = first; i < first + counts[rank]; ++i)
      share.insert(share.end(), rows[i].begin(), rows[i].begin() + static_cast<std::ptrdiff_t>(width));
    if (rank == 0)
      take_rows(std::move(share), n);
    else
      sent.push_back(async<&qmc_take_rows>(members_.communicator().members()[rank], std::move(share),
                                           static_cast<std::uint64_t>(n)));
  }
  for (auto& f : sent) f.get();
  const pair_index window{problem_.g0.n_momenta(), set_.n_frequencies};
  const auto sum_of = [&](std::size_t f) { return add_bins(f, std::vector<double>(elements(), 0.0)); };
  future<std::vector<double>> next = sum_of(0);
  for (std::size_t f = 0; f < n_functions; ++f) {
    auto sum = wait(std::move(next));
    if (f + 1 < n_functions) next = sum_of(f + 1);  // on its way meanwhile
    std::vector<future<values>> of_others;
    for (std::size_t rank = 1; rank < counts.size(); ++rank)
      of_others.push_back(
          async<&qmc_evaluate_held>(members_.communicator().members()[rank], static_cast<std::uint64_t>(f), sum));
    std::vector<values> all = {evaluate_held(f, sum)};
    for (double& x : sum) x /= static_cast<double>(n);
    out.means.push_back(four_point_from(window, 0, rows[n][0], sum.data()));
    const auto of_mean = evaluate_row(f, std::span(rows[n]).first(width), out.means.back());
    for (auto& others : of_others) all.push_back(wait(std::move(others)));
    const auto complete = enter(all, of_mean, counts, f, out);
    if (complete && *complete) continue;
    if (next.valid()) next.wait();  // the others may end only then
    return complete;
  }
  return true;
}

// The results of function f of all localities and of the mean; false: they are incomplete because of a stop.
result<bool> function_results::enter(std::span<const values> all, const result<std::vector<double>>& of_mean,
                                     std::span<const std::size_t> counts, std::size_t f, table& out) {
  for (const auto& [failure, numbers] : all)
    if (!failure.empty()) return error{failure};
  if (!of_mean) return of_mean.error();
  std::size_t row = 0;
  const auto set = [&](const double* from) {
    std::copy_n(from, n_values, out.rows[row++].begin() + static_cast<std::ptrdiff_t>(n_values * f));
  };
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto& numbers = all[rank].second;
    if (numbers.size() != n_values * counts[rank]) return false;
    for (std::size_t i = 0; i < counts[rank]; ++i) set(numbers.data() + n_values * i);
  }
  set(of_mean->data());
  return true;
}

}  // namespace plx::qmc
