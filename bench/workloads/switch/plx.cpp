#include "library/plx.hpp"

#include "library/contest.hpp"
#include "rt/latch.hpp"
#include "rt/task_group.hpp"

namespace {

long ping_pong(int rounds) {
  plx::binary_semaphore ping(0), pong(0);
  long switches = 0;
  plx::task_group other;
  other.run([&] {
    for (int i = 0; i < rounds; ++i) {
      ping.acquire();
      ++switches;
      pong.release();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    ping.release();
    pong.acquire();
    ++switches;
  }
  other.wait();
  return switches;
}

const plx::bench::entry<long(int)> me("plx", [](int rounds) {
  return plx::bench::plx_runtime().run([rounds] { return ping_pong(rounds); });
});

}  // namespace
