// How soon a posted task runs when everybody sleeps.
#pragma once

#include <chrono>

using wake_clock = std::chrono::steady_clock;

/// Posts a task from the calling thread, which is no worker, waits until it ran, and returns when it began.
using wake_run = wake_clock::time_point();
