// The start of a job, in two exchanges of data between its processes (net/start/bootstrap.hpp).
//
// First: versions, hosts, the secret of the job, programs, processors and invalid arguments. A job that must not start
// ends here. If programs differ, the second exchange has their descriptions, so that the difference can be named.
// Second: the addresses of transports and of failure detectors, and where the shared memory of rings is.
//
// Thread safety: one thread. Example: net/start/test/job_start_test.cpp
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/start/bootstrap.hpp"
#include "net/transport/transport.hpp"

namespace plx::net {

/// The data that a locality passes to the others first.
struct locality_properties {
  std::string program;   ///< hash of its actions
  std::string cores;     ///< host and processors that it may use
  std::string measures;  ///< "trace", "summary", both or nothing: all localities take part in the root's measurements
  std::string problem;   ///< an invalid argument; "": none
  unsigned spares = 0;   ///< the root's value counts

  [[nodiscard]] std::string bytes() const;
  /// Missing fields are empty.
  static locality_properties read(std::string_view bytes);
};
/// Those of this process.
locality_properties properties_here(std::string measures, std::string problem, unsigned spares = 0);

struct job_start {
  std::vector<std::string> hosts;  ///< by locality, as in detail::job_info
  std::vector<locality_properties> properties;
  std::unique_ptr<transport> carrier;  ///< null: there is only one locality
};

/// Called by all localities together; `transport` is the name of the transport. Each step, the exchanges and the
/// connection of the failure detectors, may take `deadline_s`. Throws job_error: an error in an exchange, or `problem`
/// in place of it; an invalid argument or different programs, which one locality reports while the others wait for
/// that, or each of them if one is missing meanwhile. After an invalid argument, or if programs differ, `peers` is
/// moved from.
job_start start_together(std::string_view transport, std::unique_ptr<bootstrap>& peers, const locality_properties& mine,
                         double deadline_s);

}  // namespace plx::net
