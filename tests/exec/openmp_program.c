/* OpenMP with known counts: 5 parallel regions of 2 threads, a loop and a barrier in each, 4 tasks in the last. With
 * "tasks": tasks that wait for tasks, tasks that may move to another thread, and locks that are only tried; prints the
 * numbers of tasks and waits. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long region(int tasks) {
  long sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
#pragma omp for schedule(static)
    for (int i = 0; i < 1000; ++i) sum += i;
#pragma omp barrier
#pragma omp single
    for (int i = 0; i < tasks; ++i) {
#pragma omp task
      {
        volatile int x = i;
        (void)x;
      }
    }
  }
  return sum;
}

static long made = 0, waited = 0; /* updated atomically */

static long fibonacci(int n) {
  long a = 0, b = 0;
  if (n < 2) return n;
#pragma omp atomic
  made += 2;
#pragma omp atomic
  waited += 1;
#pragma omp task shared(a)
  a = fibonacci(n - 1);
#pragma omp task shared(b)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

static void moving_tasks(void) {
  for (int i = 0; i < 10; ++i) {
#pragma omp task untied
    {
      usleep(200);
#pragma omp taskyield
      usleep(200);
#pragma omp task
      usleep(100);
#pragma omp taskwait
      usleep(100);
    }
  }
}

static void tried_locks(void) {
  omp_lock_t lock;
  omp_nest_lock_t nested;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nested);
  omp_set_lock(&lock);
  for (int i = 0; i < 3; ++i)
    if (omp_test_lock(&lock)) printf("a held lock was acquired again\n");
  for (int i = 0; i < 3; ++i) omp_set_nest_lock(&nested);
  for (int i = 0; i < 3; ++i) omp_unset_nest_lock(&nested);
  omp_unset_lock(&lock);
  usleep(20000); /* work, not a wait for a lock */
}

static int tasks(void) {
  long result = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  result = fibonacci(12);
#pragma omp parallel num_threads(2)
#pragma omp single
  moving_tasks();
  tried_locks();
  printf("%ld %ld %ld\n", made, waited, result);
  return 0;
}

int main(int argc, char** argv) {
  long sum = 0;
  if (argc > 1 && strcmp(argv[1], "tasks") == 0) return tasks();
  omp_set_dynamic(0);
  for (int i = 0; i < 5; ++i) sum += region(i == 4 ? 4 : 0);
  printf("sum %ld\n", sum);
  return 0;
}
