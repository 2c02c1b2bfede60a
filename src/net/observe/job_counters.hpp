// Counters of the job, and those of other localities. (net/parcels/port_counters.hpp has what goes through the
// network.)
//
//   /localities{locality#N/total}/count/{all,lost}
//
// While this service lives, a name with {locality#N/...} of any locality of the job is read wherever it is asked for.
// A job makes it when it starts. Thread safety: everything; who asks for counters of another locality waits for its
// answer. Cost: none until somebody asks. Example: net/observe/test/job_counters_test.cpp
#pragma once

#include <memory>
#include <vector>

#include "net/core/node.hpp"
#include "probe/counters/counter_registry.hpp"

namespace plx::net {

class job_counters final : public service {
 public:
  /// Requires: nothing asks the runtime's counters any more when this ends.
  explicit job_counters(node& n);
  ~job_counters() override;

 private:
  class source;
  node& node_;
  std::shared_ptr<source> source_;
  std::vector<probe::registration> registered_;
};

}  // namespace plx::net
