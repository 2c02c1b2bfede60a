// If a call may fail or return a wrong result: repeat it until the result is valid, or execute it several times and let
// the results vote.
#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "rt/patterns/resilience.hpp"
#include "rt/runtime.hpp"

int main() {
  plx::runtime rt;
  rt.run([] {
    // Fails twice and succeeds the third time.
    int calls = 0;
    auto patient = plx::async_replay(
        5,
        [&calls](double x) {
          if (++calls < 3) throw std::runtime_error("the node did not answer");
          return std::sqrt(x);
        },
        16.0);
    const double root = patient.get();
    std::printf("root %g after %d calls\n", root, calls);

    // A result may be wrong although no exception was thrown.
    int steps = 0;
    const auto is_finite = [](double x) { return std::isfinite(x); };
    auto sound = plx::async_replay_validate(
        5, is_finite, [&steps] { return ++steps == 1 ? std::numeric_limits<double>::quiet_NaN() : 0.5; });
    const double energy = sound.get();
    std::printf("energy %g after %d steps\n", energy, steps);

    // Three replicas, one of which was hit by a cosmic ray.
    std::atomic<int> replica{0};
    auto voted = plx::async_replicate_vote(3, plx::majority, [&replica] { return ++replica == 2 ? 41 : 42; });
    std::printf("most say %d\n", voted.get());

    // After the last attempt, get() rethrows its exception.
    try {
      plx::async_replay(3, []() -> int { throw std::runtime_error("out of order"); }).get();
    } catch (const std::runtime_error& e) {
      std::printf("gave up: %s\n", e.what());
    }
  });
}

// Output:
//   root 4 after 3 calls
//   energy 0.5 after 2 steps
//   most say 42
//   gave up: out of order
