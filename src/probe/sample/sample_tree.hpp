// Sampled stacks, summed: a tree whose roots are task types and whose nodes are code addresses.
//
// Thread safety: none. Cost of add(): a look-up in a hash table per frame; memory: 40 bytes per node, at most
// most_nodes. Example: probe/sample/test/sample_tree_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "probe/sample/sample_ring.hpp"

namespace plx::probe {

/// A part of the samples by function: a node of a call tree, for flame graphs.
struct sampled_call {
  static constexpr std::uint32_t none = ~0u;
  std::uint32_t parent = none;  // precedes it in the list
  std::uint32_t depth = 0;
  std::string name;         // of the task type or of the function
  std::uint64_t own = 0;    // periods in this function itself
  std::uint64_t below = 0;  // the same, and in the functions that it called
};

/// An address at which samples were taken, with the type of the running task.
struct sampled_place {
  std::string task;
  const void* address = nullptr;
  std::uint64_t own = 0;
};

class sample_tree {
 public:
  static constexpr std::size_t most_nodes = std::size_t{1} << 20;

  explicit sample_tree(std::size_t limit = most_nodes) : limit_(limit) {}

  /// Throws std::bad_alloc, and then does not count the sample.
  void add(const stack_sample& s);

  /// Periods, summed over the samples.
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  /// Samples, without weight.
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }
  /// Periods whose innermost functions are not known because the tree is full; they count for their caller.
  [[nodiscard]] std::uint64_t shortened() const noexcept { return shortened_; }

  /// The numbers of all nodes, for since().
  [[nodiscard]] std::vector<std::uint64_t> counts() const;
  /// The samples that were added after the numbers of this tree, or of an earlier copy of it, were `then`. It has no
  /// samples() and no shortened().
  [[nodiscard]] sample_tree since(const std::vector<std::uint64_t>& then) const;

  /// The samples by function, depth first, the most frequent first; functions that only start tasks are omitted.
  /// Cost: reads the symbols of each program and library with samples.
  [[nodiscard]] std::vector<sampled_call> calls() const;
  /// The `most` places with the most samples.
  [[nodiscard]] std::vector<sampled_place> places(std::size_t most) const;

 private:
  struct node {
    std::uint32_t parent;
    std::uint64_t at;  // a code address; of a root: activity and task type
    std::uint64_t own = 0;
  };
  static constexpr std::uint32_t none = ~0u, missing = ~0u - 1;
  /// The child of `parent` at `at`, created if needed; `missing` if the tree is full.
  std::uint32_t child(std::uint32_t parent, std::uint64_t at);
  void grow();
  [[nodiscard]] std::size_t slot_of(std::uint32_t parent, std::uint64_t at) const noexcept;

  const std::size_t limit_;
  std::vector<node> nodes_;           // a parent precedes its children
  std::vector<std::uint32_t> table_;  // open addressing; its size is a power of two
  std::uint64_t total_ = 0, samples_ = 0, shortened_ = 0;
};

/// The name of the function at a sampled address, for people: "star::step<int>", or "(in libm.so.6)" if its file has no
/// symbol there. Cost: function_name() of base/symbols.hpp.
std::string sampled_function(const void* address);

/// A line per call with samples of its own: the names from the root, separated by ";", and the number. In names ";"
/// becomes ",".
std::string collapsed_stacks(const std::vector<sampled_call>& calls);

}  // namespace plx::probe
