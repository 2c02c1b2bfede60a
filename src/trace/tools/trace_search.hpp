// Finds single slices in a trace of any size: the longest ones, those that waited longest, or the first ones.
//
// Thread safety: values. Memory: `rows` slices. Cost: that of trace_reader.hpp, for the chunks of the range alone.
// Errors: those of trace_reader.hpp. Example: trace/tools/test/trace_range_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "trace/file/trace_reader.hpp"

namespace plx::probe {

/// Which slices are sought, and which of them are kept.
struct slice_search {
  enum class order { first, longest, longest_wait };

  std::string name{};                   // a part of the name of the task type; "": any
  std::optional<std::uint64_t> task{};  // slices of the task of this number
  std::optional<std::uint64_t> key{};
  double at_least_s = 0;  // the shortest duration
  time_range range{};
  order by = order::longest;
  std::size_t rows = 20;
};

/// A slice that was found.
struct found_slice {
  double begin_s = 0;  // since the start of the run
  double length_s = 0;
  double wait_s = -1;  // from ready to begin; -1: unknown
  name_id name = unnamed;
  task_id task = 0;
  task_id ready_by = 0;  // the task or join that made it ready; 0: unknown
  std::uint64_t key = no_key;
  unsigned locality = 0, row = 0;
};

/// The answer to a search.
struct search_result {
  std::vector<found_slice> slices;  // in the order sought
  std::uint64_t matches = 0;        // all, also those beyond `rows`
  double total_s = 0;               // their time
  bool several = false;             // the run has more than one locality
  std::vector<std::string> warnings;
};

/// Reads all files.
result<search_result> find_slices(const std::vector<std::string>& files, const slice_search& search);

/// A table, a line per slice: at most 117 characters and the key. Task ids of more than 16 digits make lines longer.
std::string search_text(const search_result& r);

}  // namespace plx::probe
