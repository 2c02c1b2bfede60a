// Creation, end and joins of threads.
#include <errno.h>

#include <memory>
#include <new>

#include "attach/core/program.hpp"
#include "attach/preload/real.hpp"
#include "attach/preload/thread_function.hpp"

using namespace plx::probe;

namespace {

struct beginning {
  void* (*routine)(void*);
  void* argument;
  name_id name;
  bool ours;
  task_id made_by;
  plx::ticks made;
};

void* run_thread(void* given) {
  const beginning b = *static_cast<beginning*>(given);
  {
    const inside_scope inside;
    delete static_cast<beginning*>(given);
  }
  if (b.ours)
    ++this_slot.inside;  // for its whole lifetime
  else
    program::attach(b.name, b.made_by, b.made);
  return b.routine(b.argument);
}

int create(pthread_t* thread, const pthread_attr_t* attributes, beginning* b) {
  const int failed = real().pthread_create(thread, attributes, &run_thread, b);
  if (failed != 0) {
    const inside_scope inside;
    delete b;
  }
  return failed;
}

}  // namespace

PLX_HOOK int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                            void* argument) noexcept {
  const bool ours = this_slot.inside != 0;
  if (!ours && !program::measures()) return real().pthread_create(thread, attributes, routine, argument);
  const int before = errno;
  beginning* b = nullptr;
  task_id made_by = 0;
  program::event([&](thread_row& row, plx::ticks) { return made_by = row.current(), true; });
  {
    const inside_scope inside;
    b = new (std::nothrow) beginning{routine, argument, ours ? unnamed : thread_function(routine, argument),
                                     ours,    made_by,  plx::now_ticks()};
  }
  errno = before;
  if (b == nullptr) return real().pthread_create(thread, attributes, routine, argument);
  if (!ours) return create(thread, attributes, b);
  sigset_t all, mask;  // the program's signals are handled by its own threads
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  const int failed = create(thread, attributes, b);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  return failed;
}

// Threads are short-lived, so a join is identified by the waiting code, not by the thread.
PLX_HOOK int pthread_join(pthread_t thread, void** value) {
  const int ended = real().pthread_tryjoin_np(thread, value);
  if (ended != EBUSY) return ended;
  const wait_scope waits("thread", __builtin_return_address(0));
  return real().pthread_join(thread, value);
}

PLX_HOOK int pthread_timedjoin_np(pthread_t thread, void** value, const timespec* until) {
  const wait_scope waits("thread", __builtin_return_address(0));
  return real().pthread_timedjoin_np(thread, value, until);
}

PLX_HOOK int pthread_clockjoin_np(pthread_t thread, void** value, clockid_t clock, const timespec* until) {
  const wait_scope waits("thread", __builtin_return_address(0));
  return real().pthread_clockjoin_np(thread, value, clock, until);
}
