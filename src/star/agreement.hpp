// Agreement between the localities of a run: whether an operation succeeded on all of them, and values of the root.
//
// Thread safety: all localities call these in the same order, each from one thread that is not a worker;
// first_complaint() from a task. Cost: one exchange of a few numbers; none with one locality. Errors: locality_lost,
// thrown. Example: star/agreement_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "step/exchange.hpp"

namespace plx {
class runtime;
}

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

}  // namespace plx::star
