// What get() throws when a call failed on another locality.
#pragma once

#include <stdexcept>
#include <string>

#include "net/locality_id.hpp"

namespace plx {

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
