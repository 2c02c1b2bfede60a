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
  to.add_unsigned(r.moves.proposed);
  to.add_unsigned(r.moves.accepted);
  to.add(r.moves.largest_drift);
}

enum class work_kind { run, save_functions };

// Appends the result of the next locality.
void append(monte_carlo_result& r, number_reader& from) {
  r.complete = from.number() != 0 && r.complete;
  for (auto left = from.integer<std::size_t>(); left > 0; --left) r.bins.emplace_back().load(from);
  for (auto left = from.integer<std::size_t>(); left > 0; --left) {
    r.orders.emplace_back().load(from);
    r.walkers.push_back(from.numbers());
    r.bin_counts.push_back(from.integer<std::size_t>());
  }
  r.moves.proposed += from.unsigned_integer();
  r.moves.accepted += from.unsigned_integer();
  r.moves.largest_drift = std::max(r.moves.largest_drift, from.number());
  PLX_ASSERT(from.is_complete(), r.bins.size());
}

}  // namespace

void qmc_stop_walkers() { net::node_here().get<remote_stop>().requested.store(true, std::memory_order_relaxed); }

distributed_walkers::distributed_walkers(team members, std::shared_ptr<const cluster> lattice,
                                         const std::atomic<bool>* stop)
    : members_(std::move(members)), lattice_(std::move(lattice)), signal_(stop) {}

int distributed_walkers::first_walker(int walkers, unsigned rank) const noexcept {
  // Rounded up: the root has a walker even if there are fewer than localities, because it reports the progress.
  return static_cast<int>((static_cast<std::int64_t>(walkers) * rank + members_.size() - 1) / members_.size());
}

bool distributed_walkers::stop_requested() const noexcept {
  return stopping_ || (signal_ != nullptr && *signal_) ||
         (!members_.is_alone() && net::node_here().get<remote_stop>().requested);
}

void distributed_walkers::spread_stop() {
  if (stopping_ || !stop_requested() || stopping_.exchange(true)) return;
  const auto& all = members_.communicator().members();
  for (unsigned rank = 0; rank < members_.size(); ++rank)
    if (rank != members_.rank()) post<&qmc_stop_walkers>(all[rank]);
}

bool distributed_walkers::poll_stop() {
  if (!members_.is_alone()) spread_stop();
  return stop_requested();
}

template <class T>
T distributed_walkers::wait(future<T> f) {
  constexpr std::chrono::milliseconds period(10);
  for (spread_stop(); f.wait_for(period) != future_status::ready;) spread_stop();
  return f.get();
}

std::vector<double> distributed_walkers::work_of(const impurity& p, const monte_carlo_options& o,
                                                 const checkpoint_parts& parts, unsigned rank) const {
  const int begin = first_walker(o.walkers, rank), end = first_walker(o.walkers, rank + 1);
  std::vector<double> work;
  number_writer to(work);
  to.add(static_cast<int>(work_kind::run));
  for (double x : {p.u, p.beta, p.mu}) to.add(x);
  save_function(to, p.g0);
  to.add(p.moments);
  for (int n : {end - begin, o.bins, o.measurements, o.warm_up, o.rebuild_interval, static_cast<int>(o.method),
                o.pair_frequencies, o.correlations ? 1 : 0, o.batch, o.functions_stay ? 1 : 0})
    to.add(n);
  for (double x : {o.sweeps, o.k, o.pause_after_s}) to.add(x);
  to.add(o.four_points.n_frequencies);
  to.add(static_cast<double>(o.four_points.functions.size()));
  for (const auto& f : o.four_points.functions)
    for (int n : {static_cast<int>(f.channel), f.momentum, f.frequency}) to.add(n);
  to.add_unsigned(o.seed);
  to.add_unsigned(o.first_stream + static_cast<std::uint64_t>(begin));
  to.add(static_cast<double>(o.saved.empty() ? 0 : end - begin));
  for (int w = begin; w < end && !o.saved.empty(); ++w) to.add(o.saved[w]);
  save_parts(to, o.saved.empty() ? checkpoint_parts() : parts);
  to.add(begin);
  return work;
}

// The functions of a range of walkers. Those of the parts that this locality has written last are in its memory.
result<std::vector<walker_functions>> distributed_walkers::functions_of(const checkpoint_parts& parts,
                                                                        std::size_t first, std::size_t count) {
  if (!parts.empty() && parts.mark == saved_mark_ && functions_.size() == count) return std::move(functions_);
  std::vector<walker_functions> all;
  for (std::size_t w = first; w < first + count && !parts.empty(); ++w) {
    if (store_ == nullptr) return error{"functions of two particles of a checkpoint: expected a folder, found none"};
    auto functions = store_->read(parts, w);
    if (!functions) return functions.error();
    all.push_back(*std::move(functions));
  }
  return all;
}

auto distributed_walkers::do_work(const std::vector<double>& work) -> reply {
  number_reader from(work);
  if (from.integer<work_kind>() == work_kind::run) return run_share(work);
  const auto mark = from.integer<std::uint64_t>();
  const auto sum = store_->write(mark, members_.rank(), functions_);
  if (!sum) return {sum.error().message, {}};
  saved_mark_ = mark;
  reply r;
  number_writer to(r.second);
  to.add_unsigned(*sum);
  return r;
}

// The results of the walkers of this locality.
auto distributed_walkers::run_share(const std::vector<double>& work) -> reply {
  number_reader from(work);
  from.number();  // the kind
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
  o.functions_stay = from.number() != 0;
  for (double* x : {&o.sweeps, &o.k, &o.pause_after_s}) *x = from.number();
  o.four_points.n_frequencies = from.integer<int>();
  o.four_points.functions.resize(from.integer<std::size_t>());
  for (auto& f : o.four_points.functions) {
    f.channel = static_cast<four_point_channel>(from.integer<int>());
    f.momentum = from.integer<int>();
    f.frequency = from.integer<int>();
  }
  o.seed = from.unsigned_integer();
  o.first_stream = from.unsigned_integer();
  o.saved.resize(from.integer<std::size_t>());
  for (auto& state : o.saved) state = from.numbers();
  const auto parts = load_parts(from, work.size());
  const auto first = from.integer<std::size_t>();
  PLX_ASSERT(from.is_complete(), work.size());
  auto functions = functions_of(parts, first, o.saved.size());
  // Without them on one locality, none begins.
  if (!parts.empty() && wait(members_.communicator().all_reduce(!functions ? 1 : 0, maximum())) != 0)
    return {functions ? "" : functions.error().message, {}};
  o.functions = *std::move(functions);
  o.stop = &stopping_;
  o.progress = progress_;
  saved_mark_ = 0;
  functions_.clear();
  auto r = o.walkers > 0 ? wait(async_monte_carlo(p, std::move(o))) : monte_carlo_result();
  functions_ = std::move(r.functions);
  if (r.complete) hold_own(p, r);
  reply out;
  number_writer to(out.second);
  save(to, r);
  return out;
}

// Gives each locality its work; returns their replies, by rank.
auto distributed_walkers::distribute(const std::vector<std::vector<double>>& works) -> gathered {
  const auto& all = members_.communicator();
  auto own = do_work(wait(all.scatter(works)));
  const double begin = monotonic_seconds();
  auto replies = wait(all.gather(std::move(own)));
  return {std::move(replies), monotonic_seconds() - begin};
}

result<monte_carlo_result> distributed_walkers::run(const impurity& problem, monte_carlo_options options,
                                                    const checkpoint_parts& parts) {
  n_walkers_ = options.walkers;
  if (members_.is_alone()) {
    options.stop = signal_;
    options.progress = progress_;
    options.functions_stay = false;
    auto functions = functions_of(parts, 0, options.saved.size());
    if (!functions) return functions.error();
    options.functions = *std::move(functions);
    auto r = async_monte_carlo(problem, std::move(options)).get();
    hold_all(problem, r);
    return r;
  }
  const bool distributed = options.functions_stay;
  std::vector<std::vector<double>> works;
  for (unsigned rank = 0; rank < members_.size(); ++rank) works.push_back(work_of(problem, options, parts, rank));
  options.saved.clear();
  const auto [replies, wait_s] = distribute(works);
  wait_s_ = wait_s;
  bytes_ = 0;
  for (std::size_t rank = 1; rank < works.size(); ++rank)
    bytes_ += static_cast<double>(sizeof(double) * (works[rank].size() + replies[rank].second.size()));
  monte_carlo_result r;
  held_bins_.clear();
  for (const auto& [failure, numbers] : replies)
    if (!failure.empty()) return error{failure};
  for (const auto& [failure, numbers] : replies) {
    number_reader from(numbers);
    const std::size_t before = r.bins.size();
    append(r, from);
    held_bins_.push_back(r.bins.size() - before);
  }
  if (!distributed) hold_all(problem, r);
  return r;
}

result<checkpoint_parts> distributed_walkers::save_functions(std::uint64_t mark) {
  PLX_ASSERT(!members_.is_alone() && store_ != nullptr, members_.size());
  std::vector<double> work;
  number_writer to(work);
  to.add(static_cast<int>(work_kind::save_functions));
  to.add(static_cast<double>(mark));
  checkpoint_parts parts{mark, {0}, {}};
  for (const auto& [failure, numbers] : distribute(std::vector(members_.size(), work)).replies) {
    if (!failure.empty()) return error{failure};
    number_reader from(numbers);
    parts.checksums.push_back(from.unsigned_integer());
    parts.firsts.push_back(
        static_cast<std::uint64_t>(first_walker(n_walkers_, static_cast<unsigned>(parts.checksums.size()))));
  }
  return parts;
}

// On a locality whose functions stay, or that has none.
void distributed_walkers::hold_own(const impurity& problem, const monte_carlo_result& r) {
  std::vector<bin_functions> held;
  std::size_t bin = 0;
  for (const auto& w : functions_)
    for (const auto& sums : w.bins) held.push_back({r.bins[bin++].count, sums});
  holder_(problem, std::move(held));
}

void distributed_walkers::hold_all(const impurity& problem, const monte_carlo_result& r) {
  held_bins_.assign(members_.size(), 0);
  held_bins_[0] = r.bins.size();
  std::vector<bin_functions> held;
  for (const auto& b : r.bins) held.push_back({b.count, b.four_points});
  if (r.complete) holder_(problem, std::move(held));
}

void distributed_walkers::end() {
  if (!members_.is_alone()) wait(members_.communicator().scatter(std::vector<std::vector<double>>(members_.size())));
}

void distributed_walkers::serve() {
  const auto& all = members_.communicator();
  for (;;) {
    const auto work = wait(all.scatter(std::vector<std::vector<double>>()));
    if (work.empty()) return;
    wait(all.gather(do_work(work)));
  }
}

}  // namespace plx::qmc
