// How soon a posted task runs when all workers sleep.
#pragma once

#include <chrono>

using wake_clock = std::chrono::steady_clock;

/// Posts a task from the calling external thread, waits until it has run, and returns when it started.

using wake_run = wake_clock::time_point();
