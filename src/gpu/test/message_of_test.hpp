// The text of an exception, for tests.
#pragma once

#include <exception>
#include <string>

namespace plx::testing {

/// The text of the exception that f() throws; "" if it does not throw.
template <class F>
std::string message_of(F&& f) {
  try {
    static_cast<F&&>(f)();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace plx::testing
