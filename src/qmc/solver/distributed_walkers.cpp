#include "qmc/solver/distributed_walkers.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/collectives.hpp"
#include "net/core/node.hpp"
#include "num/saved_numbers.hpp"

namespace plx::qmc {
namespace {

// Whether another locality has requested a stop.
class remote_stop final : public net::service {
 public:
  explicit remote_stop(net::node&) {}
  std::atomic<bool> requested{false};  // relaxed: orders no other data
};

// Unsigned numbers of 64 bits as two exact ones.
void add(number_writer& to, std::uint64_t x) {
  to.add(static_cast<double>(x >> 32));
  to.add(static_cast<double>(x & 0xffffffff));
}
std::uint64_t read_unsigned(number_reader& from) {
  const auto high = from.integer<std::uint64_t>();
  return high << 32 | from.integer<std::uint64_t>();
}

void save(number_writer& to, const monte_carlo_result& r) {
  to.add(r.complete);
  to.add(static_cast<double>(r.bins.size()));
  for (const auto& b : r.bins) b.save(to);
  to.add(static_cast<double>(r.walkers.size()));
  for (std::size_t w = 0; w < r.walkers.size(); ++w) {
    r.orders[w].save(to);
    to.add(r.walkers[w]);
    to.add(static_cast<double>(r.bin_counts[w]));
  }
  add(to, r.moves.proposed);
  add(to, r.moves.accepted);
  to.add(r.moves.largest_drift);
}

// Appends the result of the next locality.
void append(monte_carlo_result& r, number_reader& from) {
  r.complete = from.number() != 0 && r.complete;
  for (auto left = from.integer<std::size_t>(); left > 0; --left) r.bins.emplace_back().load(from);
  for (auto left = from.integer<std::size_t>(); left > 0; --left) {
    r.orders.emplace_back().load(from);
    r.walkers.push_back(from.numbers());
    r.bin_counts.push_back(from.integer<std::size_t>());
  }
  r.moves.proposed += read_unsigned(from);
  r.moves.accepted += read_unsigned(from);
  r.moves.largest_drift = std::max(r.moves.largest_drift, from.number());
  PLX_ASSERT(from.is_complete(), r.bins.size());
}

}  // namespace

void qmc_stop_walkers() { net::node_here().get<remote_stop>().requested.store(true, std::memory_order_relaxed); }

distributed_walkers::distributed_walkers(team members, std::shared_ptr<const cluster> lattice,
                                         const std::atomic<bool>* stop)
    : members_(std::move(members)), lattice_(std::move(lattice)), signal_(stop) {}

int distributed_walkers::first_walker(int walkers, unsigned rank) const noexcept {
  return static_cast<int>(static_cast<std::int64_t>(walkers) * rank / members_.size());
}

bool distributed_walkers::stop_requested() const noexcept {
  return stopping_ || (signal_ != nullptr && *signal_) ||
         (!members_.is_alone() && net::node_here().get<remote_stop>().requested);
}

void distributed_walkers::spread_stop() {
  if (stopping_ || !stop_requested()) return;
  stopping_ = true;
  const auto& all = members_.communicator().members();
  for (unsigned rank = 0; rank < members_.size(); ++rank)
    if (rank != members_.rank()) post<&qmc_stop_walkers>(all[rank]);
}

template <class T>
T distributed_walkers::wait(future<T> f) {
  constexpr std::chrono::milliseconds period(10);
  for (spread_stop(); f.wait_for(period) != future_status::ready;) spread_stop();
  return f.get();
}

std::vector<double> distributed_walkers::work_of(const impurity& p, const monte_carlo_options& o, unsigned rank) const {
  const int begin = first_walker(o.walkers, rank), end = first_walker(o.walkers, rank + 1);
  std::vector<double> work;
  number_writer to(work);
  for (double x : {p.u, p.beta, p.mu}) to.add(x);
  save_function(to, p.g0);
  to.add(p.moments);
  for (int n : {end - begin, o.bins, o.measurements, o.warm_up, o.rebuild_interval, static_cast<int>(o.method),
                o.pair_frequencies, o.correlations ? 1 : 0, o.batch})
    to.add(n);
  for (double x : {o.sweeps, o.k, o.pause_after_s}) to.add(x);
  to.add(o.four_points.n_frequencies);
  to.add(static_cast<double>(o.four_points.functions.size()));
  for (const auto& f : o.four_points.functions)
    for (int n : {static_cast<int>(f.channel), f.momentum, f.frequency}) to.add(n);
  add(to, o.seed);
  add(to, o.first_stream + static_cast<std::uint64_t>(begin));
  to.add(static_cast<double>(o.saved.empty() ? 0 : end - begin));
  for (int w = begin; w < end && !o.saved.empty(); ++w) to.add(o.saved[w]);
  return work;
}

// The results of the walkers of this locality.
std::vector<double> distributed_walkers::run_share(const std::vector<double>& work) {
  number_reader from(work);
  impurity p;
  p.lattice = lattice_;
  for (double* x : {&p.u, &p.beta, &p.mu}) *x = from.number();
  p.g0 = load_function(from);
  p.moments = from.numbers();
  monte_carlo_options o;
  for (int* n : {&o.walkers, &o.bins, &o.measurements, &o.warm_up, &o.rebuild_interval}) *n = from.integer<int>();
  o.method = static_cast<walker_method>(from.integer<int>());
  o.pair_frequencies = from.integer<int>();
  o.correlations = from.number() != 0;
  o.batch = from.integer<int>();
  for (double* x : {&o.sweeps, &o.k, &o.pause_after_s}) *x = from.number();
  o.four_points.n_frequencies = from.integer<int>();
  o.four_points.functions.resize(from.integer<std::size_t>());
  for (auto& f : o.four_points.functions) {
    f.channel = static_cast<four_point_channel>(from.integer<int>());
    f.momentum = from.integer<int>();
    f.frequency = from.integer<int>();
  }
  o.seed = read_unsigned(from);
  o.first_stream = read_unsigned(from);
  o.saved.resize(from.integer<std::size_t>());
  for (auto& state : o.saved) state = from.numbers();
  PLX_ASSERT(from.is_complete(), work.size());
  o.stop = &stopping_;
  std::vector<double> numbers;
  number_writer to(numbers);
  save(to, o.walkers > 0 ? wait(async_monte_carlo(std::move(p), std::move(o))) : monte_carlo_result());
  return numbers;
}

monte_carlo_result distributed_walkers::run(const impurity& problem, monte_carlo_options options) {
  if (members_.is_alone()) {
    options.stop = signal_;
    return async_monte_carlo(problem, std::move(options)).get();
  }
  const auto& all = members_.communicator();
  std::vector<std::vector<double>> works;
  for (unsigned rank = 0; rank < members_.size(); ++rank) works.push_back(work_of(problem, options, rank));
  bytes_ = 0;
  for (std::size_t rank = 1; rank < works.size(); ++rank) bytes_ += sizeof(double) * works[rank].size();
  auto own = run_share(wait(all.scatter(works)));
  const double begin = monotonic_seconds();
  const auto parts = wait(all.gather(std::move(own)));
  monte_carlo_result r;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    number_reader from(parts[rank]);
    append(r, from);
    if (rank > 0) bytes_ += sizeof(double) * parts[rank].size();
  }
  wait_s_ = monotonic_seconds() - begin;
  return r;
}

void distributed_walkers::end() {
  if (!members_.is_alone()) wait(members_.communicator().scatter(std::vector<std::vector<double>>(members_.size())));
}

void distributed_walkers::serve() {
  const auto& all = members_.communicator();
  for (;;) {
    const auto work = wait(all.scatter(std::vector<std::vector<double>>()));
    if (work.empty()) return;
    wait(all.gather(run_share(work)));
  }
}

}  // namespace plx::qmc
