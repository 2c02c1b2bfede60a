// plx-star make-model: a model of stars in equilibrium from an input, as a file from which runs start.
//
// Thread safety: one call at a time, from a thread that is not a worker. Cost: star/models/self_consistent.hpp.
// Example: tests/cli/test_make_model.py
#pragma once

#include <string>

#include "base/result.hpp"
#include "star/driver/options.hpp"

namespace plx {
class runtime;
}

namespace plx::star {

/// Computes the model of the input, writes it to `path`, and returns the table of its iterations. `build`: the program,
/// for the file. Requires: in.prepare(). Errors: one line: the problem has no model, there is no such model, or the
/// file cannot be written.
result<std::string> make_model(const input& in, const std::string& path, const std::string& build, runtime& rt);

}  // namespace plx::star
