// What tests look at of an exception: its text.
#pragma once

#include <exception>
#include <string>

namespace plx::testing {

/// Of the exception that f() throws; "" when it throws none.
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
