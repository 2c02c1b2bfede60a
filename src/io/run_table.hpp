// The CSV tables of a run that is continued: which rows stay, and whether they are rows of the run.
//
// Thread safety: all functions are thread-safe. Cost: O(bytes). Errors: one line with the file, the line in it, what
// was expected and what was found. Example: io/test/run_table_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace plx {

/// Checks a table: a line of names, then rows with a cell for each name. A cell is a number or empty; in the column
/// `of_words` it is a word. Each line ends with a line break.
result<void> check_table(const std::string& path, std::string_view text, std::string_view of_words = {});

/// The number of bytes of a table that stay when a run is continued from a checkpoint at `step`. The table is a line of
/// names, then rows of numbers that begin with rising steps. The first row of a later step and all that follows it do
/// not stay, nor does a last line without its line break. All rows up to that first one must be complete.
/// names: expected line of names, with its line break; "": any. last_row: step of the last row before the checkpoint;
/// -1 if unknown.
result<std::size_t> bytes_up_to_step(const std::string& path, std::string_view text, std::string_view names,
                                     std::int64_t step, std::int64_t last_row = -1);

/// Waits until a file is on the disk: a checkpoint may not be there before the rows that it refers to.
result<void> sync_file(const std::string& path);
/// Removes what follows the first `bytes` of a file.
result<void> shorten_file(const std::string& path, std::uint64_t bytes);

/// Sizes of tables in a folder, which are then on the disk; 0 for those that do not exist.
result<std::vector<std::uint64_t>> sizes_of_tables(const std::string& folder, std::span<const char* const> names);
/// Shortens the tables; words may stand in the column `of_words` alone. Error: one is shorter already, or what remains
/// is not a table; then all are as before.
result<void> shorten_tables(const std::string& folder, std::span<const char* const> names,
                            const std::vector<std::uint64_t>& bytes, std::string_view of_words = {});

}  // namespace plx
