#include "mesh/between/halo.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "mesh/between/gather.hpp"
#include "mesh/test/test_meshes.hpp"
#include "mesh/tree/block_mesh.hpp"

namespace {

using namespace plx::mesh;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

struct halo_case {
  std::array<int, 3> roots;
  int n, max_level, splits, parts;
  std::array<boundary, 6> sides;
  reach wanted = reach::faces;
};

constexpr boundary P = boundary::periodic, O = boundary::outflow, R = boundary::reflecting;

boundary_values no_inflow() { return {}; }

// A random mesh with random values, divided into parts.
struct cut_mesh {
  cut_mesh(const halo_case& c, std::mt19937_64& rng)
      : mesh(test::random_mesh(domain_of(c), c.splits, rng)),
        parts(random_owners(mesh.block_count(), c.parts, rng), c.parts),
        values(test::gas(), c.n) {
    values.resize(mesh.slot_count());
    test::fill_random(values, rng);
  }

  static domain domain_of(const halo_case& c) {
    domain d = test::box(c.roots, c.n, c.max_level);
    d.sides = c.sides;
    return d;
  }

  // Parts of any size, including empty ones.
  static std::vector<std::int32_t> random_owners(std::size_t blocks, int parts, std::mt19937_64& rng) {
    std::vector<std::int32_t> owner(blocks);
    for (auto& o : owner) o = static_cast<std::int32_t>(rng() % parts);
    std::sort(owner.begin(), owner.end());
    return owner;
  }

  // The values of a locality before any message has arrived: its own blocks.
  arena own_values(int part) const {
    arena own(values.fields(), values.block_size());
    own.resize(values.slots());
    std::fill_n(own.base(), own.slots() * own.stride(), nothing);
    for (const slot_id s : parts.blocks(mesh, part)) std::copy_n(values.block(s), own.stride(), own.block(s));
    return own;
  }

  block_mesh mesh;
  curve_parts parts;
  arena values;
};

// The tile of a block: its cells and the requested ghost cells.
std::vector<double> tile_of(const block_mesh& mesh, const arena& values, slot_id slot, reach wanted,
                            tile_scratch& scratch) {
  const double* tile = gather_tile(mesh, values, slot, no_inflow(), scratch, wanted);
  const int n = mesh.block_size(), w = tile_width(n);
  std::vector<double> cells;
  for (int v = 0; v < values.variable_count(); ++v)
    for (int k = 0; k < w; ++k)
      for (int j = 0; j < w; ++j)
        for (int i = 0; i < w; ++i) {
          const auto outside = [n](int c) { return c < ghosts || c >= n + ghosts ? 1 : 0; };
          if (wanted == reach::full || outside(i) + outside(j) + outside(k) < 2)
            cells.push_back(tile[((v * w + k) * w + j) * w + i]);
        }
  return cells;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// Do the tiles of a part equal those of the whole mesh?
bool tiles_agree(const cut_mesh& c, int part, const arena& received, reach wanted) {
  const block_mesh& mesh = c.mesh;
  tile_scratch one, other;
  return std::ranges::all_of(c.parts.blocks(mesh, part), [&](slot_id s) {
    return same_bits(tile_of(mesh, c.values, s, wanted, one), tile_of(mesh, received, s, wanted, other));
  });
}

class Halo : public testing::TestWithParam<halo_case> {
 protected:
  static constexpr std::size_t group_bytes = 30000;  // some blocks
};

TEST_P(Halo, TilesOfReceivedCellsAreThoseOfTheWholeMesh) {
  std::mt19937_64 rng(11);
  for (int turn = 0; turn < 3; ++turn) {
    const cut_mesh c(GetParam(), rng);
    std::vector<halo> halos;
    for (int p = 0; p < c.parts.count(); ++p) halos.emplace_back(c.mesh, c.parts, p, 6, group_bytes, GetParam().wanted);
    for (int p = 0; p < c.parts.count(); ++p) {
      arena mine = c.own_values(p);
      std::size_t received = 0;
      for (int peer = 0; peer < c.parts.count(); ++peer)
        for (std::size_t i = 0; i < halos[peer].sends().size(); ++i) {
          const halo_group& g = halos[peer].sends()[i];
          if (g.peer != p) continue;
          // Packed by the sender's list, unpacked by the receiver's list.
          std::vector<double> message(g.size(), nothing);
          const arena theirs = c.own_values(peer);
          for (std::size_t b = 0; b < g.blocks.size(); ++b) pack(g, b, theirs, message.data());
          const halo_group& r =
              halos[p].receives()[halos[p].first_receive(peer) + halos[peer].number(static_cast<int>(i))];
          EXPECT_EQ(r.peer, peer);
          EXPECT_EQ(r.blocks, g.blocks);
          EXPECT_EQ(r.boxes, g.boxes);
          EXPECT_TRUE(g.size() * sizeof(double) <= group_bytes || g.blocks.size() == 1);
          unpack(r, message.data(), mine);
          ++received;
        }
      EXPECT_EQ(received, halos[p].receives().size());
      EXPECT_TRUE(tiles_agree(c, p, mine, GetParam().wanted));
    }
  }
}

// Calls f(slot, offset in the block) for each value of a box.
template <class F>
void for_values(const block_box& box, int n, F&& f) {
  for (int v = 0; v < 6; ++v)
    for (int k = box.lo[2]; k < box.hi[2]; ++k)
      for (int j = box.lo[1]; j < box.hi[1]; ++j)
        for (int x = box.lo[0]; x < box.hi[0]; ++x) f(box.slot, ((v * n + k) * n + j) * n + x);
}

// Each box has a purpose, so the test above notices if one is missing, unless other boxes cover it.
TEST_P(Halo, EveryBoxIsNeeded) {
  std::mt19937_64 rng(12);
  const cut_mesh c(GetParam(), rng);
  for (int p = 0; p < c.parts.count(); ++p) {
    const halo h(c.mesh, c.parts, p, 6, group_bytes, GetParam().wanted);
    if (h.receives().empty()) continue;
    for (int turn = 0; turn < 20; ++turn) {
      arena mine = c.own_values(p);
      const std::size_t without = rng() % h.receives().size();
      const auto& boxes = h.receives()[without].boxes;
      const std::size_t left_out = boxes.empty() ? 0 : rng() % boxes.size();
      for (std::size_t i = 0; i < h.receives().size(); ++i)
        for (std::size_t b = 0; b < h.receives()[i].boxes.size(); ++b)
          if (i != without || b != left_out)
            for_values(h.receives()[i].boxes[b], GetParam().n,
                       [&](slot_id s, int at) { mine.block(s)[at] = c.values.block(s)[at]; });
      bool covered = true;
      if (!boxes.empty())
        for_values(boxes[left_out], GetParam().n,
                   [&](slot_id s, int at) { covered = covered && !std::isnan(mine.block(s)[at]); });
      if (GetParam().wanted == reach::faces && !boxes.empty()) {
        EXPECT_FALSE(covered);
      }
      EXPECT_EQ(tiles_agree(c, p, mine, GetParam().wanted), covered);
    }
  }
}

TEST_P(Halo, EveryPairOfBlocksThatTouchesIsInTheGroupsOfBoth) {
  std::mt19937_64 rng(13);
  const cut_mesh c(GetParam(), rng);
  const block_mesh& mesh = c.mesh;
  for (int p = 0; p < c.parts.count(); ++p) {
    const halo h(mesh, c.parts, p, 6, group_bytes, GetParam().wanted);
    for (const slot_id s : mesh.blocks()) {
      std::vector<int> peers;
      for (const halo_place& at : h.places(s)) {
        EXPECT_EQ(h.sends()[at.group].blocks[at.block], s);
        peers.push_back(h.sends()[at.group].peer);
      }
      std::vector<int> expected;
      const int owner = c.parts.part_of(mesh, s);
      for (const slot_id other : mesh.touching(s))
        if (owner == p && c.parts.part_of(mesh, other) != p) expected.push_back(c.parts.part_of(mesh, other));
      std::sort(expected.begin(), expected.end());
      expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
      EXPECT_EQ(peers, expected);
      const bool mirrored = owner != p && std::ranges::any_of(mesh.touching(s), [&](slot_id other) {
                              return c.parts.part_of(mesh, other) == p;
                            });
      EXPECT_EQ(std::ranges::binary_search(h.mirrors(), s), mirrored);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Boxes, Halo,
                         testing::Values(halo_case{{2, 2, 2}, 8, 0, 0, 1, {P, P, P, P, P, P}},
                                         halo_case{{4, 2, 2}, 8, 0, 0, 3, {P, P, O, R, O, O}},
                                         halo_case{{1, 1, 1}, 8, 3, 6, 2, {P, P, P, P, P, P}},
                                         halo_case{{2, 1, 1}, 8, 3, 6, 4, {O, R, P, P, O, O}},
                                         halo_case{{2, 2, 1}, 6, 3, 8, 5, {P, P, P, P, R, R}},
                                         halo_case{{1, 2, 1}, 16, 2, 3, 3, {O, O, O, O, O, O}},
                                         halo_case{{4, 2, 2}, 8, 0, 0, 3, {P, P, O, R, O, O}, reach::full},
                                         halo_case{{1, 1, 1}, 8, 3, 6, 2, {P, P, P, P, P, P}, reach::full},
                                         halo_case{{2, 1, 1}, 8, 3, 6, 4, {O, R, P, P, O, O}, reach::full},
                                         halo_case{{2, 2, 1}, 6, 3, 8, 5, {P, P, P, P, R, R}, reach::full}));

TEST(CurveParts, MapsBlocksToOwners) {
  const std::vector<std::int32_t> owner{0, 0, 2, 2, 2, 4};
  const curve_parts parts(owner, 6);
  EXPECT_EQ(parts.count(), 6);
  for (int p = 0; p < 6; ++p) EXPECT_EQ(parts.part_of(p), owner[p]);
  EXPECT_EQ(parts.begin(1), parts.end(1));
  EXPECT_EQ(parts.begin(2), 2);
  EXPECT_EQ(parts.end(2), 5);
  EXPECT_EQ(parts.end(5), 6);
  EXPECT_EQ(curve_parts(std::vector<std::int32_t>(7, 0), 1), curve_parts(7));
}

}  // namespace
