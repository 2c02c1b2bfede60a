// The answers that this locality waits for. An answer names its slot by a number that is used once: one that comes
// twice, late, or from somebody who was not asked finds nothing.
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

/// Who waits for one answer. Taken out of the table by one caller, who then calls read() and complete(), or fail(), or
/// read(), lose() and let_go(): the last one ends its life.
class reply_target {
 public:
  /// Reads the result; false: it is not what it should be. Its pieces may still come.
  virtual bool read(wire_reader& r) noexcept = 0;
  virtual void complete() noexcept = 0;
  /// Whoever waits is told. The memory of pieces that read() has named stays until let_go().
  virtual void lose(std::exception_ptr e) noexcept = 0;
  virtual void let_go() noexcept = 0;
  void fail(std::exception_ptr e) noexcept {
    lose(std::move(e));
    let_go();
  }

  locality_id asked = no_locality;  ///< who answers

 protected:
  ~reply_target() = default;
};

class reply_table {
 public:
  /// The number by which `t` is found; never 0.
  std::uint64_t add(reply_target& t, locality_id asked);
  /// Takes it out; null when there is none of that number, or another locality was asked.
  reply_target* take(std::uint64_t id, locality_id from) noexcept;
  /// Takes out all that wait for this locality.
  std::vector<reply_target*> take_all(locality_id asked);
  /// How many wait.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  struct slot {
    reply_target* target = nullptr;
    std::uint32_t turn = 1;  // how often it was used: the upper half of the number
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
