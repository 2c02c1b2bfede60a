// Small files, written completely or not at all: a reader never sees a partial file under its final name.
//
// Thread safety: functions are thread-safe for different paths. An atomic_file belongs to one thread at a time.
// Cost: a copy into a 64 KiB buffer and the system's writes; commit() waits until the data is on the disk, unless the
// file is unsynced.
// Errors: one line with the path and the system's reason, e.g. "cannot write 'run/a.csv': No space left on device". A
// process that limits file sizes (RLIMIT_FSIZE) must ignore SIGXFSZ to get the error instead of the signal.
// Example: base/test/file_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx {

/// Reads a whole file, or a pipe to its end. Errors: a device, such as /dev/zero; a named pipe without a writer for 5
/// s.
result<std::string> read_file(const std::string& path);

/// A synced file survives a crash of the machine, as checkpoints and results must. An unsynced one survives the end of
/// the process, however it ends; after a crash of the machine it may be empty.
enum class durability { synced, unsynced };

/// Writes a whole file: to a temporary name in the same folder, synced to the disk, then renamed to `path`.
result<void> write_file(const std::string& path, std::string_view content, durability d = durability::synced);

/// Appends with one write. `header` comes first if the file is new or empty. On failure the file is unchanged.
result<void> append_file(const std::string& path, std::string_view header, std::string_view content);

/// An incremental write_file(). Without commit() no file remains. A path that exists and is not a regular file (a pipe,
/// a terminal, /dev/full) is written directly; so are /dev/stdout and /dev/stderr, whatever they are.
class atomic_file {
 public:
  /// Starts a file that appears as `path` at commit().
  static result<atomic_file> create(const std::string& path, durability d = durability::synced);
  atomic_file(atomic_file&& other) noexcept;
  atomic_file& operator=(atomic_file&&) = delete;
  ~atomic_file();

  /// Appends; an error contains the path and the reason.
  result<void> write(std::string_view bytes);
  /// Flushes, waits for the disk if the file is synced, renames. Requires: called at most once, and no write() after
  /// it.
  result<void> commit();
  /// The name of the file before commit(), for libraries that open files by name.
  const std::string& temporary_path() const noexcept { return temporary_; }

 private:
  atomic_file(std::string path, std::string temporary, int descriptor, durability d);
  result<void> flush();
  error failure(int number) const;

  std::string path_;
  std::string temporary_;  // == path_ if written directly
  int descriptor_;         // -1: committed or moved from
  durability durability_;
  std::string buffer_;
};

/// How many files this process has begun to write by the functions above, plus how many writes of them the system has
/// completed. It grows while a thread that writes files makes progress. Async-signal-safe.
std::uint64_t file_progress() noexcept;

/// The text of every failure here: "cannot <verb> '<path>': <reason of errno>".
error file_error(std::string_view verb, std::string_view path, int number);

}  // namespace plx
