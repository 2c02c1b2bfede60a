#include "net/remote_error.hpp"

namespace plx {

remote_error::remote_error(locality_id where, const std::string& text)
    : std::runtime_error("on locality " + std::to_string(where) + ": " + text),
      where_(where),
      before_(std::char_traits<char>::length(what()) - text.size()) {}

}  // namespace plx
