// The modes of job_check: collective calls, compared with results that each process computes separately, objects and
// windows.
#pragma once

#include <string>

#include "net/locality.hpp"

/// Thousands of calls of several types, some of them concurrent. Throws if a result is wrong.
void check_calls();
/// Successive calls, until the given locality is killed during one of them: throws locality_lost on the others.
void call_until_killed(plx::locality_id who);

/// Each locality makes objects on `victim`, keeps some and gives others to its neighbour; one stays there.
void make_accounts(plx::locality_id victim);
/// The survivors call all of these, as soon as each knows that `victim` is lost. Throws std::logic_error if a call of a
/// living object fails, or one of a lost object does not.
void use_accounts(plx::locality_id victim);
/// In a later run: no call was lost or made twice, objects still move, and nothing is left of them afterwards.
void check_accounts(plx::locality_id victim);

/// Puts, gets, atomic operations and signals between all localities. Throws std::logic_error if a result is wrong.
void check_windows();
/// Accesses memory of all localities until `victim` is killed; the others check that their operations end, and that
/// they can continue without it.
void access_until_killed(plx::locality_id victim);
/// How this locality reaches the memory of the others: memory, direct or messages.
const char* way_of_windows();

/// Stores objects and a vector in memory until `victim` is killed; the others restore the newest version. Throws
/// std::logic_error if something is missing or wrong.
void store_until_killed(plx::locality_id victim, int after_ms);

/// The slabs of replaced_slabs_test.hpp, while the localities in a list "1,3" kill themselves after this step; spares
/// replace them. Prints the result.
void replace_killed(const std::string& victims, int kill_after_step);
/// `victim` is killed, and the spare that replaces it throws.
void throw_on_spare(plx::locality_id victim);
/// The number of members.
int value_with_spares();
