#include "rt/core/pool.hpp"

#include <array>
#include <new>
#include <utility>

#include "rt/core/spinlock.hpp"

namespace plx::detail {

#if defined(PLX_ASAN) || defined(PLX_TSAN)

void* pool_get(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{pooled_alignment}); }
void pool_put(void* p, std::size_t) noexcept { ::operator delete (p, std::align_val_t{pooled_alignment}); }
pool_of_thread::pool_of_thread() noexcept = default;
pool_of_thread::~pool_of_thread() = default;

#else

namespace {

constexpr std::size_t granule = pooled_alignment;
constexpr std::size_t n_classes = largest_pooled_bytes / granule;
constexpr unsigned batch_blocks = 64;  // moved together between a thread and the common store

struct block {
  block* next;
  block* next_batch;  // this and the next: only in the first block of a batch in the common store
  unsigned count;
};

// Batches given by threads with too many blocks and taken by threads with none. Never destroyed: threads may end after
// static destruction has begun.
struct common_store {
  spinlock lock;
  block* batches = nullptr;
};

common_store& store(std::size_t size_class) {
  static auto* stores = new std::array<common_store, n_classes>;
  return (*stores)[size_class];
}

struct local_list {
  block* first = nullptr;
  unsigned count = batch_blocks;  // not 0, so that the first block of a thread that only frees goes through spill()
  block* spare =
      nullptr;  // a whole batch, so that alternating calls at a batch boundary do not access the store each time
};

void give_batch(std::size_t size_class, block* batch, unsigned count) noexcept {
  common_store& s = store(size_class);
  batch->count = count;
  spin_guard guard(s.lock);
  batch->next_batch = std::exchange(s.batches, batch);
}

block* take_batch(std::size_t size_class) noexcept {
  common_store& s = store(size_class);
  spin_guard guard(s.lock);
  if (s.batches == nullptr) return nullptr;
  return std::exchange(s.batches, s.batches->next_batch);
}

block* make_batch(std::size_t size_class) {
  const std::size_t bytes = (size_class + 1) * granule;
  auto* memory = static_cast<std::byte*>(::operator new (bytes* batch_blocks, std::align_val_t{granule}));
  block* first = nullptr;
  for (unsigned i = batch_blocks; i-- > 0;) first = new (memory + i * bytes) block{first, nullptr, batch_blocks};
  return first;
}

struct thread_cache {
  std::array<local_list, n_classes> lists{};
};

// Nothing to construct or destroy: it serves whatever the thread destroys after its other thread-local objects.
constinit thread_local thread_cache cache;

constinit thread_local bool has_pool_of_thread = false;

// Gives the thread's blocks to other threads.
void give_all() noexcept {
  for (std::size_t c = 0; c < n_classes; ++c) {
    local_list& list = cache.lists[c];
    if (list.spare != nullptr) give_batch(c, list.spare, batch_blocks);
    if (list.first != nullptr) give_batch(c, list.first, list.count);
    list = {};
  }
}

struct cache_keeper {
  ~cache_keeper() { give_all(); }
};

void keep_cache_until_thread_ends() noexcept {
  if (has_pool_of_thread) return;
  thread_local const cache_keeper keeper;
  asm volatile("" ::"r"(&keeper));
}

// Never inlined: a task may be on another thread after a wait, so the address must be taken again.
[[gnu::noinline]] thread_cache& this_cache() {
  asm volatile("" ::: "memory");
  return cache;
}

[[gnu::noinline]] void refill(std::size_t size_class, local_list& list) {
  keep_cache_until_thread_ends();
  block* batch = std::exchange(list.spare, nullptr);
  list.count = batch_blocks;
  if (batch == nullptr) {
    batch = take_batch(size_class);
    if (batch == nullptr) batch = make_batch(size_class);
    list.count = batch->count;
  }
  list.first = batch;
}

[[gnu::noinline]] void spill(std::size_t size_class, local_list& list) noexcept {
  keep_cache_until_thread_ends();
  list.count = 0;
  if (list.first == nullptr) return;  // the thread's first
  if (list.spare != nullptr) give_batch(size_class, list.spare, batch_blocks);
  list.spare = std::exchange(list.first, nullptr);
}

}  // namespace

pool_of_thread::pool_of_thread() noexcept { has_pool_of_thread = true; }
pool_of_thread::~pool_of_thread() {
  give_all();
  has_pool_of_thread = false;
}

void* pool_get(std::size_t bytes) {
  if (bytes > largest_pooled_bytes) return ::operator new (bytes, std::align_val_t{pooled_alignment});
  const std::size_t size_class = (bytes - 1) / granule;
  local_list& list = this_cache().lists[size_class];
  if (list.first == nullptr) [[unlikely]]
    refill(size_class, list);
  --list.count;
  return std::exchange(list.first, list.first->next);
}

void pool_put(void* p, std::size_t bytes) noexcept {
  if (bytes > largest_pooled_bytes) return ::operator delete (p, std::align_val_t{pooled_alignment});
  const std::size_t size_class = (bytes - 1) / granule;
  local_list& list = this_cache().lists[size_class];
  if (list.count == batch_blocks) [[unlikely]]
    spill(size_class, list);
  auto* b = new (p) block;  // what is not set is set when it leaves this thread
  b->next = std::exchange(list.first, b);
  ++list.count;
}

#endif

}  // namespace plx::detail
