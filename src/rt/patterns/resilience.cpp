#include "rt/patterns/resilience.hpp"

namespace plx {

replay_error::replay_error(std::size_t attempts)
    : resilience_error("replay: every attempt failed, the last one by a result that was refused", attempts) {}
replicate_error::replicate_error(std::size_t attempts)
    : resilience_error("replicate: no replica gave a result that was accepted", attempts) {}

void detail::require_attempts(std::size_t n) {
  if (n == 0) throw std::invalid_argument("replay, replicate: at least one attempt is needed, 0 were asked for");
}

}  // namespace plx
