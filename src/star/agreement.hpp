// What all localities of a run must know alike: whether what each did by itself has worked everywhere, and what the
// root says.
//
// Thread safety: all localities call these in the same order, each from one thread that is no worker; first_complaint()
// from a task. Cost: an exchange of some numbers; alone none. Errors: locality_lost, thrown.
// Example: star/agreement_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "star/exchange.hpp"

namespace plx {
class runtime;
}

namespace plx::star {

/// Success when all localities had it; else, on all of them, the error of the first that has one, which it names.
result<void> agree(exchange& net, runtime& rt, const result<void>& mine);

/// The same of texts, for tasks: "" when all have nothing to say.
std::string first_complaint(exchange& net, const std::string& mine);

/// The numbers that the root gives.
std::vector<double> from_root(exchange& net, runtime& rt, std::vector<double> mine);

/// Whether `text` is that of the root, line by line; the error says how the first differs.
result<void> same_as_root(exchange& net, runtime& rt, std::string_view text);

/// Is this the locality that writes what there is one of?
inline bool is_root(const exchange& net) { return net.here() == 0; }

}  // namespace plx::star
