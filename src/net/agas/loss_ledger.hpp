// Decides when a directory may trust its lists of holders again after a loss: once every survivor knows of the loss and
// has registered all handles that it received before. See net/agas/agas.hpp, "Loss".
//
// Thread safety: everything. Cost: a lock; without losses a few instructions. Example: net/agas/test/agas_sim_test.cpp
#pragma once

#include <vector>

#include "net/agas/gid.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::net::detail {

class loss_ledger {
 public:
  /// A locality asks when this one has settled a loss.
  struct question {
    locality_id lost = 0;
    locality_id asker = 0;
    friend bool operator==(const question&, const question&) = default;
  };

  loss_ledger(locality_id here, unsigned localities);

  /// False if the loss is known already. `settled`: no reference here can depend on it.
  bool add(locality_id lost, bool settled = false);
  /// The number of known losses.
  [[nodiscard]] unsigned seen() const noexcept;

  /// Begins a claim; returns the epoch to pass to end_claim().
  unsigned begin_claim();
  void end_claim(unsigned epoch) noexcept;

  void ask(question q);
  /// Removes and returns the questions that can be answered: the loss is known, and no earlier claim is pending.
  std::vector<question> answerable();
  /// Records the reply of another locality.
  void answer(locality_id lost, locality_id who);

  /// True if every known loss is settled and at least `needs` are known; otherwise the id is kept for ready().
  bool settled_or_defer(const gid& id, unsigned needs);
  /// Removes and returns the deferred ids if settled_or_defer() would now return true.
  std::vector<gid> ready();

 private:
  struct loss {
    locality_id who = 0;
    bool settled = false;
    std::vector<bool> answers;  // by locality
  };
  [[nodiscard]] bool settled_here(std::size_t index) const noexcept;
  [[nodiscard]] bool is_lost(locality_id who) const noexcept;
  bool settled(unsigned needs) noexcept;

  const locality_id here_;
  const unsigned localities_;
  mutable plx::detail::spinlock lock_;
  std::vector<loss> losses_;            // in the order of detection
  std::vector<std::uint64_t> pending_;  // pending claims by the number of losses known when they began
  std::vector<question> questions_;
  std::vector<gid> deferred_;
  unsigned needs_ = 0;  // maximum over the deferred ids
};

}  // namespace plx::net::detail
