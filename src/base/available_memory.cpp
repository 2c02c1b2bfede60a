#include "base/available_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/file.hpp"

namespace plx {
namespace {

// The number after a word at the start of a line, e.g. "MemAvailable:"; NaN if there is none.
double number_after(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; at += word.size())
    if (at == 0 || text[at - 1] == '\n')
      return std::strtod(std::string(text.substr(at + word.size(), 40)).c_str(), nullptr);
  return NAN;
}

std::string content(const std::string& path) { return read_file(path).value_or(""); }

// The control group of this process and those above it, of version 2 or 1.
double left_in_groups() {
  const std::string list = content("/proc/self/cgroup");
  double least = HUGE_VAL;
  for (std::size_t begin = 0; begin < list.size();) {  // lines "number:controllers:path"
    const std::size_t end = std::min(list.find('\n', begin), list.size());
    const std::string line = list.substr(begin, end - begin);
    begin = end + 1;
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && controllers != "memory") continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (std::string path = line.substr(second + 1);; path.erase(path.rfind('/'))) {
      const std::string folder = root + (path == "/" ? "" : path) + "/";
      const auto limit = content(folder + (unified ? "memory.max" : "memory.limit_in_bytes"));
      const auto used = content(folder + (unified ? "memory.current" : "memory.usage_in_bytes"));
      if (!limit.empty() && !used.empty())
        least = std::min(least, left_in_group(limit, used, content(folder + "memory.stat")));
      if (path.find('/') == std::string::npos || path.empty()) break;
    }
  }
  return least;
}

std::string limit_text(const char* name, int which) {
  rlimit r{};
  if (getrlimit(which, &r) != 0 || r.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format("{} is {}, ", name, r.rlim_cur / 1024);
}

}  // namespace

double available_in_meminfo(std::string_view meminfo) {
  const double kilobytes = number_after(meminfo, "MemAvailable:");
  return std::isnan(kilobytes) ? HUGE_VAL : 1024 * kilobytes;
}

double left_in_group(std::string_view limit, std::string_view used, std::string_view stat) {
  if (limit.starts_with("max")) return HUGE_VAL;
  const double most = std::strtod(std::string(limit).c_str(), nullptr);
  const double now = std::strtod(std::string(used).c_str(), nullptr);
  const double cache = number_after(stat, "inactive_file ");
  return std::max(0.0, most - now + (std::isnan(cache) ? 0 : cache));
}

double available_memory_bytes() { return std::min(available_in_meminfo(content("/proc/meminfo")), left_in_groups()); }

result<void> check_address_space(double data_bytes, unsigned workers) {
  constexpr double mebibyte = 1048576;
  const double bytes = data_bytes + (256 + 208.0 * workers) * mebibyte;
  // Without a reservation: only limits of the process and a strict vm.overcommit_memory matter.
  void* const at = bytes < 1e18 ? mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                : MAP_FAILED;
  if (at != MAP_FAILED) {
    munmap(at, static_cast<std::size_t>(bytes));
    return {};
  }
  return error{
      fmt::format("expected {:.3g} GB of address space for the run, found less ({}{}vm.overcommit_memory); raise "
                  "the limit, or use fewer workers (--threads)",
                  1e-9 * bytes, limit_text("ulimit -v", RLIMIT_AS), limit_text("ulimit -d", RLIMIT_DATA))};
}

}  // namespace plx
