#include "parquet/run/checkpoint_keeper.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "parquet/run/output.hpp"

namespace plx::parquet {

result<void> checkpoint_keeper::write(parquet_checkpoint next) {
  result<void> own;
  if (out_ != nullptr) {
    next.finished = out_->finished();
    if (auto bytes = out_->table_bytes())
      next.table_bytes = *std::move(bytes);
    else
      own = bytes.error();
    for (std::size_t i = 0; own && i < next.parts.checksums.size(); ++i) {
      const std::string part = checkpoint_part_file(folder_, next.parts.mark, i);
      std::error_code failed;
      if (next.parts.firsts[i] < next.parts.firsts[i + 1] && !std::filesystem::exists(part, failed))
        own = error{
            fmt::format("'{}': expected the part of the checkpoint that process {} has written, found none; use a "
                        "folder that all hosts share",
                        part, i)};
    }
    if (own) own = write_parquet_checkpoint(folder_, next);
  }
  if (auto r = team_.agree(own); !r) return r;
  if (out_ != nullptr) remove_other_parts(folder_, next.parts);
  last_ = std::move(next);
  written_s_ = monotonic_seconds();
  return {};
}

result<void> checkpoint_keeper::save(const vertex_grid& grid, const solver_state& s) {
  parquet_checkpoint next = last_;
  next.present = s.numbers;
  next.parts.mark = last_.parts.mark + 1;
  const auto sum = write_checkpoint_part(folder_, next.parts.mark, team_.rank(), grid, s);
  auto r = team_.agree(sum ? result<void>() : result<void>(sum.error()));
  if (r) {
    next.parts.checksums = team_.gather(std::vector<std::uint64_t>{*sum});
    next.parts.firsts = team_.gather(std::vector<std::uint64_t>{static_cast<std::uint64_t>(s.first_slab)});
    next.parts.firsts.push_back(static_cast<std::uint64_t>(grid.n_slabs()));
    r = write(std::move(next));
  }
  if (r) return r;
  std::error_code failed;
  std::filesystem::remove(checkpoint_part_file(folder_, last_.parts.mark + 1, team_.rank()), failed);
  return r;
}

result<void> checkpoint_keeper::save_finished() {
  parquet_checkpoint next = last_;
  next.present.clear();
  next.parts.firsts.clear();
  next.parts.checksums.clear();
  return write(std::move(next));
}

}  // namespace plx::parquet
