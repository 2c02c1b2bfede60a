// Predictions of what a change would bring to a recorded run: the questions, their answers, and the error of the replay
// that they rest on.
//
// A prediction is the recorded time, scaled by the ratio of two replays, with the change and without it, and within the
// bounds of any schedule. The error is that of the replay without a change against the recorded time; above
// `largest_error` there are no predictions.
// Thread safety: all functions. Cost: a replay per question (replay.hpp). Errors: a line for a question that cannot be
// answered. Example: trace/tools/test/what_if_test.cpp
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "trace/replay.hpp"

namespace plx::probe {

struct loaded_trace;

/// Questions that are answered together.
struct what_if_request {
  unsigned workers = 0;                                           // of each locality; 0: as recorded
  std::vector<std::pair<std::string, double>> scales{};           // task type or pattern, factor of its duration
  std::vector<std::string> locks{};                               // names or patterns of locks without waits
  std::vector<std::pair<std::string, std::string>> priorities{};  // task type or pattern; high, normal or low
  bool no_messages = false;

  /// Whether it asks nothing.
  [[nodiscard]] bool empty() const noexcept {
    return workers == 0 && scales.empty() && locks.empty() && priorities.empty() && !no_messages;
  }
};

/// The answer to a question. Times in seconds.
struct prediction {
  std::string change;  // for a table: "half the time of \"relax\""
  double time_s = 0;
  double lower_s = 0, upper_s = 0;  // no schedule of the changed run is outside
  double span_s = 0;
  std::string failure{};  // why there is none; "": there is one
};

/// The answers, and the replay that they rest on. Times in seconds.
struct what_if_report {
  static constexpr double largest_error = 0.15;  // above it there are no predictions

  std::uint64_t tasks = 0, slices = 0, localities = 1;
  unsigned workers = 0;  // of all localities
  double recorded_s = 0, work_s = 0, span_s = 0, lower_s = 0, upper_s = 0;
  double replayed_s = 0;                // without a change
  std::string refusal;                  // why there are no predictions; "": there are
  std::vector<prediction> predictions;  // in the order of the request, or the largest gain first

  /// The error of the replay: positive if it takes longer than the run.
  [[nodiscard]] double error() const noexcept { return recorded_s > 0 ? replayed_s / recorded_s - 1 : 0; }
};

/// Answers each question, and all of them together if there are several. An empty request asks the usual ones: half the
/// time for each of the `most` task types with the largest total, twice the workers, no waits for each of the locks
/// with the most waits.
result<what_if_report> predict_changes(const loaded_trace& run, const what_if_request& request, std::size_t most = 12);

/// The report for a terminal. Lines have at most 110 characters.
std::string what_if_text(const what_if_report& r);
/// The report as an object.
std::string what_if_json(const what_if_report& r);

}  // namespace plx::probe
