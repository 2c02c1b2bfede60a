// The parts of a checkpoint: checkpoint-MARK-RANK.h5, one written by each process, beside the file that names them.
//
// A process that continues reads the parts that have its items (slabs, walkers), whatever the number of processes was.
// The mark distinguishes the parts of a checkpoint from those of the one before, which are removed when the file that
// names the new ones is complete. Thread safety: functions of constants. Cost: the folder is listed.
// Example: io/test/checkpoint_parts_test.cpp
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx {

struct checkpoint_parts {
  std::uint64_t mark = 0;                ///< in the names of the parts
  std::vector<std::uint64_t> firsts;     ///< the first item of each part, and the end; empty: there are no parts
  std::vector<std::uint64_t> checksums;  ///< of each part

  std::size_t count() const noexcept { return checksums.size(); }
  bool empty() const noexcept { return checksums.empty(); }
  bool has_items(std::size_t part) const noexcept { return firsts[part] < firsts[part + 1]; }
  /// Whether the parts have the items 0 to `items`, each once; or there are none.
  bool have(std::uint64_t items) const {
    return empty() || (firsts.front() == 0 && firsts.back() == items && std::is_sorted(firsts.begin(), firsts.end()));
  }
  /// Forgets all parts; the mark remains.
  void clear() noexcept {
    firsts.clear();
    checksums.clear();
  }
};

/// In the folder of a run.
std::string checkpoint_part_file(const std::string& folder, std::uint64_t mark, std::size_t index);
/// Error: one line: a part that has items is missing.
result<void> check_parts_exist(const std::string& folder, const checkpoint_parts& parts);
/// Removes all parts but these, by their names: files checkpoint-MARK-RANK.h5, with two numbers.
void remove_other_parts(const std::string& folder, const checkpoint_parts& kept);

/// As numbers of a checkpoint (num/saved_numbers.hpp); checksums are integers above 2^53.
template <class Writer>
void save_parts(Writer& to, const checkpoint_parts& parts) {
  to.add(static_cast<double>(parts.mark));
  to.add(static_cast<double>(parts.count()));
  for (const std::uint64_t first : parts.firsts) to.add(static_cast<double>(first));
  for (const std::uint64_t sum : parts.checksums) to.add_unsigned(sum);
}
/// most: an upper bound of their number, so that damage cannot exhaust the memory.
template <class Reader>
checkpoint_parts load_parts(Reader& from, std::size_t most) {
  checkpoint_parts parts;
  parts.mark = from.template integer<std::uint64_t>();
  const auto count = from.template integer<std::size_t>();
  parts.checksums.resize(count < most ? count : most);
  if (!parts.empty()) parts.firsts.resize(parts.count() + 1);
  for (auto& first : parts.firsts) first = from.template integer<std::uint64_t>();
  for (auto& sum : parts.checksums) sum = from.unsigned_integer();
  return parts;
}

}  // namespace plx
