/* Whether a thread of this process has begun to wait, for programs in C and C++ whose waits are known and measured. A
 * thread that merely sleeps, such as one that a pause of the measurement delays before the wait, does not count where
 * the kernel names the system call; one that waits for a lock of the measurement does.
 *
 * Thread safety: all functions. Cost: one read of a file of /proc.
 * Example: tests/exec/locks.cpp */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline int own_thread_id(void) { return (int)syscall(SYS_gettid); }

/* Reads a file of the thread in /proc; "" if it cannot be read. */
static inline void read_of_thread(int thread, const char* name, char* text, int size) {
  char path[64];
  text[0] = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, name);
  FILE* file = fopen(path, "r");
  if (file == NULL) return;
  text[fread(text, 1, (size_t)size - 1, file)] = 0;
  fclose(file);
}

/* The letter of the thread's state, see proc(5); 0 if it has ended. */
static inline char state_of(int thread) {
  char text[512];
  read_of_thread(thread, "stat", text, sizeof text);
  const char* end_of_name = strrchr(text, ')');
  return end_of_name != NULL && end_of_name[1] == ' ' ? end_of_name[2] : (char)0;
}

static inline long voluntary_switches_of(int thread) {
  static const char key[] = "\nvoluntary_ctxt_switches:";
  char text[4096];
  read_of_thread(thread, "status", text, sizeof text);
  const char* at = strstr(text, key);
  return at != NULL ? strtol(at + sizeof key - 1, NULL, 10) : -1;
}

/* True if the thread is blocked in the system call of locks, condition variables, semaphores, barriers and futures. */
static inline int waits_in_futex(int thread) {
  char call[512]; /* begins with the number of the call, or "running" */
  read_of_thread(thread, "syscall", call, sizeof call);
  if (call[0] != 0) return call[0] >= '0' && call[0] <= '9' && strtol(call, NULL, 10) == SYS_futex;
  /* Without that file: asleep, and not woken in between, as a thread that polls is. */
  const long before = voluntary_switches_of(thread);
  if (state_of(thread) != 'S') return 0;
  const struct timespec pause = {0, 2000000};
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL); /* usleep() would be measured as a wait */
  return state_of(thread) == 'S' && voluntary_switches_of(thread) == before;
}
