// A job of many localities in one process, under one seed: the same seed, the same order of everything.
//
//   plx::net::simulation sim({.localities = 4, .seed = 7});
//   sim.run([] { ... });       // on every locality; returns when nothing is left to do anywhere
//   sim.run_root([] { ... });  // on the root, which the others serve
//
// Each locality is a deterministic runtime with a node; one of them goes on at a time. Time is virtual.
// Thread safety: one thread, and kill(), network(), now_s() from tasks of the simulation. Cost: a thread per locality
// and run, some microseconds per hand-over. Example: net/sim/test/sim_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "net/core/node.hpp"
#include "net/error.hpp"
#include "net/sim/network.hpp"
#include "net/sim/stage.hpp"
#include "rt/runtime.hpp"

namespace plx::net {

class simulation {
 public:
  explicit simulation(sim_options options = {});
  /// Requires: no run goes on.
  ~simulation();
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  /// f() as a task on every locality. Returns when all have ended and nothing is left to do or under way. Throws what f
  /// threw on the first locality where it did; plx::deadlock_error, which names the seed and who waits, when somebody
  /// waits for ever. What the dead do matters to nobody.
  template <class F>
  void run(F f) {
    run_all(0, size(), &f, [](void* body) { (*static_cast<F*>(body))(); });
  }
  /// f() as a task on locality `at` while the others serve; gives what it gives. Otherwise as run().
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

  /// From now on nothing comes from there and nothing reaches it.
  void kill(locality_id which) { network_.kill(which); }
  [[nodiscard]] unsigned size() const noexcept {
    return static_cast<unsigned>(places_.size());
  }                                                                   ///< localities, the dead included
  [[nodiscard]] node& at(locality_id which) noexcept;                 ///< its node
  [[nodiscard]] runtime& runtime_at(locality_id which) noexcept;      ///< its runtime
  [[nodiscard]] sim_network& network() noexcept { return network_; }  ///< what carries the messages
  [[nodiscard]] double now_s() const noexcept { return static_cast<double>(stage_.now()) * 1e-9; }  ///< virtual

 private:
  struct locality;
  void run_all(locality_id first, locality_id last, void* body, void (*call)(void*));

  stage stage_;
  sim_network network_;
  std::vector<std::unique_ptr<locality>> places_;
};

}  // namespace plx::net
