// The folder of a run: where its files are, and that a new run finds it empty.
//
// Thread safety: none; one run per folder. Cost: system calls. Errors: one line with the path and the reason.
// Example: tests/cli/test_plx_star.py
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx::star {

class run_folder {
 public:
  explicit run_folder(std::string path) : path_(std::move(path)) {}

  /// Whether a new run may go there: it is not there yet, or an empty folder.
  static result<void> check_free(const std::string& path);

  /// Makes the folder and those inside that are not there yet.
  result<void> make();
  /// Removes what make() has made, with all files in it: for a run that could not begin.
  void unmake();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string mesh_file(const std::string& problem, std::int64_t number) const;
  std::string checkpoint_file(const std::string& problem, std::int64_t step) const;
  /// Oldest first.
  std::vector<std::string> checkpoints() const;
  /// Removes all but the newest `kept`.
  void prune_checkpoints(std::size_t kept) const;

 private:
  std::string path_;
  std::vector<std::string> made_;
};

}  // namespace plx::star
