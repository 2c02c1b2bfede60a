#include "control/read_section.hpp"

#include <thread>

#include "base/assert.hpp"

namespace plx::probe {
namespace {

// All slots; none is ever freed, and those of ended threads are reused.
std::atomic<reader_slot*> slots{nullptr};

reader_slot* take_slot() {
  for (reader_slot* s = slots.load(std::memory_order_seq_cst); s != nullptr; s = s->next) {
    bool free = false;
    // acquire: pairs with the release of the thread that ended.
    if (s->taken.compare_exchange_strong(free, true, std::memory_order_acquire, std::memory_order_relaxed)) return s;
  }
  auto* s = new reader_slot;
  s->next = slots.load(std::memory_order_relaxed);
  // seq_cst: a writer that replaces an object and does not see this slot precedes the slot's first section.
  while (!slots.compare_exchange_weak(s->next, s, std::memory_order_seq_cst)) {
  }
  return s;
}

struct slot_owner {
  reader_slot* slot = take_slot();
  ~slot_owner() { slot->taken.store(false, std::memory_order_release); }
};

// Never inlined: the result must not be cached across a point where a task may have moved to another thread.
[[gnu::noinline]] reader_slot& own_slot() noexcept {
  thread_local const slot_owner mine;
  return *mine.slot;
}

}  // namespace

// seq_cst: the mark precedes the load of the shared object. A writer stores the new object and then reads the marks:
// either it sees this mark, or this thread sees the new object.
read_section::read_section() noexcept : slot_(own_slot()) {
  const std::uint64_t before = slot_.sequence.load(std::memory_order_relaxed);
  PLX_ASSERT(before % 2 == 0 && "sections do not nest");
  slot_.sequence.store(before + 1, std::memory_order_seq_cst);
}

// release: pairs with the acquire in wait_for_readers(); reads in this section happen before the object is destroyed.
read_section::~read_section() {
  slot_.sequence.store(slot_.sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

bool in_read_section() noexcept { return own_slot().sequence.load(std::memory_order_relaxed) % 2 == 1; }

void wait_for_readers() noexcept {
  PLX_ASSERT(!in_read_section() && "wait_for_readers() inside a section never returns");
  for (reader_slot* s = slots.load(std::memory_order_seq_cst); s != nullptr; s = s->next) {
    const std::uint64_t seen = s->sequence.load(std::memory_order_seq_cst);
    if (seen % 2 == 0) continue;
    while (s->sequence.load(std::memory_order_acquire) == seen) std::this_thread::yield();
  }
}

}  // namespace plx::probe
