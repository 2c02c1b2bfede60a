// Structured parallelism: children that end before their parent continues. They may use the parent's variables and need
// no allocation or grain size: the parent runs inline every child that no other worker has stolen.
#include <cstdio>
#include <numeric>
#include <vector>

#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"

long fibonacci(int n) {
  if (n < 2) return n;
  long a = 0;
  plx::task_group children;
  children.run([&a, n] { a = fibonacci(n - 1); });
  const long b = fibonacci(n - 2);
  children.wait();  // rethrows a child's exception
  return a + b;
}

int main() {
  plx::runtime rt;
  rt.run([] {
    std::printf("fibonacci(25) = %ld\n", fibonacci(25));

    std::vector<double> x(1'000'000), y(x.size());
    plx::for_loop(std::size_t{0}, x.size(), [&](std::size_t i) {
      x[i] = static_cast<double>(i);
      y[i] = 2 * x[i] + 1;
    });
    std::printf("mean of y = %g\n", std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size()));

    int left = 0, right = 0;
    plx::parallel_invoke([&left] { left = 1; }, [&right] { right = 2; });
    std::printf("both halves: %d\n", left + right);
  });
}

// Output:
//   fibonacci(25) = 75025
//   mean of y = 1e+06
//   both halves: 3
