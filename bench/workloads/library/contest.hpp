// A contest: the same work done with several libraries, timed in turns within one run.
//
//   namespace with_tbb {                             contest c(argc, argv);
//   long count(int n) { ... }                        in_turns<long(int)>(c, 7, [&](const entry<long(int)>& e) {
//   const entry<long(int)> me("tbb", count);           return timed([&] { check(e.run(20) == 1024); }); });
//   }
//
// An entry is a section of the workload's file, a library a section of libraries.cpp. Both register themselves when the
// program starts, so that leaving one out of the build leaves its rows out of the table.
// Not thread-safe: used by main. Example: bench/workloads/fib.cpp
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "report.hpp"

/// Like a function of another translation unit: its callers neither inline nor analyse it. For work that all libraries
/// share, so that they run the same instructions.
#if defined(__clang__)
#define PLX_BENCH_OPAQUE [[gnu::noinline]]
#else
#define PLX_BENCH_OPAQUE [[gnu::noipa]]
#endif

namespace plx::bench {

/// Creates and destroys the workers of one library. One library runs at a time.
struct library {
  library(const char* name, std::string (*version)(), void (*start)(unsigned workers), void (*stop)());
  const char* name;
  std::string (*version)();
  void (*start)(unsigned workers);
  void (*stop)();

  static std::vector<const library*>& all();
  /// The library that an entry `label` uses: "plx" for "plx" and "plx-async".
  static const library& of(const char* label);
  /// plx first, then the other libraries, then serial; variants after their library.
  static int rank(const char* label);
};

/// One implementation of the work. `label` is LIBRARY or LIBRARY-VARIANT.
template <class Function>
struct entry {
  entry(const char* l, Function* f) : label(l), run(f) { list().push_back(this); }
  const char* label;
  Function* run;

  [[nodiscard]] bool is(const char* name) const { return std::strcmp(label, name) == 0; }
  static std::vector<const entry*> all() {
    std::stable_sort(list().begin(), list().end(),
                     [](const entry* a, const entry* b) { return library::rank(a->label) < library::rank(b->label); });
    return list();
  }

 private:
  static std::vector<const entry*>& list() {
    static std::vector<const entry*> l;
    return l;
  }
};

/// Times of a section of the program.
struct interval {
  double wall_s = 0;
  double core_s = 0;    // of all threads of this process
  double stolen_s = 0;  // in which threads of this process were ready but other processes ran

  /// Core time that the machine offered to `threads` threads, used or not: wall time x threads, minus the time taken by
  /// other processes. On an otherwise idle machine the latter is zero.
  [[nodiscard]] double offered_s(unsigned threads) const { return std::max(wall_s * threads - stolen_s, 0.2 * wall_s); }
  /// Wall time, minus the share taken by other processes.
  [[nodiscard]] double calm_s(unsigned threads) const { return offered_s(threads) / threads; }
};

class stopwatch {
 public:
  stopwatch();
  [[nodiscard]] interval read() const;

 private:
  interval begin_;
};

template <class F>
interval timed(F&& f) {
  const stopwatch watch;
  f();
  return watch.read();
}

/// The command line of all programs of workloads/, and their results.
class contest {
 public:
  /// Ends the program with code 2 and the usage message if the command line is invalid.
  contest(int argc, char** argv);

  report numbers;
  unsigned threads = 1;  // the same for every library
  bool quick = false;    // smaller problems and fewer turns: only checks that everything runs

  /// False for a part of the program that is not selected by `--only PART,PART...`.
  [[nodiscard]] bool wants(const std::string& part) const;
  [[nodiscard]] int turns(int n) const { return quick ? std::min(n, 3) : n; }
  /// Reports the share of time that other processes took; called at the end. Returns the exit code of the program.
  int finish();

  /// Records how much of the sample other processes took; true if it was too much for a fair comparison.
  bool disturbed(const interval& sample, unsigned workers);

 private:
  std::string only_;  // ",part,part," or empty
  double stolen_s_ = 0, offered_s_ = 0;
};

/// Lets the threads of the previous library fall asleep.
void settle();

[[noreturn]] void wrong_result(const std::string& who, const std::string& what);
template <class T>
void expect_same(const char* who, const T& got, const T& expected) {
  if (!(got == expected)) {
    if constexpr (requires { std::to_string(got); })
      wrong_result(who, "gave " + std::to_string(got) + ", expected " + std::to_string(expected));
    else
      wrong_result(who, "gave another result than the serial program");
  }
}

template <class Function>
struct median_of {
  const entry<Function>* who;
  interval time;  // the median of each field
};

/// `measure(entry)` returns the interval of one turn. Every turn calls it for each entry, after the workers of its
/// library were created, with `workers` threads. Turns in which other processes took more than a twentieth are
/// repeated, up to twice as many in total, and the `turns` least disturbed ones count.
template <class Function, class Measure>
std::vector<median_of<Function>> in_turns(contest& c, int turns, unsigned workers, Measure&& measure) {
  const auto entries = entry<Function>::all();
  std::vector<std::vector<interval>> samples(entries.size());
  int calm = 0;
  for (int turn = 0; turn < 2 * turns && calm < turns; ++turn) {
    bool all_calm = true;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const library& l = library::of(entries[i]->label);
      settle();
      l.start(workers);
      samples[i].push_back(measure(*entries[i]));
      l.stop();
      if (c.disturbed(samples[i].back(), workers)) all_calm = false;
    }
    calm += all_calm;
  }
  std::vector<median_of<Function>> medians;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto& s = samples[i];
    std::stable_sort(s.begin(), s.end(), [](const interval& a, const interval& b) {
      return a.stolen_s * b.wall_s < b.stolen_s * a.wall_s;
    });
    s.resize(std::min(s.size(), static_cast<std::size_t>(turns)));
    const auto middle = [&s](double interval::*field) {
      std::vector<double> values;
      for (const interval& v : s) values.push_back(v.*field);
      return median(values);
    };
    medians.push_back(
        {entries[i], {middle(&interval::wall_s), middle(&interval::core_s), middle(&interval::stolen_s)}});
  }
  return medians;
}
template <class Function, class Measure>
auto in_turns(contest& c, int turns, Measure&& measure) {
  return in_turns<Function>(c, turns, c.threads, std::forward<Measure>(measure));
}

}  // namespace plx::bench
