// The name of the function that a new thread runs.
//
// Thread safety: all functions. Cost: a lookup in symbol tables, which are read on first use of each file.
// Example: tests/exec/plx_exec_test.cpp
#pragma once

#include "probe/record/names.hpp"

namespace plx::probe {

/// The function that a thread of pthread_create(routine, argument) executes: for a std::thread of libstdc++ its
/// callable, otherwise the routine.
name_id thread_function(void* (*routine)(void*), void* argument);

}  // namespace plx::probe
