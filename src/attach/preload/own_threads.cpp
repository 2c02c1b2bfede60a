#include "attach/preload/own_threads.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace plx::probe {
namespace {

constexpr int most_threads = 64;
constinit std::array<std::atomic<long>, most_threads> ids{};  // 0: free

/// The main thread stays in the list of threads until the process ends.
bool main_has_ended() noexcept {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(getpid()));
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return false;
  text[std::fread(text, 1, sizeof text - 1, file)] = '\0';
  std::fclose(file);
  const char* name_end = std::strrchr(text, ')');  // "4711 (name) Z ..."; the name may contain anything
  return name_end != nullptr && std::strncmp(name_end, ") Z", 3) == 0;
}

bool is_own(long id) noexcept {
  return std::any_of(ids.begin(), ids.end(), [id](const auto& own) { return own.load() == id; });
}

}  // namespace

own_thread::own_thread() noexcept {
  const long id = syscall(SYS_gettid);
  for (int i = 0; i < most_threads; ++i) {
    long none = 0;
    if (!ids[static_cast<std::size_t>(i)].compare_exchange_strong(none, id)) continue;
    place_ = i;
    return;
  }
}

own_thread::~own_thread() {
  if (place_ >= 0) ids[static_cast<std::size_t>(place_)].store(0);
}

bool only_own_threads_are_left() noexcept {
  if (!main_has_ended()) return false;
  DIR* folder = opendir("/proc/self/task");
  if (folder == nullptr) return false;
  bool only = true;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    const long id = std::strtol(entry->d_name, nullptr, 10);
    only = only && (id == getpid() || is_own(id));
  }
  closedir(folder);
  return only;
}

}  // namespace plx::probe
