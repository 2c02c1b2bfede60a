#include "io/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/process.hpp"

namespace plx {

namespace {

/// The content of the lock file: "4711 on host".
std::string read_owner(int descriptor) {
  char text[300] = "";
  const ssize_t n = pread(descriptor, text, sizeof text - 1, 0);
  std::string owner(text, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return owner.substr(0, owner.find('\n'));
}

void write_owner(int descriptor) {
  const std::string text = fmt::format("{} on {}\n", getpid(), host_name());
  // For messages only: a full disk is noticed at the first file.
  if (ftruncate(descriptor, 0) == 0 && pwrite(descriptor, text.data(), text.size(), 0) < 0) errno = 0;
}

// Temporary files of base/file.hpp, which a process that was killed has left.
void remove_partial_files(const std::string& folder) {
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code ignored;
    if (at->path().extension() == ".part") std::filesystem::remove(at->path(), ignored);
  }
}

bool is_file_at(int descriptor, const std::string& path) {
  struct stat open_one {
  }, named{};
  return fstat(descriptor, &open_one) == 0 && stat(path.c_str(), &named) == 0 && open_one.st_ino == named.st_ino &&
         open_one.st_dev == named.st_dev;
}

}  // namespace

result<void> folder_lock::take(const std::string& folder) {
  if (is_held()) return {};
  path_ = folder + "/" + name;
  for (;;) {
    const int d = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (d < 0) return file_error("write", path_, errno);
    const int number = flock(d, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (number == EWOULDBLOCK) {
      const std::string owner = read_owner(d);
      close(d);
      return error{
          fmt::format("the folder '{}' is in use by process {}; wait until it has ended, or name another folder with "
                      "--out",
                      folder, owner.empty() ? "of an unknown number" : owner)};
    }
    if (number != 0) log_warning("cannot lock '{}': {}", path_, std::generic_category().message(number));
    if (!is_file_at(d, path_)) {  // removed by its owner between open() and flock()
      close(d);
      continue;
    }
    write_owner(d);
    if (number == 0) remove_partial_files(folder);
    descriptor_ = d;
    return {};
  }
}

result<void> begin_run_folder(const std::string& folder, folder_lock& lock, const std::string& config,
                              const std::string& otherwise) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return error{fmt::format("{}: expected a folder that can be created: {}", folder, failed.message())};
  if (auto r = lock.take(folder); !r) return r;
  const std::string file = folder + "/config.toml";
  if (std::filesystem::exists(file, failed))
    return error{fmt::format("{}: contains the files of another run; choose another folder with --out, or {}", folder,
                             otherwise)};
  return write_file(file, config);
}

void folder_lock::release() {
  if (!is_held()) return;
  unlink(path_.c_str());  // before releasing the lock: afterwards the file may be that of another process
  close(std::exchange(descriptor_, -1));
}

}  // namespace plx
