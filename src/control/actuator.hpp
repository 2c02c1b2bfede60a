// An actuator: a setting that can be changed while a program runs; a named number, flag or word with bounds and a
// default.
//
//   auto streams = actuators.add<std::int64_t>({"streams", "1", "Streams per device"}, 4, {1, 32}, [&](auto n) {
//   use(n); }); streams->set(8, "my policy", "kernels are short");
//
// A value outside the bounds is refused with a message of one line, never clamped; nearest() gives the nearest valid
// value. Every change is logged as a decision, with its author and reason. The newest decision can be undone,
// repeatedly.
// Thread safety: all functions; changes of one actuator are serialized, including apply(). Cost: get() is a relaxed
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

// The decision log: which policy changed which actuator from what to what while a program ran, and why.
//
// Thread safety: all functions. Cost: a lock and an allocation per decision. The newest 65,536 decisions are kept.
// Example: control/test/actuator_test.cpp

class recorder;

/// One change of an actuator.
struct decision {
  std::uint64_t number = 0;  // 1, 2, ... in order of time
  ticks when = 0;
  std::string who;   // a policy or another caller
  std::string what;  // an actuator, or another subject
  std::string from;
  std::string to;
  std::string why;
};

/// The decisions in the order in which they were made.
class decision_log {
 public:
  /// With a recorder, each decision is also a mark of category "policy" in its trace. The recorder must live as long as
  /// decisions are added.
  explicit decision_log(recorder* marks = nullptr);
  ~decision_log();
  decision_log(const decision_log&) = delete;
  decision_log& operator=(const decision_log&) = delete;

  /// Returns the decision's number.
  std::uint64_t add(std::string_view who, std::string_view what, std::string_view from, std::string_view to,
                    std::string_view why);
  /// Adds a mark without a decision.
  void note(std::string_view text);

  /// The decisions kept, oldest first.
  [[nodiscard]] std::vector<decision> all() const;
  /// Number of decisions made, including those no longer kept.
  [[nodiscard]] std::uint64_t count() const noexcept;

  /// Columns number,time_s,who,what,from,to,why.  // words: ok
  /// Times are relative to the construction of the log.
  result<void> write_csv(const std::string& path) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Name and description of an actuator.
struct actuator_info {
  std::string name;  // such as "worker-cap"
  std::string unit = {};
  std::string help = {};
};

/// One of several words, by index.
struct choice {
  std::uint64_t index = 0;
  friend bool operator==(choice, choice) = default;
};

/// Inclusive bounds. Unused for flags and words.
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

/// An actuator of any type, with its value as text: for users, settings and tables.
class actuator : public std::enable_shared_from_this<actuator> {
 public:
  virtual ~actuator();
  actuator(const actuator&) = delete;
  actuator& operator=(const actuator&) = delete;

  /// Name and description.
  [[nodiscard]] const actuator_info& info() const noexcept { return info_; }
  /// The current value.
  [[nodiscard]] std::string text() const;
  /// "1 to 8", "one of fast, small".
  [[nodiscard]] virtual std::string bounds_text() const = 0;

  /// Sets it from text. Returns the number of the decision, or 0 if the value is unchanged. Errors, without a change:
  /// the text is not a valid value, it is out of bounds, apply() refuses by an exception, or the actuator was removed.
  result<std::uint64_t> set_text(std::string_view value, std::string_view who, std::string_view why);
  /// Restores the default value; otherwise as set_text().
  result<std::uint64_t> reset(std::string_view who, std::string_view why);
  /// Reverts the newest change; `number` must be its decision. The previous change is then the newest.
  result<std::uint64_t> undo(std::uint64_t number, std::string_view who, std::string_view why);
  /// The author of the newest change that was not undone; "" if there is none.
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

  /// The current value.
  [[nodiscard]] T get() const noexcept { return detail::from_bits<T>(bits()); }
  /// The default value.
  [[nodiscard]] T standard() const noexcept { return detail::from_bits<T>(standard_bits()); }
  /// The lower bound.
  [[nodiscard]] T least() const noexcept { return bounds_.least; }
  /// The upper bound.
  [[nodiscard]] T most() const noexcept { return bounds_.most; }
  /// The words of a choice.
  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
  /// The nearest value within the bounds; the default for NaN.
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

/// Owns an actuator: it is removed with the handle. Pointers to it stay valid, but set() then returns an error.
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
  /// For users that may outlive the actuator.
  [[nodiscard]] const std::shared_ptr<actuator_of<T>>& shared() const noexcept { return it_; }

 private:
  friend class actuator_registry;
  void remove() noexcept;
  std::shared_ptr<detail::actuator_registry_state> state_;
  std::shared_ptr<actuator_of<T>> it_;
};

/// The actuators of one runtime, and the log of their changes.
class actuator_registry {
 public:
  explicit actuator_registry(recorder* marks = nullptr);
  ~actuator_registry();
  actuator_registry(const actuator_registry&) = delete;
  actuator_registry& operator=(const actuator_registry&) = delete;

  /// `apply(value)` is called by the thread that changes the value, before the new value is visible. It must not change
  /// this actuator; an exception refuses the change. Requires: an unused name; a default within the bounds.
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
  /// One of several words, given by index; the first is the default.
  template <class F>
  [[nodiscard]] actuator_handle<choice> add_choice(actuator_info info, std::vector<std::string> words, F apply) {
    const choice last{words.empty() ? 0 : words.size() - 1};
    return keep(std::make_shared<actuator_of<choice>>(std::move(info), choice{}, actuator_bounds<choice>{{}, last},
                                                      std::move(words), *log(), applier_of<choice>(std::move(apply))));
  }

  /// Errors: names the closest existing name.
  [[nodiscard]] result<std::shared_ptr<actuator>> find(std::string_view name) const;
  /// As find(), for a known type; a different type is also an error.
  template <detail::actuated T>
  [[nodiscard]] result<std::shared_ptr<actuator_of<T>>> find_as(std::string_view name) const {
    auto any = find(name);
    if (!any) return any.error();
    if (auto typed = std::dynamic_pointer_cast<actuator_of<T>>(*any)) return typed;
    return error{"actuator '" + std::string(name) + "' has a different type: it takes " + (*any)->bounds_text()};
  }
  /// In the order of registration.
  [[nodiscard]] std::vector<std::shared_ptr<actuator>> list() const;

  /// Undoes a decision if it is the newest one of its actuator.
  result<std::uint64_t> undo(std::uint64_t number, std::string_view who, std::string_view why);
  /// Shared, so that it can be written after the registry is destroyed.
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
