// Something that can be set while a program runs: a named number, flag or word with bounds and a standard value.
//
//   auto streams = actuators.add<std::int64_t>({"streams", "1", "Streams per device"}, 4, {1, 32}, [&](auto n) {
//   use(n); }); streams->set(8, "my policy", "kernels are short");
//
// A value outside the bounds is refused with one line, never bent: who wants the nearest one asks for it, nearest().
// Every change is a decision in the log, with who and why; the newest can be undone, one after the other.
// Thread safety: everything; changes of one actuator happen one at a time, apply() included. Cost: get() is a relaxed
// load; a change takes locks. Example: control/test/actuator_test.cpp
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace plx::probe {

// What was decided while a program ran: which policy set which actuator from what to what, and why.
//
// Thread safety: everything. Cost: a lock and an allocation per decision. The newest 65,536 are kept.
// Example: control/test/actuator_test.cpp

class recorder;

/// One change of an actuator: when, who, from, to, why.
struct decision {
  std::uint64_t number = 0;  // 1, 2, ... in the order of time
  ticks when = 0;
  std::string who;   // a policy, or who called
  std::string what;  // an actuator, or what else was decided about
  std::string from;
  std::string to;
  std::string why;
};

/// The decisions of policies, in the order in which they were made.
class decision_log {
 public:
  /// With a recorder, each decision is a mark of category "policy" in its trace. It must live as long as decisions
  /// come.
  explicit decision_log(recorder* marks = nullptr);
  ~decision_log();
  decision_log(const decision_log&) = delete;
  decision_log& operator=(const decision_log&) = delete;

  /// Gives the decision's number.
  std::uint64_t add(std::string_view who, std::string_view what, std::string_view from, std::string_view to,
                    std::string_view why);
  /// A mark alone: something happened, nothing was decided.
  void note(std::string_view text);

  /// Those that are kept, the oldest first.
  [[nodiscard]] std::vector<decision> all() const;
  /// How many there were, with those no longer kept.
  [[nodiscard]] std::uint64_t count() const noexcept;

  /// number,time_s,who,what,from,to,why; times count from the making of the log.
  result<void> write_csv(const std::string& path) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// What an actuator is called and means.
struct actuator_info {
  std::string name;  // as in "worker-cap"
  std::string unit = {};
  std::string help = {};
};

/// One of several words, by its number among them.
struct choice {
  std::uint64_t index = 0;
  friend bool operator==(choice, choice) = default;
};

/// Both ends may be set. For flags and words they say nothing.
template <class T>
struct actuator_bounds {
  T least{};
  T most{};
};

namespace detail {
template <class T>
concept actuated = std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
    std::is_same_v<T, choice>;

template <actuated T>
std::uint64_t to_bits(T value) noexcept {
  if constexpr (std::is_same_v<T, choice>)
    return value.index;
  else if constexpr (std::is_same_v<T, bool>)
    return value ? 1 : 0;
  else
    return std::bit_cast<std::uint64_t>(value);
}
template <actuated T>
T from_bits(std::uint64_t bits) noexcept {
  if constexpr (std::is_same_v<T, choice>)
    return {bits};
  else if constexpr (std::is_same_v<T, bool>)
    return bits != 0;
  else
    return std::bit_cast<T>(bits);
}

struct applier {
  virtual ~applier() = default;
  virtual void apply(std::uint64_t bits) = 0;
};
struct actuator_registry_state;
}  // namespace detail

/// Any actuator, its value as text: for people, settings and tables.
class actuator : public std::enable_shared_from_this<actuator> {
 public:
  virtual ~actuator();
  actuator(const actuator&) = delete;
  actuator& operator=(const actuator&) = delete;

  /// What it is called and means.
  [[nodiscard]] const actuator_info& info() const noexcept { return info_; }
  /// The value now, and the standard one.
  [[nodiscard]] std::string text() const;
  /// The value it had at the start, as text.
  [[nodiscard]] std::string standard_text() const;
  /// "1 to 8", "one of fast, small".
  [[nodiscard]] virtual std::string bounds_text() const = 0;

  /// Sets it from text. Gives the number of the decision, 0 when it has this value already. An error, and no change,
  /// when the text is no such value, is out of bounds, when whoever must act on it refuses by an exception, or when the
  /// actuator is no longer there.
  result<std::uint64_t> set_text(std::string_view value, std::string_view who, std::string_view why);
  /// Back to the standard value; as set_text().
  result<std::uint64_t> reset(std::string_view who, std::string_view why);
  /// Takes the newest change back; `number` must be its decision. Then the one before is the newest.
  result<std::uint64_t> undo(std::uint64_t number, std::string_view who, std::string_view why);
  /// Who made the newest change that was not undone; "" when there is none.
  [[nodiscard]] std::string changed_by() const;

 protected:
  actuator(actuator_info info, std::uint64_t standard, decision_log& log, std::unique_ptr<detail::applier> apply);
  result<std::uint64_t> set_bits(std::uint64_t bits, std::string_view who, std::string_view why);
  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t standard_bits() const noexcept { return standard_; }
  [[nodiscard]] virtual std::string text_of(std::uint64_t bits) const = 0;
  [[nodiscard]] virtual result<std::uint64_t> parse(std::string_view text) const = 0;
  [[nodiscard]] virtual bool within(std::uint64_t bits) const noexcept = 0;

 private:
  friend struct detail::actuator_registry_state;
  struct changes;
  void retire() noexcept;
  result<std::uint64_t> change(std::uint64_t bits, std::string_view who, std::string_view why, bool remember);

  const actuator_info info_;
  const std::uint64_t standard_;
  std::atomic<std::uint64_t> bits_;
  std::unique_ptr<changes> changes_;
};

/// T: std::int64_t, double, bool, choice.
template <detail::actuated T>
class actuator_of final : public actuator {
 public:
  actuator_of(actuator_info info, T standard, actuator_bounds<T> bounds, std::vector<std::string> words,
              decision_log& log, std::unique_ptr<detail::applier> apply);

  /// The value now.
  [[nodiscard]] T get() const noexcept { return detail::from_bits<T>(bits()); }
  /// The value it had at the start.
  [[nodiscard]] T standard() const noexcept { return detail::from_bits<T>(standard_bits()); }
  /// The smallest value allowed.
  [[nodiscard]] T least() const noexcept { return bounds_.least; }
  /// The largest value allowed.
  [[nodiscard]] T most() const noexcept { return bounds_.most; }
  /// The words of a choice.
  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
  /// The value within the bounds that is nearest to it; of what is no number the standard one.
  [[nodiscard]] T nearest(T value) const noexcept;
  /// As set_text().
  result<std::uint64_t> set(T value, std::string_view who, std::string_view why) {
    return set_bits(detail::to_bits(value), who, why);
  }
  [[nodiscard]] std::string bounds_text() const override;

 private:
  [[nodiscard]] std::string text_of(std::uint64_t bits) const override;
  [[nodiscard]] result<std::uint64_t> parse(std::string_view text) const override;
  [[nodiscard]] bool within(std::uint64_t bits) const noexcept override;

  const actuator_bounds<T> bounds_;
  const std::vector<std::string> words_;
};

extern template class actuator_of<std::int64_t>;
extern template class actuator_of<double>;
extern template class actuator_of<bool>;
extern template class actuator_of<choice>;

/// Keeps an actuator there while it lives; who still holds a pointer to it then gets errors from set().
template <class T>
class actuator_handle {
 public:
  actuator_handle() = default;
  actuator_handle(actuator_handle&&) noexcept = default;
  actuator_handle& operator=(actuator_handle&& other) noexcept {
    remove();
    state_ = std::move(other.state_);
    it_ = std::move(other.it_);
    return *this;
  }
  ~actuator_handle() { remove(); }

  actuator_of<T>* operator->() const noexcept { return it_.get(); }
  actuator_of<T>& operator*() const noexcept { return *it_; }
  /// For who may outlive the actuator.
  [[nodiscard]] const std::shared_ptr<actuator_of<T>>& shared() const noexcept { return it_; }

 private:
  friend class actuator_registry;
  void remove() noexcept;
  std::shared_ptr<detail::actuator_registry_state> state_;
  std::shared_ptr<actuator_of<T>> it_;
};

/// The actuators of one runtime, and the log of what was decided with them.
class actuator_registry {
 public:
  explicit actuator_registry(recorder* marks = nullptr);
  ~actuator_registry();
  actuator_registry(const actuator_registry&) = delete;
  actuator_registry& operator=(const actuator_registry&) = delete;

  /// `apply(value)` is called by whoever changes the value, before others see it. It must not change this actuator;
  /// what it throws is the reason of a refusal. Requires: a name not yet taken; a standard value within the bounds.
  template <detail::actuated T, class F>
  [[nodiscard]] actuator_handle<T> add(actuator_info info, T standard, actuator_bounds<T> bounds, F apply) {
    return keep(std::make_shared<actuator_of<T>>(std::move(info), standard, bounds, std::vector<std::string>{}, *log(),
                                                 applier_of<T>(std::move(apply))));
  }
  /// A flag.
  template <class F>
  [[nodiscard]] actuator_handle<bool> add_flag(actuator_info info, bool standard, F apply) {
    return add<bool>(std::move(info), standard, {false, true}, std::move(apply));
  }
  /// One of several words, given by its number; the first is the standard one.
  template <class F>
  [[nodiscard]] actuator_handle<choice> add_choice(actuator_info info, std::vector<std::string> words, F apply) {
    const choice last{words.empty() ? 0 : words.size() - 1};
    return keep(std::make_shared<actuator_of<choice>>(std::move(info), choice{}, actuator_bounds<choice>{{}, last},
                                                      std::move(words), *log(), applier_of<choice>(std::move(apply))));
  }

  /// An error names the nearest one.
  [[nodiscard]] result<std::shared_ptr<actuator>> find(std::string_view name) const;
  /// The same of a type; an error also when it is of another.
  template <detail::actuated T>
  [[nodiscard]] result<std::shared_ptr<actuator_of<T>>> find_as(std::string_view name) const {
    auto any = find(name);
    if (!any) return any.error();
    if (auto typed = std::dynamic_pointer_cast<actuator_of<T>>(*any)) return typed;
    return error{"actuator '" + std::string(name) + "' is of another type: it takes " + (*any)->bounds_text()};
  }
  /// In the order of add().
  [[nodiscard]] std::vector<std::shared_ptr<actuator>> list() const;

  /// Takes a decision back, if it is the newest about its actuator.
  result<std::uint64_t> undo(std::uint64_t number, std::string_view who, std::string_view why);
  /// Shared, so that it can be written after the registry is gone.
  [[nodiscard]] const std::shared_ptr<decision_log>& log() const noexcept;

 private:
  template <class T, class F>
  static std::unique_ptr<detail::applier> applier_of(F f) {
    struct calls final : detail::applier {
      explicit calls(F g) : function(std::move(g)) {}
      void apply(std::uint64_t bits) override { function(detail::from_bits<T>(bits)); }
      F function;
    };
    return std::make_unique<calls>(std::move(f));
  }
  template <class T>
  actuator_handle<T> keep(std::shared_ptr<actuator_of<T>> a) {
    actuator_handle<T> handle;
    enter(a);
    handle.state_ = state_;
    handle.it_ = std::move(a);
    return handle;
  }
  void enter(std::shared_ptr<actuator> a);

  std::shared_ptr<detail::actuator_registry_state> state_;
};

namespace detail {
void remove_actuator(actuator_registry_state& state, actuator& a) noexcept;
}

template <class T>
void actuator_handle<T>::remove() noexcept {
  if (it_ != nullptr) detail::remove_actuator(*state_, *it_);
  it_.reset();
  state_.reset();
}

}  // namespace plx::probe
