#include "mesh/tree/regrid.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "mesh/between/gather.hpp"
#include "mesh/between/prolong.hpp"

namespace plx::mesh {

namespace {

// The target level of each block, raised until the mesh is balanced and families agree. Only a block whose target is
// not its level can violate either rule, so only these are checked.
class target_levels {
 public:
  target_levels(const block_mesh& mesh, std::span<const flag> flags, std::span<const std::int32_t> votes, int needed)
      : mesh_(mesh), target_(mesh.levels().begin(), mesh.levels().end()) {
    std::vector<slot_id> work;
    for (const slot_id s : mesh.blocks()) {
      int& t = target_[s];
      if (flags[s] == flag::refine && t < mesh.box().max_level) ++t;
      if (flags[s] == flag::coarsen && votes[s] >= needed && t > 0) --t;
      if (t != mesh.level(s)) work.push_back(s);
    }
    while (!work.empty()) {
      const slot_id s = work.back();
      work.pop_back();
      keep_family(s, work);
      for (const slot_id other : mesh.touching(s)) {
        raise(other, target_[s] - 1, work);
        raise(s, target_[other] - 1, work);
      }
    }
  }

  int operator[](slot_id s) const { return target_[s]; }

 private:
  void raise(slot_id s, int level, std::vector<slot_id>& work) {
    if (target_[s] >= level) return;
    target_[s] = level;
    work.push_back(s);
  }

  // A block can be merged only together with its seven siblings: if one stays, all stay.
  void keep_family(slot_id s, std::vector<slot_id>& work) {
    const location& l = mesh_.where(s);
    if (l.level == 0) return;
    const location parent = parent_of(l);
    bool together = true;
    std::array<slot_id, 8> siblings{};
    for (int c = 0; c < 8; ++c) {
      siblings[c] = sibling(s, parent, c);
      together = together && siblings[c] != no_slot && target_[siblings[c]] < l.level;
    }
    if (together) return;
    for (const slot_id other : siblings)
      if (other != no_slot) raise(other, l.level, work);
  }

  // Child c of the parent of s, no_slot if it is refined further: siblings are neighbours, so no search is needed.
  slot_id sibling(slot_id s, const location& parent, int c) const {
    const location &l = mesh_.where(s), other = child_of(parent, c);
    const int d = direction_index(other.x[0] - l.x[0], other.x[1] - l.x[1], other.x[2] - l.x[2]);
    const neighbour& n = mesh_.around(s, d);
    return n.kind == relation::same ? n.slots[0] : no_slot;
  }

  const block_mesh& mesh_;
  std::vector<int> target_;
};

std::int32_t most_votes(int coarsen_after) { return std::max(coarsen_after, 1); }

// Free slots of a mesh in ascending order, then new ones.
class free_slots {
 public:
  explicit free_slots(const block_mesh& mesh) : mesh_(mesh) {}
  slot_id take() {
    while (next_ < static_cast<slot_id>(mesh_.slot_count()) && mesh_.is_live(next_)) ++next_;
    return next_++;
  }

 private:
  const block_mesh& mesh_;
  slot_id next_ = 0;
};

grid_view interior(double* block, int n) { return {block, n, std::ptrdiff_t{n} * n, std::ptrdiff_t{n} * n * n}; }

// Offset of child c's part in its parent.
std::ptrdiff_t corner_of(int c, const grid_view& parent, int n) {
  return n / 2 * ((c & 1) + (c >> 1 & 1) * parent.row + (c >> 2) * parent.plane);
}

}  // namespace

// Among families that merge, those of the deepest level have no finer neighbour, which would have to merge too. So if
// any family merges, then a loose one does; and a loose family whose blocks are ready merges whatever the others do,
// unless a neighbour is refined.
bool changes_mesh(const block_mesh& mesh, std::span<const flag> flags, int coarsen_after) {
  PLX_ASSERT(flags.size() >= mesh.slot_count(), flags.size(), mesh.slot_count());
  const std::span<const std::int8_t> level = mesh.levels();
  const auto deepest = static_cast<std::int8_t>(mesh.box().max_level);
  int refined = 0;  // no branch: a loop of vector instructions
  for (std::size_t s = 0; s < level.size(); ++s)
    refined |= static_cast<int>(flags[s] == flag::refine) & static_cast<int>(level[s] >= 0 && level[s] < deepest);
  if (refined != 0) return true;
  const std::span<const std::int32_t> votes = mesh.votes();
  const auto is_ready = [&](slot_id s) { return flags[s] == flag::coarsen && votes[s] + 1 >= coarsen_after; };
  const auto families = mesh.loose_families();
  return std::any_of(families.begin(), families.end(), [&](std::int32_t first) {
    const auto family = mesh.blocks().subspan(static_cast<std::size_t>(first), 8);
    return std::all_of(family.begin(), family.end(), is_ready);
  });
}

bool count_requests(block_mesh& mesh, std::span<const flag> flags, int coarsen_after) {
  if (changes_mesh(mesh, flags, coarsen_after)) return false;
  mesh.count_votes(flags, most_votes(coarsen_after));
  return true;
}

regrid_plan plan_regrid(const block_mesh& mesh, std::span<const flag> flags, int coarsen_after) {
  PLX_ASSERT(flags.size() >= mesh.slot_count(), flags.size(), mesh.slot_count());
  std::vector<std::int32_t> votes(mesh.slot_count(), 0);
  for (const slot_id s : mesh.blocks())
    if (flags[s] == flag::coarsen) votes[s] = std::min(mesh.coarsen_votes(s) + 1, most_votes(coarsen_after));
  const target_levels target(mesh, flags, votes, coarsen_after);

  std::vector<leaf> leaves;
  std::vector<family> refined, merged;
  free_slots free(mesh);
  const auto blocks = mesh.blocks();
  for (std::size_t p = 0; p < blocks.size(); ++p) {
    const slot_id s = blocks[p];
    const location& l = mesh.where(s);
    if (target[s] == l.level) {
      leaves.push_back({l, s, votes[s]});
    } else if (target[s] > l.level) {
      family f{s, {}};
      for (int c = 0; c < 8; ++c) leaves.push_back({child_of(l, c), f.children[c] = free.take(), 0});
      refined.push_back(f);
    } else {  // the curve visits siblings one after the other
      family f{free.take(), {}};
      for (int c = 0; c < 8; ++c) f.children[c] = blocks[p + c];
      leaves.push_back({parent_of(l), f.parent, 0});
      merged.push_back(f);
      p += 7;
    }
  }
  if (refined.empty() && merged.empty()) return {mesh.with_votes(votes), {}, {}};
  return {block_mesh(mesh, std::move(leaves)), std::move(refined), std::move(merged)};
}

void refine_values(const regrid_plan& plan, const block_mesh& old, arena& values, std::size_t index,
                   const boundary_values& sides, tile_scratch& scratch) {
  const family& f = plan.refined[index];
  const int n = old.block_size();
  const std::ptrdiff_t w = tile_width(n);
  double* tile = gather_tile(old, values, f.parent, sides, scratch, reach::faces);
  const grid_view parent{tile + ghosts * (1 + w + w * w), w, w * w, w * w * w};
  for (int c = 0; c < 8; ++c) {
    grid_view coarse = parent;
    coarse.origin += corner_of(c, parent, n);
    prolong_box(coarse, interior(values.block(f.children[c]), n), {{0, 0, 0}, {n, n, n}}, values.table(),
                old.box().prolongation);
  }
}

void merge_values(const regrid_plan& plan, arena& values, std::size_t index) {
  const family& f = plan.merged[index];
  const int n = values.block_size();
  const grid_view parent = interior(values.block(f.parent), n);
  for (int c = 0; c < 8; ++c) {
    grid_view coarse = parent;
    coarse.origin += corner_of(c, parent, n);
    restrict_box(interior(values.block(f.children[c]), n), coarse, {{0, 0, 0}, {n / 2, n / 2, n / 2}},
                 values.variable_count());
  }
}

void move_values(const regrid_plan& plan, const block_mesh& old, arena& values, const boundary_values& sides,
                 tile_scratch& scratch) {
  values.resize(plan.next.slot_count());
  for (std::size_t i = 0; i < plan.refined.size(); ++i) refine_values(plan, old, values, i, sides, scratch);
  for (std::size_t i = 0; i < plan.merged.size(); ++i) merge_values(plan, values, i);
}

}  // namespace plx::mesh
