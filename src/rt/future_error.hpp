// What futures and promises throw when they are misused, named as in the standard's <future>.
#pragma once

#include <stdexcept>

namespace plx {

enum class future_errc { broken_promise = 1, future_already_retrieved, promise_already_satisfied, no_state };

class future_error : public std::logic_error {
 public:
  explicit future_error(future_errc code);
  [[nodiscard]] future_errc code() const noexcept { return code_; }

 private:
  future_errc code_;
};

namespace detail {
[[noreturn]] void throw_future_error(future_errc code);
}

}  // namespace plx
