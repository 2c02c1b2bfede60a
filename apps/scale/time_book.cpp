#include "time_book.hpp"

namespace plx::scale {

void time_book::judge(int worker, double sent_s) {
  for (const auto& [begin, end] : idle_[worker].pieces) {
    if (sent_s < 0.0) {
      use_.local += end - begin;
      continue;
    }
    const double sent = std::clamp(sent_s, begin, end);
    use_.late += sent - begin;
    use_.network += end - sent;
  }
  idle_[worker].pieces.clear();
}

void time_book::add_open_end(int locality, double begin, double end, double last_anywhere) {
  const double own = std::clamp(last_work_[locality], begin, end), all = std::clamp(last_anywhere, own, end);
  use_.local += own - begin;
  use_.imbalance += all - own;
  use_.reduction += end - all;
}

time_use time_book::close(double end) {
  const double last_anywhere = *std::max_element(last_work_.begin(), last_work_.end());
  for (std::size_t w = 0; w < idle_.size(); ++w) {
    woke(static_cast<int>(w), end);
    for (const auto& [begin, until] : idle_[w].pieces)
      add_open_end(static_cast<int>(w) / workers_, begin, until, last_anywhere);
    idle_[w].pieces.clear();
  }
  return use_;
}

}  // namespace plx::scale
