// How late the system may end a thread's sleep. By default up to 50 us, so that it can wake several sleepers at once.
//
// Thread safety: of the calling thread. Cost: a system call where something changes, else a load.
#pragma once

namespace plx::detail {

/// The calling thread's sleeps end as soon as they can, or as they did at first. Gives what was asked for before, for
/// who asks for a while only.
bool sleep_sharply(bool sharply) noexcept;

}  // namespace plx::detail
