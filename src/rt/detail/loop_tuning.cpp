#include "rt/detail/loop_tuning.hpp"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <optional>
#include <typeindex>
#include <unordered_map>

#include "base/log.hpp"
#include "probe/names.hpp"
#include "probe/policy/decision_log.hpp"
#include "probe/policy/tuning.hpp"
#include "probe/policy/tuning_cache.hpp"
#include "rt/detail/spinlock.hpp"

namespace plx::detail {
namespace {

constexpr std::int64_t least_piece_ns = 500;
constexpr int usual_step = 2;  // least_piece_ns << 2 is 2 us
constexpr int most_step = 6;   // 32 us
constexpr int warm_runs = 4;
constexpr double short_run_s = 20e-6;

/// One place in the program, for runs of about one length.
struct loop_place {
  const std::type_info* code = nullptr;
  int length = 0;  // bits of the number of indices

  spinlock lock;           // of what stands below; a run that does not get it goes on as usual
  bool measuring = false;  // somebody's run
  int runs = 0;            // before the search
  double shortest_s = 0;   // of these
  std::int64_t piece_ns = 0;
  bool done = false;
  bool fresh = false;  // the result is not yet on the disk
  std::optional<probe::tuning_session> session;
};

/// The range hangs on times that vary; to the cache it is always the same.
probe::tuning_options options_of(std::string name, std::string folder, std::int64_t longest = most_step) {
  return {.name = std::move(name),
          .space = {probe::parameter::integer("piece", 0, longest, usual_step)},
          .budget = 40 * (longest + 1),
          .indifference = 0.02,
          .cache_folder = std::move(folder)};
}

}  // namespace

struct loop_tuning::state {
  unsigned workers;
  std::string folder;
  std::shared_ptr<probe::decision_log> log;

  mutable std::mutex mutex;
  std::unordered_map<std::uint64_t, std::unique_ptr<loop_place>> places;

  loop_place& at(const std::type_info& code, int length) {
    const std::uint64_t key = std::type_index(code).hash_code() * 64 + static_cast<unsigned>(length);
    const std::lock_guard guard(mutex);
    auto& p = places[key];
    if (p == nullptr) {
      p = std::make_unique<loop_place>();
      p->code = &code;
      p->length = length;
    }
    return *p;
  }
  void begin_search(loop_place& p);
  void finish(loop_place& p);
  void decide(loop_place& p, int step, std::string_view why) {
    p.done = true;
    p.piece_ns = least_piece_ns << step;
    log->add("loop-grain", name_of(p), "2000 ns", fmt::format("{} ns", p.piece_ns), why);
  }
  [[nodiscard]] std::string name_of(const loop_place& p) const {
    return fmt::format("loop in {} of 2^{} indices, {} workers: {}", program_invocation_short_name, p.length, workers,
                       probe::name_of(probe::register_type_name(*p.code)));
  }
};

loop_tuning::loop_tuning(unsigned workers, std::string cache_folder, std::shared_ptr<probe::decision_log> log)
    : state_(std::make_unique<state>()) {
  state_->workers = workers;
  state_->folder = std::move(cache_folder);
  state_->log = std::move(log);
}
loop_tuning::~loop_tuning() = default;

// Pieces longer than half of the run are no candidates: with them one worker may do it all.
void loop_tuning::state::begin_search(loop_place& p) {
  p.done = p.shortest_s < short_run_s;
  if (p.done) return;
  if (!folder.empty())
    if (const auto known = probe::load_tuned(options_of(name_of(p), folder)))
      return decide(p, static_cast<int>(known->best[0]), "known from an earlier run");
  const double steps = std::log2(p.shortest_s * 1e9 / 2 / static_cast<double>(least_piece_ns));
  const auto longest = std::clamp(static_cast<std::int64_t>(steps), std::int64_t{usual_step}, std::int64_t{most_step});
  // Written by store(), not by a worker in the middle of the program.
  auto session = probe::tuning_session::begin(options_of(name_of(p), {}, longest));
  p.done = !session.has_value();
  if (!p.done) p.session.emplace(std::move(session).value());
}

void loop_tuning::state::finish(loop_place& p) {
  p.fresh = true;
  decide(p, static_cast<int>(p.session->best().integer("piece")),
         fmt::format("{:.4g} ns per index, median; {} runs were measured{}", p.session->best_value() * 1e9,
                     p.session->evaluations(), p.session->converged() ? "" : ", and others may be as good"));
}

loop_tuning::begun loop_tuning::begin(const std::type_info& code, std::int64_t n) {
  loop_place& p = state_->at(code, std::bit_width(static_cast<std::uint64_t>(n)));
  if (!p.lock.try_lock()) return {};
  const std::lock_guard guard(p.lock, std::adopt_lock);
  if (!p.done && !p.measuring && p.session) {
    if (const auto next = p.session->next()) {
      p.measuring = true;
      return {least_piece_ns << next->integer("piece"), &p};
    }
    state_->finish(p);
  }
  if (p.done || p.measuring) return {p.piece_ns, nullptr};
  p.measuring = true;
  return {0, &p};
}

void loop_tuning::end(void* place, std::int64_t n, double took_s) {
  loop_place& p = *static_cast<loop_place*>(place);
  const spin_guard guard(p.lock);
  p.measuring = false;
  if (std::isnan(took_s)) return;  // next() gives the same again
  if (p.session) return p.session->report(took_s / static_cast<double>(n));
  p.shortest_s = p.runs == 0 ? took_s : std::min(p.shortest_s, took_s);
  if (++p.runs == warm_runs) state_->begin_search(p);
}

void loop_tuning::store() {
  if (state_->folder.empty()) return;
  const std::lock_guard guard(state_->mutex);
  for (const auto& [key, p] : state_->places) {
    const spin_guard one(p->lock);
    if (!std::exchange(p->fresh, false)) continue;
    const probe::tuned_result r{{p->session->best().values()}, p->session->best_value(), p->session->evaluations()};
    if (auto done = probe::store_tuned(options_of(state_->name_of(*p), state_->folder), r); !done)
      return log_warning("loop-grain: {}", done.error().message);
  }
}

loop_tuning::counts loop_tuning::count() const {
  counts c;
  const std::lock_guard guard(state_->mutex);
  for (const auto& [key, p] : state_->places) {
    const spin_guard one(p->lock);
    ++c.places;
    c.done += p->done;
  }
  return c;
}

}  // namespace plx::detail
