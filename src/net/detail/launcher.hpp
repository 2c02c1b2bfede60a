// Who started this process, by the variables of the environment that launchers set.
//
// Thread safety: as getenv. Example: net/find_transport_test.cpp
#pragma once

namespace plx::net::detail {

/// PMIx is offered: PMIX_RANK and PMIX_NAMESPACE are set.
bool offers_pmix() noexcept;
/// A variable that says that this process is one of several; null when there is none.
const char* launched_by() noexcept;

}  // namespace plx::net::detail
