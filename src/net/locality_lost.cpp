#include "net/locality_lost.hpp"

namespace plx {

locality_lost::locality_lost(locality_id which, const std::string& why)
    : std::runtime_error("locality " + std::to_string(which) + " is lost: " + why),
      which_(which),
      before_(std::char_traits<char>::length(what()) - why.size()) {}

}  // namespace plx
