// The system functions behind the hooks.
//
// Thread safety: all functions. The table is filled at the first use of any entry, possibly before any constructor
//   has run. A function that this system lacks is null; its hook is then never called.
// Example: attach/preload/hooks_locks.cpp
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define PLX_HOOK extern "C" [[gnu::visibility("default"), gnu::used]]

// Name, and the version to request if an older one with another layout has the same name. clang-format does not reach a
// stable layout for this list.
// clang-format off
#define PLX_REAL_FUNCTIONS(X) \
  X(pthread_mutex_trylock, nullptr) \
  X(pthread_mutex_lock, nullptr) \
  X(pthread_mutex_unlock, nullptr) \
  X(pthread_mutex_timedlock, nullptr) \
  X(pthread_mutex_clocklock, nullptr) \
  X(pthread_cond_wait, "GLIBC_2.3.2") \
  X(pthread_cond_timedwait, "GLIBC_2.3.2") \
  X(pthread_cond_clockwait, nullptr) \
  X(pthread_rwlock_rdlock, nullptr) \
  X(pthread_rwlock_tryrdlock, nullptr) \
  X(pthread_rwlock_timedrdlock, nullptr) \
  X(pthread_rwlock_clockrdlock, nullptr) \
  X(pthread_rwlock_wrlock, nullptr) \
  X(pthread_rwlock_trywrlock, nullptr) \
  X(pthread_rwlock_timedwrlock, nullptr) \
  X(pthread_rwlock_clockwrlock, nullptr) \
  X(pthread_spin_lock, nullptr) \
  X(pthread_spin_trylock, nullptr) \
  X(pthread_barrier_wait, nullptr) \
  X(sem_wait, nullptr) \
  X(sem_trywait, nullptr) \
  X(sem_timedwait, nullptr) \
  X(sem_clockwait, nullptr) \
  X(pthread_create, nullptr) \
  X(pthread_join, nullptr) \
  X(pthread_tryjoin_np, nullptr) \
  X(pthread_timedjoin_np, nullptr) \
  X(pthread_clockjoin_np, nullptr) \
  X(nanosleep, nullptr) \
  X(clock_nanosleep, nullptr) \
  X(usleep, nullptr) \
  X(sleep, nullptr) \
  X(_exit, nullptr) \
  X(execve, nullptr) \
  X(execv, nullptr) \
  X(execvp, nullptr) \
  X(execvpe, nullptr) \
  X(fexecve, nullptr) \
  X(sigaction, nullptr) \
  X(signal, nullptr) \
  X(__sysv_signal, nullptr) \
  X(sigaltstack, nullptr) \
  X(dlclose, nullptr) \
  X(syscall, nullptr)
// clang-format on

namespace plx::probe {

struct real_functions {
#define PLX_MEMBER(name, version) decltype(&::name) name;
  PLX_REAL_FUNCTIONS(PLX_MEMBER)
#undef PLX_MEMBER
};

/// Requires: real() was called before, by any thread.
extern real_functions real_table;
void find_real() noexcept;

inline const real_functions& real() noexcept {
  if (real_table.syscall == nullptr) [[unlikely]]  // the last one that is looked up
    find_real();
  return real_table;
}

}  // namespace plx::probe
