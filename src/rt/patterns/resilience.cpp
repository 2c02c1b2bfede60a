#include "rt/patterns/resilience.hpp"

namespace plx {

replay_error::replay_error(std::size_t attempts)
    : resilience_error("replay: every attempt failed, the last one with an invalid result", attempts) {}
replicate_error::replicate_error(std::size_t attempts)
    : resilience_error("replicate: no replica returned a valid result", attempts) {}

void detail::require_attempts(std::size_t n) {
  if (n == 0) throw std::invalid_argument("replay, replicate: n must be at least 1, but is 0");
}

}  // namespace plx
