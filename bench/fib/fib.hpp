// The Fibonacci numbers by their recursion, one task per call that is not a leaf: nothing but spawning and joining.
#pragma once

namespace fib {

/// Calls that computing fib(n) takes, leaves included: what the times are divided by.
constexpr double calls(int n) { return n < 2 ? 1 : calls(n - 1) + calls(n - 2) + 1; }

/// One library. start and stop make and end its workers; compute runs on them.
struct library {
  const char* name;
  void (*start)(unsigned workers);
  long (*compute)(int n);
  void (*stop)();
};

extern const library plx_library;
#if defined(PLX_BENCH_TBB)
extern const library tbb_library;
#endif
#if defined(PLX_BENCH_OMP)
extern const library omp_library;
#endif

}  // namespace fib
