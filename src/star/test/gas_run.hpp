// Test fixtures: one run of a problem in this process, and numbers over its cells.
//
// Thread safety: none. Cost: that of the run. Example: star/test/gravitating_gas_test.cpp
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "star/output/analysis.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star::test {

/// A run in a box of edge 2 of an ideal gas with gamma = 5/3 on one level, unless `sets` say otherwise.
struct gas_run {
  std::unique_ptr<input> in;
  setup s;
  runtime rt{{.workers = 2}};
  std::unique_ptr<simulation> sim;

  explicit gas_run(std::vector<std::string> sets) {
    sets.insert(sets.begin(), {"mesh.lower=[-1,-1,-1]", "mesh.upper=[1,1,1]", "mesh.max_level=0",
                               "refinement.gradient_of=[]", "hydro.gamma=1.6666666666666667", "run.max_steps=0"});
    in = blast(sets);
    s = in->prepare().value();
    sim = std::make_unique<simulation>(*in, s, rt);
    sim->start();
  }
  /// The numbers of an analysis of the state.
  std::vector<double> row(const char* name) {
    const auto a = make_analysis(name).value();
    return rt.run([&] { return analyse(*a, sim->state(), s.hydro, rt.worker_count()); });
  }
  void finish() {
    while (!sim->finished()) ASSERT_TRUE(sim->step());
  }
};

}  // namespace plx::star::test
