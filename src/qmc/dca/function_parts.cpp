#include "qmc/dca/function_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "io/hdf5_file.hpp"
#include "io/run_checkpoint.hpp"

namespace plx::qmc {
namespace {

const checkpoint_kind part_kind = {"plx-dca", 1};

std::uint64_t checksum_of(std::span<const double> row) {
  word_checksum sum;
  sum.add(row);
  return sum.value();
}

// The checksum of a part: the numbers of a row, the bins of its walkers, and the checksums of its rows.
std::uint64_t checksum_of(std::uint64_t width, const std::vector<std::uint64_t>& bins,
                          const std::vector<std::uint64_t>& rows) {
  word_checksum sum;
  sum.add(width);
  for (const auto* numbers : {&bins, &rows})
    for (const std::uint64_t x : *numbers) sum.add(x);
  return sum.value();
}

// Calls f(row) for all rows in their order.
template <class F>
void for_each_row(std::span<const walker_functions> all, F&& f) {
  for (const auto& w : all) {
    f(w.sums);
    for (const auto& bin : w.bins) f(bin);
  }
}

}  // namespace

result<std::uint64_t> function_parts::write(std::uint64_t mark, unsigned rank, std::span<const walker_functions> all) {
  std::vector<std::uint64_t> bins, sums;
  for (const auto& w : all) bins.push_back(w.bins.size());
  for_each_row(all, [&](const std::vector<double>& row) { sums.push_back(checksum_of(row)); });
  const hsize_t width = all.empty() ? 0 : all[0].sums.size(), n_rows = sums.size();
  const std::uint64_t checksum = checksum_of(width, bins, sums);
  if (all.empty()) return checksum;
  const auto lock = hdf5_lock();
  auto file = hdf5_writer::create(checkpoint_part_file(folder_, mark, rank),
                                  65536 + sizeof(double) * (n_rows * width + n_rows + bins.size()));
  if (!file) return file.error();
  begin_checkpoint(*file, part_kind);
  const hdf5_id data = file->open_dataset("Functions", {n_rows, width}, H5T_IEEE_F64LE);
  hsize_t at = 0;
  for_each_row(all, [&](const std::vector<double>& row) {
    PLX_ASSERT_EQ(row.size(), width);
    file->box(data, {at++, 0}, {1, width}, H5T_NATIVE_DOUBLE, row.data());
  });
  file->dataset("Bins", {bins.size()}, H5T_STD_U64LE, H5T_NATIVE_UINT64, bins.data());
  file->dataset("Checksums", {sums.size()}, H5T_STD_U64LE, H5T_NATIVE_UINT64, sums.data());
  if (auto r = file->commit(); !r) return r.error();
  return checksum;
}

result<walker_functions> function_parts::read(const checkpoint_parts& parts, std::size_t walker) {
  std::size_t part = 0;
  while (part < parts.count() && parts.firsts[part + 1] <= walker) ++part;
  if (part == parts.count() || walker < parts.firsts[part])
    return damaged_checkpoint(folder_ + "/checkpoint.h5", fmt::format("its parts do not have walker {}", walker));
  const std::string path = checkpoint_part_file(folder_, parts.mark, part);
  const auto lock = hdf5_lock();
  const auto file = open_checkpoint(path, part_kind);
  if (!file) return file.error();
  std::vector<std::uint64_t> bins, sums;
  const hdf5_id data = file->dataset("Functions");
  const auto size = data ? hdf5_reader::extents_of(data) : extents();
  if (!file->whole("Bins", bins) || !file->whole("Checksums", sums) || size.size() != 2)
    return damaged_checkpoint(path, "a dataset is missing or cannot be read");
  if (checksum_of(size[1], bins, sums) != parts.checksums[part] || size[0] != sums.size() ||
      bins.size() != parts.firsts[part + 1] - parts.firsts[part])
    return damaged_checkpoint(path, "it belongs to another checkpoint");
  const std::size_t own = walker - parts.firsts[part];
  std::size_t row = own;
  for (std::size_t w = 0; w < own; ++w) row += bins[w];
  walker_functions out;
  out.bins.resize(bins[own]);
  for (std::size_t i = 0; i < 1 + out.bins.size(); ++i) {
    auto& numbers = i == 0 ? out.sums : out.bins[i - 1];
    numbers.resize(size[1]);
    if (!hdf5_reader::box(data, {row + i, 0}, {1, size[1]}, H5T_NATIVE_DOUBLE, numbers.data()))
      return damaged_checkpoint(path, "its functions cannot be read");
    if (checksum_of(numbers) != sums[row + i])
      return damaged_checkpoint(path, fmt::format("the checksum of row {} does not match", row + i));
  }
  return out;
}

}  // namespace plx::qmc
