// The first thing that localities tell each other: on which host they are; and the secret of the job, from locality 0.
//
// Thread safety: one thread. Example: net/lifelines_test.cpp
#pragma once

#include <string>
#include <vector>

#include "net/bootstrap.hpp"
#include "net/detail/secret.hpp"

namespace plx::net::detail {

struct meeting {
  locality_id here = 0;
  unsigned size = 0;
  job_secret secret{};
  std::vector<std::string> hosts;  // of each locality
  bool one_host = false;           // all are on this one, which has a loopback network

  [[nodiscard]] bool near(locality_id other) const { return hosts[other] == hosts[here]; }
};

/// All must call it. An error of one line.
result<meeting> meet(bootstrap& b, double deadline_s);

}  // namespace plx::net::detail
