// Collective calls between processes, checked against results that each computes by itself.
#pragma once

#include "net/locality.hpp"

/// Thousands of several kinds, some of them under way together. Throws when a result is wrong.
void check_calls();
/// One after the other, until locality `who` is killed in the middle of them: throws locality_lost on the others.
void call_until_killed(plx::locality_id who);
