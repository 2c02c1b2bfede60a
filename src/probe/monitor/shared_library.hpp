// An optional shared library, opened at run time, so that nothing is linked to it.
//
// Thread safety: everything but opening. Errors: one line with the loader's message.
// Example: probe/monitor/test/nvml_test.cpp
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace plx::probe {

class shared_library {
 public:
  /// The first of `names` that the loader finds.
  static result<shared_library> open(const std::vector<std::string>& names);
  shared_library(shared_library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  shared_library& operator=(shared_library&&) = delete;
  ~shared_library();

  /// Sets `f` to a function of the library. Returns whether the function exists.
  template <class F>
  bool find(const char* name, F*& f) const {
    f = reinterpret_cast<F*>(address(name));
    return f != nullptr;
  }

 private:
  explicit shared_library(void* handle) : handle_(handle) {}
  void* address(const char* name) const;
  void* handle_;
};

}  // namespace plx::probe
