// The names that the programs use: those of the standard library.
#pragma once

#include <barrier>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <thread>

namespace conformity {
namespace names = std;
#define PLX_CONFORMITY_PROGRAM with_std
}  // namespace conformity

#include "traits.hpp"
