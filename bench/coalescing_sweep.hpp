// Lists in options, the order of a turn and the file of rows, which sweeps over settings of coalescing share.
//
// Thread safety: functions of their arguments. Example: bench/parquet_sweep.cpp
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace plx::bench {

/// The parts between the marks; empty ones are dropped.
inline std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(mark), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Sets the value if the whole text is a number.
template <class T>
bool read_number(std::string_view text, T& value) {
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  return done.ec == std::errc() && done.ptr == text.data() + text.size();
}

/// A permutation of 0 .. n-1 determined by `seed`: the same on all localities.
inline std::vector<unsigned> shuffled(unsigned n, unsigned seed) {
  std::vector<unsigned> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 random(seed);
  for (unsigned i = n; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

struct csv_closing {
  void operator()(std::FILE* f) const noexcept {
    if (f != stdout) std::fclose(f);
  }
};
using csv_file = std::unique_ptr<std::FILE, csv_closing>;

/// Opens the file of rows for appending; a new one starts with the names of the columns. "": standard output.
inline result<csv_file> open_csv(const std::string& path) {
  csv_file out(path.empty() ? stdout : std::fopen(path.c_str(), "a"));
  if (out == nullptr) return error{"cannot write " + path + ": expected a file that can be appended to"};
  std::fseek(out.get(), 0, SEEK_END);
  if (path.empty() || std::ftell(out.get()) == 0)
    std::fputs("part,variant,size,turn,setting,n,interval_us,phase,at_s,time_s,overhead,parcels,messages,bytes\n",
               out.get());
  return out;
}

}  // namespace plx::bench
