// Counters of the job, and access to the counters of other localities. (net/parcels/parcel_port.hpp has those of the
// network.)
//
//   /localities{locality#N/total}/count/{all,lost}
//
// While this service exists, a name with {locality#N/...} of any locality of the job can be read on every locality. A
// job creates the service when it starts. Thread safety: everything; a query for counters of another locality waits for
// its answer. Cost: none without queries. Example: net/observe/test/job_counters_test.cpp
#pragma once

#include <memory>
#include <vector>

#include "net/core/node.hpp"
#include "probe/counters/counter_registry.hpp"

namespace plx::net {

class job_counters final : public service {
 public:
  /// Requires: the runtime's counters are no longer read when this is destroyed.
  explicit job_counters(node& n);
  ~job_counters() override;

 private:
  class source;
  node& node_;
  std::shared_ptr<source> source_;
  std::vector<probe::registration> registered_;
};

}  // namespace plx::net
