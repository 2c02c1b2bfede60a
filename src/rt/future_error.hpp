// What futures and promises throw when they are misused, named as in the standard's <future>.
#pragma once

#include <stdexcept>
#include <system_error>

namespace plx {

enum class future_errc { broken_promise = 1, future_already_retrieved, promise_already_satisfied, no_state };

/// The category of future_errc; its name is "future".
[[nodiscard]] const std::error_category& future_category() noexcept;
[[nodiscard]] inline std::error_code make_error_code(future_errc e) noexcept {
  return {static_cast<int>(e), future_category()};
}
[[nodiscard]] inline std::error_condition make_error_condition(future_errc e) noexcept {
  return {static_cast<int>(e), future_category()};
}

class future_error : public std::logic_error {
 public:
  explicit future_error(future_errc code);
  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }

 private:
  std::error_code code_;
};

namespace detail {
[[noreturn]] void throw_future_error(future_errc code);
}

}  // namespace plx

template <>
struct std::is_error_code_enum<plx::future_errc> : std::true_type {};
