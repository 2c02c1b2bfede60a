#include "library/plx.hpp"

#include <semaphore>

#include "library/contest.hpp"
#include "wake/wake.hpp"

namespace {

const plx::bench::entry<wake_run> me("plx", [] {
  wake_clock::time_point began;
  std::binary_semaphore ran(0);
  plx::bench::plx_runtime().post([&] {
    began = wake_clock::now();
    ran.release();
  });
  ran.acquire();
  return began;
});

}  // namespace
