
#include "net/error.hpp"

namespace plx {

locality_lost::locality_lost(locality_id which, const std::string& why)
    : std::runtime_error("locality " + std::to_string(which) + " is lost: " + why),
      which_(which),
      before_(std::char_traits<char>::length(what()) - why.size()) {}

remote_error::remote_error(locality_id where, const std::string& text)
    : std::runtime_error("on locality " + std::to_string(where) + ": " + text),
      where_(where),
      before_(std::char_traits<char>::length(what()) - text.size()) {}

}  // namespace plx
