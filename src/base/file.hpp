// Small files, whole or not at all: a reader never sees half a file under its final name.
//
// Thread safety: functions: everything, on different paths. An atomic_file belongs to one thread at a time.
// Cost: a copy into a 64 KiB buffer and the system's writes; commit waits until the disk has the data.
// Errors: one line with the path and the system's reason, e.g. "cannot write 'run/a.csv': No space left on device". A
//   process that limits file sizes (RLIMIT_FSIZE) must ignore SIGXFSZ to see the error instead of the signal.
// Example: base/test/file_test.cpp
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx {

/// The whole file, or what comes through a pipe. A device, such as /dev/zero, is an error.
result<std::string> read_file(const std::string& path);

/// Writes the whole file: to a temporary name in the same folder, to the disk, then renamed over `path`.
result<void> write_file(const std::string& path, std::string_view content);

/// Appends in one piece. When the file is new or empty, `header` comes first. On failure the file is as it was.
result<void> append_file(const std::string& path, std::string_view header, std::string_view content);

/// write_file in pieces. Without a commit, nothing remains. A path that exists and is no regular file (a pipe, a
/// terminal, /dev/full) is written straight.
class atomic_file {
 public:
  /// Begins a file that will appear as `path` at commit().
  static result<atomic_file> create(const std::string& path);
  atomic_file(atomic_file&& other) noexcept;
  atomic_file& operator=(atomic_file&&) = delete;
  ~atomic_file();

  /// Appends; an error says the path and the reason.
  result<void> write(std::string_view bytes);
  /// Flushes, waits for the disk, renames. Requires: called at most once, and nothing written after.
  result<void> commit();
  /// The name being written to until commit, for libraries that open files by name.
  const std::string& temporary_path() const noexcept { return temporary_; }

 private:
  atomic_file(std::string path, std::string temporary, int descriptor);
  result<void> flush();
  error failure(int number) const;

  std::string path_;
  std::string temporary_;  // == path_ when written straight
  int descriptor_;         // -1: committed or moved from
  std::string buffer_;
};

/// The line of every failure here: "cannot <verb> '<path>': <reason of errno>".
error file_error(std::string_view verb, std::string_view path, int number);

}  // namespace plx
