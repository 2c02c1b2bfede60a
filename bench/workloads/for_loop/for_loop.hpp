// Short loops, again and again: what a time step of a simulation is made of.
#pragma once

/// One iteration. In a file of its own, so that it is the same instructions for every library, and what differs is how
/// the iterations are handed out.
double iterate(double x);

struct loop_work {
  double* values;
  int n;            // iterations of one loop
  int repetitions;  // of the loop, one after the other
};

/// values[i] = iterate(values[i]) for each i, `repetitions` times, from within a task of the library.
using loop_run = void(loop_work);
