// The flat profile: calls and times of each kind of task, as a table for people, as CSV, and as TAU's files.
//
// Thread safety: everything. Cost: sums over workers and names. Errors: base/file.hpp's.
// Example: probe/export/profile_test.cpp
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "probe/recorder.hpp"

namespace plx::probe {

/// A table, the largest total first, and two lines: what the workers did, and what measuring cost. Lines of at most 110
/// characters; kinds behind the first `rows` are summed.
std::string profile_text(const recorder& r, std::size_t rows = 40);

/// name,calls,yields,total_s,mean_s,min_s,max_s,stddev_s,share
result<void> write_profile_csv(const recorder& r, const std::string& path);

/// What devices did: a row per device and operation, the largest total first, and a line per device. "" when nothing.
std::string device_profile_text(const recorder& r, std::size_t rows = 40);

/// device,kind,name,calls,items,failed,total_s,mean_s,min_s,max_s,share,bytes,bytes_per_s: share of the time in which
/// the device was busy; rows of several streams may add up to more.
result<void> write_device_profile_csv(const recorder& r, const std::string& path);

/// TAU's profile.<locality>.0.<worker> for each worker, as ParaProf and pprof read it: times in microseconds; tasks do
/// not nest, so inclusive and exclusive times are equal; what a worker did besides is in the group PLX_RUNTIME.
/// Requires: the folder is there, and is best empty: ParaProf reads all that is in it.
result<void> write_tau_profiles(const recorder& r, unsigned locality, const std::string& folder);

}  // namespace plx::probe
