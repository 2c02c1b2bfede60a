/* OpenMP compiled by GCC, with known counts: 5 unequal regions of 2 threads, a loop, tasks that wait for tasks, tasks
 * with data of their own, a loop of tasks, barriers, locks. The output does not depend on measurement. */
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "waits_in_futex.h"

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void compute(double span_s) {
  for (const double end = now_s() + span_s; now_s() < end;) {
  }
}

/* The second thread waits before the first computes. */
static void unequal_regions(void) {
  for (int k = 0; k < 5; ++k) {
    int second = 0;
#pragma omp parallel num_threads(2) shared(second)
    if (omp_get_thread_num() != 0) {
      compute(0.001);
#pragma omp atomic write
      second = own_thread_id();
    } else if (omp_get_num_threads() == 2) {
      for (int thread = 0; thread == 0 || !waits_in_futex(thread); sched_yield()) {
#pragma omp atomic read
        thread = second;
      }
      compute(0.06);
    }
  }
}

static long loop(void) {
  long sum = 0;
#pragma omp parallel for num_threads(2) schedule(dynamic, 10) reduction(+ : sum)
  for (int i = 0; i < 1000; ++i) sum += i;
#pragma omp parallel num_threads(2)
  {
#pragma omp for reduction(+ : sum)
    for (int i = 0; i < 1000; ++i) sum += i;
#pragma omp barrier
#pragma omp critical
    sum += 1;
  }
  return sum;
}

static long fibonacci(int n) {
  long a = 0, b = 0;
  if (n < 2) return n;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 4)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

struct big {
  double values[40];
} __attribute__((aligned(64)));

static double tasks_with_data(int n) {
  double sum = 0;
  struct big own;
  char text[n + 1]; /* of a size unknown at compile time: copied by a function */
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 40; ++k) own.values[k] = i + k;
    memset(text, 'a' + i, (size_t)n);
    text[n] = 0;
#pragma omp task firstprivate(own, text, i) shared(sum)
    {
      double mine = (double)strlen(text) + (text[0] == 'a' + i ? 0 : 1e6) + (((size_t)&own & 63u) == 0 ? 0 : 1e6);
      for (int k = 0; k < 40; ++k) mine += own.values[k] - k - i;
#pragma omp atomic
      sum += mine;
    }
  }
#pragma omp taskwait
  return sum;
}

static long loop_of_tasks(void) {
  long sum = 0;
#pragma omp taskloop grainsize(10) shared(sum)
  for (long i = 5; i < 105; ++i) {
#pragma omp atomic
    sum += i;
  }
#pragma omp taskloop num_tasks(4) reduction(+ : sum)
  for (unsigned long i = 0; i < 10; ++i) sum += (long)i;
  return sum;
}

int main(void) {
  long fib = 0, taskloop = 0;
  double data = 0;
  omp_lock_t lock;
  const char* preloaded = getenv("LD_PRELOAD"); /* children must not inherit a library for another libgomp */
  printf("for children: %d\n", preloaded != NULL && strstr(preloaded, "gomp") != NULL);
  omp_init_lock(&lock);
  unequal_regions();
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    fib = fibonacci(10);
    data = tasks_with_data(20);
    taskloop = loop_of_tasks();
    omp_set_lock(&lock);
    omp_unset_lock(&lock);
  }
  printf("%ld %ld %g %ld\n", loop(), fib, data, taskloop);
  return 0;
}
