// Results of tuning on disk: one small file per session's name, found again by the next run of the same program on the
// same machine.
//
// A file that is damaged, or of another machine, or for other parameters, is said so in one line of the log, and the
// search starts anew. Files are whole or absent, so several processes may share a folder; the last one wins.
// Thread safety: everything. Example: control/test/tuning_cache_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "control/parameter.hpp"
#include "control/tuning.hpp"

namespace plx::probe {

/// The best point of a search, as the cache keeps it.
struct tuned_result {
  places best;
  double value = 0;
  std::int64_t evaluations = 0;
};

/// parallax in $XDG_CACHE_HOME, or in ~/.cache; "" when the environment names neither.
std::string default_tuning_folder();
/// What a result depends on besides the parameters: the processor and how many of them.
std::string tuning_machine();
/// The file of a session's name: letters and digits of it, and a number made of all of it.
std::string tuning_file(const std::string& folder, std::string_view name);

/// What the folder knows about this session; nothing when there is no file, or none that fits.
std::optional<tuned_result> load_tuned(const tuning_options& o);
/// Makes the folder and writes the file.
result<void> store_tuned(const tuning_options& o, const tuned_result& r);

}  // namespace plx::probe
