// The shortest program: a runtime, a task, its result.
#include <cstdio>

#include "rt/runtime.hpp"

int main() {
  plx::runtime rt;  // one worker per core that this process may use
  const int answer = rt.run([] {
    plx::future<int> six = plx::async([] { return 6; });
    plx::future<int> seven = plx::async([] { return 7; });
    return six.get() * seven.get();  // waiting gives the worker to other tasks
  });
  std::printf("%d\n", answer);
}

// Output:
//   42
