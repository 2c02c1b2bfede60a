/* A C99 program that measures itself, with known counts. Prints whether it is measured. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/plx_probe.h"

static plx_probe_timer solve, step;
static plx_probe_counter* blocks;
static plx_probe_paused paused;

static double answer(void* context) { return *(const double*)context; }

static void* work(void* argument) {
  const int n = *(const int*)argument;
  plx_probe_name_thread("helper");
  for (int i = 0; i < n; ++i) {
    plx_probe_start(solve);
    plx_probe_start_on(step, (uint64_t)i % 4);
    plx_probe_count(blocks, 2);
    plx_probe_stop(step);
    plx_probe_stop(solve);
  }
  if (paused.valid) { /* started in main */
    plx_probe_resume(paused);
    plx_probe_stop(step);
    paused.valid = 0;
  }
  return NULL;
}

int main(int argc, char** argv) {
  static double value = 42; /* read until the files are written, after main has returned */
  int n = 10;
  const int on = plx_probe_init_arguments(&argc, argv);
  if (!on && argc > 1 && strcmp(argv[1], "must") == 0) {
    fprintf(stderr, "%s\n", plx_probe_error());
    return 3;
  }
  solve = plx_probe_timer_named("solve");
  step = plx_probe_timer_named("step");
  blocks = plx_probe_counter_named("/mesh/count/blocks", "1", "Blocks of the mesh");
  if (plx_probe_counter_named("no name", "1", "") != NULL) return 4;
  if (strstr(plx_probe_error(), "no name") == NULL) return 5;
  if (on && plx_probe_add_counter("/own/answer", "1", "The answer", &answer, &value) == 0) return 6;
  if (on && plx_probe_add_counter("/own/answer", "1", "Again", &answer, &value) != 0) return 7;

  plx_probe_start(step);
  paused = plx_probe_yield();
  for (int i = 0; i < 20; ++i) { /* one at a time, so that two rows are enough */
    pthread_t t;
    if (pthread_create(&t, NULL, &work, &n) != 0) return 8;
    pthread_join(t, NULL);
  }
  for (int i = 1; i <= 4; ++i) plx_probe_sample("residual", i);
  plx_probe_mark("half way");
  if (on && argc > 1 && strcmp(argv[1], "write") == 0) {
    if (!plx_probe_write()) return 9;
    abort(); /* files that were written remain */
  }
  plx_probe_stop(solve); /* not running: counted as an error, otherwise ignored */
  printf("on %d, arguments %d\n", on, argc);
  return 0;
}
