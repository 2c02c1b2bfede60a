// The shortest program: a runtime, a task and its result.
#include <cstdio>

#include "rt/runtime.hpp"

int main(int argc, char** argv) {
  plx::runtime rt(plx::options_from_arguments(argc, argv));  // --plx:... options; by default a worker per core
  const int answer = rt.run([] {
    plx::future<int> six = plx::async([] { return 6; });
    plx::future<int> seven = plx::async([] { return 7; });
    return six.get() * seven.get();  // waiting gives the worker to other tasks
  });
  std::printf("%d\n", answer);
}

// Output:
//   42
