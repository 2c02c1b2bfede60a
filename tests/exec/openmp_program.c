/* OpenMP in known numbers: 5 parallel regions of 2 threads, a loop and a barrier in each, 4 tasks in the last. */
#include <omp.h>
#include <stdio.h>

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

int main(void) {
  long sum = 0;
  omp_set_dynamic(0);
  for (int i = 0; i < 5; ++i) sum += region(i == 4 ? 4 : 0);
  printf("sum %ld\n", sum);
  return 0;
}
