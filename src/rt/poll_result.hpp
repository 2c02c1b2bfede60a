// What a poller answers.
#pragma once

#include <cstdint>

namespace plx {

/// Nothing outstanding; something outstanding; something completed just now.
enum class poll_result : std::uint8_t { idle, pending, progressed };

}  // namespace plx
