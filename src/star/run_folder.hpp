// The folder of a run: where its files are, and that a new run finds it empty.
//
// Files that many localities write are in parts, in a folder `parts` beside the whole: the name of a part begins as
// that of the whole and goes on with a mark, which each time of writing has for itself, so that no whole ever refers to
// a part that was written later.
//
// Thread safety: none; one run per folder. Cost: system calls. Errors: one line with the path and the reason.
// Example: tests/cli/test_plx_star.py
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx::star {

/// The right of one process to write into the folder of a run: an flock on the file `.lock` in it. The system releases
/// it when the process ends in whatever way; the file is removed by release().
class folder_lock {
 public:
  folder_lock() = default;
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;
  ~folder_lock() { release(); }

  static constexpr const char* name = ".lock";
  /// Requires: the folder is there. Errors: the folder is locked; the line names the process. A file system without
  /// locks gives a warning in the log.
  result<void> take(const std::string& folder);
  void release();
  bool is_held() const { return descriptor_ >= 0; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

class run_folder {
 public:
  explicit run_folder(std::string path) : path_(std::move(path)) {}

  /// Whether a new run may go there: it is not there yet, or an empty folder.
  static result<void> check_free(const std::string& path);

  /// Makes the folder where it is not there yet, and locks it. Errors: another process has it; with `must_be_free` also
  /// files of a run that is over.
  result<void> lock(bool must_be_free);
  /// Makes the folder and those inside that are not there yet; for many localities those for parts, too.
  result<void> make(bool of_parts = false);
  /// Makes the folder of a locality.
  result<void> make_alone();
  /// Removes what lock() and make() have made, with all files in it, and unlocks: for a run that could not begin.
  void unmake();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string mesh_file(const std::string& problem, std::int64_t number) const;
  std::string checkpoint_file(const std::string& problem, std::int64_t step) const;
  /// Where a locality other than the root writes what it has measured.
  std::string folder_of(int locality) const;
  /// Name of a part, relative to the folder of the whole.
  static std::string part_of(const std::string& whole, std::uint64_t mark, int locality);
  /// Checkpoints by the number of their step, oldest first. Other names in the folder are left out.
  std::vector<std::string> checkpoints() const;
  static constexpr std::int64_t none_kept = -1;
  /// Removes all but the newest `kept` and as many of steps up to `good_step`, each before its parts.
  void prune_checkpoints(std::size_t kept, std::int64_t good_step = none_kept) const;
  /// Removes those of later steps; their parts are left to drop_leftovers().
  void drop_checkpoints_after(std::int64_t step) const;
  /// Removes the parts of `whole` that do not have this mark.
  static void drop_other_parts(const std::string& whole, std::uint64_t mark);
  /// Removes the mesh files of the problem from number `first` on, but for `kept` ("" for none). Their parts are left
  /// to drop_leftovers().
  void drop_mesh_files(const std::string& problem, std::int64_t first, const std::string& kept) const;
  /// Removes what a run that was killed has left behind: parts without a whole, files that were not finished.
  void drop_leftovers() const;
  /// Waits until the disk knows the names in the folder of `file`.
  static result<void> sync_names(const std::string& file);

 private:
  result<void> make(const std::vector<std::string>& wanted);

  std::string path_;
  std::vector<std::string> made_;
  folder_lock lock_;
};

}  // namespace plx::star
