// Errors of remote calls.
#pragma once

#include <stdexcept>
#include <string>

#include "net/locality.hpp"

namespace plx {

/// A locality died or became unreachable. The message names it and says how the loss was detected.
class locality_lost : public std::runtime_error {
 public:
  locality_lost(locality_id which, const std::string& why);
  [[nodiscard]] locality_id which() const noexcept { return which_; }  ///< its number
  [[nodiscard]] std::string why() const { return what() + before_; }   ///< how the loss was detected

 private:
  locality_id which_;
  std::size_t before_;  // characters
};

/// A call threw on another locality: what() is the number of that locality followed by the text of the exception there.
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
