// Cell updates per second on a uniform periodic mesh of 64^3 cells: PPM, RK3, the exchange of ghosts and the choice of
// the time step included. One cell update is one cell advanced by a whole step of three stages. Scheme `faces` (HLLC):
// blocks of 8^3, 16^3 and 32^3 cells on one worker, and of 8^3 on two; scheme `full3d`: blocks of 8^3.
#include <cstdlib>
#include <string>
#include <vector>

#include "gas_workload.hpp"
#include "report.hpp"

namespace {

using namespace plx;

constexpr int cells_along = 64;

bench::gas_workload smooth_flow(int block_size, unsigned workers, const char* scheme = "faces") {
  const std::string roots = std::to_string(cells_along / block_size);
  return bench::gas_workload(
      bench::input_of("[problem]\nname = \"linear_wave\"\n[linear_wave]\namplitude = 0.1\ndirection = [1, 1, 1]\n"
                      "[mesh]\nblock_size = " +
                      std::to_string(block_size) + "\nroot_blocks = [" + roots + "," + roots + "," + roots + "]\n" +
                      "sides = [\"periodic\", \"periodic\", \"periodic\", \"periodic\", \"periodic\", \"periodic\"]\n" +
                      "[hydro]\nscheme = \"" + scheme + "\"\n"),
      workers);
}

}  // namespace

int main(int argc, char** argv) {
  bench::report report(argc, argv);
  const int steps = report.rest().empty() ? 3 : std::atoi(report.rest().front().c_str());
  bench::gas_workload b8 = smooth_flow(8, 1), b16 = smooth_flow(16, 1), b32 = smooth_flow(32, 1),
                      b8_w2 = smooth_flow(8, 2), full = smooth_flow(8, 1, "full3d"),
                      full_w2 = smooth_flow(8, 2, "full3d");
  const struct {
    const char* name;
    bench::gas_workload& work;
    int steps;
  } all[] = {{"star/faces/b8", b8, steps},
             {"star/faces/b16", b16, steps},
             {"star/faces/b32", b32, steps},
             {"star/faces/b8/w2", b8_w2, steps},
             {"star/full3d/b8", full, (steps + 2) / 3},
             {"star/full3d/b8/w2", full_w2, (steps + 2) / 3}};
  std::vector<double> rates[std::size(all)];
  for (const auto& one : all) one.work.measure(1);
  for (int turn = 0; turn < 7; ++turn)
    for (std::size_t i = 0; i < std::size(all); ++i)
      rates[i].push_back(1e-6 * all[i].work.cells() / all[i].work.measure(all[i].steps));
  for (std::size_t i = 0; i < std::size(all); ++i)
    report.add(all[i].name, bench::median(rates[i]), "M cell updates/s", bench::higher);
  return report.finish();
}
