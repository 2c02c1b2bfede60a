// Programs that must not compile: each case is one misuse, and CMakeLists.txt contains the text of the error message.
// Case 0 has no misuse and compiles.
#include <chrono>

#include "rt/dataflow.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/packaged_task.hpp"
#include "rt/shared_mutex.hpp"
#include "rt/thread.hpp"

#ifndef PLX_CASE
#define PLX_CASE 0
#endif

namespace {

[[maybe_unused]] constinit plx::barrier<> constant_barrier(2);
[[maybe_unused]] constinit plx::counting_semaphore<3> constant_semaphore(1);

struct permanent {
 protected:
  ~permanent() = default;
};

struct not_a_clock {
  using duration = std::chrono::seconds;
};
[[maybe_unused]] constexpr std::chrono::time_point<not_a_clock> no_time_point;

[[maybe_unused]] void misuse() {
#if PLX_CASE == 1
  plx::counting_semaphore<-1> below_zero(0);
#elif PLX_CASE == 2
  plx::stop_callback callback(plx::stop_token(), 5);
#elif PLX_CASE == 3
  plx::promise<permanent> promise;
#elif PLX_CASE == 4
  plx::promise<int[3]> promise;
#elif PLX_CASE == 5
  plx::barrier barrier(1, [] {});
#elif PLX_CASE == 6
  plx::thread thread([](int) {}, "text");
#elif PLX_CASE == 7
  plx::packaged_task<int()> task([](int i) { return i; });
#elif PLX_CASE == 8
  plx::jthread thread([](int) {}, "text");
#elif PLX_CASE == 9
  plx::future<int>().wait_until(no_time_point);
#elif PLX_CASE == 10
  plx::timed_mutex().try_lock_until(no_time_point);
#elif PLX_CASE == 11
  plx::this_thread::sleep_until(no_time_point);
#elif PLX_CASE == 12
  plx::future<int> sum = plx::dataflow([](int a, int b) { return a + b; }, plx::future<int>(), plx::future<int>());
#endif
}

}  // namespace
