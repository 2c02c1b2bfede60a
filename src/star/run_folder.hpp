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

class run_folder {
 public:
  explicit run_folder(std::string path) : path_(std::move(path)) {}

  /// Whether a new run may go there: it is not there yet, or an empty folder.
  static result<void> check_free(const std::string& path);

  /// Makes the folder and those inside that are not there yet; for many localities those for parts, too.
  result<void> make(bool of_parts = false);
  /// Makes the folder of a locality.
  result<void> make_alone();
  /// Removes what make() has made, with all files in it: for a run that could not begin.
  void unmake();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string mesh_file(const std::string& problem, std::int64_t number) const;
  std::string checkpoint_file(const std::string& problem, std::int64_t step) const;
  /// Where a locality other than the root writes what it has measured.
  std::string folder_of(int locality) const;
  /// Name of a part, relative to the folder of the whole.
  static std::string part_of(const std::string& whole, std::uint64_t mark, int locality);
  /// Oldest first.
  std::vector<std::string> checkpoints() const;
  /// Removes all but the newest `kept`, each before its parts.
  void prune_checkpoints(std::size_t kept) const;
  /// Removes the parts of `whole` that do not have this mark.
  static void drop_other_parts(const std::string& whole, std::uint64_t mark);
  /// Removes what a run that was killed has left behind: parts without a whole, files that were not finished.
  void drop_leftovers() const;
  /// Waits until the disk knows the names in the folder of `file`.
  static result<void> sync_names(const std::string& file);

 private:
  result<void> make(const std::vector<std::string>& wanted);

  std::string path_;
  std::vector<std::string> made_;
};

}  // namespace plx::star
