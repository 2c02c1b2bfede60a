// The groups of a node, and when they are dropped.
//
// A named group lives as long as the node, since any locality may use its name again. A part, which split() has made,
// is dropped once no member uses it: it has no handle (plx::communicator) and no pending call, and the same holds for
// parts of it. Members report this to each other in the next split() of the same group, whose all_gather it is part of:
// so all drop it at the same call, when no member waits for a message of it or for a report that it has ended. Parts of
// a dropped group are dropped with it.
//
// The identifier of a part has the highest bit. All members have made a part before any of them can call it, so a
// payload for a part that this locality does not have belongs to one that it has dropped.
//
// Thread safety: everything. Cost: a lookup in a table; without it for the named group that was used last. Example:
// net/group/test/split_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/core/node.hpp"
#include "net/group/call.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::net::collective {

/// The groups of a node. Payloads for groups that are not defined here yet are bounded, because other localities
/// determine their number.
class groups final : public service {
 public:
  static constexpr std::size_t most_unknown_bytes = std::size_t{64} << 20, most_unknown = 4096;

  explicit groups(node& n) : node_(n) {}
  ~groups() override;

  /// The group of this name and these members (ascending, without duplicates); created on first use.
  group& named(const std::string& name, std::vector<locality_id> members);
  /// The part of `parent` with these members, which is made in the split() whose call has this number. The result is
  /// the handle: the part counts as used until its last copy is destroyed. `parent`: a handle.
  std::shared_ptr<group> make_part(std::shared_ptr<group> parent, std::uint64_t call, std::uint64_t colour,
                                   std::vector<locality_id> members);
  /// The numbers of the parts of `parent` that this locality no longer uses, each once.
  std::vector<std::uint64_t> take_unused(group& parent);
  /// Drops the parts of `parent` that no member uses. `unused`: by rank in `parent`, what take_unused() has returned.
  void drop_unused(group& parent, const std::vector<std::vector<std::uint64_t>>& unused);

  /// The group of something that has arrived. Null: it was dropped, or is refused as there are too many undefined
  /// groups.
  struct found {
    std::shared_ptr<group> of;
    bool is_refused = false;
  };
  found of_arrival(std::uint64_t id);
  /// The same of a report that the group has ended, which may arrive before a part is made here.
  found of_ending(std::uint64_t id, const origin_of_part& made_by);

  /// Whether the group of this number is defined here, and l is not a member.
  [[nodiscard]] bool excludes(std::uint64_t id, locality_id l);

  /// A group was defined here. False if payloads for it may have been refused.
  bool known();
  /// Reserves bytes for a payload of an undefined group. False if the limit is exceeded.
  bool take(std::size_t bytes) noexcept;
  void give_back(std::size_t bytes) noexcept { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// How many groups there are.
  [[nodiscard]] std::size_t size();
  void peer_lost(locality_id which) override;

 private:
  static constexpr std::uint64_t part_bit = std::uint64_t{1} << 63;
  struct part_handle;
  static bool is_unused(group& part);
  std::shared_ptr<group> make(std::uint64_t id);
  found make_unless_too_many(std::uint64_t id);
  void drop(group& g, std::vector<std::shared_ptr<group>>& dropped);

  node& node_;
  plx::detail::spinlock lock_;
  std::unordered_map<std::uint64_t, std::shared_ptr<group>> all_;
  std::size_t unknown_ = 0;   // undefined groups
  bool refused_any_ = false;  // because there were too many
  std::atomic<std::size_t> bytes_{0};
  std::atomic<group*> last_{nullptr};  // the named one that was used most recently
};

}  // namespace plx::net::collective
