#include "library/tbb.hpp"

#include <semaphore>

#include "library/contest.hpp"
#include "wake/wake.hpp"

namespace {

const plx::bench::entry<wake_run> me("tbb", [] {
  wake_clock::time_point began;
  std::binary_semaphore ran(0);
  plx::bench::tbb_arena().enqueue([&] {
    began = wake_clock::now();
    ran.release();
  });
  ran.acquire();
  return began;
});

}  // namespace
