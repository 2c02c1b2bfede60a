#include "parquet/run/checkpoint_keeper.hpp"

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
    if (own) own = check_parts_exist(folder_, next.parts);
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
  next.parts.clear();
  return write(std::move(next));
}

result<void> checkpoint_keeper::keep() {
  result<void> own;
  std::error_code failed;
  if (out_ != nullptr && !std::filesystem::exists(checkpoint_file(folder_), failed))
    own = write_parquet_checkpoint(folder_, last_);
  return team_.agree(own);
}

}  // namespace plx::parquet
