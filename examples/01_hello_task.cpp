// Tasks and their futures: the shortest program that does something in parallel.
#include <cstdio>

#include "rt/runtime.hpp"

int main() {
  plx::runtime rt;  // one worker per core that this process may use; main stays yours
  const int answer = rt.run([] {
    plx::future<int> six = plx::async([] { return 6; });  // a task, and the future of what it returns
    plx::future<int> seven = plx::async([](int x) { return x + 1; }, 6);
    plx::future<int> product = six.then([&seven](plx::future<int> f) { return f.get() * seven.get(); });
    return product.get();  // a task that waits leaves its worker to others
  });
  std::printf("hello, %d\n", answer);
}

// Output:
//   hello, 42
