// Agreement between the localities of a run: whether an operation succeeded on all of them, values of the root, and
// sums over localities, which are exact.
//
// Thread safety: all localities call these in the same order, each from one thread that is not a worker;
// first_complaint() and sum_over_localities() from a task. Cost: one exchange of a few numbers; none with one locality.
// Errors: locality_lost, thrown. Example: star/driver/test/agreement_test.cpp
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "step/exchange.hpp"

namespace plx {
class exact_sum;
class runtime;
}  // namespace plx

namespace plx::star {

/// Success if `mine` is success on all localities; otherwise, on all of them, the first error, with its locality.
result<void> agree(step::exchange& net, runtime& rt, const result<void>& mine);

/// The same for texts, called in a task: "" if every locality passes "".
std::string first_complaint(step::exchange& net, const std::string& mine);

/// Returns the root's numbers on all localities.
std::vector<double> from_root(step::exchange& net, runtime& rt, std::vector<double> mine);

/// Success if `text` equals the root's text; the error shows the first line that differs.
result<void> same_as_root(step::exchange& net, runtime& rt, std::string_view text);

/// True on the locality that writes the files that exist once per run.
inline bool is_root(const step::exchange& net) { return net.here() == 0; }

/// Replaces each sum by its total over all localities.
void sum_over_localities(step::exchange& net, std::span<exact_sum> sums);
/// Exact sums as numbers, which are bit patterns, not values: appends how many there are, and each of them.
void append(std::span<const exact_sum> sums, std::vector<double>& to);
/// The number of sums in `from`.
std::size_t count_of_sums(std::span<const double> from);
/// Adds the sums in `from` to `sums`, one to each. Requires: equal numbers of sums.
void add(std::span<const double> from, std::span<exact_sum> sums);

}  // namespace plx::star
