/* A C program outside the repository that measures itself. */
#include "attach/plx_probe.h"

int main(void) {
  plx_probe_timer t = plx_probe_timer_named("work");
  plx_probe_init();
  plx_probe_start(t);
  plx_probe_stop(t);
  return plx_probe_measuring() ? 0 : 1;
}
