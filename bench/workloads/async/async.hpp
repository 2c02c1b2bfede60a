// Empty tasks that are waited for.
#pragma once

struct async_work {
  int tasks;      // total
  int per_batch;  // 1: each is waited for before the next is created
};

/// Creates the tasks and waits for them, from within a task of the library. Returns the number of tasks that ran.
using async_run = int(async_work);
