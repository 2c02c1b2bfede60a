// Two localities call each other with one complex double, which comes back conjugated.
#include <bit>
#include <vector>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/locality.hpp"
#include "parts.hpp"
#include "rt/future.hpp"
#include "series.hpp"
#include "traffic.hpp"

namespace plx::bench {

number bench_conjugate(number z) { return std::conj(z); }

namespace {

/// The calls of one locality, all of a run in flight together: with a limit, the last answers of each batch would wait
/// for the interval, and the interval would be measured. Used by one task.
class toy_calls {
 public:
  explicit toy_calls(locality_id to) : to_(to) {}
  /// Makes n calls, waits for all answers, and compares each with the expected value, bit by bit.
  void run(std::size_t n);

 private:
  [[nodiscard]] static number value(std::uint64_t i) noexcept;

  locality_id to_;
  std::uint64_t made_ = 0;  // each call has its own number
  std::vector<future<number>> results_;
};

constexpr unsigned n_phases = 4, warm_phases = 24;

bool same_bits(number a, number b) noexcept {
  return std::bit_cast<std::uint64_t>(a.real()) == std::bit_cast<std::uint64_t>(b.real()) &&
         std::bit_cast<std::uint64_t>(a.imag()) == std::bit_cast<std::uint64_t>(b.imag());
}

class toy final : public traffic {
 public:
  double exchange(unsigned n) override {
    const double begin = monotonic_seconds();
    calls_.run(n);
    return monotonic_seconds() - begin;
  }
  unsigned dense() const override { return 20'000; }
  unsigned burst() const override { return 200; }

 private:
  toy_calls calls_{1 - find_here()};
};

}  // namespace

number toy_calls::value(std::uint64_t i) noexcept {
  const auto k = static_cast<double>(i);
  return {k * 0.7, k + 0.25};
}

void toy_calls::run(std::size_t n) {
  const std::uint64_t first = made_;
  for (; made_ < first + n; ++made_) results_.push_back(async<&bench_conjugate>(to_, value(made_)));
  for (std::size_t i = 0; i < n; ++i)
    expect_same(same_bits(results_[i].get(), std::conj(value(first + i))), "the toy's numbers");
  results_.clear();
}

std::unique_ptr<traffic> toy_traffic() { return std::make_unique<toy>(); }

// Each setting for four phases, in a different order in each turn.
void sweep_toy(job& j, const options& o) {
  series s(j, o, toy_action);
  toy_calls calls(1 - find_here());
  const auto phase = [&](std::size_t n) { return s.measure([&] { calls.run(n); }); };
  s.set("self");
  // Warm-up: memory is allocated, and its blocks are ordered as after many phases, so that all settings start from the
  // same state.
  for (unsigned i = 0; i < warm_phases; ++i) phase(o.parcels / n_phases);
  for (unsigned turn = o.first_turn; turn < o.first_turn + o.turns; ++turn)
    for (const unsigned i : shuffled(static_cast<unsigned>(o.settings.size()), turn)) {
      s.set(o.settings[i]);
      for (unsigned p = 0; p < n_phases; ++p) {
        const double at_s = s.elapsed_s();
        const sample one = phase(o.parcels / n_phases);
        s.write({"toy", "calls", 0, turn, o.settings[i], std::to_string(p)}, at_s, one);
      }
    }
}

// One setting per phase, in rounds that show the overhead as it changes.
void change_toy(job& j, const options& o) {
  constexpr unsigned rounds = 50;
  series s(j, o, toy_action);
  toy_calls calls(1 - find_here());
  const std::size_t n = std::max<std::size_t>(1, o.parcels / n_phases / rounds);
  s.set(o.settings[0]);
  for (unsigned i = 0; i < rounds / 5; ++i) s.measure([&] { calls.run(n); });
  for (unsigned turn = o.first_turn; turn < o.first_turn + o.turns; ++turn) {
    double at_s = 0;
    for (unsigned p = 0; p < n_phases; ++p) {
      s.set(o.settings[p]);
      for (unsigned i = 0; i < rounds; ++i) {
        const sample one = s.measure([&] { calls.run(n); });
        s.write({"change", o.settings.front(), 0, turn, o.settings[p], std::to_string(p)}, at_s, one);
        at_s += one.time_s;
      }
    }
  }
}

}  // namespace plx::bench
