// A program that replaces lost localities: slabs of numbers, whose steps depend on all of them, in the same order on
// any number of localities. It stores them in memory, and continues from there after a loss.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/archive.hpp"
#include "net/bitwise.hpp"
#include "net/checkpoint.hpp"
#include "net/collectives.hpp"
#include "net/component.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"

namespace plx::replaced_test {

struct sum_of {
  unsigned number = 0;
  double sum = 0;
};

struct slab {
  unsigned number = 0;
  int step = 0;
  std::vector<double> cells;

  slab() = default;
  explicit slab(unsigned n) : number(n), cells(37) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = 1.0 / (n + 1.0 + static_cast<double>(i));
  }
  sum_of sum() const {
    sum_of s{number, 0};
    for (const double c : cells) s.sum += c;
    return s;
  }
  void advance(double mean) {
    for (double& c : cells) c = std::sqrt(c * c + 0.3 * mean) * 0.7;
    ++step;
  }
  int at() const { return step; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, step, cells);
  }
};

}  // namespace plx::replaced_test

template <>
inline constexpr bool plx::is_bitwise<plx::replaced_test::sum_of> = true;

namespace plx::replaced_test {

constexpr unsigned n_slabs = 7;
using named_slabs = std::vector<std::pair<std::string, global<slab>>>;

inline named_slabs slabs_of_start(const communicator& all) {
  named_slabs made;
  for (unsigned i = all.rank(); i < n_slabs; i += all.size())
    made.emplace_back(std::to_string(i), new_<slab>(find_here(), i).get());
  return made;
}
/// The sum over all slabs, added in the order of their numbers: the same bits wherever they are.
inline double sum_of_all(const communicator& all, const named_slabs& mine) {
  std::vector<sum_of> here;
  for (const auto& [key, s] : mine) here.push_back(async<&slab::sum>(s).get());
  std::vector<double> sums(n_slabs);
  for (const auto& part : all.all_gather(std::move(here)).get())
    for (const sum_of& s : part) sums.at(s.number) += s.sum;
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}
inline void store(memory_checkpoint& copies, const communicator& all, const named_slabs& mine) {
  checkpoint_set set;
  for (const auto& [key, s] : mine) set.add(key, s);
  copies.store(all, set);
}
/// From the newest checkpoint, or from the beginning if there is none. Throws checkpoint_error if a member and its
/// partner are lost.
inline named_slabs restored(const memory_checkpoint& copies, const communicator& all) {
  try {
    return copies.restore<slab>(all).local<slab>();
  } catch (const checkpoint_error& e) {
    if (std::string(e.what()).find("nothing has been stored") == std::string::npos) throw;
  }
  return slabs_of_start(all);
}

/// The result of a member of the program.
struct result {
  double sum = 0;
  bool is_complete = false;
  std::vector<locality_id> members;  // of the last communicator
  unsigned most_slabs_restored = 0;
  unsigned replacements = 0;  // calls of replace_lost()
};

/// The program, on each member. `after(step)` is called after each step.
template <class After>
void run_slabs(result& r, int steps, After after) {
  memory_checkpoint copies("slabs");
  std::optional<communicator> all = joined();
  bool restores = all.has_value();
  if (!all) all = replace_lost();
  named_slabs mine;
  if (all && !restores) mine = slabs_of_start(*all);
  while (all) try {
      r.members = all->members();
      if (all->all_reduce(restores, std::logical_or<>()).get()) {
        mine = restored(copies, *all);
        r.most_slabs_restored = std::max(r.most_slabs_restored, static_cast<unsigned>(mine.size()));
        restores = false;
      }
      store(copies, *all, mine);
      int step = 0;
      for (const auto& [key, s] : mine) step = async<&slab::at>(s).get();
      step = all->all_reduce(step, maximum()).get();
      while (step < steps) {
        const double mean = sum_of_all(*all, mine) / n_slabs;
        for (const auto& [key, s] : mine) async<&slab::advance>(s, mean).get();
        after(++step);
        if (step % 3 == 0) store(copies, *all, mine);
      }
      r.sum = sum_of_all(*all, mine);
      r.is_complete = true;
      all->barrier().get();
      return;
    } catch (const locality_lost&) {
      all = replace_lost();  // empty: another member has passed the barrier
      ++r.replacements;
      restores = true;
    }
}

}  // namespace plx::replaced_test
