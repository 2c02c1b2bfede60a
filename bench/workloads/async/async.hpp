// Empty tasks whose end is waited for.
#pragma once

struct async_work {
  int tasks;      // in all
  int per_batch;  // 1: each is waited for before the next is made
};

/// Makes and waits for the tasks, from within a task of the library. Returns how many tasks ran.
using async_run = int(async_work);
