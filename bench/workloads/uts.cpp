// uts/LIBRARY: ns of wall time per node of UTS's tree T1, a task for each node; /T3: of the deep and thin T3.
// The number of nodes must be the published one.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "rt/task_group.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/task_group.h>
#endif

namespace {

using plx::bench::entry;

// The trees of UTS, the unbalanced tree search (Olivier et al., LCPC 2006): a node is the SHA-1 of its parent and its
// index among the siblings, and the hash determines its number of children. The distribution of work is unpredictable.
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

/// The number of nodes of the tree.
using uts_run = long(const shape&);

using words = std::array<std::uint32_t, 16>;

/// SHA-1 (FIPS 180-4) of a message of one block, whose padding is already in it.
std::array<std::uint32_t, 5> sha1_block(const words& message) {
  std::array<std::uint32_t, 80> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = message[i];
  for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  const std::array<std::uint32_t, 5> h{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  auto [a, b, c, d, e] = h;
  const auto round = [&](std::uint32_t f, std::uint32_t k, std::uint32_t word) {
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + word;
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  };
  for (std::size_t i = 0; i < 20; ++i) round((b & c) | (~b & d), 0x5a827999, w[i]);
  for (std::size_t i = 20; i < 40; ++i) round(b ^ c ^ d, 0x6ed9eba1, w[i]);
  for (std::size_t i = 40; i < 60; ++i) round((b & c) | (b & d) | (c & d), 0x8f1bbcdc, w[i]);
  for (std::size_t i = 60; i < 80; ++i) round(b ^ c ^ d, 0xca62c1d6, w[i]);
  return {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
}

/// Uniform in [0, 1).
double uniform(const node& n) { return static_cast<double>(n.state[4] & 0x7fffffff) / 2147483648.0; }

PLX_BENCH_OPAQUE node root(const shape& s) {
  words m{};
  m[4] = s.seed;
  m[5] = 0x80000000;
  m[15] = 20 * 8;
  return {sha1_block(m), 0};
}

PLX_BENCH_OPAQUE node child(const node& parent, int i) {
  words m{};
  for (std::size_t k = 0; k < 5; ++k) m[k] = parent.state[k];
  m[5] = static_cast<std::uint32_t>(i);
  m[6] = 0x80000000;
  m[15] = 24 * 8;
  return {sha1_block(m), parent.depth + 1};
}

PLX_BENCH_OPAQUE int count_children(const shape& s, const node& n) {
  if (s.binomial) {
    if (n.depth == 0) return static_cast<int>(s.children);
    return uniform(n) < 0.124875 ? 8 : 0;
  }
  if (n.depth >= s.levels) return 0;
  const double p = 1 / (1 + s.children);
  return static_cast<int>(std::floor(std::log(1 - uniform(n)) / std::log(1 - p)));
}

}  // namespace uts

// ---- plx and oneTBB
template <class Group>
long count(const uts::shape& s, const uts::node& n) {
  const int children = uts::count_children(s, n);
  if (children == 0) return 1;
  std::vector<long> counts(static_cast<std::size_t>(children));
  Group group;
  for (int i = 0; i < children; ++i)
    group.run(
        [&s, &n, i, result = &counts[static_cast<std::size_t>(i)]] { *result = count<Group>(s, uts::child(n, i)); });
  group.wait();
  return std::accumulate(counts.begin(), counts.end(), 1L);
}

const entry<uts::uts_run> with_plx("plx", [](const uts::shape& s) {
  return plx::bench::plx_runtime().run([&s] { return count<plx::task_group>(s, uts::root(s)); });
});

// T3 is 1572 levels deep. A parent that runs its children inline calls them on its own stack, as every library here
// does: give it the 8 MiB of a thread.
const auto stack_bytes = plx::bench::plx_options().stack_bytes = std::size_t{8} << 20;

#ifdef PLX_HAVE_TBB
const entry<uts::uts_run> with_tbb("tbb", [](const uts::shape& s) {
  return plx::bench::tbb_arena().execute([&s] { return count<tbb::task_group>(s, uts::root(s)); });
});
#endif

#ifdef _OPENMP
namespace with_openmp {

long count(const uts::shape& s, const uts::node& n) {
  const int children = uts::count_children(s, n);
  if (children == 0) return 1;
  std::vector<long> counts(static_cast<std::size_t>(children));
  for (int i = 0; i < children; ++i) {
    long* const result = &counts[static_cast<std::size_t>(i)];
#pragma omp task shared(s, n) firstprivate(result, i)
    *result = count(s, uts::child(n, i));
  }
#pragma omp taskwait
  return std::accumulate(counts.begin(), counts.end(), 1L);
}

const entry<uts::uts_run> me("omp", [](const uts::shape& s) {
  return plx::bench::in_omp([&s] { return count(s, uts::root(s)); });
});

}  // namespace with_openmp
#endif

namespace serial {

long count(const uts::shape& s, const uts::node& n) {
  long sum = 1;
  const int children = uts::count_children(s, n);
  for (int i = 0; i < children; ++i) sum += count(s, uts::child(n, i));
  return sum;
}

const entry<uts::uts_run> me("serial", [](const uts::shape& s) { return count(s, uts::root(s)); });

}  // namespace serial

// ---- measurement
void compete(plx::bench::contest& c, uts::shape s, const std::string& suffix) {
  if (c.quick) {
    s.nodes = 0;
    s.binomial ? s.children = 100 : s.levels = 7;
  }
  const long nodes = s.nodes != 0 ? s.nodes : entry<uts::uts_run>::all().back()->run(s);  // serial
  const auto medians = plx::bench::in_turns<uts::uts_run>(c, c.turns(5), [&](const entry<uts::uts_run>& e) {
    uts::shape warm = uts::t1;
    warm.levels = 3;
    e.run(warm);
    long found = 0;
    const auto time = plx::bench::timed([&] { found = e.run(s); });
    plx::bench::expect_same(e.label, found, nodes);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("uts/") + who->label + suffix,
                  time.calm_s(who->is("serial") ? 1 : c.threads) / static_cast<double>(nodes) * 1e9, "ns",
                  plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, uts::t1, "");
  compete(c, uts::t3, "/T3");
  return c.finish();
}
