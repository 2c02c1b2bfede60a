#include "qmc/solver/monte_carlo.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "probe/record/names.hpp"
#include "qmc/walker/submatrix_walker.hpp"
#include "rt/async.hpp"
#include "rt/dataflow.hpp"
#include "rt/when_all.hpp"

namespace plx::qmc {
namespace {

task_info info_of(const char* name) { return {probe::register_name(name), probe::no_key}; }

std::unique_ptr<walker> make_walker(const free_propagator& g0, const expansion& e, const monte_carlo_options& o,
                                    int index) {
  const random_stream stream(o.seed, o.first_stream + static_cast<std::uint64_t>(index));
  if (o.method == walker_method::rank_one) return std::make_unique<rank_one_walker>(g0, e, stream);
  return std::make_unique<submatrix_walker>(g0, e, stream, o.batch);
}

// One walker with its accumulator. Only one task at a time touches each half: those that advance form a chain, those
// that measure another; a snapshot belongs to the walker until it is taken and to the measurement until it is added.
struct chain {
  chain(const impurity& problem, const free_propagator& g0, const nonuniform_fourier& transform, const expansion& e,
        const monte_carlo_options& o, int index)
      : options(o), state(make_walker(g0, e, o, index)), accumulator(*problem.lattice, transform, problem.beta) {
    // Streams with this bit are for times of measurements.
    if (o.correlations)
      correlations.emplace(*problem.lattice, g0,
                           random_stream(o.seed, (o.first_stream + static_cast<std::uint64_t>(index)) | 1ull << 63));
    if (o.pair_frequencies > 0) pairs.emplace(*problem.lattice, problem.g0, problem.beta, o.pair_frequencies);
    if (!o.four_points.functions.empty())
      four_points.emplace(*problem.lattice, problem.g0, problem.beta, o.four_points);
    const int n_transformed = std::max(o.pair_frequencies, o.four_points.n_transformed());
    if (n_transformed > 0) vertices.emplace(*problem.lattice, problem.beta, n_transformed);
  }

  // Relaxed: the flag orders no other data.
  bool is_stopping() const { return options.stop != nullptr && options.stop->load(std::memory_order_relaxed); }

  // Some moves are made, so that a run that is paused and continued again and again comes to an end.
  bool is_time_to_pause() const {
    return options.pause_after_s > 0 && has_advanced &&
           std::chrono::steady_clock::now() - start > std::chrono::duration<double>(options.pause_after_s);
  }

  // Moves are made in pieces, so that a stop need not wait for a long measurement; batches remain whole.
  int piece_of(int n) const { return std::min(n, std::max(1024, options.batch)); }

  // A stopped warm-up is repeated.
  void warm_up() {
    if (moves > 0) return;
    // The second half determines how many moves a sweep has.
    double sum = 0;
    int count = 0;
    const int piece = std::max(1, options.warm_up / 20);
    for (int done = 0; done < options.warm_up; done += piece) {
      for (int left = std::min(piece, options.warm_up - done), n = 0; left > 0; left -= n) {
        if ((stopped = is_stopping())) return;
        state->advance(n = piece_of(left));
      }
      if (2 * done < options.warm_up) continue;
      sum += state->order();
      ++count;
    }
    constexpr double most = 1e9;
    moves = static_cast<int>(
        std::lround(std::clamp(options.sweeps * std::max(1.0, count > 0 ? sum / count : 1.0), 1.0, most)));
    reported = state->statistics();
  }
  void advance(int buffer) {
    filled[buffer] = false;
    stopped = stopped || is_stopping() || is_time_to_pause();
    if (stopped) return;
    if (moves_left == 0) moves_left = moves;
    for (;;) {
      const int piece = piece_of(moves_left);
      state->advance(piece);
      has_advanced = true;
      moves_left -= piece;
      if (moves_left == 0) break;
      if ((stopped = is_stopping() || is_time_to_pause())) {
        if (options.progress) report_moves(*options.progress);
        return;
      }
    }
    filled[buffer] = true;
    if (++advanced % options.rebuild_interval == 0) state->rebuild();
    orders.add(state->order());
    buffers[buffer].take(*state);
    if (options.progress) report(*options.progress);
  }

  void report_moves(monte_carlo_progress& to) {
    const auto now = state->statistics();
    to.proposed.fetch_add(now.proposed - reported.proposed, std::memory_order_relaxed);
    to.accepted.fetch_add(now.accepted - reported.accepted, std::memory_order_relaxed);
    reported = now;
  }

  // Once per measurement.
  void report(monte_carlo_progress& to) {
    constexpr auto relaxed = std::memory_order_relaxed;
    report_moves(to);
    to.order.fetch_add(state->order(), relaxed);
    to.sign.fetch_add(state->sign(), relaxed);
    to.samples.fetch_add(1, relaxed);
    to.measurements.fetch_add(1, relaxed);
  }

  void measure(int buffer) {
    if (!filled[buffer]) return;
    accumulator.add(buffers[buffer]);
    if (vertices) vertices->take(buffers[buffer]);
    if (pairs) pairs->add(*vertices);
    if (four_points) four_points->add(*vertices);
    if (correlations) correlations->add(buffers[buffer]);
    ++measured;
  }
  void end_bin() {
    if (measured < options.measurements) return;
    measured = 0;
    bins.push_back(accumulator.take_bin());
    if (pairs) bins.back().pairs = pairs->take();
    if (four_points) bins.back().four_points = four_points->take();
    if (correlations) bins.back().correlations = correlations->take();
  }

  bool is_complete() const { return static_cast<int>(bins.size()) == options.bins; }

  // All but the complete bins; nothing of a walker that has not been warmed up.
  std::vector<double> save() const {
    std::vector<double> numbers;
    number_writer to(numbers);
    to.add(moves);
    if (moves == 0) return numbers;
    to.add(moves_left);
    to.add(advanced);
    to.add(measured);
    state->save(to);
    orders.save(to);
    accumulator.save(to);
    if (pairs) pairs->save(to);
    if (four_points && !options.functions_stay) four_points->save(to);
    if (correlations) correlations->save(to);
    return numbers;
  }
  // The functions of two particles of a walker that has ended; moved from it.
  walker_functions release_functions() {
    walker_functions out;
    if (!four_points) return out;
    out.sums = four_points->all_sums();
    four_points.reset();
    for (auto& b : bins) out.bins.push_back(std::exchange(b.four_points, {}));
    return out;
  }
  // functions: if they are apart from the state; moved from.
  void load(const std::vector<double>& numbers, walker_functions* functions) {
    number_reader from(numbers);
    moves = from.integer<int>();
    if (moves == 0) return;
    moves_left = from.integer<int>();
    advanced = from.integer<int>();
    measured = from.integer<int>();
    state->load(from);
    reported = state->statistics();
    orders.load(from);
    accumulator.load(from);
    if (pairs) pairs->load(from);
    if (four_points && functions == nullptr) four_points->load(from);
    if (correlations) correlations->load(from);
    bins.resize(std::min(from.integer<std::size_t>(), static_cast<std::size_t>(options.bins)));
    for (auto& b : bins) b.load(from);
    PLX_ASSERT(from.is_complete(), numbers.size());
    if (!four_points || functions == nullptr) return;
    four_points->set_all_sums(std::exchange(functions->sums, {}));
    PLX_ASSERT_EQ(functions->bins.size(), bins.size());
    for (std::size_t b = 0; b < bins.size(); ++b) bins[b].four_points = std::move(functions->bins[b]);
  }

  monte_carlo_options options;
  std::unique_ptr<walker> state;
  single_particle_accumulator accumulator;
  std::optional<vertex_transform> vertices;
  std::optional<pair_accumulator> pairs;
  std::optional<four_point_accumulator> four_points;
  std::optional<correlation_accumulator> correlations;
  std::array<snapshot, 2> buffers;
  std::vector<measurement_bin> bins;
  binning orders;
  int moves = 0;                   // between measurements; 0: not warmed up
  int moves_left = 0;              // of a measurement that was stopped
  int advanced = 0, measured = 0;  // in all bins; in the present bin
  walker_statistics reported;      // to options.progress
  bool stopped = false, has_advanced = false;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::array<bool, 2> filled{};  // buffers
};

// The tasks of one bin. Advance i needs advance i - 1 and the measurement i - 2, whose buffer it fills; measurement i
// needs advance i and measurement i - 1.
future<void> run_bin(std::shared_ptr<chain> c) {
  static const task_info advance_info = info_of("qmc/advance"), measure_info = info_of("qmc/measure"),
                         end_info = info_of("qmc/end-bin");
  shared_future<void> advanced = make_ready_future().share();
  std::array<shared_future<void>, 2> measured = {advanced, advanced};  // by buffer
  if (c->stopped || c->is_complete()) return make_ready_future();
  for (int i = c->measured; i < c->options.measurements; ++i) {
    const int buffer = i % 2;
    advanced = dataflow(
                   advance_info,
                   [c, buffer](shared_future<void> before, shared_future<void> free) {
                     before.get();
                     free.get();
                     c->advance(buffer);
                   },
                   advanced, measured[buffer])
                   .share();
    measured[buffer] = dataflow(
                           measure_info,
                           [c, buffer](shared_future<void> taken, shared_future<void> before) {
                             taken.get();
                             before.get();
                             c->measure(buffer);
                           },
                           advanced, measured[1 - buffer])
                           .share();
  }
  return measured[(c->options.measurements + 1) % 2].then(end_info, [c](shared_future<void> last) {
    last.get();
    c->end_bin();
  });
}

// Where the pair function begins in a row of means.
std::size_t first_pair(const impurity& problem) {
  return 2 + 2 * static_cast<std::size_t>(problem.g0.n_momenta()) * problem.g0.n_frequencies();
}

// Tables shared by all walkers; alive until the last one has ended.
struct shared_tables {
  impurity problem;
  free_propagator g0;
  nonuniform_fourier transform;
};

}  // namespace

double monte_carlo_result::order_autocorrelation_time() const { return autocorrelation_time(orders); }

std::vector<std::vector<double>> monte_carlo_result::saved() const {
  auto all = walkers;
  auto bin = bins.begin();
  for (std::size_t w = 0; w < all.size(); ++w) {
    if (all[w].size() <= 1) continue;  // not warmed up
    number_writer to(all[w]);
    to.add(static_cast<double>(bin_counts[w]));
    for (std::size_t b = 0; b < bin_counts[w]; ++b, ++bin) bin->save(to);
  }
  return all;
}

future<monte_carlo_result> async_monte_carlo(impurity problem, monte_carlo_options options) {
  PLX_ASSERT(options.walkers > 0 && options.bins > 0 && options.measurements > 0 && options.rebuild_interval > 0,
             options.walkers, options.bins, options.measurements, options.rebuild_interval);
  const auto saved = std::exchange(options.saved, {});
  auto functions = std::exchange(options.functions, {});
  PLX_ASSERT(saved.empty() || static_cast<int>(saved.size()) == options.walkers, saved.size(), options.walkers);
  PLX_ASSERT(functions.empty() || functions.size() == saved.size(), functions.size(), saved.size());
  const auto tables = std::make_shared<const shared_tables>(
      shared_tables{problem, free_propagator(*problem.lattice, problem.g0, problem.moments, problem.beta),
                    nonuniform_fourier(problem.g0.n_frequencies())});
  const auto constants = expansion::of(problem.u, problem.beta, problem.lattice->n_sites(), options.k);
  std::vector<std::shared_ptr<chain>> chains;
  std::uint64_t measurements = 0;
  for (int w = 0; w < options.walkers; ++w) {
    const auto c = std::make_shared<chain>(tables->problem, tables->g0, tables->transform, constants, options, w);
    if (!saved.empty()) c->load(saved[w], functions.empty() ? nullptr : &functions[w]);
    measurements += static_cast<std::uint64_t>(c->advanced);
    chains.push_back(c);
  }
  if (options.progress) {
    options.progress->measurements = measurements;
    options.progress->expected =
        static_cast<std::uint64_t>(options.walkers) * options.bins * static_cast<std::uint64_t>(options.measurements);
  }
  std::vector<future<void>> ends;
  for (const auto& c : chains) {
    future<void> end = async(info_of("qmc/warm-up"), [c] { c->warm_up(); });
    for (int b = static_cast<int>(c->bins.size()); b < options.bins; ++b)
      end = end.then(info_of("qmc/begin-bin"),
                     [c](future<void> before) {
                       before.get();
                       return run_bin(c);
                     })
                .unwrap();
    ends.push_back(std::move(end));
  }
  return when_all(std::move(ends))
      .then(info_of("qmc/collect"), [tables, chains](future<std::vector<future<void>>> all) {
        for (auto& f : all.get()) f.get();
        monte_carlo_result r;
        for (const auto& c : chains) {
          r.complete = r.complete && c->is_complete();
          r.walkers.push_back(c->save());
          if (c->options.functions_stay) r.functions.push_back(c->release_functions());
          r.bin_counts.push_back(c->bins.size());
          for (auto& b : c->bins) r.bins.push_back(std::move(b));
          r.orders.push_back(c->orders);
          const auto& s = c->state->statistics();
          r.moves.proposed += s.proposed;
          r.moves.accepted += s.accepted;
          r.moves.largest_drift = std::max(r.moves.largest_drift, s.largest_drift);
        }
        return r;
      });
}

std::size_t one_particle_numbers(const impurity& problem) { return first_pair(problem); }

std::vector<std::vector<double>> rows_of(const monte_carlo_result& r, bool with_four_points) {
  std::vector<std::vector<double>> rows;
  for (const auto& b : r.bins) {
    std::vector<double> row = {b.sign / b.count, b.order / b.count};
    for (int k = 0; k < b.m.n_momenta(); ++k)
      for (int n = 0; n < b.m.n_frequencies(); ++n) {
        row.push_back(b.m(k, n).real() / b.count);
        row.push_back(b.m(k, n).imag() / b.count);
      }
    // The upper triangle of the symmetric pair function.
    for (int j = 0; j < b.pairs.columns(); ++j)
      for (int i = 0; i <= j; ++i) row.push_back(b.pairs(i, j) / b.count);
    if (with_four_points)
      for (double x : b.four_points) row.push_back(x / b.count);
    for (double x : b.correlations) row.push_back(x / b.count);
    rows.push_back(std::move(row));
  }
  return rows;
}

matsubara_function green_of(const impurity& problem, std::span<const double> means) {
  matsubara_function g(problem.g0.n_momenta(), problem.g0.n_frequencies());
  PLX_ASSERT_GE(means.size(), first_pair(problem));
  const double* m = means.data() + 2;
  for (int k = 0; k < g.n_momenta(); ++k)
    for (int n = 0; n < g.n_frequencies(); ++n, m += 2) {
      const auto g0 = problem.g0(k, n);
      g(k, n) = g0 - g0 * g0 * std::complex<double>(m[0], m[1]) / (means[0] * problem.beta);
    }
  return g;
}

real_matrix pairs_of(const impurity& problem, int pair_frequencies, std::span<const double> means) {
  const int size = pair_index{problem.g0.n_momenta(), pair_frequencies}.size();
  PLX_ASSERT_GE(means.size(), first_pair(problem) + static_cast<std::size_t>(size) * (size + 1) / 2);
  real_matrix pairs(size, size);
  const double* p = means.data() + first_pair(problem);
  for (int j = 0; j < size; ++j)
    for (int i = 0; i <= j; ++i) pairs(i, j) = pairs(j, i) = *p++ / means[0];
  return pairs;
}

complex_matrix four_point_of(const impurity& problem, int pair_frequencies, const four_point_set& set, std::size_t f,
                             std::span<const double> means) {
  const int n_k = problem.g0.n_momenta();
  const auto n_pairs = static_cast<std::size_t>(pair_index{n_k, pair_frequencies}.size());
  const pair_index window{n_k, set.n_frequencies};
  const std::size_t first = first_pair(problem) + n_pairs * (n_pairs + 1) / 2;
  PLX_ASSERT_GE(means.size(),
                first + 2 * set.functions.size() * static_cast<std::size_t>(window.size()) * window.size());
  return four_point_from(window, f, means[0], means.data() + first);
}

cluster_correlations correlations_of(const impurity& problem, std::span<const double> means) {
  const std::size_t n = cluster_correlations::count(problem.g0.n_momenta());
  PLX_ASSERT_GE(means.size(), first_pair(problem) + n);
  return correlations_from(*problem.lattice, problem.beta, means[0], means.last(n));
}

cluster_averages averages_of(const impurity& problem, double k, std::span<const double> means) {
  const auto g = green_of(problem, means);
  cluster_averages a;
  a.sign = means[0];
  a.order = means[1] / means[0];
  // Occupations are sums of Re G over frequencies after subtraction of the free level m_K. The tail of what remains is
  // -(xi - m_K) / w^2, where the second moment xi = m_K + U (n - 1) / 2 contains n: a linear equation for n.
  double tail = problem.beta / 4;  // T sum of 1 / w^2 over both signs, beyond the last frequency
  for (int n = 0; n < g.n_frequencies(); ++n)
    tail -= 2 / (problem.beta * std::pow(matsubara_frequency(n, problem.beta), 2));
  double sum = 0;
  for (int q = 0; q < g.n_momenta(); ++q) {
    double difference = 0;
    for (int n = 0; n < g.n_frequencies(); ++n) {
      const std::complex<double> iw(0, matsubara_frequency(n, problem.beta));
      difference += (g(q, n) - 1.0 / (iw - problem.moments[q])).real();
    }
    sum += 2 * (2 * difference / problem.beta - free_green_tau(problem.moments[q], problem.beta, problem.beta)) /
           g.n_momenta();
  }
  a.density = (sum + tail * problem.u) / (1 + tail * problem.u);
  a.double_occupancy = problem.u > 0 ? a.density / 2 - (a.order - k) / (problem.beta * problem.u * g.n_momenta())
                                     : a.density * a.density / 4;
  return a;
}

}  // namespace plx::qmc
