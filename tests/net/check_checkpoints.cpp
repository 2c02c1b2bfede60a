// Checkpoints in memory while a process is killed at an arbitrary time.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "job_check.hpp"
#include "net/archive.hpp"
#include "net/checkpoint.hpp"
#include "net/core/node.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/partitioned_vector.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;

constexpr unsigned slabs_each = 3;
constexpr std::size_t vector_size = 1001;

double cell_of(unsigned number, int version, std::size_t i) {
  return number * 1e6 + version * 1e-3 + static_cast<double>(i);
}

struct slab {
  unsigned number = 0;
  int version = 0;
  std::vector<double> cells;

  slab() = default;
  slab(unsigned n, int v) : number(n), version(v), cells(100'000) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = cell_of(n, v, i);
  }
  /// The version if all cells belong to it, otherwise -1.
  int check() const {
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (cells[i] != cell_of(number, version, i)) return -1;
    return cells.size() == 100'000 ? version : -1;
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, version, cells);
  }
};

void expect(bool right, const std::string& what) {
  if (!right) throw std::logic_error(what);
}

// From another thread, so that the signal arrives at an arbitrary point.
void be_killed_in(int after_ms) {
  std::thread([after_ms] {
    std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
    kill(getpid(), SIGKILL);
  }).detach();
}

// The victim is killed after it has stored once.
void store_for_ever(memory_checkpoint& copies, int& stored, locality_id victim, int after_ms) {
  const communicator all;
  partitioned_vector<double> numbers("before", vector_size);
  for (int version = 1;; ++version) {
    checkpoint_set mine;
    for (unsigned k = 0; k < slabs_each; ++k) {
      const unsigned number = find_here() * slabs_each + k;
      mine.add(std::to_string(number), new_<slab>(find_here(), number, version).get());
    }
    for (double& x : numbers.local()) x = version;
    mine.add("numbers", numbers);
    copies.store(all, mine);
    stored = version;
    if (version == 1 && find_here() == victim) be_killed_in(after_ms);
  }
}

void check_restored(const memory_checkpoint& copies, unsigned n, int stored) {
  const communicator rest("rest", find_all_localities());
  const restored_objects back = copies.restore<slab>(rest);
  partitioned_vector<double> numbers("after", rest.members());
  back.read("numbers", numbers);
  std::vector<std::string> keys;
  for (unsigned i = 0; i < n * slabs_each; ++i) keys.push_back(std::to_string(i));
  const std::vector<int> versions(vector_size, async<&slab::check>(back.find<slab>({"0"})[0]).get());
  expect(versions[0] >= stored, "an old version was restored");
  for (const auto& s : back.find<slab>(keys)) {
    expect(static_cast<bool>(s), "an object was not restored");
    expect(async<&slab::check>(s).get() == versions[0], "an object has another version");
  }
  expect(numbers.size() == vector_size, "the vector has another size");
  for (const double x : numbers.local()) expect(x == versions[0], "an element has another version");
  const auto made = static_cast<unsigned>(back.local<slab>().size());
  expect(rest.all_reduce(made, std::plus<>()).get() == n * slabs_each, "an object was made twice");
  rest.barrier().get();
}

}  // namespace

void store_until_killed(locality_id victim, int after_ms) {
  int stored = 0;
  memory_checkpoint copies("slabs");
  try {
    store_for_ever(copies, stored, victim, after_ms);
  } catch (const locality_lost& e) {
    expect(e.which() == victim, "another locality is lost");
  }
  while (!net::node_here().is_lost(victim)) this_thread::sleep_for(std::chrono::milliseconds(1));
  check_restored(copies, locality_count(), stored);
}
