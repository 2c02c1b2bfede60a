#include "library/plx.hpp"

#include <optional>

#include "base/build_info.hpp"
#include "library/contest.hpp"

namespace plx::bench {
namespace {

std::optional<runtime> the_runtime;

const library plx_library(
    "plx", [] { return std::string("plx ") + this_build().version + " (" + this_build().git + ")"; },
    [](unsigned workers) {
      plx_options().workers = workers;
      the_runtime.emplace(plx_options());
    },
    [] { the_runtime.reset(); });

}  // namespace

runtime& plx_runtime() { return *the_runtime; }

runtime_options& plx_options() {
  static runtime_options options;
  return options;
}

}  // namespace plx::bench
