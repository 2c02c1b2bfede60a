// Summary of a job on one page: its task types over all localities, and its localities side by side.
//
// Per task type: number of calls, total time, and imbalance: the largest total of a locality over the mean of all (1:
// all equal). Per locality: how its workers spent their time, what it sent and received, and how long its tasks were
// suspended.
// Summaries are combined on the way to the root (net/observe/tree_gather.hpp): rows of localities are collected, those
// of task types added up. Thread safety: values. Cost: two messages per locality, at most log2(n) each way at the root.
// Example: net/observe/test/job_summary_test.cpp
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

  /// The share of its workers' time in which they had no work.
  [[nodiscard]] double idle_rate() const noexcept;
  /// As the counter /network/overhead: (polling + sending) / (time in tasks + polling).
  [[nodiscard]] double network_overhead() const noexcept;
};

/// A task type over several localities.
struct kind_of_job {
  std::string name;
  std::uint64_t localities = 0;  ///< that have this type
  std::uint64_t calls = 0;
  double total_s = 0, min_s = 0, max_s = 0;  ///< over all calls; min and max of one call
  double least_s = 0, most_s = 0;            ///< smallest and largest total of a locality with this type
  locality_id most_at = 0;                   ///< the locality with the largest total
};

struct job_summary {
  std::vector<locality_summary> localities;
  std::vector<kind_of_job> kinds;  ///< sorted by name

  /// Adds the summary of other localities. Cost: linear.
  void add(job_summary&& other);
  /// How many of `localities` have data.
  [[nodiscard]] std::uint64_t present() const noexcept;
  /// The largest total of a locality over the mean of all with data; 0 without any time.
  [[nodiscard]] double imbalance(const kind_of_job& k) const noexcept;
  /// The smallest total of a locality: 0 if one with data does not have the type.
  [[nodiscard]] double least_s(const kind_of_job& k) const noexcept;
  /// The types with the largest totals first.
  [[nodiscard]] std::vector<kind_of_job> kinds_by_total() const;
};

/// One locality and its task types.
job_summary summary_of(const locality_summary& row, const std::vector<kind_summary>& kinds);
job_summary summary_of(node& n);
/// The summary of all, in a task of the root, with a row for each locality in ascending order; a lost one, or one that
/// does not answer within the deadline common to all, has a `missing` text.
job_summary summary_of_all(node& n, double deadline_s);

/// Writes job_profile.csv, localities.csv, and job.json with both; creates the folder.
result<void> write_job_summary(const job_summary& job, const std::string& folder);
/// One screen: the localities, and the twenty task types with the largest totals.
std::string job_summary_text(const job_summary& job);

}  // namespace plx::net
