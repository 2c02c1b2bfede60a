// Cell updates per second on a uniform periodic mesh of 64^3 cells: PPM, RK3, the exchange of ghosts and the choice of
// the time step included. One cell update is one cell advanced by a whole step of three stages. Scheme `faces` (HLLC):
// blocks of 8^3, 16^3 and 32^3 cells on one worker, and of 8^3 on two; scheme `full3d`: blocks of 8^3.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "report.hpp"
#include "rt/runtime.hpp"
#include "star/refine/regrid.hpp"
#include "star/runners/stepper.hpp"

namespace {

using namespace plx;

constexpr int cells_along = 64;

std::unique_ptr<star::input> smooth_flow(int block_size, const char* scheme) {
  const int blocks = cells_along / block_size;
  const std::string roots = std::to_string(blocks);
  const std::string text =
      "[problem]\nname = \"linear_wave\"\n[linear_wave]\namplitude = 0.1\ndirection = [1, 1, 1]\n"
      "[mesh]\nblock_size = " +
      std::to_string(block_size) + "\nroot_blocks = [" + roots + "," + roots + "," + roots + "]\n" +
      "sides = [\"periodic\", \"periodic\", \"periodic\", \"periodic\", \"periodic\", \"periodic\"]\n" +
      "[hydro]\nscheme = \"" + scheme + "\"\n";
  auto in = star::input::from_text(text, "benchmark", {});
  if (!in) {
    std::fprintf(stderr, "%s\n", in.error().message.c_str());
    std::exit(1);
  }
  return *std::move(in);
}

/// A runtime and a gas in it that can be advanced for some steps.
class workload {
 public:
  workload(int block_size, unsigned workers, const char* scheme = "faces")
      : runtime_({.workers = workers}),
        input_(smooth_flow(block_size, scheme)),
        setup_(input_->prepare().value()),
        gas_(setup_),
        stepper_(gas_, setup_, workers) {
    runtime_.run(
        [this] { star::build_initial(gas_, setup_, input_->refinement, *input_->problem, stepper_.scratch()); });
  }

  /// M cell updates/s over some steps.
  double measure(int steps) {
    const double begin = monotonic_seconds();
    runtime_.run([&] {
      for (int i = 0; i < steps; ++i) stepper_.advance(setup_.cfl / gas_.largest_signal_rate(), 0.0);
    });
    return 1e-6 * steps * static_cast<double>(gas_.cell_count()) / (monotonic_seconds() - begin);
  }

 private:
  runtime runtime_;
  std::unique_ptr<star::input> input_;
  star::setup setup_;
  star::gas gas_;
  star::stepper stepper_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::report report(argc, argv);
  const int steps = report.rest().empty() ? 3 : std::atoi(report.rest().front().c_str());
  workload b8(8, 1), b16(16, 1), b32(32, 1), b8_w2(8, 2), full(8, 1, "full3d"), full_w2(8, 2, "full3d");
  const struct {
    const char* name;
    workload& work;
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
    for (std::size_t i = 0; i < std::size(all); ++i) rates[i].push_back(all[i].work.measure(all[i].steps));
  for (std::size_t i = 0; i < std::size(all); ++i)
    report.add(all[i].name, bench::median(rates[i]), "M cell updates/s", bench::higher);
  return report.finish();
}
