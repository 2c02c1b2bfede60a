// The modes of job_check that access windows.
#pragma once

#include "net/locality.hpp"

/// Puts, gets, atomic operations and signals between all localities. Throws std::logic_error if a result is wrong.
void check_windows();
/// Accesses memory of all localities until `victim` is killed; the others check that their operations end, and that
/// they can continue without it.
void access_until_killed(plx::locality_id victim);
/// How this locality reaches the memory of the others: memory, direct or messages.
const char* way_of_windows();
