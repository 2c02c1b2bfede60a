// Waits of POSIX threads and of the C++ facilities that use them. A free lock is taken by the try function, at the cost
// of the lock itself; only waits are measured.
//
// Thread safety, errors and cancellation: those of the wrapped functions. Hooks that may be cancelled unwind.
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <cstdarg>
#include <type_traits>

#include "attach/core/lock_holds.hpp"
#include "attach/core/program.hpp"
#include "attach/preload/real.hpp"

using plx::probe::lock_holds;
using plx::probe::real;
using plx::probe::wait_scope;

// ------------------------------------------------------------------------------------------------------ mutexes, locks

namespace {
/// Takes the lock by `attempt`, or else waits for it by `lock(object, more...)`. Inlined: the waiting code is
/// identified by the return address of the hook.
template <class T, class... More>
[[gnu::always_inline]] inline int lock_by(const char* kind, T* object, int (*attempt)(T*), int (*lock)(T*, More...),
                                          std::type_identity_t<More>... more) noexcept {
  const int taken = attempt(object);
  if (taken != EBUSY) [[likely]]
    return taken;
  const wait_scope waits(kind, const_cast<const void*>(static_cast<const volatile void*>(object)));
  return lock(object, more...);
}
}  // namespace

namespace {
bool is_taken(int result) { return result == 0 || result == EOWNERDEAD; }

/// As lock_by() for a mutex, whose holds are recorded.
template <class... More>
[[gnu::always_inline]] inline int lock_mutex(pthread_mutex_t* m, int (*lock)(pthread_mutex_t*, More...),
                                             std::type_identity_t<More>... more) noexcept {
  const int taken = real().pthread_mutex_trylock(m);
  if (taken == EBUSY) [[unlikely]] {
    const wait_scope waits("mutex", m);
    plx::probe::contended_mutex* c = lock_holds::waits(m);
    const int result = lock(m, more...);
    lock_holds::waited(c, is_taken(result));
    if (is_taken(result)) lock_holds::took(m, __builtin_return_address(0));
    return result;
  }
  if (is_taken(taken)) lock_holds::took(m, __builtin_return_address(0));
  return taken;
}
}  // namespace

PLX_HOOK int pthread_mutex_lock(pthread_mutex_t* m) noexcept { return lock_mutex(m, real().pthread_mutex_lock); }
PLX_HOOK int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* until) noexcept {
  return lock_mutex(m, real().pthread_mutex_timedlock, until);
}
PLX_HOOK int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const timespec* until) noexcept {
  return lock_mutex(m, real().pthread_mutex_clocklock, clock, until);
}
PLX_HOOK int pthread_mutex_trylock(pthread_mutex_t* m) noexcept {
  const int taken = real().pthread_mutex_trylock(m);
  if (is_taken(taken)) lock_holds::took(m, __builtin_return_address(0));
  return taken;
}
PLX_HOOK int pthread_mutex_unlock(pthread_mutex_t* m) noexcept {
  const void* caller = __builtin_return_address(0);
  const lock_holds::release hold = lock_holds::releases(m, caller);
  const int done = real().pthread_mutex_unlock(m);
  if (done == 0) lock_holds::released(hold, m, caller);
  return done;
}
PLX_HOOK int pthread_spin_lock(pthread_spinlock_t* s) noexcept {
  return lock_by("spinlock", s, real().pthread_spin_trylock, real().pthread_spin_lock);
}
PLX_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t* l) noexcept {
  return lock_by("shared_mutex", l, real().pthread_rwlock_tryrdlock, real().pthread_rwlock_rdlock);
}
PLX_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t* l, const timespec* until) noexcept {
  return lock_by("shared_mutex", l, real().pthread_rwlock_tryrdlock, real().pthread_rwlock_timedrdlock, until);
}
PLX_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock, const timespec* until) noexcept {
  return lock_by("shared_mutex", l, real().pthread_rwlock_tryrdlock, real().pthread_rwlock_clockrdlock, clock, until);
}
PLX_HOOK int pthread_rwlock_wrlock(pthread_rwlock_t* l) noexcept {
  return lock_by("shared_mutex", l, real().pthread_rwlock_trywrlock, real().pthread_rwlock_wrlock);
}
PLX_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* until) noexcept {
  return lock_by("shared_mutex", l, real().pthread_rwlock_trywrlock, real().pthread_rwlock_timedwrlock, until);
}
PLX_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock, const timespec* until) noexcept {
  return lock_by("shared_mutex", l, real().pthread_rwlock_trywrlock, real().pthread_rwlock_clockwrlock, clock, until);
}

// ------------------------------------------------------------------------------------------------- condition variables

namespace {
/// A mutex that a function releases and takes again.
struct reacquired_mutex {
  reacquired_mutex(const void* m, const void* returns_to) noexcept : mutex(m), caller(returns_to) {
    lock_holds::released(lock_holds::releases(mutex, caller), mutex, caller);  // recorded before the wait
  }
  ~reacquired_mutex() { lock_holds::took(mutex, caller); }
  reacquired_mutex(const reacquired_mutex&) = delete;
  reacquired_mutex& operator=(const reacquired_mutex&) = delete;
  const void* mutex;
  const void* caller;
};
}  // namespace

PLX_HOOK int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  const reacquired_mutex held(m, __builtin_return_address(0));
  const wait_scope waits("condition_variable", c);
  return real().pthread_cond_wait(c, m);
}

PLX_HOOK int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until) {
  const reacquired_mutex held(m, __builtin_return_address(0));
  const wait_scope waits("condition_variable", c);
  return real().pthread_cond_timedwait(c, m, until);
}

PLX_HOOK int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const timespec* until) {
  const reacquired_mutex held(m, __builtin_return_address(0));
  const wait_scope waits("condition_variable", c);
  return real().pthread_cond_clockwait(c, m, clock, until);
}

// ------------------------------------------------------------------------------------------------ semaphores, barriers

namespace {
/// True if it was taken without waiting. Preserves errno.
bool taken_at_once(sem_t* s) {
  pthread_testcancel();  // as in the waiting function
  const int before = errno;
  if (real().sem_trywait(s) == 0) return true;
  errno = before;
  return false;
}
}  // namespace

PLX_HOOK int sem_wait(sem_t* s) {
  if (taken_at_once(s)) return 0;
  const wait_scope waits("semaphore", s);
  return real().sem_wait(s);
}

PLX_HOOK int sem_timedwait(sem_t* s, const timespec* until) {
  if (taken_at_once(s)) return 0;
  const wait_scope waits("semaphore", s);
  return real().sem_timedwait(s, until);
}

PLX_HOOK int sem_clockwait(sem_t* s, clockid_t clock, const timespec* until) {
  if (taken_at_once(s)) return 0;
  const wait_scope waits("semaphore", s);
  return real().sem_clockwait(s, clock, until);
}

PLX_HOOK int pthread_barrier_wait(pthread_barrier_t* b) noexcept {
  const wait_scope waits("barrier", b);
  return real().pthread_barrier_wait(b);
}

// ---------------------------------------------------------------------------------------------------- futures, atomics

namespace {
// libstdc++'s wait of std::future, for std::async and promises: (this, address, value, has a timeout, seconds, ns).
using future_wait = bool(void*, unsigned*, unsigned, bool, long, long);

// Looked up when this library is loaded: dlsym() takes a lock that dlopen() holds while constructors run, and a
// constructor may wait for a thread that waits for a future.
future_wait* future_waits[2];

bool wait_for_future(unsigned which, const char* symbol, const void* caller, void* self, unsigned* word, unsigned value,
                     bool timed, long s, long ns) {
  future_wait* wait = future_waits[which];
  if (wait == nullptr) wait = reinterpret_cast<future_wait*>(dlsym(RTLD_NEXT, symbol));
  if (wait == nullptr) return true;
  const wait_scope waits("future", caller);  // futures are short-lived: identified by the waiting code
  return wait(self, word, value, timed, s, ns);
}
}  // namespace

#define PLX_FUTURE_WAIT(which, symbol)                                                                    \
  [[gnu::constructor]] static void find_future_wait_##which() {                                           \
    future_waits[which] = reinterpret_cast<future_wait*>(dlsym(RTLD_NEXT, #symbol));                      \
  }                                                                                                       \
  PLX_HOOK bool symbol(void* self, unsigned* word, unsigned value, bool timed, long s, long ns) {         \
    return wait_for_future(which, #symbol, __builtin_return_address(0), self, word, value, timed, s, ns); \
  }
PLX_FUTURE_WAIT(
    0,
    _ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE)
PLX_FUTURE_WAIT(
    1,
    _ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE)

// std::atomic::wait, latches, barriers and semaphores of C++20 use this function.
PLX_HOOK long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& x : a) x = va_arg(list, long);
  va_end(list);
  const long command = a[1] & FUTEX_CMD_MASK;
  if (number != SYS_futex || (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET))
    return real().syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  wait_scope waits("futex", reinterpret_cast<const void*>(a[0]));
  const long done = real().syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (done != 0 && errno == EAGAIN) waits.was_none();  // the value had already changed
  return done;
}

// -------------------------------------------------------------------------------------------------------------- sleeps

PLX_HOOK int nanosleep(const timespec* span, timespec* left) {
  const wait_scope waits("sleep", __builtin_return_address(0));
  return real().nanosleep(span, left);
}

PLX_HOOK int clock_nanosleep(clockid_t clock, int flags, const timespec* span, timespec* left) {
  const wait_scope waits("sleep", __builtin_return_address(0));
  return real().clock_nanosleep(clock, flags, span, left);
}

PLX_HOOK int usleep(useconds_t span) {
  const wait_scope waits("sleep", __builtin_return_address(0));
  return real().usleep(span);
}

PLX_HOOK unsigned sleep(unsigned span) {
  const wait_scope waits("sleep", __builtin_return_address(0));
  return real().sleep(span);
}
