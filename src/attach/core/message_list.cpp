#include "attach/core/message_list.hpp"

#include <new>
#include <utility>

#include "base/text.hpp"

namespace plx::probe {

void message_list::add(const trace_parcel& m, bool sent) noexcept {
  const std::lock_guard lock(mutex_);
  auto& all = waiting_[sent ? 1 : 0];
  if (all.size() >= most) return lose(1);
  try {
    all.push_back(m);
  } catch (const std::bad_alloc&) {
    lose(1);
  }
}

void message_list::drain(trace_sink& to) {
  for (const bool sent : {false, true}) {
    std::vector<trace_parcel> some;
    {
      const std::lock_guard lock(mutex_);
      some = std::exchange(waiting_[sent ? 1 : 0], {});
    }
    if (!some.empty()) to.parcels(sent, some);
  }
  const std::uint64_t lost = lost_.load(std::memory_order_relaxed);
  if (lost != lost_passed_)
    to.mark({now_ticks(), "measurement", plural(lost - lost_passed_, "message") + " of MPI not recorded"});
  lost_passed_ = lost;
}

}  // namespace plx::probe
