// A thread whose events are counted apart: a worker of a runtime.
#pragma once

#include <string>

namespace plx::probe {

struct watched_thread {
  std::string instance;  // "locality#0/worker-thread#3"
  int thread_id = 0;     // the system's number of it, as gettid() gives
};

}  // namespace plx::probe
