#include "job_check.hpp"

#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "net/collectives.hpp"
#include "net/locality.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;

void expect(bool right, const char* what, unsigned turn) {
  if (!right) throw std::logic_error(std::string(what) + " is wrong at turn " + std::to_string(turn));
}

// Numbers whose sum depends on the order; every rank can compute all of them.
double value_of(unsigned rank, unsigned turn) {
  std::mt19937_64 random(rank * 1'000'003u + turn);
  return std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 100));
}

// An independent implementation of the documented reduction tree: pairs first, then a binary tree.
double sum_of_all(unsigned n, unsigned turn) {
  std::vector<double> places;
  const unsigned paired = 2 * (n - std::bit_floor(n));
  for (unsigned i = 0; i < paired; i += 2) places.push_back(value_of(i, turn) + value_of(i + 1, turn));
  for (unsigned i = paired; i < n; ++i) places.push_back(value_of(i, turn));
  while (places.size() > 1) {
    for (std::size_t i = 0; i < places.size() / 2; ++i) places[i] = places[2 * i] + places[2 * i + 1];
    places.resize(places.size() / 2);
  }
  return places[0];
}

void one_turn(const communicator& c, unsigned turn, std::mt19937& common) {
  const unsigned n = c.size(), r = c.rank(), root = common() % n;
  const double mine = value_of(r, turn), sum = sum_of_all(n, turn);
  const std::size_t size = common() % 1000;  // some sizes exceed one shared-memory message
  auto whole = c.all_reduce(mine, std::plus<>());
  auto part = c.reduce(mine, std::plus<>(), root);
  auto values = c.all_gather(mine);
  auto block = c.broadcast(r == root ? std::vector<double>(size, turn) : std::vector<double>(), root);
  if (common() % 8 == 0) c.barrier().get();
  expect(std::bit_cast<std::uint64_t>(whole.get()) == std::bit_cast<std::uint64_t>(sum), "all_reduce", turn);
  const auto reduced = part.get();
  expect(reduced.has_value() == (r == root) && reduced.value_or(sum) == sum, "reduce", turn);
  const auto all = values.get();
  for (unsigned i = 0; i < n; ++i) expect(all[i] == value_of(i, turn), "all_gather", turn);
  expect(block.get() == std::vector<double>(size, turn), "broadcast", turn);
}

}  // namespace

void check_calls() {
  const communicator all, other("other");
  std::mt19937 common(7);
  for (unsigned turn = 0; turn < 2000; ++turn) {
    one_turn(turn % 3 == 0 ? other : all, turn, common);
    // From time to time one rank is late enough for the others to sleep.
    if (turn % 400 == 0 && all.rank() == turn / 400 % all.size()) this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void call_until_killed(locality_id who) {
  if (find_here() == who)
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      std::raise(SIGKILL);
    }).detach();
  const communicator all;
  for (unsigned turn = 0;; ++turn)
    expect(all.all_reduce(value_of(all.rank(), turn), std::plus<>()).get() == sum_of_all(all.size(), turn), "the sum",
           turn);
}
