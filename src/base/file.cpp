#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace plx {
namespace {

constexpr std::size_t buffer_size = 1u << 16;
constexpr int wait_for_writer_s = 5;
constexpr std::size_t most_at_once = 1u << 20;  // so that file_progress() grows within a large file

constinit std::atomic<std::uint64_t> begun{0}, writes{0};  // relaxed: they stand for no other data

/// Writes at most `at_once` bytes per system call. Returns 0, or the errno of the failure.
int write_all(int descriptor, std::string_view bytes, std::size_t at_once = std::string_view::npos) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), std::min(bytes.size(), at_once));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
    writes.fetch_add(1, std::memory_order_relaxed);
  }
  return 0;
}

/// Closes the descriptor on every return path.
struct descriptor_guard {
  int descriptor;
  ~descriptor_guard() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

/// A pipe of mkfifo, which may have no writer yet. One of a shell, /dev/fd/N, has or has had one.
bool has_name(int descriptor, const struct stat& what) {
  struct statfs system {};
  return S_ISFIFO(what.st_mode) && ::fstatfs(descriptor, &system) == 0 && system.f_type != PIPEFS_MAGIC;
}

/// Waits until the pipe has bytes or its writer has closed it.
bool has_input(int descriptor) {
  pollfd pipe{descriptor, POLLIN, 0};
  int ready;
  do ready = ::poll(&pipe, 1, 1000 * wait_for_writer_s);
  while (ready < 0 && errno == EINTR);
  return ready != 0;
}

std::string temporary_name(const std::string& path, std::uint64_t serial) {
  return fmt::format("{}.{}-{}.part", path, ::getpid(), serial);
}

}  // namespace

std::uint64_t file_progress() noexcept {
  return begun.load(std::memory_order_relaxed) + writes.load(std::memory_order_relaxed);
}

error file_error(std::string_view verb, std::string_view path, int number) {
  return {fmt::format("cannot {} '{}': {}", verb, path, std::generic_category().message(number))};
}

// Without O_NONBLOCK, opening a pipe with a name would wait for a writer.
result<std::string> read_file(const std::string& path) {
  const descriptor_guard file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.descriptor < 0) return file_error("read", path, errno);
  struct stat what {};
  if (::fstat(file.descriptor, &what) != 0) return file_error("read", path, errno);
  if (S_ISCHR(what.st_mode) || S_ISBLK(what.st_mode))  // such as /dev/zero, which has no end
    return error{fmt::format("cannot read '{}': expected a file or a pipe, found a device", path)};
  bool may_wait = has_name(file.descriptor, what), no_writer = false;
  std::string content;
  for (;;) {
    const std::size_t size = content.size();
    content.resize(size + buffer_size);
    const ssize_t n = ::read(file.descriptor, content.data() + size, buffer_size);
    content.resize(size + static_cast<std::size_t>(n < 0 ? 0 : n));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // a writer has opened the pipe: its end comes when the writer closes it
      ::fcntl(file.descriptor, F_SETFL, 0);
      no_writer = false;
    } else if (n < 0) {
      return file_error("read", path, errno);
    } else if (n == 0 && no_writer && content.empty()) {
      return error{fmt::format("cannot read '{}': it is a pipe that no process has opened for writing in {} s", path,
                               wait_for_writer_s)};
    } else if (n == 0 && (!may_wait || !content.empty())) {
      return content;
    } else if (n == 0) {
      may_wait = false;
      no_writer = !has_input(file.descriptor);
    }
  }
}

result<void> write_file(const std::string& path, std::string_view content, durability d) {
  auto file = atomic_file::create(path, d);
  if (!file) return file.error();
  if (auto r = file->write(content); !r) return r;
  return file->commit();
}

result<void> append_file(const std::string& path, std::string_view header, std::string_view content) {
  const bool is_new = ::access(path.c_str(), F_OK) != 0;
  const descriptor_guard file{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)};
  if (file.descriptor < 0) return file_error("write", path, errno);
  struct stat before {};
  if (::fstat(file.descriptor, &before) != 0) return file_error("write", path, errno);
  std::string text;
  if (before.st_size == 0) text = header;
  text += content;
  if (const int number = write_all(file.descriptor, text); number != 0) {
    // Removes a partial line. Devices and pipes cannot be truncated and do not need it.
    if (S_ISREG(before.st_mode) && ::ftruncate(file.descriptor, before.st_size) != 0)
      return file_error("truncate", path, errno);
    if (is_new) ::unlink(path.c_str());
    return file_error("write", path, number);
  }
  return {};
}

atomic_file::atomic_file(std::string path, std::string temporary, int descriptor, durability d)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor), durability_(d) {
  buffer_.reserve(buffer_size);
}

atomic_file::atomic_file(atomic_file&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      durability_(other.durability_),
      buffer_(std::move(other.buffer_)) {}

atomic_file::~atomic_file() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (temporary_ != path_) ::unlink(temporary_.c_str());
}

// Standard streams are written through their descriptors: /dev/stdout may be a link to a regular file, which a new file
// would not replace, and writing it under its name would begin at its start.
result<atomic_file> atomic_file::create(const std::string& path, durability d) {
  const std::uint64_t serial = begun.fetch_add(1, std::memory_order_relaxed);
  if (path == "/dev/stdout" || path == "/dev/stderr") {
    const int stream = ::dup(path == "/dev/stdout" ? STDOUT_FILENO : STDERR_FILENO);
    return stream < 0 ? result<atomic_file>(file_error("write", path, errno)) : atomic_file(path, path, stream, d);
  }
  struct stat there {};
  const bool straight = ::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode);
  std::string temporary = straight ? path : temporary_name(path, serial);
  // The temporary name is unused, unless an earlier process with the same id left a file behind; a link is not
  // followed.
  const int how = straight ? O_TRUNC : O_TRUNC | O_NOFOLLOW;
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666);
  if (descriptor < 0) return file_error("write", path, errno);
  return atomic_file(path, std::move(temporary), descriptor, d);
}

error atomic_file::failure(int number) const { return file_error("write", path_, number); }

result<void> atomic_file::flush() {
  const int number = write_all(descriptor_, buffer_);
  buffer_.clear();
  if (number != 0) return failure(number);
  return {};
}

result<void> atomic_file::write(std::string_view bytes) {
  PLX_ASSERT(descriptor_ >= 0, path_);
  if (buffer_.size() + bytes.size() > buffer_size) {
    if (auto r = flush(); !r) return r;
  }
  if (bytes.size() < buffer_size) {
    buffer_ += bytes;
  } else if (const int number = write_all(descriptor_, bytes, most_at_once); number != 0) {
    return failure(number);
  }
  return {};
}

result<void> atomic_file::commit() {
  PLX_ASSERT(descriptor_ >= 0, path_);
  if (auto r = flush(); !r) return r;
  const bool straight = temporary_ == path_;
  if (!straight && durability_ == durability::synced && ::fsync(descriptor_) != 0) return failure(errno);
  if (::close(std::exchange(descriptor_, -1)) == 0 && (straight || std::rename(temporary_.c_str(), path_.c_str()) == 0))
    return {};
  const int number = errno;
  if (!straight) ::unlink(temporary_.c_str());
  return failure(number);
}

}  // namespace plx
