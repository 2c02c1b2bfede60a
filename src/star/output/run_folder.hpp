// The folder of a run: the paths of its files, its lock, and the removal of old files.
//
// Files that several localities write consist of parts, in a folder `parts` beside the whole file. The name of a part
// is that of the whole followed by a mark that is unique to each time of writing, so a whole file never refers to a
// part that was written later.
//
// Thread safety: none; one run per folder. Cost: system calls. Errors: one line with the path and the reason.
// Example: tests/cli/test_plx_star.py
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "io/folder_lock.hpp"

namespace plx::star {

class run_folder {
 public:
  explicit run_folder(std::string path) : path_(std::move(path)) {}

  /// Success if a new run may use the path: it does not exist, or is an empty folder that no process holds.
  static result<void> check_free(const std::string& path);

  /// Makes the folder if it does not exist, and locks it. Errors: another process holds it; with `must_be_free` also if
  /// it contains the files of a finished run.
  result<void> lock(bool must_be_free);
  /// Makes the folder and those inside it that do not exist; with several localities those for parts, too; with output
  /// series theirs.
  result<void> make(bool of_parts = false, bool has_series = false);
  /// Makes the folder of one locality.
  result<void> make_alone();
  /// Removes what lock() and make() made, including all files in it, and unlocks: for a run that could not begin.
  void unmake();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string mesh_file(const std::string& problem, std::int64_t number) const;
  /// ending: ".h5".
  std::string series_file(const std::string& name, std::int64_t number, const char* ending) const;
  std::string checkpoint_file(const std::string& problem, std::int64_t step) const;
  /// The folder in which a locality other than the root writes its measurements.
  std::string folder_of(int locality) const;
  /// Name of a part, relative to the folder of the whole.
  static std::string part_of(const std::string& whole, std::uint64_t mark, int locality);
  /// Checkpoints by step number, oldest first. Other files in the folder are ignored.
  std::vector<std::string> checkpoints() const;
  /// Names of the tables that analyses have written.
  std::vector<std::string> analysis_tables() const;
  static constexpr std::int64_t none_kept = -1;
  /// Removes all but the newest `kept` and the same number up to step `good_step`, each before its parts.
  void prune_checkpoints(std::size_t kept, std::int64_t good_step = none_kept) const;
  /// Removes checkpoints of later steps; drop_leftovers() removes their parts.
  void drop_checkpoints_after(std::int64_t step) const;
  /// Removes the parts of `whole` that have another mark.
  static void drop_other_parts(const std::string& whole, std::uint64_t mark);
  /// Removes the mesh files of the problem from number `first` on, except `kept` ("" for none); drop_leftovers()
  /// removes their parts.
  void drop_mesh_files(const std::string& problem, std::int64_t first, const std::string& kept) const;
  /// The same for the files of an output series.
  void drop_series_files(const std::string& name, std::int64_t first) const;
  /// Removes the remains of a run that was killed: parts without a whole file, incomplete files.
  void drop_leftovers() const;
  /// Waits until the names in the folder of `file` are on disk.
  static result<void> sync_names(const std::string& file);

 private:
  static result<void> check_empty(const std::string& path);
  result<void> make(const std::vector<std::string>& wanted);

  std::string path_;
  std::vector<std::string> made_;
  folder_lock lock_;
};

}  // namespace plx::star
