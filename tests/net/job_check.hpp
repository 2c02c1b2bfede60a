// The modes of job_check: collective calls, compared with results that each process computes separately, and windows.
#pragma once

#include "net/locality.hpp"

/// Thousands of calls of several types, some of them concurrent. Throws if a result is wrong.
void check_calls();
/// Successive calls, until the given locality is killed during one of them: throws locality_lost on the others.
void call_until_killed(plx::locality_id who);

/// Puts, gets, atomic operations and signals between all localities. Throws std::logic_error if a result is wrong.
void check_windows();
/// Accesses memory of all localities until `victim` is killed; the others check that their operations end, and that
/// they can continue without it.
void access_until_killed(plx::locality_id victim);
/// How this locality reaches the memory of the others: memory, direct or messages.
const char* way_of_windows();
