// A library for LD_PRELOAD, by which one process of a job runs out of memory at a given place.
//
//   NO_MEMORY="RANK SIZE COUNT MORE"
// On the locality RANK, the mapping or large allocation number COUNT (from 1) of at least SIZE bytes fails, and after
// it the next MORE allocations by operator new, of any size and in any thread. SIZE 0: nothing but these MORE fails,
// after the process has written run.json for the COUNT-th time. NO_RECORD=N: that process ends before it writes
// run.json for the N-th time. NO_MEMORY_FILE=PATH: this file
// exists once an allocation has failed.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

namespace {

struct plan {
  int rank = -1, count = 0, more = 0, last_record = 0;
  std::size_t size = 0;
  plan() {
    const char *text = std::getenv("NO_MEMORY"), *own = std::getenv("PMIX_RANK");
    const bool valid = text != nullptr && std::sscanf(text, "%d %zu %d %d", &rank, &size, &count, &more) == 4;
    if (!valid || own == nullptr || std::atoi(own) != rank) count = 0;  // the launcher has no rank
    const char* const end = std::getenv("NO_RECORD");
    if (count != 0 && end != nullptr) last_record = std::atoi(end);
  }
};

const plan& the_plan() {
  static const plan p;
  return p;
}
std::atomic<int> large{0}, more_left{0}, records{0};

// An allocation fails: allocates nothing itself.
bool fail() {
  static const char* const path = std::getenv("NO_MEMORY_FILE");
  static std::atomic<bool> known{false};
  if (path != nullptr && !known.exchange(true)) close(open(path, O_CREAT | O_WRONLY, 0600));
  return true;
}

// Whether this large one is the one that fails.
bool fails(std::size_t bytes) {
  const plan& p = the_plan();
  if (p.count == 0 || p.size == 0 || bytes < p.size || ++large != p.count) return false;
  more_left = p.more;
  return fail();
}

bool fails_after() { return more_left.load() > 0 && more_left.fetch_sub(1) > 0 && fail(); }

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  static const auto original = next<void* (*)(void*, std::size_t, int, int, int, off_t)>("mmap");
  if ((flags & MAP_ANONYMOUS) != 0 && fails(bytes)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return original(at, bytes, protection, flags, file, offset);
}

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  static const auto original = next<void* (*)(std::size_t, std::size_t)>("aligned_alloc");
  return fails(bytes) ? nullptr : original(alignment, bytes);
}

extern "C" int rename(const char* from, const char* to) noexcept {
  static const auto original = next<int (*)(const char*, const char*)>("rename");
  const plan& p = the_plan();
  if (p.count == 0 || !std::string_view(to).ends_with("run.json")) return original(from, to);
  const int number = ++records;
  if (number == p.last_record) _exit(9);
  const int done = original(from, to);
  if (p.size == 0 && number == p.count) more_left = p.more;
  return done;
}

void* operator new(std::size_t bytes) {
  if (fails(bytes) || fails_after()) throw std::bad_alloc();
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
