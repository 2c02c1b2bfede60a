// A job of many localities in one process, driven by one seed: the same seed gives the same order of all events.
//
//   plx::net::simulation sim({.localities = 4, .seed = 7});
//   sim.run([] { ... });       // on every locality; returns when no work is left on any of them
//   sim.run_root([] { ... });  // on the root, while the others serve it
//
// Each locality is a deterministic runtime with a node; one of them runs at a time. Time is virtual.
// Thread safety: one thread, and kill(), network(), now_s() from tasks of the simulation. Cost: a thread per locality
// and run, some microseconds per switch between localities. Example: net/sim/test/sim_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "net/core/node.hpp"
#include "net/error.hpp"
#include "net/sim/network.hpp"
#include "net/sim/sim_scheduler.hpp"
#include "rt/runtime.hpp"

namespace plx::net {

class simulation {
 public:
  explicit simulation(sim_options options = {});
  /// Requires: no run is in progress.
  ~simulation();
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  /// Runs f() as a task on every locality. Returns when all have ended and no work or message is left. Throws what f
  /// threw on the first locality where it did; plx::deadlock_error, which names the seed and the waiting tasks, when a
  /// task waits forever. Killed localities are ignored. Spares run f() if they are taken.
  template <class F>
  void run(F f) {
    run_all(0, size(), &f, [](void* body) { (*static_cast<F*>(body))(); });
  }
  /// Runs f() as a task on locality `at` while the others serve it; returns its result. Otherwise as run().
  template <class F>
  auto run_at(locality_id at, F f) {
    using R = std::invoke_result_t<F>;
    if constexpr (std::is_void_v<R>) {
      run_all(at, at + 1, &f, [](void* body) { (*static_cast<F*>(body))(); });
    } else {
      struct call {
        F& f;
        std::optional<R> value{};
      } c{f};
      run_all(at, at + 1, &c, [](void* body) {
        auto& b = *static_cast<call*>(body);
        b.value.emplace(b.f());
      });
      if (!c.value) throw locality_lost(at, "the simulation killed it");
      return std::move(*c.value);
    }
  }
  /// As run_at() on the root.
  template <class F>
  auto run_root(F f) {
    return run_at(0, std::move(f));
  }

  /// Cuts the locality off: from now on it neither sends nor receives messages.
  void kill(locality_id which) { network_.kill(which); }
  [[nodiscard]] unsigned size() const noexcept {
    return static_cast<unsigned>(places_.size());
  }                                                                   ///< localities, including killed ones
  [[nodiscard]] node& at(locality_id which) noexcept;                 ///< its node
  [[nodiscard]] runtime& runtime_at(locality_id which) noexcept;      ///< its runtime
  [[nodiscard]] sim_network& network() noexcept { return network_; }  ///< the simulated network
  [[nodiscard]] double now_s() const noexcept { return static_cast<double>(scheduler_.now()) * 1e-9; }  ///< virtual

 private:
  struct locality;
  void run_all(locality_id first, locality_id last, void* body, void (*call)(void*));

  sim_scheduler scheduler_;
  sim_network network_;
  std::vector<std::unique_ptr<locality>> places_;
};

}  // namespace plx::net
