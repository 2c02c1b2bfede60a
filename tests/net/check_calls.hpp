// Collective calls between processes, compared with results that each process computes separately.
#pragma once

#include "net/locality.hpp"

/// Thousands of calls of several types, some of them concurrent. Throws if a result is wrong.
void check_calls();
/// Successive calls, until the given locality is killed during one of them: throws locality_lost on the others.
void call_until_killed(plx::locality_id who);
