// The text of an input of DCA++ as JSON, with numbers "1." and ".5" that JSON does not have.
//
// Thread safety: any. Cost: reading a small file. Errors: one line with the file and the place: broken JSON, a number
// that is too large, a key that an object has twice. Example: qmc/dca/test/dca_json_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx::qmc {

/// `name` is used by messages.
result<nlohmann::json> parse_dca_json(std::string_view text, const std::string& name);

}  // namespace plx::qmc
