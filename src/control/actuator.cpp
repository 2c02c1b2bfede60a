#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <deque>
#include <exception>
#include <mutex>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "control/actuator.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/text_sink.hpp"

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
  std::string text = "number,time_s,who,what,from,to,why\n";  // words: ok
  for (const decision& d : all()) {
    const double time_s = d.when > state_->origin ? seconds(d.when - state_->origin) : 0.0;
    fmt::format_to(std::back_inserter(text), "{},{:.6f},{},{},{},{},{}\n", d.number, time_s, csv_field(d.who),
                   csv_field(d.what), csv_field(d.from), csv_field(d.to), csv_field(d.why));
  }
  return write_measurement(path, text);
}

struct actuator::changes {
  struct change {
    std::uint64_t decision;
    std::uint64_t from;
    std::string who;
  };
  static constexpr std::size_t most = 64;  // decisions that can be undone

  changes(decision_log& l, std::unique_ptr<detail::applier> a) : log(l), apply(std::move(a)) {}
  decision_log& log;  // owned by the registry, which retires the actuator before it is destroyed
  std::mutex mutex;
  std::unique_ptr<detail::applier> apply;  // null: retired
  std::vector<change> undoable;            // newest last
};

actuator::actuator(actuator_info info, std::uint64_t standard, decision_log& log,
                   std::unique_ptr<detail::applier> apply)
    : info_(std::move(info)),
      standard_(standard),
      bits_(standard),
      changes_(std::make_unique<changes>(log, std::move(apply))) {}
actuator::~actuator() = default;

std::string actuator::text() const { return text_of(bits()); }

result<std::uint64_t> actuator::set_text(std::string_view value, std::string_view who, std::string_view why) {
  const auto bits = parse(value);
  return bits ? set_bits(*bits, who, why) : bits;
}

result<std::uint64_t> actuator::set_bits(std::uint64_t bits, std::string_view who, std::string_view why) {
  if (!within(bits))
    return error{fmt::format("actuator '{}': expected {}, found {}", info_.name, bounds_text(), text_of(bits))};
  const std::lock_guard lock(changes_->mutex);
  return change(bits, who, why, true);
}

result<std::uint64_t> actuator::reset(std::string_view who, std::string_view why) {
  const std::lock_guard lock(changes_->mutex);
  return change(standard_, who, why, true);
}

result<std::uint64_t> actuator::undo(std::uint64_t number, std::string_view who, std::string_view why) {
  const std::lock_guard lock(changes_->mutex);
  auto& undoable = changes_->undoable;
  if (undoable.empty() || undoable.back().decision != number)
    return error{fmt::format(
        "actuator '{}': decision {} is not the newest{}", info_.name, number,
        undoable.empty() ? std::string()
                         : fmt::format(", which is {} by '{}'", undoable.back().decision, undoable.back().who))};
  auto done = change(undoable.back().from, who, why, false);
  if (done) undoable.pop_back();
  return done;
}

std::string actuator::changed_by() const {
  const std::lock_guard lock(changes_->mutex);
  return changes_->undoable.empty() ? std::string() : changes_->undoable.back().who;
}

result<std::uint64_t> actuator::change(std::uint64_t to, std::string_view who, std::string_view why, bool remember) {
  if (changes_->apply == nullptr) return error{fmt::format("actuator '{}' was removed", info_.name)};
  const std::uint64_t from = bits();
  if (from == to) return std::uint64_t{0};
  try {
    changes_->apply->apply(to);
  } catch (const std::exception& x) {
    return error{fmt::format("actuator '{}' cannot be set to {}: {}", info_.name, text_of(to), x.what())};
  } catch (...) {
    return error{fmt::format("actuator '{}' cannot be set to {}", info_.name, text_of(to))};
  }
  bits_.store(to, std::memory_order_relaxed);
  const std::uint64_t number = changes_->log.add(who, info_.name, text_of(from), text_of(to), why);
  if (!remember) return number;
  auto& undoable = changes_->undoable;
  if (undoable.size() == changes::most) undoable.erase(undoable.begin());
  undoable.push_back({number, from, std::string(who)});
  return number;
}

void actuator::retire() noexcept {
  const std::lock_guard lock(changes_->mutex);
  changes_->apply.reset();
}

// ------------------------------------------------------------------------------------------------------------ types

template <detail::actuated T>
actuator_of<T>::actuator_of(actuator_info info, T standard, actuator_bounds<T> bounds, std::vector<std::string> words,
                            decision_log& log, std::unique_ptr<detail::applier> apply)
    : actuator(std::move(info), detail::to_bits(standard), log, std::move(apply)),
      bounds_(bounds),
      words_(std::move(words)) {
  const bool standard_is_within = within(standard_bits());
  PLX_ASSERT(standard_is_within && "the default of an actuator must lie within its bounds", this->info().name);
}

template <detail::actuated T>
std::string actuator_of<T>::bounds_text() const {
  if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else if constexpr (std::is_same_v<T, choice>)
    return fmt::format("one of {}", fmt::join(words_, ", "));
  else
    return fmt::format("{} to {}", bounds_.least, bounds_.most);
}

template <detail::actuated T>
std::string actuator_of<T>::text_of(std::uint64_t bits) const {
  const T value = detail::from_bits<T>(bits);
  if constexpr (std::is_same_v<T, choice>)
    return value.index < words_.size() ? words_[value.index] : fmt::format("number {}", value.index);
  else
    return fmt::format("{}", value);
}

template <detail::actuated T>
bool actuator_of<T>::within(std::uint64_t bits) const noexcept {
  const T value = detail::from_bits<T>(bits);
  if constexpr (std::is_same_v<T, bool>)
    return true;
  else if constexpr (std::is_same_v<T, choice>)
    return value.index < words_.size();
  else
    return bounds_.least <= value && value <= bounds_.most;  // false for NaN
}

template <detail::actuated T>
T actuator_of<T>::nearest(T value) const noexcept {
  if constexpr (std::is_same_v<T, bool>) return value;
  if constexpr (std::is_same_v<T, double>)
    if (std::isnan(value)) return standard();
  if constexpr (std::is_same_v<T, choice>)
    return {std::min<std::uint64_t>(value.index, bounds_.most.index)};
  else
    return std::clamp(value, bounds_.least, bounds_.most);
}

template <detail::actuated T>
result<std::uint64_t> actuator_of<T>::parse(std::string_view text) const {
  if constexpr (std::is_same_v<T, bool>) {
    if (text == "true" || text == "1") return std::uint64_t{1};
    if (text == "false" || text == "0") return std::uint64_t{0};
  } else if constexpr (std::is_same_v<T, choice>) {
    const auto it = std::find(words_.begin(), words_.end(), text);
    if (it != words_.end()) return static_cast<std::uint64_t>(it - words_.begin());
  } else {
    T value{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed == std::errc{} && end == text.data() + text.size()) return detail::to_bits(value);
  }
  return error{fmt::format("actuator '{}': expected {}, found '{}'{}", info().name, bounds_text(), text,
                           did_you_mean(text, words_))};
}

template class actuator_of<std::int64_t>;
template class actuator_of<double>;
template class actuator_of<bool>;
template class actuator_of<choice>;

// --------------------------------------------------------------------------------------------------------- registry

namespace detail {

struct actuator_registry_state {
  explicit actuator_registry_state(recorder* marks) : log(std::make_shared<decision_log>(marks)) {}
  std::shared_ptr<decision_log> log;
  std::mutex mutex;
  std::vector<std::shared_ptr<actuator>> all;

  static void retire(actuator& a) noexcept { a.retire(); }
};

void remove_actuator(actuator_registry_state& state, actuator& a) noexcept {
  actuator_registry_state::retire(a);
  const std::lock_guard lock(state.mutex);
  std::erase_if(state.all, [&](const auto& each) { return each.get() == &a; });
}

}  // namespace detail

actuator_registry::actuator_registry(recorder* marks)
    : state_(std::make_shared<detail::actuator_registry_state>(marks)) {}

actuator_registry::~actuator_registry() {
  for (const auto& a : list()) detail::actuator_registry_state::retire(*a);
}

void actuator_registry::enter(std::shared_ptr<actuator> a) {
  const bool is_new = !find(a->info().name).has_value();
  PLX_ASSERT(is_new && "an actuator of this name exists", a->info().name);
  const std::lock_guard lock(state_->mutex);
  state_->all.push_back(std::move(a));
}

result<std::shared_ptr<actuator>> actuator_registry::find(std::string_view name) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> known;
  for (const auto& a : state_->all) {
    if (a->info().name == name) return a;
    known.push_back(a->info().name);
  }
  return error{fmt::format("no actuator '{}'{}", name, did_you_mean(name, known))};
}

std::vector<std::shared_ptr<actuator>> actuator_registry::list() const {
  const std::lock_guard lock(state_->mutex);
  return state_->all;
}

result<std::uint64_t> actuator_registry::undo(std::uint64_t number, std::string_view who, std::string_view why) {
  for (const decision& d : log()->all()) {
    if (d.number != number) continue;
    auto a = find(d.what);
    return a ? (*a)->undo(number, who, why) : result<std::uint64_t>(a.error());
  }
  return error{fmt::format("decision {} does not exist or is no longer kept", number)};
}

const std::shared_ptr<decision_log>& actuator_registry::log() const noexcept { return state_->log; }

}  // namespace plx::probe
