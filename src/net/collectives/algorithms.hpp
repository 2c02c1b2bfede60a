// How the members of a group exchange payloads. Each is called once per member and call; the result goes to
// call::finish().
//
// One payload: dissemination (barrier), binomial trees, recursive doubling. Many: trees of bundles while they are
// small; what is large goes straight to who needs it, or round the ring. Reductions combine contiguous runs of ranks,
// in a tree that depends on the number of members alone: the same result everywhere, bit for bit, whoever the root is.
// Let p be the largest power of two that is at most n: the first 2 (n - p) ranks combine in pairs, then p places in a
// binary tree.
//
// Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 19 (2005) 49; D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", IJPP 17 (1988)
// 1; J. Bruck et al., "Efficient algorithms for all-to-all communications", IEEE TPDS 8 (1997) 1143. Thread safety:
// those of call. Example: net/collectives_test.cpp
#pragma once

#include <vector>

#include "net/collectives/call.hpp"

namespace plx::net::collective {

/// Payloads from this size on do not go through trees.
inline constexpr std::size_t large_bytes = std::size_t{1} << 16;

/// Nothing; when all have come.
algorithm meet(call& c);
/// That of the root, everywhere.
algorithm spread(call& c, payload mine, unsigned root);
/// All combined: at the root, one payload; elsewhere, none.
algorithm combine_at(call& c, payload mine, unsigned root);
/// All combined: everywhere.
algorithm combine_all(call& c, payload mine);
/// All, by rank: at the root; elsewhere, none.
algorithm collect_at(call& c, payload mine, unsigned root);
/// All, by rank: everywhere.
algorithm collect_all(call& c, payload mine);
/// What the root has for each rank. `all`: at the root, one per rank.
algorithm deal(call& c, std::vector<payload> all, unsigned root);
/// What each rank has for each.
algorithm exchange_all(call& c, std::vector<payload> all);
/// Those of ranks 0 to this one combined, or (`exclusive`) without this one's, of which rank 0 has none.
algorithm combine_up_to(call& c, payload mine, bool exclusive);

}  // namespace plx::net::collective
