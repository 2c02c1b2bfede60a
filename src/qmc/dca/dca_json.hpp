// Inputs of DCA++ (JSON) as options of plx-dca.
//
// Thread safety: any. Cost: reading a small file. Errors: one line with the file and the path of the key: what was
// expected, found, and the nearest known name. Example: qmc/dca/test/dca_json_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace plx::qmc {

/// An input of DCA++ in the terms of plx-dca.
struct dca_json {
  std::vector<std::string> assignments;  // "key = value", for config_table::set()
  std::vector<std::string> notes;        // settings with another meaning here, for people
};

/// The single-band Hubbard model with CT-AUX. Keys without a counterpart (output, coarse-graining, threads) have no
/// effect. Energies are divided by t. `name` is used by messages. Error: broken JSON, an unknown group or key, a model,
/// channel or option that plx-dca does not have.
result<dca_json> read_dca_json(std::string_view text, const std::string& name);

}  // namespace plx::qmc
