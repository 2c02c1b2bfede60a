// Short loops, repeated: the pattern of a simulation's time steps.
#pragma once

/// One iteration. In a separate file, so that every library runs the same instructions and only the distribution of the
/// iterations differs.
double iterate(double x);

struct loop_work {
  double* values;
  int n;            // iterations of one loop
  int repetitions;  // of the loop, one after another
};

/// values[i] = iterate(values[i]) for each i, `repetitions` times, from within a task of the library.
using loop_run = void(loop_work);
