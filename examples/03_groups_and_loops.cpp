// Structured parallelism: children end before their parent goes on, loops split themselves.
#include <cmath>
#include <cstdio>
#include <vector>

#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"

namespace {

long fib(int n) {
  if (n < 2) return n;
  long a = 0;
  plx::task_group children;  // allocates nothing; what nobody stole is called here
  children.run([&a, n] { a = fib(n - 1); });
  const long b = fib(n - 2);
  children.wait();
  return a + b;
}

}  // namespace

int main() {
  plx::runtime rt;
  rt.run([] {
    std::printf("fib(20) = %ld\n", fib(20));

    std::vector<double> roots(10'000);
    plx::for_loop(std::size_t{0}, roots.size(), [&roots](std::size_t i) { roots[i] = std::sqrt(double(i)); });
    std::printf("root of 8100 = %g\n", roots[8100]);
  });
}
