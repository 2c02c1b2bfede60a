// A checkpoint in memory of 64 objects of 1 MiB on each process, beside memcpy of as many bytes.
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "net/archive.hpp"
#include "net/checkpoint.hpp"
#include "net/job.hpp"
#include "net/locality.hpp"
#include "parts.hpp"

namespace plx::bench {
namespace {

constexpr std::size_t objects = 64, doubles = std::size_t{1} << 17;
constexpr double bytes = static_cast<double>(objects * doubles * sizeof(double));

struct slab {
  std::vector<double> cells;

  slab() = default;
  explicit slab(std::size_t n) : cells(n, 1.0) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(cells);
  }
};

}  // namespace

void checkpoint(inside& in) {
  std::vector<double> stores, copies, restores;  // GB/s of each process
  in.j.run([&] {
    const communicator all;
    std::vector<global<slab>> slabs;
    checkpoint_set mine;
    for (std::size_t i = 0; i < objects; ++i) {
      slabs.push_back(new_<slab>(find_here(), doubles).get());
      mine.add(fmt::format("{}-{}", find_here(), i), slabs.back());
    }
    memory_checkpoint kept("bench");
    std::vector<double> from(objects * doubles, 1.0), to(objects * doubles);
    const auto rate = [&](auto f) {
      all.barrier().get();
      const double begin = monotonic_seconds();
      f();
      return bytes / (monotonic_seconds() - begin) * 1e-9;
    };
    for (int i = 0; all.broadcast(in.more(i, 50)).get(); ++i) {
      stores.push_back(rate([&] { kept.store(all, mine); }));
      copies.push_back(rate([&] { std::memcpy(to.data(), from.data(), to.size() * sizeof(double)); }));
      restores.push_back(rate([&] { static_cast<void>(kept.restore<slab>(all)); }));
    }
  });
  if (in.j.here() != 0) return;
  const std::string name = fmt::format("net/checkpoint{}/", in.suffix);
  in.rows.add(name + "store", median(stores), "GB/s", higher);
  in.rows.add(name + "memcpy", median(copies), "GB/s", higher);
  in.rows.add(name + "restore", median(restores), "GB/s", higher);
}

}  // namespace plx::bench
