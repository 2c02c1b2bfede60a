// The trees of UTS, the unbalanced tree search (Olivier et al., LCPC 2006): a node is the SHA-1 of its parent and its
// index among the siblings, and the hash determines its number of children. The distribution of work is unpredictable.
#pragma once

#include <array>
#include <cstdint>

namespace uts {

struct node {
  std::array<std::uint32_t, 5> state;  // the hash
  int depth;
};

/// T1: geometric, every node above the last level has 4 children on average. T3: binomial, a root of 2000 children and
/// below it 8 children with probability 0.124875, else none: deep and thin.
struct shape {
  const char* name;
  bool binomial;
  double children;  // on average (geometric), of the root (binomial)
  int levels;       // geometric only
  std::uint32_t seed;
  long nodes;  // as published, or 0 if unknown
};
inline constexpr shape t1{"T1", false, 4, 10, 19, 4'130'071};
inline constexpr shape t3{"T3", true, 2000, 0, 42, 4'112'897};

node root(const shape& s);
node child(const node& parent, int i);
int count_children(const shape& s, const node& n);

/// The number of nodes of the tree.
using uts_run = long(const shape&);

}  // namespace uts
