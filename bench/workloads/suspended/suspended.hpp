#pragma once

/// Makes `tasks` tasks that wait for one event, calls `all_wait()` when each of them does, and ends them. Returns how
/// many ended.
using suspended_run = long(long tasks, void (*all_wait)());
