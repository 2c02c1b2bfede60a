// The folder of a run: the right of one process to write into it, its beginning, and its continuation.
//
// Thread safety: none. Cost: system calls. Errors: one line with the folder and the process that uses it.
// Example: io/test/folder_lock_test.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx {

/// The exclusive right of one process to write into the folder of a run: a lock of an open file description
/// (F_OFD_SETLK) on the file `.lock` in it. The system releases it when the process ends, however it ends; release()
/// removes the file.
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
  /// The process that holds the lock of a folder, as "4711 on host"; empty if none does. Never disturbs take(): it asks
  /// without a lock of its own.
  static std::optional<std::string> holder_of(const std::string& folder);
  /// Error if another process holds the lock of a folder, the one of take().
  static result<void> check_unused(const std::string& folder);
  bool is_held() const { return descriptor_ >= 0; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Creates the folder of a new run of `program`, locks it, and writes its config.toml. `checkpoint`: the file in the
/// folder with which a run can be continued. Errors: the folder cannot be created, is locked, or has files of a run,
/// which are kept; the message says whether to continue that run.
result<void> begin_run_folder(const std::string& folder, folder_lock& lock, const std::string& config,
                              std::string_view program, const std::string& checkpoint);

/// Error if the folder has no run of `program` with a file `checkpoint`, which would be continued.
result<void> check_resumable(const std::string& folder, std::string_view program, const std::string& checkpoint);

/// Locks the folder of a run that is to be continued. Errors: those of check_resumable(), and that it is in use.
result<void> reopen_run_folder(const std::string& folder, folder_lock& lock, std::string_view program,
                               const std::string& checkpoint);

/// Why a run cannot be continued that has no `checkpoint` (shown to the user): it is in use, of another program, has
/// ended too early, or does not exist. Changes nothing.
error missing_checkpoint(const std::string& folder, std::string_view program, const std::string& checkpoint);

/// Error if the folder holds a run of another program, by its run.json.
result<void> check_program_of(const std::string& folder, std::string_view program);

}  // namespace plx
