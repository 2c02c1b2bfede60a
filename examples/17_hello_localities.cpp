// One program on several processes: each locality answers a call. It also runs on a single process.
#include <cstdio>
#include <string>

#include "net/action.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"

std::string greeting(const std::string& name) {
  return "hello, " + name + ", from locality " + std::to_string(plx::find_here());
}

int main(int argc, char** argv) {
  try {
    plx::job job(argc, argv);  // finds the other processes
    job.run_root([] {          // on locality 0, while the others serve
      for (const plx::locality_id there : plx::find_all_localities())
        std::printf("%s\n", plx::async<&greeting>(there, "root").get().c_str());
    });
  } catch (const plx::job_error& e) {
    return e.report("hello");
  }
}

// Processes: 3
// Output:
//   hello, root, from locality 0
//   hello, root, from locality 1
//   hello, root, from locality 2
