// Internal: worker_log::record_traced(), for the one place from which most of a trace comes.
//
// Thread safety and cost: worker_log.hpp's.
#pragma once

#include "probe/trace_packing.hpp"
#include "probe/trace_ring.hpp"
#include "probe/worker_log.hpp"

namespace plx::probe {

[[gnu::always_inline]] inline void worker_log::record_traced(const task_slice& s) noexcept {
  trace_ring* const ring = ring_.load(std::memory_order_acquire);  // pairs with the release in set_ring()
  trace_record* const at = ring != nullptr && rates_.load(std::memory_order_relaxed) == nullptr
                               ? ring->place_at_once()  // null as well while edges wait for their record
                               : nullptr;
  if (at != nullptr && detail::pack_own_slice(*at, first_id_, s.begin, s.end, s.key, packed(s), s.id, s.cause, s.ready))
      [[likely]]
    ring->written_at(at);
  else
    add_trace_otherwise(s.begin, s.end, s.key, packed(s), s.id, s.cause, s.ready);
  count(s, mode_.load(std::memory_order_relaxed));
}

}  // namespace plx::probe
