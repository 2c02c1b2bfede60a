// Walkers and accumulators on a thread_pool: each walker changes its configuration and then waits for an idle
// accumulator to hand it to; each accumulator waits for a configuration, measures it, and is idle again.
//
// The sums do not depend on which accumulator measured a configuration, so every library must give the same sums.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "report.hpp"
#include "thread_pool.hpp"

namespace conformity {

using configuration = std::array<std::uint64_t, 16>;

template <class Traits>
class accumulator {
 public:
  /// Accepts a configuration. Requires: idle.
  void update_from(const configuration& c) {
    {
      typename Traits::scoped_lock lock(mutex_);
      pending_ = c;
      has_pending_ = true;
    }
    changed_.notify_one();
  }
  void finish() {
    {
      typename Traits::scoped_lock lock(mutex_);
      finished_ = true;
    }
    changed_.notify_one();
  }
  /// Waits for a configuration and measures it. False if no more will come.
  bool measure_next() {
    typename Traits::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_pending_ || finished_; });
    if (!has_pending_) return false;
    has_pending_ = false;
    for (const std::uint64_t x : pending_) sum_ += x * x ^ x >> 7;
    ++measured_;
    return true;
  }
  [[nodiscard]] walkers_result result() const noexcept { return {sum_, measured_}; }

 private:
  typename Traits::mutex_type mutex_;
  typename Traits::condition_variable_type changed_;
  configuration pending_{};
  bool has_pending_ = false;
  bool finished_ = false;
  std::uint64_t sum_ = 0;
  std::uint64_t measured_ = 0;
};

template <class Traits>
class walkers_run {
 public:
  explicit walkers_run(const walkers_options& o) : options_(o) {
    for (unsigned i = 0; i < o.accumulators; ++i) {
      accumulators_.push_back(std::make_unique<accumulator<Traits>>());
      idle_.push_back(accumulators_.back().get());
    }
  }

  walkers_result run() {
    thread_pool<Traits> pool(options_.walkers + options_.accumulators);
    std::vector<typename Traits::template future_type<walkers_result>> measuring;
    for (auto& a : accumulators_) measuring.push_back(pool.enqueue([this, p = a.get()] { return accumulate(*p); }));
    std::vector<typename Traits::template future_type<void>> walking;
    for (unsigned w = 0; w < options_.walkers; ++w) walking.push_back(pool.enqueue([this, w] { walk(w); }));
    for (auto& f : walking) f.get();
    for (auto& a : accumulators_) a->finish();
    walkers_result all;
    for (auto& f : measuring) {
      const walkers_result one = f.get();
      all.sum += one.sum;
      all.measured += one.measured;
    }
    return all;
  }

 private:
  void walk(unsigned walker) {
    configuration c{};
    std::uint64_t random = 0x9e3779b97f4a7c15u * (walker + 1);
    for (unsigned i = walker; i < options_.measurements; i += options_.walkers) {
      for (unsigned update = 0; update < 200; ++update) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        c[random % c.size()] += random;
      }
      idle_accumulator().update_from(c);
    }
  }
  accumulator<Traits>& idle_accumulator() {
    typename Traits::unique_lock lock(mutex_);
    some_idle_.wait(lock, [this] { return !idle_.empty(); });
    accumulator<Traits>* a = idle_.front();
    idle_.pop_front();
    return *a;
  }
  walkers_result accumulate(accumulator<Traits>& mine) {
    while (mine.measure_next()) {
      {
        typename Traits::scoped_lock lock(mutex_);
        idle_.push_back(&mine);
      }
      some_idle_.notify_one();
    }
    return mine.result();
  }

  const walkers_options options_;
  std::vector<std::unique_ptr<accumulator<Traits>>> accumulators_;
  typename Traits::mutex_type mutex_;
  typename Traits::condition_variable_type some_idle_;
  std::deque<accumulator<Traits>*> idle_;
};

}  // namespace conformity
