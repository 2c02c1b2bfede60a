// What a whole job did, on one page: its kinds of tasks over all localities, and its localities side by side.
//
// Per kind of task: how often, how long in all, and how unevenly: the locality with the most time over the mean of all
// (1: all alike). Per locality: what its workers did with their time, what it sent and received, and how long its tasks
// were suspended.
// Thread safety: values. Cost: one message per locality, with a row per kind of task. Example:
// net/observe/test/job_summary_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/locality.hpp"

namespace plx::net {

class node;

/// A kind of tasks on one locality. Times in seconds.
struct kind_summary {
  std::string name;
  std::uint64_t calls = 0;
  double total_s = 0, min_s = 0, max_s = 0;
};

/// One locality, from its begin to now.
struct locality_summary {
  locality_id locality = 0;
  std::string missing;  ///< why there is nothing of it; "": there is
  std::string host;
  std::uint64_t workers = 0, tasks = 0;
  double exec_s = 0, idle_s = 0, overhead_s = 0, background_s = 0;  ///< what the workers did with their time
  double polling_s = 0, sending_s = 0;                              ///< of the network, see /network/...
  double wait_s = 0;                                                ///< of suspended tasks, summed
  std::uint64_t parcels_sent = 0, parcels_received = 0, messages_sent = 0, messages_received = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::vector<kind_summary> kinds;

  /// The share of its workers' time in which they found nothing to do.
  [[nodiscard]] double idle_rate() const noexcept;
  /// As the counter /network/overhead: (polling + sending) / (time in tasks + polling).
  [[nodiscard]] double network_overhead() const noexcept;
};

/// A kind of tasks over all localities.
struct kind_of_job {
  std::string name;
  std::uint64_t calls = 0;
  double total_s = 0, min_s = 0, max_s = 0;  ///< shortest and longest call of all
  double least_s = 0, most_s = 0;            ///< the localities' totals
  locality_id most_at = 0;                   ///< the locality with the largest
  double imbalance = 0;                      ///< most_s over the mean of the localities' totals
};

/// Of this locality.
locality_summary summary_of(node& n);
/// Of all, as a task of any; who is lost or does not answer has a line in `missing`.
std::vector<locality_summary> summaries_of_all(node& n);
/// The largest total first. The mean is over the localities of which there is something.
std::vector<kind_of_job> kinds_of(const std::vector<locality_summary>& all);

/// job_profile.csv, localities.csv, and job.json with both; the folder is made.
result<void> write_job_summary(const std::vector<locality_summary>& all, const std::string& folder);
/// One screen: the localities, and the twenty kinds that took most.
std::string job_summary_text(const std::vector<locality_summary>& all);

}  // namespace plx::net
