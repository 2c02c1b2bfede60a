#include "rt/core/fiber.hpp"

#include <boost/context/detail/fcontext.hpp>

#include <utility>

#include "base/assert.hpp"

#if defined(PLX_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(PLX_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace plx::detail {
namespace {

namespace bc = boost::context::detail;

struct handoff {
  fiber* from;
  fiber* to;
};

// Runs first on the fiber that was switched to: makes the fiber just left resumable.
void arrive(bc::transfer_t t) noexcept {
  const auto* h = static_cast<const handoff*>(t.data);
  // release: a thread that reads the context sees the whole stack that was left.
  h->from->context.store(t.fctx, std::memory_order_release);
#if defined(PLX_ASAN)
  const void* left_bottom = nullptr;
  std::size_t left_size = 0;
  fiber* from = h->from;
  __sanitizer_finish_switch_fiber(h->to->fake_stack, &left_bottom, &left_size);
  if (from->asan_bottom == nullptr) {
    from->asan_bottom = left_bottom;
    from->asan_size = left_size;
  }
#endif
}

using entry_function = void (*)();

void first_entry(bc::transfer_t t) {
  // The context slot of the fiber's record holds the entry point until the first switch to it.
  const auto* h = static_cast<const handoff*>(t.data);
  const auto entry = reinterpret_cast<entry_function>(const_cast<void*>(h->to->task_id));
  h->to->task_id = nullptr;
  arrive(t);
  entry();
  PLX_ASSERT(false && "a fiber's entry function returned");
}

}  // namespace

void fiber_prepare(fiber& f, void (*entry)()) {
  f.context.store(bc::make_fcontext(f.memory.bottom + f.memory.size, f.memory.size, first_entry),
                  std::memory_order_release);
  f.task_id = reinterpret_cast<const void*>(entry);
#if defined(PLX_ASAN)
  f.asan_bottom = f.memory.bottom;
  f.asan_size = f.memory.size;
  f.fake_stack = nullptr;
#endif
#if defined(PLX_TSAN)
  f.tsan = __tsan_create_fiber(0);
#endif
}

void fiber_adopt_thread(fiber& f) {
#if defined(PLX_TSAN)
  f.tsan = __tsan_get_current_fiber();
#else
  (void)f;
#endif
}

void fiber_switch(fiber& from, fiber& to) {
  handoff h{&from, &to};
#if defined(PLX_ASAN)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.asan_bottom, to.asan_size);
#endif
#if defined(PLX_TSAN)
  __tsan_switch_to_fiber(to.tsan, 0);
#endif
  void* there = to.context.load(std::memory_order_relaxed);
  to.context.store(nullptr, std::memory_order_relaxed);
  arrive(bc::jump_fcontext(there, &h));
}

void fiber_release(fiber& f) noexcept {
#if defined(PLX_TSAN)
  // A cold fiber has been released already.
  if (f.memory.bottom != nullptr && f.tsan != nullptr) __tsan_destroy_fiber(std::exchange(f.tsan, nullptr));
#else
  (void)f;
#endif
}

}  // namespace plx::detail
