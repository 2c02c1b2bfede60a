#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <optional>

#include "fib/fib.hpp"

namespace {

long recurse(int n) {
  if (n < 2) return n;
  long a = 0;
  tbb::task_group children;
  children.run([&a, n] { a = recurse(n - 1); });
  const long b = recurse(n - 2);
  children.wait();
  return a + b;
}

std::optional<tbb::global_control> limit;
std::optional<tbb::task_arena> arena;

}  // namespace

const fib::library fib::tbb_library = {"tbb",
                                       [](unsigned workers) {
                                         limit.emplace(tbb::global_control::max_allowed_parallelism, workers);
                                         arena.emplace(static_cast<int>(workers));
                                       },
                                       [](int n) {
                                         long result = 0;
                                         arena->execute([&result, n] { result = recurse(n); });
                                         return result;
                                       },
                                       [] {
                                         arena.reset();
                                         limit.reset();
                                       }};
