// The right of one process to write into a folder.
//
// Thread safety: none. Cost: system calls. Errors: one line with the folder and the process that uses it.
// Example: star/output/test/run_folder_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"

namespace plx {

/// The exclusive right of one process to write into the folder of a run: an flock on the file `.lock` in it. The system
/// releases it when the process ends, however it ends; release() removes the file.
class folder_lock {
 public:
  folder_lock() = default;
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;
  ~folder_lock() { release(); }

  static constexpr const char* name = ".lock";
  /// Removes files NAME.part in the folder, which a process that was killed has left. Requires: the folder exists.
  /// Errors: the folder is locked; the message names the process. A file system without locks gives a warning in the
  /// log.
  result<void> take(const std::string& folder);
  void release();
  bool is_held() const { return descriptor_ >= 0; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Creates the folder of a new run, locks it, and writes its config.toml. `otherwise`: what to do with the files of
/// another run. Errors: the folder cannot be created, is locked, or has a config.toml, which is kept.
result<void> begin_run_folder(const std::string& folder, folder_lock& lock, const std::string& config,
                              const std::string& otherwise);

}  // namespace plx
