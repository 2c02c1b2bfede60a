// Walkers and accumulators as threads that wait for each other: the pattern of the published code (Haehner et al.
// 2020), for comparison with the chains of tasks. A walker hands each configuration to an idle accumulator, and waits
// while there is none; an accumulator waits until it gets one. One source for std::thread and plx::thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "qmc/solver/monte_carlo.hpp"
#include "qmc/walker/submatrix_walker.hpp"
#include "rt/mutex.hpp"
#include "rt/thread.hpp"

namespace plx::bench {

struct std_threads {
  using thread = std::thread;
  using mutex = std::mutex;
  using condition = std::condition_variable;
};
struct plx_threads {
  using thread = plx::thread;
  using mutex = plx::mutex;
  using condition = plx::condition_variable_any;
};

template <class T>
class walkers_and_accumulators {
 public:
  walkers_and_accumulators(const qmc::impurity& p, int walkers, int accumulators)
      : problem_(p), g0_(*p.lattice, p.g0, p.moments, p.beta), transform_(p.g0.n_frequencies()) {
    const auto e = qmc::expansion::of(p.u, p.beta, p.lattice->n_sites(), 1);
    for (int w = 0; w < walkers; ++w)
      walkers_.push_back(
          std::make_unique<qmc::submatrix_walker>(g0_, e, random_stream(1, static_cast<std::uint64_t>(w))));
    for (int a = 0; a < accumulators; ++a) accumulators_.push_back(std::make_unique<accumulator>(*this));
  }

  /// Each walker makes `measurements` of them. For plx_threads: called by a task.
  void run(int measurements) {
    for (auto& a : accumulators_) a->end = false;
    std::vector<typename T::thread> walking, accumulating;
    for (auto& a : accumulators_) accumulating.emplace_back([this, &a] { accumulate(*a); });
    for (auto& w : walkers_) walking.emplace_back([this, &w, measurements] { walk(*w, measurements); });
    for (auto& t : walking) t.join();
    for (auto& a : accumulators_) {
      std::unique_lock lock(a->access);
      a->end = true;
      a->changed.notify_one();
    }
    for (auto& t : accumulating) t.join();
    idle_.clear();
  }

 private:
  struct accumulator {
    explicit accumulator(const walkers_and_accumulators& of)
        : single(*of.problem_.lattice, of.transform_, of.problem_.beta),
          vertices(*of.problem_.lattice, of.problem_.beta, 16),
          pairs(*of.problem_.lattice, of.problem_.g0, of.problem_.beta, 16) {}
    typename T::mutex access;
    typename T::condition changed;
    bool filled = false, end = false;
    qmc::snapshot state;
    qmc::single_particle_accumulator single;
    qmc::vertex_transform vertices;
    qmc::pair_accumulator pairs;
  };

  void walk(qmc::submatrix_walker& w, int measurements) {
    for (int i = 0; i < measurements; ++i) {
      w.advance(std::max(1, w.order()));
      accumulator* a = nullptr;
      {
        std::unique_lock lock(access_);
        while (idle_.empty()) changed_.wait(lock);
        a = idle_.front();
        idle_.pop_front();
      }
      std::unique_lock lock(a->access);
      a->state.take(w);
      a->filled = true;
      a->changed.notify_one();
    }
  }

  void accumulate(accumulator& a) {
    for (;;) {
      {
        std::unique_lock lock(access_);
        idle_.push_back(&a);
        changed_.notify_one();
      }
      {
        std::unique_lock lock(a.access);
        while (!a.filled && !a.end) a.changed.wait(lock);
        if (!a.filled) return;
        a.filled = false;
      }
      a.single.add(a.state);
      a.vertices.take(a.state);
      a.pairs.add(a.vertices);
    }
  }

  qmc::impurity problem_;
  qmc::free_propagator g0_;
  nonuniform_fourier transform_;
  std::vector<std::unique_ptr<qmc::submatrix_walker>> walkers_;
  std::vector<std::unique_ptr<accumulator>> accumulators_;
  typename T::mutex access_;
  typename T::condition changed_;
  std::deque<accumulator*> idle_;
};

}  // namespace plx::bench
