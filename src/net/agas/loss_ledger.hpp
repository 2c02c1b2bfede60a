// When a directory may trust its lists again after a locality was lost: once every survivor has seen the loss and has
// registered all handles that came to it before. See net/agas/agas.hpp, "Death".
//
// Thread safety: everything. Cost: a lock; without losses a few instructions. Example: net/agas/test/agas_sim_test.cpp
#pragma once

#include <vector>

#include "net/agas/gid.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::net::detail {

class loss_ledger {
 public:
  /// Somebody wants to know when this locality has settled a loss.
  struct question {
    locality_id lost = 0;
    locality_id asker = 0;
    friend bool operator==(const question&, const question&) = default;
  };

  loss_ledger(locality_id here, unsigned localities);

  /// False when it is known. `settled`: nothing here can depend on it.
  bool add(locality_id lost, bool settled = false);
  /// How many are known.
  [[nodiscard]] unsigned seen() const noexcept;

  /// A claim begins; its end is told with the number that comes back.
  unsigned begin_claim();
  void end_claim(unsigned epoch) noexcept;

  void ask(question q);
  /// Takes out those that can be answered now: the loss is known here, and no claim from before is pending.
  std::vector<question> answerable();
  /// What another locality answers.
  void answer(locality_id lost, locality_id who);

  /// True: every known loss is settled, and at least `needs` are known. Else the id is kept for ready().
  bool settled_or_defer(const gid& id, unsigned needs);
  /// Takes out the deferred ids if settled_or_defer() would now say true.
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
  std::vector<loss> losses_;            // in the order they were seen
  std::vector<std::uint64_t> pending_;  // claims by the number of losses that were known when they began
  std::vector<question> questions_;
  std::vector<gid> deferred_;
  unsigned needs_ = 0;  // the most that a deferred id needs
};

}  // namespace plx::net::detail
