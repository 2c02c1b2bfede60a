#include "probe/policy/decision_log.hpp"

#include <fmt/format.h>

#include <atomic>
#include <deque>
#include <mutex>

#include "base/file.hpp"
#include "probe/csv.hpp"
#include "probe/recorder.hpp"

namespace plx::probe {

struct decision_log::state {
  static constexpr std::size_t most_kept = 65'536;

  explicit state(recorder* r) : marks(r) {}
  recorder* const marks;
  const ticks origin = now_ticks();
  mutable std::mutex mutex;
  std::deque<decision> kept;
  std::atomic<std::uint64_t> count{0};
};

decision_log::decision_log(recorder* marks) : state_(std::make_unique<state>(marks)) {}
decision_log::~decision_log() = default;

std::uint64_t decision_log::add(std::string_view who, std::string_view what, std::string_view from, std::string_view to,
                                std::string_view why) {
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t number = state_->count.load(std::memory_order_relaxed) + 1;
  state_->count.store(number, std::memory_order_relaxed);
  if (state_->kept.size() == state::most_kept) state_->kept.pop_front();
  state_->kept.push_back(
      {number, now_ticks(), std::string(who), std::string(what), std::string(from), std::string(to), std::string(why)});
  if (state_->marks != nullptr)
    state_->marks->mark("policy", fmt::format("{}: {} from {} to {}: {}", who, what, from, to, why));
  return number;
}

void decision_log::note(std::string_view text) {
  if (state_->marks != nullptr) state_->marks->mark("policy", text);
}

std::vector<decision> decision_log::all() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->kept.begin(), state_->kept.end()};
}

std::uint64_t decision_log::count() const noexcept { return state_->count.load(std::memory_order_relaxed); }

result<void> decision_log::write_csv(const std::string& path) const {
  std::string text = "number,time_s,who,what,from,to,why\n";
  for (const decision& d : all()) {
    const double time_s = d.when > state_->origin ? seconds(d.when - state_->origin) : 0.0;
    fmt::format_to(std::back_inserter(text), "{},{:.6f},{},{},{},{},{}\n", d.number, time_s, csv_field(d.who),
                   csv_field(d.what), csv_field(d.from), csv_field(d.to), csv_field(d.why));
  }
  return write_file(path, text);
}

}  // namespace plx::probe
