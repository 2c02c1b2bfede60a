#include "io/folder_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
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
#include "io/run_json.hpp"

namespace plx {

namespace {

/// The whole file, exclusively.
struct flock whole_file() {
  struct flock all {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  return all;
}

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

error in_use(const std::string& folder, const std::string& owner) {
  return error{
      fmt::format("the folder '{}' is in use by process {}; wait until it has ended, or name another folder with --out",
                  folder, owner.empty() ? "of an unknown number" : owner)};
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
    struct flock all = whole_file();
    const int number = fcntl(d, F_OFD_SETLK, &all) == 0 ? 0 : errno;
    if (number == EAGAIN || number == EACCES) {
      const std::string owner = read_owner(d);
      close(d);
      return in_use(folder, owner);
    }
    if (number != 0) log_warning("cannot lock '{}': {}", path_, std::generic_category().message(number));
    if (!is_file_at(d, path_)) {  // removed by its owner between open() and fcntl()
      close(d);
      continue;
    }
    write_owner(d);
    if (number == 0) remove_partial_files(folder);
    descriptor_ = d;
    return {};
  }
}

std::optional<std::string> folder_lock::holder_of(const std::string& folder) {
  const int d = open((folder + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (d < 0) return std::nullopt;
  struct flock all = whole_file();
  std::optional<std::string> holder;
  if (fcntl(d, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK) holder = read_owner(d);
  close(d);
  return holder;
}

result<void> folder_lock::check_unused(const std::string& folder) {
  if (const auto holder = holder_of(folder)) return in_use(folder, *holder);
  return {};
}

result<void> check_program_of(const std::string& folder, std::string_view program) {
  const std::string found = program_of_run(folder);
  if (found.empty() || found == program) return {};
  return error{fmt::format("{}: holds a run of {}; expected one of {}, or another folder", folder, found, program)};
}

error missing_checkpoint(const std::string& folder, std::string_view program, const std::string& checkpoint) {
  if (const auto holder = folder_lock::holder_of(folder))
    return error{fmt::format("the folder '{}' is in use by process {}; wait until it has ended", folder, *holder)};
  if (auto r = check_program_of(folder, program); !r) return r.error();
  std::error_code failed;
  const bool was_run = std::filesystem::exists(folder + "/config.toml", failed);
  return error{fmt::format("{}: expected the folder of a run with {}, found none; {}", folder, checkpoint,
                           was_run ? "the run has ended before its first checkpoint: remove the folder and start the "
                                     "run again"
                                   : "start a new run")};
}

result<void> begin_run_folder(const std::string& folder, folder_lock& lock, const std::string& config,
                              std::string_view program, const std::string& checkpoint) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return error{fmt::format("{}: expected a folder that can be created: {}", folder, failed.message())};
  if (auto r = lock.take(folder); !r) return r;
  if (auto r = check_program_of(folder, program); !r) return r;
  const std::string file = folder + "/config.toml";
  if (std::filesystem::exists(file, failed))
    return error{fmt::format("{}: contains the files of another run; choose another folder with --out, or {}", folder,
                             std::filesystem::exists(folder + "/" + checkpoint, failed)
                                 ? "continue the run in it: --resume " + folder
                                 : "remove it: the run has ended before its first checkpoint")};
  return write_file(file, config);
}

result<void> check_resumable(const std::string& folder, std::string_view program, const std::string& checkpoint) {
  std::error_code failed;
  if (!std::filesystem::exists(folder + "/" + checkpoint, failed))
    return missing_checkpoint(folder, program, checkpoint);
  return check_program_of(folder, program);
}

result<void> reopen_run_folder(const std::string& folder, folder_lock& lock, std::string_view program,
                               const std::string& checkpoint) {
  if (auto r = check_resumable(folder, program, checkpoint); !r) return r;
  return lock.take(folder);
}

void folder_lock::release() {
  if (!is_held()) return;
  unlink(path_.c_str());  // before releasing the lock: afterwards the file may be that of another process
  close(std::exchange(descriptor_, -1));
}

}  // namespace plx
