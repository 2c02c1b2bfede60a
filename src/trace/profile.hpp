// The flat profile: calls and times of each kind of task, as a table for people, as CSV, and as TAU's files.
//
// Thread safety: everything. Cost: sums over workers and names. Errors: base/file.hpp's.
// Example: trace/test/profile_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {

// Numbers as people read them. Thread safety: everything. Cost: an allocation. Example: trace/test/units_test.cpp

/// Three digits and a unit that fits: "1.23 us", "45.6 ms", "789 s"; "0" for zero.
std::string time_text(double seconds);
/// Groups of three: "1,234,567".
std::string count_text(std::uint64_t n);
/// "12.3 %"; what is not zero but would look so is "<0.1 %".
std::string share_text(double share);
/// At most `width` characters (UTF-8): the middle of a longer text becomes "...". Requires: width >= 8.
std::string shortened(std::string_view text, std::size_t width);
/// Blanks on the right, or on the left, up to `width` characters (UTF-8).
std::string padded(std::string_view text, std::size_t width);
/// Likewise, on the left.
std::string right(std::string_view text, std::size_t width);

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
