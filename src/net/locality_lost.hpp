// What a future holds when the locality that should have answered is gone.
#pragma once

#include <stdexcept>
#include <string>

#include "net/locality_id.hpp"

namespace plx {

/// A locality died, or cannot be reached any more. The message names it and says how that was seen.
class locality_lost : public std::runtime_error {
 public:
  locality_lost(locality_id which, const std::string& why);
  [[nodiscard]] locality_id which() const noexcept { return which_; }  ///< its number
  [[nodiscard]] std::string why() const { return what() + before_; }   ///< how that was seen

 private:
  locality_id which_;
  std::size_t before_;  // characters
};

}  // namespace plx
