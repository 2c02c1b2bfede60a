// Writes counters down on an interval: into counters.csv of the run's folder, and as curves into the trace.
//
// Thread safety: one call at a time. Errors: a file that cannot be written is said once, in the log, and tried again;
// the curves go on. Cost: of reading the counters and a line for each. Example: probe/counter_printer_test.cpp
#pragma once

#include <string>
#include <vector>

#include "probe/counter_registry.hpp"
#include "probe/recorder.hpp"

namespace plx::probe {

class counter_sampler {
 public:
  /// What it is given must outlive it. `path` is of the CSV file, whose folder is made; it is begun anew.
  counter_sampler(recorder& r, counter_registry& counters, std::vector<std::string> patterns, std::string path);
  /// Reads all that match, once. Gives the first error.
  result<void> sample();

 private:
  result<void> write(const std::string& text);
  recorder& recorder_;
  counter_registry& counters_;
  const std::vector<std::string> patterns_;
  const std::string path_;
  const double begin_s_;
  bool said_ = false;
};

}  // namespace plx::probe
