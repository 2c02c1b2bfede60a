#include "control/tuning.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "control/tuning_cache.hpp"
#include "control/tuning_search.hpp"

namespace plx::probe {

std::string_view name_of(strategy s) {
  switch (s) {
    case strategy::exhaustive:
      return "exhaustive";
    case strategy::random:
      return "random";
    case strategy::hill_climbing:
      return "hill-climbing";
    case strategy::annealing:
      return "annealing";
    case strategy::genetic:
      return "genetic";
    case strategy::noise_aware:
      return "noise-aware";
    case strategy::nelder_mead:
      return "nelder-mead";
    case strategy::subplex:
      return "subplex";
    case strategy::bobyqa:
      return "bobyqa";
    case strategy::direct:
      return "direct";
  }
  return "unknown";
}

static bool is_nlopt(strategy s) noexcept { return s >= strategy::nelder_mead; }

bool available(strategy s) noexcept { return !is_nlopt(s) || PLX_HAVE_NLOPT; }

struct tuning_session::state {
  explicit state(tuning_options o)
      : options(std::move(o)),
        space(std::make_shared<const parameters>(options.space)),
        best(detail::start_of(*space)) {}

  const tuning_options options;
  const std::shared_ptr<const parameters> space;
  std::unique_ptr<detail::search> search;  // null: the result came from the cache
  std::map<places, double> known;          // so that no point is measured twice, unless the strategy repeats
                                           // measurements
  std::optional<places> asked;
  places best;
  double best_value = std::numeric_limits<double>::quiet_NaN();  // as minimized
  std::int64_t evaluations = 0;
  bool done = false, converged = false;

  [[nodiscard]] double sign() const noexcept { return options.aim == goal::minimise ? 1 : -1; }
  void find_next();
  void finish(bool by_itself);
  void take_best();
};

namespace {

std::string fault_in(const tuning_options& o) {
  if (o.space.empty()) return "the space has no parameter";
  for (std::size_t i = 0; i < o.space.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k)
      if (o.space[i].name == o.space[k].name) return fmt::format("two parameters are called '{}'", o.space[i].name);
    if (is_nlopt(o.how) && o.space[i].what == parameter::kind::choice)
      return fmt::format(
          "{} requires numbers, but '{}' is a choice: use hill-climbing, annealing, genetic or noise-aware",
          name_of(o.how), o.space[i].name);
  }
  if (!available(o.how))
    return fmt::format("{} requires NLopt, which this build does not include: use hill-climbing", name_of(o.how));
  if (o.how == strategy::bobyqa && o.space.size() < 2)
    return "bobyqa requires at least two parameters: use nelder-mead";
  if (o.budget < 1) return fmt::format("the budget is {}: expected 1 or more evaluations", o.budget);
  if (o.grid < 2) return fmt::format("the grid is {}: expected 2 or more steps", o.grid);
  if (!(o.doubt > 0 && o.doubt < 1)) return fmt::format("doubt = {}: expected a number between 0 and 1", o.doubt);
  if (!(o.indifference >= 0)) return fmt::format("indifference = {}: expected 0 or more", o.indifference);
  return {};
}

std::unique_ptr<detail::search> search_of(const tuning_options& o) {
  switch (o.how) {
    case strategy::exhaustive:
      return detail::make_exhaustive(o);
    case strategy::random:
      return detail::make_random(o);
    case strategy::hill_climbing:
      return detail::make_hill_climbing(o);
    case strategy::annealing:
      return detail::make_annealing(o);
    case strategy::genetic:
      return detail::make_genetic(o);
    case strategy::noise_aware:
      return detail::make_race(o);
    default:
      return detail::make_nlopt(o);
  }
}

}  // namespace

result<tuning_session> tuning_session::begin(tuning_options options) {
  if (const std::string fault = fault_in(options); !fault.empty())
    return error{fmt::format("tuning '{}': {}", options.name, fault)};
  auto s = std::make_unique<state>(std::move(options));
  if (!s->options.cache_folder.empty()) {
    if (auto known = load_tuned(s->options)) {
      s->best = known->best;
      s->best_value = s->sign() * known->value;
      s->done = s->converged = true;
      return tuning_session(std::move(s));
    }
  }
  s->search = search_of(s->options);
  return tuning_session(std::move(s));
}

tuning_session::tuning_session(std::unique_ptr<state> s) : state_(std::move(s)) {}
tuning_session::tuning_session(tuning_session&&) noexcept = default;
tuning_session& tuning_session::operator=(tuning_session&&) noexcept = default;
tuning_session::~tuning_session() = default;

// Known values are reported at once. A search that requests only known points has converged.
void tuning_session::state::find_next() {
  constexpr int most_known = 2000;
  for (int answered = 0; answered < most_known; ++answered) {
    asked = search->next();
    if (!asked) return finish(true);
    const auto it = search->repeats() ? known.end() : known.find(*asked);
    if (it == known.end()) return;
    search->told(it->second);
  }
  asked.reset();
  finish(true);
}

std::optional<tuning_point> tuning_session::next() {
  state& s = *state_;
  if (!s.done && !s.asked) s.find_next();
  if (s.done) return std::nullopt;
  return tuning_point(s.space, *s.asked);
}

void tuning_session::report(double value) {
  state& s = *state_;
  PLX_ASSERT(s.asked && "report() requires a point from next()");
  const double minimised = std::isfinite(value) ? s.sign() * value : std::numeric_limits<double>::infinity();
  ++s.evaluations;
  if (!s.search->repeats()) {
    s.known.emplace(*s.asked, minimised);
    if (!(s.best_value <= minimised)) {  // also before any measurement
      s.best_value = minimised;
      s.best = *s.asked;
    }
  }
  s.asked.reset();
  s.search->told(minimised);
  s.take_best();
  if (s.evaluations >= s.options.budget) s.finish(false);
}

void tuning_session::state::take_best() {
  if (const auto found = search->best()) {
    best = found->at;
    best_value = found->value;
  }
}

void tuning_session::state::finish(bool by_itself) {
  done = true;
  converged = by_itself;
  if (const auto found = search->best()) converged = found->certain;
  if (options.cache_folder.empty() || !std::isfinite(best_value)) return;
  if (auto stored = store_tuned(options, {best, sign() * best_value, evaluations}); !stored)
    log_warning("tuning '{}': the result was not saved: {}", options.name, stored.error().message);
}

bool tuning_session::done() const noexcept { return state_->done; }
bool tuning_session::converged() const noexcept { return state_->converged; }
bool tuning_session::from_cache() const noexcept { return state_->search == nullptr; }
tuning_point tuning_session::best() const { return {state_->space, state_->best}; }
double tuning_session::best_value() const noexcept { return state_->sign() * state_->best_value; }
std::int64_t tuning_session::evaluations() const noexcept { return state_->evaluations; }
const tuning_options& tuning_session::options() const noexcept { return state_->options; }

}  // namespace plx::probe
