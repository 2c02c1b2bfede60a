// Summary of a job on one page: its task types over all localities, and its localities side by side.
//
// Per task type: number of calls, total time, and imbalance: the largest total of a locality over the mean of all (1:
// all equal). Per locality: how its workers spent their time, what it sent and received, and how long its tasks were
// suspended.
// Thread safety: values. Cost: one message per locality, with a row per task type. Example:
// net/observe/test/job_summary_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/locality.hpp"

namespace plx::net {

class node;

/// A task type on one locality. Times in seconds.
struct kind_summary {
  std::string name;
  std::uint64_t calls = 0;
  double total_s = 0, min_s = 0, max_s = 0;
};

/// One locality, from its start to now.
struct locality_summary {
  locality_id locality = 0;
  std::string missing;  ///< why there are no data from it; "" if there are
  std::string host;
  std::uint64_t workers = 0, tasks = 0;
  double exec_s = 0, idle_s = 0, overhead_s = 0, background_s = 0;  ///< time of the workers
  double polling_s = 0, sending_s = 0;                              ///< time of the network, see /network/...
  double wait_s = 0;                                                ///< total time of suspended tasks
  std::uint64_t parcels_sent = 0, parcels_received = 0, messages_sent = 0, messages_received = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::vector<kind_summary> kinds;

  /// The share of its workers' time in which they had no work.
  [[nodiscard]] double idle_rate() const noexcept;
  /// As the counter /network/overhead: (polling + sending) / (time in tasks + polling).
  [[nodiscard]] double network_overhead() const noexcept;
};

/// A task type over all localities.
struct kind_of_job {
  std::string name;
  std::uint64_t calls = 0;
  double total_s = 0, min_s = 0, max_s = 0;  ///< over all calls; min and max of one call
  double least_s = 0, most_s = 0;            ///< smallest and largest total of a locality
  locality_id most_at = 0;                   ///< the locality with the largest total
  double imbalance = 0;                      ///< most_s over the mean of the localities' totals
};

locality_summary summary_of(node& n);
/// The summaries of all, in a task of any locality; a lost locality, or one that does not answer within the deadline
/// common to all, has a `missing` text.
std::vector<locality_summary> summaries_of_all(node& n, double deadline_s);
/// Sorted by decreasing total. The mean is over the localities with data.
std::vector<kind_of_job> kinds_of(const std::vector<locality_summary>& all);

/// Writes job_profile.csv, localities.csv, and job.json with both; creates the folder.
result<void> write_job_summary(const std::vector<locality_summary>& all, const std::string& folder);
/// One screen: the localities, and the twenty task types with the largest totals.
std::string job_summary_text(const std::vector<locality_summary>& all);

}  // namespace plx::net
