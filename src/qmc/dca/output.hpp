// The files of a run of plx-dca: tables of iterations, temperatures and Green's functions, and the transition.
//
//   config.toml       all options
//   iterations.csv    one row per iteration, appended as they end
//   temperatures.csv  one row per temperature: averages and eigenvalues, with errors
//   green.csv         G and Sigma of each temperature, momentum and frequency
//   result.json       T_c with its error, and whether the run was complete
//
// Thread safety: none. Errors: results for failed writes. Example: qmc/dca/test/output_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"
#include "qmc/dca/dca.hpp"

namespace plx::qmc {

class dca_output {
 public:
  /// Creates the folder. Error: it contains the files of a run already, or cannot be written.
  static result<dca_output> create(std::string folder, const std::string& config);
  result<void> add(const dca_iteration& i);
  result<void> add(const dca_temperature& t, const cluster& c);
  result<void> finish(const dca_outcome& o);

 private:
  explicit dca_output(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

}  // namespace plx::qmc
