#include "probe/preload/wait_sites.hpp"

#include <execinfo.h>
#include <sys/mman.h>

#include <new>
#include <string>
#include <string_view>

#include "base/symbols.hpp"
#include "probe/names.hpp"
#include "probe/wait_log.hpp"

namespace plx::probe {
namespace {

/// Functions that say nothing about who waits: between the program and the system, or ours.
bool is_plumbing(std::string_view name) {
  for (const std::string_view type : {"void ", "bool "})  // templates are told with what they return
    if (name.starts_with(type)) name.remove_prefix(type.size());
  for (const std::string_view p : {"std::", "__gnu_cxx::", "__gthread", "__", "pthread_", "plx_probe_", "plx::probe::"})
    if (name.starts_with(p)) return true;
  return name.empty();
}

/// The name of the file that an address is in, without its folders; "" when it is in none.
std::string file_of(const void* address) {
  const std::string path = loaded_file(address);
  return path.substr(path.rfind('/') + 1);
}

std::string name_by_frames(const std::atomic<void*>* frames, int n) {
  std::string outside;  // the innermost, if all is plumbing
  for (int i = 0; i < n; ++i) {
    const auto* returned_to = static_cast<const char*>(frames[i].load(std::memory_order_relaxed));
    if (returned_to == nullptr) break;
    const std::string file = file_of(returned_to - 1);
    if (file.starts_with("libplx-")) continue;  // there every function is plumbing
    const std::string function = function_name(returned_to - 1);
    if (function.empty() && !file.empty()) return "in " + file;  // which was stripped
    if (!is_plumbing(function)) return "in " + readable_name(function);
    if (outside.empty() && !function.starts_with("plx")) outside = "in " + function;
  }
  return outside;
}

}  // namespace

wait_sites::wait_sites() {
  void* pages = mmap(nullptr, n_cells * sizeof(cell), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  cells_ = static_cast<cell*>(pages);  // zeroes are cells that are free
  void* none[1];
  backtrace(none, 1);  // the first call may load a library, which must not happen while somebody waits
}

wait_sites::~wait_sites() { munmap(static_cast<void*>(cells_), n_cells * sizeof(cell)); }

void wait_sites::see(const void* object) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(object);
  const std::size_t first = (wanted * 0x9e3779b97f4a7c15ull) >> 40;
  for (std::size_t i = first; i < first + longest_search; ++i) {
    cell& c = cells_[i % n_cells];
    std::uintptr_t there = c.object.load(std::memory_order_relaxed);
    if (there == 0 && c.object.compare_exchange_strong(there, wanted, std::memory_order_relaxed)) {
      void* frames[n_frames];
      const int n = backtrace(frames, n_frames);
      for (int f = 0; f < n; ++f) c.frames[f].store(frames[f], std::memory_order_relaxed);
      return;
    }
    if (there == wanted) return;
  }
}

void wait_sites::name_all() {
  for (std::size_t i = 0; i < n_cells; ++i) {
    const cell& c = cells_[i];
    const auto* object = reinterpret_cast<const void*>(c.object.load(std::memory_order_relaxed));
    if (object == nullptr || object_name(object) != unnamed) continue;
    std::string name = variable_name(object);
    if (name.empty()) name = name_by_frames(c.frames, n_frames);
    if (!name.empty()) name_object(object, readable_name(name));
  }
}

}  // namespace plx::probe
