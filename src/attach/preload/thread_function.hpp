// What a new thread runs, by its name in the program.
//
// Thread safety: everything. Cost: a look into symbol tables, which are read at the first time of each file.
// Example: tests/exec/plx_exec_test.cpp
#pragma once

#include "probe/record/names.hpp"

namespace plx::probe {

/// The function that a thread of pthread_create(routine, argument) is about: of a std::thread of libstdc++ what was
/// given to it, else the routine.
name_id thread_function(void* (*routine)(void*), void* argument);

}  // namespace plx::probe
