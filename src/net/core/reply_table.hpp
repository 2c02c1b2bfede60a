// The answers that this locality waits for. An answer names its slot by a number that is used once: a duplicate, a late
// answer, or one from a locality that was not asked matches no slot.
//
// Thread safety: everything. Cost: a lock and a few instructions. Example: net/core/test/reply_table_test.cpp
#pragma once

#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "net/core/wire.hpp"
#include "net/locality.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::net {

/// The receiver of one answer. One caller takes it out of the table, then calls read() and complete(), or fail(), or
/// read(), lose() and let_go(); the last of these calls destroys it.
class reply_target {
 public:
  /// Reads the result; false if it does not have the expected type. Its pieces may arrive later.
  virtual bool read(wire_reader& r) noexcept = 0;
  virtual void complete() noexcept = 0;
  /// Fails the waiting call. The memory for pieces named by read() stays valid until let_go().
  virtual void lose(std::exception_ptr e) noexcept = 0;
  virtual void let_go() noexcept = 0;
  void fail(std::exception_ptr e) noexcept {
    lose(std::move(e));
    let_go();
  }

  locality_id asked = no_locality;  ///< the locality that answers

 protected:
  ~reply_target() = default;
};

class reply_table {
 public:
  /// Returns the number under which `t` is found; never 0.
  std::uint64_t add(reply_target& t, locality_id asked);
  /// Removes and returns the entry; null if no entry has that number, or if another locality was asked.
  reply_target* take(std::uint64_t id, locality_id from) noexcept;
  /// Removes and returns all entries that wait for this locality.
  std::vector<reply_target*> take_all(locality_id asked);
  /// The number of entries.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  struct slot {
    reply_target* target = nullptr;
    std::uint32_t turn = 1;  // number of uses: the upper half of the entry's number
    std::uint32_t next_free = 0;
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  reply_target* release(std::uint32_t index) noexcept;

  mutable plx::detail::spinlock lock_;
  std::vector<slot> slots_;
  std::uint32_t first_free_ = none;
  std::size_t used_ = 0;
};

}  // namespace plx::net
