#include <optional>

#include "fib/fib.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"

namespace {

long recurse(int n) {
  if (n < 2) return n;
  long a = 0;
  plx::task_group children;
  children.run([&a, n] { a = recurse(n - 1); });
  const long b = recurse(n - 2);
  children.wait();
  return a + b;
}

std::optional<plx::runtime> runtime;

}  // namespace

const fib::library fib::plx_library = {
    "plx", [](unsigned workers) { runtime.emplace(plx::runtime_options{.workers = workers}); },
    [](int n) { return runtime->run([n] { return recurse(n); }); }, [] { runtime.reset(); }};
