// The start-up of a process that is alone.
#pragma once

#include "net/bootstrap.hpp"

namespace plx::net::detail {

class alone final : public bootstrap {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "alone"; }
  [[nodiscard]] locality_id here() const noexcept override { return 0; }
  [[nodiscard]] unsigned size() const noexcept override { return 1; }
  result<std::vector<std::string>> exchange(std::string_view mine, double /*deadline_s*/) override {
    return std::vector<std::string>{std::string(mine)};
  }
  void leave(double /*deadline_s*/) noexcept override {}
};

}  // namespace plx::net::detail
