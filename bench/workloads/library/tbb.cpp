#include "library/tbb.hpp"

#include <tbb/global_control.h>
#include <tbb/version.h>

#include <optional>

#include "library/contest.hpp"

namespace plx::bench {
namespace {

std::optional<tbb::global_control> limit;
std::optional<tbb::task_arena> arena;

const library tbb_library(
    "tbb", [] { return std::string("oneTBB ") + TBB_VERSION_STRING; },
    [](unsigned workers) {
      // At least two: with one, tasks enqueued by an external thread would never run.
      limit.emplace(tbb::global_control::max_allowed_parallelism, workers < 2 ? 2 : workers);
      arena.emplace(static_cast<int>(workers));
    },
    [] {
      arena.reset();
      limit.reset();
    });

}  // namespace

tbb::task_arena& tbb_arena() { return *arena; }

}  // namespace plx::bench
