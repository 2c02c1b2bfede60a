// result<T>: a value, or an error with one line of text. For expected failures; a broken contract is an assertion.
//
// Thread safety: that of the value. Cost: a value and a string; no allocation unless there is an error.
// Example: base/test/result_test.cpp
//
//   result<int> parse(std::string_view s);        // return 7;  or  return error{"expected a number, found 'x'"};
//   if (auto r = parse(s); !r) return r.error();  // an error converts to any other result<U>
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"

namespace plx {

/// One line for a person: what was expected, what was found, and what to do.
struct error {
  std::string message;
};

template <class T>
class [[nodiscard]] result {
 public:
  using value_type = T;

  result(T value) : value_(std::move(value)) {}   // NOLINT: implicit on purpose
  result(plx::error e) : error_(std::move(e)) {}  // NOLINT: implicit on purpose

  explicit operator bool() const noexcept { return has_value(); }
  /// Whether this holds a value, not an error.
  bool has_value() const noexcept { return value_.has_value(); }

  /// Requires: has_value(); aborts with the error's message otherwise.
  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T value() && { return check(), std::move(*value_); }  // by value, so that `for (auto& x : f().value())` is safe
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The value, or `other` if this holds an error.
  T value_or(T other) const& { return has_value() ? value() : std::move(other); }

  /// Requires: !has_value().
  const plx::error& error() const {
    PLX_ASSERT(!has_value());
    return error_;
  }

  /// The result of f(value), or the same error. f may return void; a result is not flattened.
  template <class F>
  auto map(F&& f) && -> result<std::invoke_result_t<F, T&&>>;

 private:
  void check() const { PLX_ASSERT(has_value(), error_.message); }

  std::optional<T> value_;
  plx::error error_;
};

template <>
class [[nodiscard]] result<void> {
 public:
  using value_type = void;

  result() = default;
  result(plx::error e) : failed_(true), error_(std::move(e)) {}  // NOLINT: implicit on purpose

  explicit operator bool() const noexcept { return !failed_; }
  bool has_value() const noexcept { return !failed_; }
  void value() const { PLX_ASSERT(!failed_, error_.message); }
  const plx::error& error() const {
    PLX_ASSERT(failed_);
    return error_;
  }

  template <class F>
  auto map(F&& f) && -> result<std::invoke_result_t<F>> {
    if (failed_) return std::move(error_);
    if constexpr (std::is_void_v<std::invoke_result_t<F>>)
      return std::forward<F>(f)(), result<void>{};
    else
      return std::forward<F>(f)();
  }

 private:
  bool failed_ = false;
  plx::error error_;
};

template <class T>
template <class F>
auto result<T>::map(F&& f) && -> result<std::invoke_result_t<F, T&&>> {
  if (!has_value()) return std::move(error_);
  if constexpr (std::is_void_v<std::invoke_result_t<F, T&&>>)
    return std::forward<F>(f)(std::move(*this).value()), result<void>{};
  else
    return std::forward<F>(f)(std::move(*this).value());
}

}  // namespace plx
