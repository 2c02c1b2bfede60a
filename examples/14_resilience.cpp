// When a call may fail, or give a wrong number: call it again until the result is good, or several times at once and
// let the results vote.
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
    // Twice it fails, the third time it works.
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

    // A result may come without an exception and still be wrong.
    int steps = 0;
    const auto is_finite = [](double x) { return std::isfinite(x); };
    auto sound = plx::async_replay_validate(
        5, is_finite, [&steps] { return ++steps == 1 ? std::numeric_limits<double>::quiet_NaN() : 0.5; });
    const double energy = sound.get();
    std::printf("energy %g after %d steps\n", energy, steps);

    // Three at once, of which one has been hit by a cosmic ray.
    std::atomic<int> replica{0};
    auto voted = plx::async_replicate_vote(3, plx::majority, [&replica] { return ++replica == 2 ? 41 : 42; });
    std::printf("most say %d\n", voted.get());

    // In the end the last failure comes out of get().
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
