// Tuning results on disk: one small file per session name, read by later runs of the same program on the same machine.
//
// A file that is damaged, or belongs to another machine or other parameters, is reported in one line of the log, and
// the search starts from the beginning. Files are written atomically, so several processes may share a folder; the last
// one wins. Thread safety: all functions. Example: control/test/tuning_cache_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "control/parameter.hpp"
#include "control/tuning.hpp"

namespace plx::probe {

/// The result of a search in the cache.
struct tuned_result {
  places best;
  double value = 0;
  std::int64_t evaluations = 0;
};

/// parallax in $XDG_CACHE_HOME, or in ~/.cache; "" if the environment defines neither.
std::string default_tuning_folder();
/// The processor model and the number of processors: a result is valid for one machine.
std::string tuning_machine();
/// The file of a session: readable characters of its name, and a hash of the whole name.
std::string tuning_file(const std::string& folder, std::string_view name);

/// The cached result of this session; empty if there is no file or it does not match.
std::optional<tuned_result> load_tuned(const tuning_options& o);
/// Creates the folder and writes the file.
result<void> store_tuned(const tuning_options& o, const tuned_result& r);

}  // namespace plx::probe
