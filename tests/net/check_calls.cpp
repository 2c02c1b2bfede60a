#include "job_check.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <functional>
#include <random>
#include <span>
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

// Elements in place: of more than 64 KiB, so that they are divided.
void turn_of_elements(const communicator& c, unsigned turn) {
  constexpr std::size_t count = 10'000;
  const unsigned n = c.size(), r = c.rank();
  const auto of = [turn](unsigned rank, std::size_t i) {
    return value_of(rank, turn + static_cast<unsigned>(i / 100)) * static_cast<double>(i % 100);
  };
  std::vector<double> sums(count), blocks(n * count), copy(count, r), every(n * count);
  for (std::size_t i = 0; i < count; ++i) sums[i] = of(r, i);
  for (unsigned k = 0; k < n; ++k) std::copy(sums.begin(), sums.end(), blocks.begin() + static_cast<long>(k * count));
  const std::vector<double> mine = sums;
  auto whole = c.all_reduce(std::span<double>(sums), std::plus<>());
  auto part = c.reduce_scatter(std::span<double>(blocks), std::plus<>());
  auto gathered = c.all_gather(mine, std::span<double>(every));
  c.broadcast(std::span<double>(copy), turn % n).get();
  whole.get(), part.get(), gathered.get();
  expect(copy == std::vector<double>(count, turn % n), "broadcast of elements", turn);
  expect(std::equal(sums.begin(), sums.end(), blocks.begin() + static_cast<long>(r * count)), "reduce_scatter", turn);
  for (std::size_t i = 0; i < count; i += 100)
    expect(std::bit_cast<std::uint64_t>(sums[i + 1]) ==
               std::bit_cast<std::uint64_t>(sum_of_all(n, turn + static_cast<unsigned>(i / 100))),
           "all_reduce of elements", turn);
  for (unsigned k = 0; k < n; ++k) expect(every[k * count + 77] == of(k, 77), "all_gather of elements", turn);
}

// Each member sends to each, small and large messages in turn, with two tags.
void turn_of_messages(const communicator& c, unsigned turn) {
  constexpr unsigned each = 6;
  const unsigned n = c.size(), r = c.rank();
  const auto contents = [&](unsigned from, unsigned to, unsigned i) {
    return std::vector<unsigned>(i % 2 == 0 ? 3 : 30'000, (from * n + to) * each + i + turn);
  };
  std::vector<future<void>> sent;
  for (unsigned i = 0; i < each; ++i)
    for (unsigned to = 0; to < n; ++to) sent.push_back(c.send(to, i % 3 == 0, contents(r, to, i)));
  std::vector<unsigned> few(3);
  for (unsigned from = 0; from < n; ++from)
    for (const bool tag : {true, false})
      for (unsigned i = 0; i < each; ++i) {
        if ((i % 3 == 0) != tag) continue;
        if (i % 2 == 0)
          c.recv(from, tag, std::span<unsigned>(few)).get();
        else
          expect(c.recv<std::vector<unsigned>>(from, tag).get() == contents(from, r, i), "a large message", turn);
        if (i % 2 == 0) expect(few == contents(from, r, i), "a small message", turn);
      }
  for (auto& f : sent) f.get();
}

}  // namespace

void check_calls() {
  const communicator all, other("other");
  std::mt19937 common(7);
  for (unsigned turn = 0; turn < 2000; ++turn) {
    one_turn(turn % 3 == 0 ? other : all, turn, common);
    if (turn % 100 == 0) turn_of_elements(other, turn), turn_of_messages(all, turn);
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
