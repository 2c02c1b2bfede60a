#pragma once

/// Creates `tasks` tasks that wait for one event, calls `all_wait()` when all of them wait, and ends them. Returns the
/// number that ended.
using suspended_run = long(long tasks, void (*all_wait)());
