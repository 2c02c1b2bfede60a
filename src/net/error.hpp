// What a future holds when the locality that should have answered is gone.
#pragma once

#include <stdexcept>
#include <string>

#include "net/locality.hpp"

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

// What get() throws when a call failed on another locality.

/// A call threw there: what() has the other side's text, with its number before it.
class remote_error : public std::runtime_error {
 public:
  remote_error(locality_id where, const std::string& text);
  [[nodiscard]] locality_id where() const noexcept { return where_; }  ///< the locality that threw
  [[nodiscard]] std::string text() const { return what() + before_; }  ///< what() there

 private:
  locality_id where_;
  std::size_t before_;  // characters
};

}  // namespace plx
