// The names that the programs use: those of plx.
#pragma once

#include "rt/event.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/packaged_task.hpp"
#include "rt/shared_mutex.hpp"
#include "rt/thread.hpp"

namespace conformity {
namespace names = plx;
#define PLX_CONFORMITY_PROGRAM with_plx
}  // namespace conformity

#include "traits.hpp"
