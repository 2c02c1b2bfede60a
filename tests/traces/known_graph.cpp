// known_graph ROUNDS WIDTH: each round, WIDTH leaves (key: round * WIDTH + i), then a "sum" (key: round) that needs all
// of them and the previous sum. PLX_TRACE and similar settings select the measurements.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/log.hpp"
#include "rt/async.hpp"
#include "rt/dataflow.hpp"
#include "rt/runtime.hpp"

int main(int argc, char** argv) {
  plx::log_to_stderr(plx::log_level::warning);
  const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10;
  const std::uint64_t width = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10;
  static const auto leaf = plx::probe::register_name("leaf"), sum = plx::probe::register_name("sum \"all\"");
  plx::runtime rt({.workers = 2});
  const std::uint64_t total = rt.run([&] {
    plx::future<std::uint64_t> last = plx::make_ready_future(std::uint64_t{0});
    for (std::uint64_t r = 0; r < rounds; ++r) {
      std::vector<plx::future<std::uint64_t>> leaves;
      leaves.reserve(width);
      for (std::uint64_t i = 0; i < width; ++i)
        leaves.push_back(plx::async(plx::task_info{leaf, r * width + i}, [] { return std::uint64_t{1}; }));
      last = plx::dataflow(
          plx::task_info{sum, r},
          [](plx::future<std::uint64_t> before, std::vector<plx::future<std::uint64_t>> all) {
            std::uint64_t n = before.get();
            for (auto& f : all) n += f.get();
            return n;
          },
          std::move(last), std::move(leaves));
      if (r % 16 == 15) last.wait();  // limits the number of concurrent rounds
    }
    return last.get();
  });
  std::printf("%llu\n", static_cast<unsigned long long>(total));
  return total == rounds * width ? 0 : 1;
}
