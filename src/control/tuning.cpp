#include "control/tuning.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>

#include "base/assert.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "control/tuning_search.hpp"

namespace plx::probe {

// ---------------------------------------------------------------------------------------------------------- parameters

parameter parameter::integer(std::string name, std::int64_t least, std::int64_t most, std::int64_t start,
                             std::int64_t step) {
  PLX_ASSERT(least <= start && start <= most && step > 0, name, least, start, most, step);
  parameter p{.name = std::move(name),
              .what = kind::integer,
              .least = static_cast<double>(least),
              .most = static_cast<double>(most - (most - least) % step),
              .step = static_cast<double>(step)};
  p.start = p.value_at(p.place_of(static_cast<double>(start)));
  return p;
}

parameter parameter::real(std::string name, double least, double most, double start) {
  PLX_ASSERT(std::isfinite(least) && std::isfinite(most) && least < most, name, least, most);
  PLX_ASSERT(least <= start && start <= most, name, least, start, most);
  return {.name = std::move(name), .what = kind::real, .least = least, .most = most, .start = start};
}

parameter parameter::choice(std::string name, std::vector<std::string> words, std::size_t start) {
  PLX_ASSERT(start < words.size(), name, start);
  parameter p{.name = std::move(name), .what = kind::choice, .words = std::move(words)};
  p.most = static_cast<double>(p.words.size() - 1);
  p.start = static_cast<double>(start);
  return p;
}

std::uint64_t parameter::levels() const noexcept {
  return what == kind::real ? 0 : static_cast<std::uint64_t>((most - least) / step) + 1;
}

double parameter::value_at(double place) const noexcept {
  if (what == kind::real) return std::clamp(least + place * (most - least), least, most);
  return std::clamp(least + std::round(place) * step, least, most);
}

double parameter::place_of(double value) const noexcept {
  const double place = what == kind::real ? (value - least) / (most - least) : std::round((value - least) / step);
  return std::clamp(place, 0.0, what == kind::real ? 1.0 : static_cast<double>(levels() - 1));
}

std::string parameter::text_of(double value) const {
  if (what == kind::choice) return words[static_cast<std::size_t>(value)];
  if (what == kind::integer) return std::to_string(static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

result<double> parameter::parse(std::string_view text) const {
  if (what == kind::choice) {
    const auto it = std::find(words.begin(), words.end(), text);
    if (it != words.end()) return static_cast<double>(it - words.begin());
  } else {
    double value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool read = failed == std::errc{} && end == text.data() + text.size();
    // Integers must also coincide with a step.
    if (read && value >= least && value <= most && (what == kind::real || value_at(place_of(value)) == value))
      return value;
  }
  return error{
      fmt::format("{}: expected a value of '{}', found '{}'{}", name, definition(), text, did_you_mean(text, words))};
}

std::string parameter::definition() const {
  if (what == kind::choice) return fmt::format("choice {} {}", name, fmt::join(words, "|"));
  if (what == kind::real) return fmt::format("real {} {}..{}", name, least, most);
  return fmt::format("integer {} {}..{} by {}", name, least, most, step);
}

tuning_point::tuning_point(std::shared_ptr<const parameters> space, const places& at) : space_(std::move(space)) {
  PLX_ASSERT_EQ(space_->size(), at.size());
  for (std::size_t i = 0; i < at.size(); ++i) values_.push_back((*space_)[i].value_at(at[i]));
}

std::size_t tuning_point::index_of(std::string_view name, parameter::kind what) const {
  for (std::size_t i = 0; i < values_.size(); ++i)
    if ((*space_)[i].name == name && (*space_)[i].what == what) return i;
  const bool found = false;
  PLX_ASSERT(found && "no parameter has this name and kind", std::string(name));
  return 0;
}

std::int64_t tuning_point::integer(std::string_view name) const {
  return static_cast<std::int64_t>(values_[index_of(name, parameter::kind::integer)]);
}

double tuning_point::real(std::string_view name) const { return values_[index_of(name, parameter::kind::real)]; }

const std::string& tuning_point::word(std::string_view name) const {
  const std::size_t i = index_of(name, parameter::kind::choice);
  return (*space_)[i].words[static_cast<std::size_t>(values_[i])];
}

std::string tuning_point::text() const {
  std::string all;
  for (std::size_t i = 0; i < values_.size(); ++i)
    all += fmt::format("{}{}={}", i == 0 ? "" : ", ", (*space_)[i].name, (*space_)[i].text_of(values_[i]));
  return all;
}

// ------------------------------------------------------------------------------------------------------------ sessions

std::string_view name_of(strategy s) {
  constexpr std::string_view names[] = {"exhaustive", "random", "noise-aware", "nelder-mead",
                                        "subplex",    "bobyqa", "direct",      "evolution"};
  return names[static_cast<std::size_t>(s)];
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
    if (is_nlopt(o.how) && o.how != strategy::evolution && o.space[i].what == parameter::kind::choice)
      return fmt::format("{} requires numbers, but '{}' is a choice: use noise-aware or evolution", name_of(o.how),
                         o.space[i].name);
  }
  if (!available(o.how))
    return fmt::format("{} requires NLopt, which this build does not include: use noise-aware", name_of(o.how));
  if (o.how == strategy::bobyqa && o.space.size() < 2)
    return "bobyqa requires at least two parameters: use nelder-mead";
  if (o.budget < 1) return fmt::format("the budget is {}: expected 1 or more evaluations", o.budget);
  if (o.grid < 2) return fmt::format("the grid is {}: expected 2 or more steps", o.grid);
  if (!(o.doubt > 0 && o.doubt < 1)) return fmt::format("doubt = {}: expected a number between 0 and 1", o.doubt);
  if (!(o.indifference >= 0)) return fmt::format("indifference = {}: expected 0 or more", o.indifference);
  return {};
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
  s->search = detail::make_search(s->options);
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
    search->observe(it->second);
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
  s.search->observe(minimised);
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

// ----------------------------------------------------------------------------------------------------- results on disk

namespace {

constexpr std::string_view heading = "parallax tuning 1\n";

std::string definition_of(const tuning_options& o) {
  std::string all = o.aim == goal::minimise ? "least" : "most";
  for (const parameter& p : o.space) all += "; " + p.definition();
  return all;
}

/// Replaces line breaks by spaces.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

/// The value of the line "key=...", which is removed from `text`; empty if the line has another key.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(key) || text.substr(key.size(), 1) != "=") return std::nullopt;
  const std::string_view value = text.substr(key.size() + 1, end - key.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

template <class T>
bool read_number(std::optional<std::string_view> text, T& value) {
  if (!text) return false;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), value);
  return failed == std::errc{} && end == text->data() + text->size();
}

result<tuned_result> parse(std::string_view text, const tuning_options& o) {
  const error damaged{"the file is damaged"};
  const std::size_t check = text.rfind("check=");
  if (!text.starts_with(heading) || check == std::string_view::npos) return damaged;
  if (text.substr(check) != fmt::format("check={:016x}\n", fnv1a(text.substr(0, check)))) return damaged;
  text.remove_prefix(heading.size());
  if (take_line(text, "name") != one_line(o.name)) return error{"it belongs to another session"};
  if (take_line(text, "machine") != tuning_machine()) return error{"it belongs to another machine"};
  if (take_line(text, "space") != one_line(definition_of(o))) return error{"its parameters differ"};
  tuned_result r;
  for (const parameter& p : o.space) {
    const auto line = take_line(text, "best");
    if (!line) return damaged;
    const auto value = p.parse(*line);
    if (!value) return damaged;
    r.best.push_back(p.place_of(*value));
  }
  if (!read_number(take_line(text, "value"), r.value)) return damaged;
  if (!read_number(take_line(text, "evaluations"), r.evaluations)) return damaged;
  return r;
}

}  // namespace

std::string default_tuning_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/parallax";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/.cache/parallax";
  return {};
}

std::string tuning_machine() {
  return one_line(fmt::format("{} x {}", sysconf(_SC_NPROCESSORS_ONLN), processor_model()));
}

std::string tuning_file(const std::string& folder, std::string_view name) {
  std::string readable;
  for (const char c : name.substr(0, 60)) readable += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return fmt::format("{}/{}-{:016x}.tuned", folder, readable, fnv1a(name));
}

std::optional<tuned_result> load_tuned(const tuning_options& o) {
  const std::string path = tuning_file(o.cache_folder, o.name);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  const auto text = read_file(path);
  auto r = text ? parse(*text, o) : result<tuned_result>(text.error());
  if (r) return *r;
  log_warning("tuning '{}' starts from the beginning, {} is not used: {}", o.name, path, r.error().message);
  return std::nullopt;
}

result<void> store_tuned(const tuning_options& o, const tuned_result& r) {
  std::error_code failed;
  std::filesystem::create_directories(o.cache_folder, failed);
  if (failed) return error{fmt::format("cannot create the folder '{}': {}", o.cache_folder, failed.message())};
  std::string text = fmt::format("{}name={}\nmachine={}\nspace={}\n", heading, one_line(o.name), tuning_machine(),
                                 one_line(definition_of(o)));
  for (std::size_t i = 0; i < o.space.size(); ++i)
    text += fmt::format("best={}\n", o.space[i].text_of(o.space[i].value_at(r.best[i])));
  text += fmt::format("value={}\nevaluations={}\n", r.value, r.evaluations);
  text += fmt::format("check={:016x}\n", fnv1a(text));
  return write_file(tuning_file(o.cache_folder, o.name), text);
}

}  // namespace plx::probe
