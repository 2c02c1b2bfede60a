// The names of the programs: ours.
#pragma once

#include "rt/jthread.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/once.hpp"
#include "rt/packaged_task.hpp"
#include "rt/recursive_mutex.hpp"
#include "rt/shared_mutex.hpp"

namespace conformity {
namespace names = plx;
#define PLX_CONFORMITY_PROGRAM with_plx
}  // namespace conformity

#include "traits.hpp"
