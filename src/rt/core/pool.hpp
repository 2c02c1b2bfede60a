// Memory of tasks and futures' states: small blocks, recycled per thread, and pointers that count references.
//
// Thread-safe; a block may be freed by another thread than the one that allocated it. Cost: about 3 ns when the
// thread's own list serves. Blocks over `largest_bytes` go to operator new. Under AddressSanitizer and ThreadSanitizer
// all blocks do, so that each use after free is detected.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace plx::detail {

inline constexpr std::size_t largest_pooled_bytes = 512;
inline constexpr std::size_t pooled_alignment = 64;  // of every block; enough for the widest vectors

[[nodiscard]] void* pool_get(std::size_t bytes);
void pool_put(void* p, std::size_t bytes) noexcept;

/// Its destructor gives the calling thread's free blocks to other threads. A thread without one does so when it ends,
/// by a destructor that it registers with the C library at its first block; if there is no memory for that, the C
/// library ends the program. Requires: a local object of the thread's outermost function.
class pool_of_thread {
 public:
  pool_of_thread() noexcept;
  ~pool_of_thread();
  pool_of_thread(const pool_of_thread&) = delete;
  pool_of_thread& operator=(const pool_of_thread&) = delete;
};

/// Creates a T in a block of the pool. If the constructor throws, the block is freed.
template <class T, class... A>
T* pool_new(A&&... a) {
  static_assert(alignof(T) <= pooled_alignment, "a task or result may be aligned to 64 bytes at most");
  void* memory = pool_get(sizeof(T));
  try {
    return ::new (memory) T(std::forward<A>(a)...);
  } catch (...) {
    pool_put(memory, sizeof(T));
    throw;
  }
}

/// A pointer that holds a reference, or null. T has add_ref() and release(), which frees the object at the last call.
template <class T>
class counted_ptr {
 public:
  counted_ptr() noexcept = default;
  explicit counted_ptr(T* adopted) noexcept : p_(adopted) {}
  counted_ptr(const counted_ptr& o) noexcept : p_(o.p_) {
    if (p_ != nullptr) p_->add_ref();
  }
  counted_ptr(counted_ptr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  // Not one operator= by value: for `member = {}` in a template, Clang 16 omits the destructor of such an argument
  // (LLVM issue 51037), and the released reference would be kept. The same holds in limit_ref, buffer, net::handle and
  // pinned.
  counted_ptr& operator=(const counted_ptr& o) noexcept { return *this = counted_ptr(o); }
  counted_ptr& operator=(counted_ptr&& o) noexcept {
    counted_ptr taken(std::move(o));
    std::swap(p_, taken.p_);
    return *this;
  }
  ~counted_ptr() {
    if (p_ != nullptr) p_->release();
  }
  [[nodiscard]] T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  friend bool operator==(const counted_ptr& a, const counted_ptr& b) noexcept { return a.p_ == b.p_; }

 private:
  T* p_ = nullptr;
};

}  // namespace plx::detail
