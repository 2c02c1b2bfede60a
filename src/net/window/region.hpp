// The memory behind a window (net/window.hpp): this rank's part, where the parts of the others are, and how they are
// accessed. Offsets and sizes are bytes.
//
// Accesses take one of three ways: loads and stores, if the other part is mapped into this process (the own one always
// is); direct accesses of the transport (net/transport/remote_memory.hpp), if all members have it; otherwise messages
// to direct actions, which the polling thread of the other locality executes without a task. Atomic operations take the
// same way on all members, the own rank included, since those of a network card and of a processor may not be atomic
// with respect to each other.
//
// Thread safety: everything except end(). Cost: net/window.hpp. Example: net/window/test/window_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/locality.hpp"
#include "net/transport/remote_memory.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/future.hpp"

namespace plx {
class communicator;
}

namespace plx::net {

class node;

/// Operations in progress, for flush(). Those that begin before a flush belong to another epoch than those that begin
/// after it; a flush is ready when its epoch and all earlier ones have ended.
class operation_epochs {
 public:
  /// Returns the epoch of the operation that begins.
  std::uint64_t begin();
  /// An operation of that epoch has ended; `error`: null if it succeeded.
  void end(std::uint64_t epoch, const std::exception_ptr& error) noexcept;
  /// Ready when all operations that have begun so far have ended, with the first error of those that ended since the
  /// previous flush().
  [[nodiscard]] future<void> flush();

 private:
  struct epoch {
    std::uint64_t open = 0;
    std::exception_ptr error;
    promise<void> flushed;
    bool closed = false;  // by a flush
  };
  /// Removes the first epoch, if it has ended. Does not allocate.
  std::optional<epoch> take_ended() noexcept;

  plx::detail::spinlock lock_;
  std::deque<epoch> epochs_{1};
  std::uint64_t first_ = 0;  // number of epochs_[0]
};

class region final : public std::enable_shared_from_this<region> {
 public:
  /// Collective. `element_bytes`: for error messages. Throws locality_lost, std::bad_alloc, std::invalid_argument.
  static std::shared_ptr<region> make(const communicator& members, std::size_t bytes, std::size_t element_bytes,
                                      unsigned signals);
  /// This process is the only rank.
  static std::shared_ptr<region> make_alone(std::size_t bytes, std::size_t element_bytes, unsigned signals);
  ~region();
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  /// Collective: waits until no member accesses the memory any more, or one is lost. `abandon`: does not wait, and the
  /// memory stays until the job ends.
  void end(bool abandon) noexcept;

  /// The caller's rank.
  [[nodiscard]] unsigned rank() const noexcept { return rank_; }
  /// Number of members.
  [[nodiscard]] unsigned ranks() const noexcept { return static_cast<unsigned>(members_.size()); }
  /// Size of a member's memory. Errors: throws std::out_of_range for a rank that does not exist.
  [[nodiscard]] std::size_t bytes_of(unsigned rank) const;
  /// The caller's memory.
  [[nodiscard]] std::byte* memory() const noexcept { return memory_; }

  /// Throws std::out_of_range unless the rank has the `n` elements from `first` on. `what`: the operation.
  void check(unsigned rank, std::size_t first, std::size_t n, const char* what) const {
    if (rank >= members_.size() || first > members_[rank].bytes / element_bytes_ ||
        n > members_[rank].bytes / element_bytes_ - first) [[unlikely]]
      refuse(rank, first, n, what);
  }
  /// Whether loads and stores of this process reach the memory of that rank, so that put() and get() need no owner.
  [[nodiscard]] bool is_mapped(unsigned rank) const noexcept { return members_[rank].mapped != nullptr; }
  /// Whether members whose memory is not mapped are reached by direct accesses, not by messages.
  [[nodiscard]] bool is_direct() const noexcept { return transport_ != nullptr; }
  /// Throws std::out_of_range unless the rank has the signal. `what`: the operation.
  void check_signal(unsigned rank, unsigned signal, const char* what) const;

  // Requires of all: the bytes exist; see check(). `owner` keeps the memory of the caller valid; null: the caller does.
  /// Copies `from` to the memory of a rank.
  future<void> put(unsigned rank, std::size_t offset, std::span<const std::byte> from,
                   std::shared_ptr<const void> owner);
  /// Copies from the memory of a rank to `to`.
  future<void> get(unsigned rank, std::size_t offset, std::span<std::byte> to, std::shared_ptr<const void> owner);
  /// word_bytes: 4 or 8. The previous value.
  future<std::uint64_t> apply(access_kind kind, unsigned rank, std::size_t offset, unsigned word_bytes,
                              std::uint64_t operand, std::uint64_t expected);
  /// A put, after which the signal of that rank increases by `add`.
  future<void> put_signal(unsigned rank, std::size_t offset, std::span<const std::byte> from,
                          std::shared_ptr<const void> owner, unsigned signal, std::uint64_t add);
  /// Ready when a signal of the caller has reached a value.
  future<void> wait_signal(unsigned signal, std::uint64_t at_least);
  /// The value of a signal of the caller. Errors: throws std::out_of_range for one that does not exist.
  [[nodiscard]] std::uint64_t signal(unsigned which) const;
  /// Ready when all operations that the caller has begun are complete.
  future<void> flush() { return epochs_.flush(); }

  // Requests of other members by messages.
  /// Whether the caller's memory has these bytes.
  [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t n) const noexcept {
    return offset <= bytes_ && n <= bytes_ - offset;
  }
  /// Whether the caller has this signal.
  [[nodiscard]] bool has_signal(std::uint64_t which) const noexcept { return which < signals_.size(); }
  /// Requires: has_signal().
  void raise(std::uint64_t which, std::uint64_t add) noexcept;
  /// A member is lost: unsatisfied waits for signals fail, now and later.
  void member_lost(locality_id which) noexcept;

 private:
  struct member {
    locality_id where = no_locality;
    std::uint64_t id = 0;  // of its region
    std::uint64_t bytes = 0;
    std::uint64_t signals = 0;
    std::byte* mapped = nullptr;  // its memory, if loads and stores reach it
    void* key = nullptr;          // for direct accesses
  };
  struct waiter {
    std::uint64_t at_least = 0;
    promise<void> ready;
  };
  struct signal_state {
    std::uint64_t value = 0;
    std::vector<waiter> waiters;
  };

  region(node* n, std::size_t bytes, std::size_t element_bytes, unsigned signals);
  std::string allocate(bool direct);
  void exchange_keys(const std::string& key);
  std::uint64_t attach_all(const std::vector<std::string>& keys);
  void detach_all() noexcept;
  [[noreturn]] void refuse(unsigned rank, std::size_t first, std::size_t n, const char* what) const;
  [[nodiscard]] bool is_lost(const member& m) const noexcept;
  [[nodiscard]] std::exception_ptr loss_of(const member& m) const;
  template <class R>
  future<R> tracked(future<R> f);
  future<void> put_remotely(const member& m, std::size_t offset, std::span<const std::byte> from,
                            std::shared_ptr<const void> owner);
  future<void> put_by_messages(const member& m, std::size_t offset, std::span<const std::byte> from,
                               std::shared_ptr<const void> owner);
  future<void> get_by_messages(const member& m, std::size_t offset, std::span<std::byte> to,
                               std::shared_ptr<const void> owner);
  future<void> raise_remotely(const member& m, unsigned signal, std::uint64_t add);

  node* const node_;  // null: alone
  const std::size_t bytes_, element_bytes_;
  std::unique_ptr<communicator> all_;  // null: alone
  std::byte* memory_ = nullptr;
  remote_memory* made_by_ = nullptr;    // the memory belongs to the transport
  void* exported_ = nullptr;            // its handle
  remote_memory* transport_ = nullptr;  // with direct accesses
  bool maps_all_ = true;                // atomic operations are those of the processor
  std::uint64_t id_ = 0;
  unsigned rank_ = 0;
  std::vector<member> members_;
  operation_epochs epochs_;
  mutable plx::detail::spinlock lock_;  // guards all below
  std::vector<signal_state> signals_;   // their number is fixed
  std::exception_ptr lost_;             // of the first lost member
};

/// The region with that id of the caller's locality; null if there is none.
std::shared_ptr<region> find_region(std::uint64_t id) noexcept;

}  // namespace plx::net
