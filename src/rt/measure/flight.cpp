#include "rt/measure/flight.hpp"

#include "probe/settings.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/explain/explain.hpp"

#if defined(__clang__) || defined(__GNUC__)
#define PLX_READS_WHAT_MAY_CHANGE __attribute__((no_sanitize("thread")))
#else
#define PLX_READS_WHAT_MAY_CHANGE
#endif

namespace plx::detail {
namespace {

// The worker keeps running, and plain members are read: if its last boundary is the same before and after, the values
// are taken to belong together. A stronger guarantee would cost time in every task.
PLX_READS_WHAT_MAY_CHANGE probe::flight_now now_of(void* context, unsigned i) noexcept {
  const worker& w = static_cast<const scheduler*>(context)->worker_at(i);
  const volatile ticks& boundary = w.boundary;
  for (int tries = 0; tries < 100; ++tries) {
    const ticks before = boundary;
    if (w.looks_for_work.load(std::memory_order_relaxed)) return {};
    const probe::flight_now now{.busy = true, .name = w.info.name, .key = w.info.key, .since = before};
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (boundary == before) return now;
  }
  return {};
}

int index_here(void* context) noexcept {
  const worker* w = this_worker();
  return w != nullptr && &w->home == context ? static_cast<int>(w->index) : -1;
}

}  // namespace

flight_watch::flight_watch(const scheduler& workers, const probe::recorder& r, const probe::settings& s)
    : folder_(s.output) {
  const int request = s.flight_signal.empty() ? 0 : signal_named(s.flight_signal);
  if (s.flight == 0) return;
  registration_.emplace(probe::flight_source{.rec = &r,
                                             .context = const_cast<scheduler*>(&workers),
                                             .now = now_of,
                                             .here = index_here,
                                             .folder = folder_.c_str(),
                                             .seconds = s.flight_seconds});
  signals_.emplace(request);
}

}  // namespace plx::detail
