#include "step/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace plx::step {

namespace {

bool contains(const std::vector<field_id>& list, field_id f) {
  return std::find(list.begin(), list.end(), f) != list.end();
}

struct directions {
  bool up = false, down = false;
};

// Does the pass read its own results at children, or at the parent?
directions directions_of(const pass& p) {
  directions d;
  for (const access& a : p.reads)
    if (contains(p.writes, a.field)) d.up |= a.at == stencil::children, d.down |= a.at == stencil::parent;
  return d;
}

bool is_recursive(stencil s) { return s == stencil::children || s == stencil::parent; }

}  // namespace

const char* to_string(stencil s) {
  switch (s) {
    case stencil::own:
      return "its own node";
    case stencil::neighbours:
      return "its neighbours";
    case stencil::finer_faces:
      return "finer blocks across its faces";
    case stencil::children:
      return "its children";
    case stencil::parent:
      return "its parent";
    case stencil::level_neighbours:
      return "the nodes of its level around it";
  }
  return "";
}

const char* to_string(node_set s) {
  switch (s) {
    case node_set::blocks:
      return "blocks";
    case node_set::beside_finer:
      return "blocks beside finer ones";
    case node_set::refined:
      return "refined nodes";
    case node_set::blocks_and_refined:
      return "blocks and refined nodes";
  }
  return "";
}

namespace {

// Kinds of nodes, as bits: other blocks, blocks beside finer ones, refined nodes.
unsigned kinds_of(node_set s) {
  switch (s) {
    case node_set::blocks:
      return 0b011;
    case node_set::beside_finer:
      return 0b010;
    case node_set::refined:
      return 0b100;
    case node_set::blocks_and_refined:
      return 0b111;
  }
  return 0;
}

// The kinds of nodes that have others at a stencil.
unsigned kinds_with(stencil at) {
  switch (at) {
    case stencil::neighbours:
      return 0b011;
    case stencil::finer_faces:
      return 0b010;
    case stencil::children:
      return 0b100;
    default:
      return 0b111;
  }
}

unsigned kinds_at(stencil at, node_set of) {
  const unsigned own = kinds_of(of);
  switch (at) {
    case stencil::own:
      return own;
    case stencil::neighbours:
    case stencil::finer_faces:
      return (own & 0b011) != 0 ? 0b011 : 0;
    case stencil::children:
      return (own & 0b100) != 0 ? 0b111 : 0;
    case stencil::parent:
      return 0b100;
    case stencil::level_neighbours:
      return 0b111;
  }
  return 0;
}

}  // namespace

bool includes(node_set a, node_set b) { return (kinds_of(a) & kinds_of(b)) == kinds_of(b); }

void pass_kernel::run(node_id node) { PLX_ASSERT(false && "a kernel for devices runs on workers", node); }

void pass_kernel::launch(launch_range nodes) {
  PLX_ASSERT(false && "a kernel for workers is launched on a device", nodes.level);
}

void recipe::launch(level_range levels) const {
  for (const pass& p : passes_)
    for (const launch_range& nodes : launches(p, levels)) p.kernel->launch(nodes);
}

std::vector<launch_range> recipe::launches(const pass& p, level_range levels) const {
  const auto [up, down] = directions_of(p);
  if (!up && !down) return {{p.where}};
  std::vector<launch_range> all;
  if (up)
    for (int level = levels.deepest; level >= levels.coarsest; --level) all.push_back({p.where, level});
  else
    for (int level = levels.coarsest; level <= levels.deepest; ++level) all.push_back({p.where, level});
  return all;
}

std::vector<access> recipe::read_elsewhere_after(int pass) const {
  std::vector<access> found;
  const auto add = [&](const access& a) {
    if (a.at == stencil::own || std::find(found.begin(), found.end(), a) != found.end()) return;
    if (const std::vector<int> all = writers(a.field); !all.empty() && all.back() == pass) found.push_back(a);
  };
  for (const auto& p : passes_)
    for (const access& a : p.reads) add(a);
  for (const access& a : published_) add(a);
  return found;
}

field_id recipe::add_field(recipe_field f) {
  fields_.push_back(std::move(f));
  return static_cast<field_id>(fields_.size() - 1);
}

void recipe::add(pass p) { passes_.push_back(std::move(p)); }

std::vector<int> recipe::writers(field_id f) const {
  std::vector<int> all;
  for (std::size_t p = 0; p < passes_.size(); ++p)
    if (contains(passes_[p].writes, f)) all.push_back(static_cast<int>(p));
  return all;
}

bool recipe::uses_tree() const {
  return std::any_of(passes_.begin(), passes_.end(), [](const pass& p) {
    return p.where == node_set::refined || p.where == node_set::blocks_and_refined ||
           std::any_of(p.reads.begin(), p.reads.end(),
                       [](const access& a) { return is_recursive(a.at) || a.at == stencil::level_neighbours; });
  });
}

void recipe::refuse(error why) {
  if (refused_.empty()) refused_ = std::move(why.message);
}

bool recipe::is_published(field_id f) const {
  return std::any_of(published_.begin(), published_.end(), [f](const access& a) { return a.field == f; });
}

result<void> recipe::check() const {
  if (!refused_.empty()) return error{refused_};
  if (passes_.size() > most_passes)
    return error{fmt::format("expected at most {} passes, found {}; the next one is {}", most_passes, passes_.size(),
                             passes_[most_passes].name)};
  for (int p = 0; p < static_cast<int>(passes_.size()); ++p) {
    const pass& here = passes_[static_cast<std::size_t>(p)];
    if (here.kernel == nullptr) return error{fmt::format("pass {}: expected a kernel, found none", here.name)};
    if (auto r = check_direction(here); !r) return r;
    for (const access& a : here.reads)
      if (auto r = check_read(p, a); !r) return r;
    for (const field_id f : here.writes)
      if (!includes(field(f).nodes, here.where))
        return error{fmt::format("pass {} runs on {} and writes the field {}, which has memory on {} only", here.name,
                                 to_string(here.where), name_of(f), to_string(field(f).nodes))};
  }
  for (const access& a : published_)
    if (writers(a.field).empty())
      return error{
          fmt::format("the field {} is published: expected a pass that writes it, found none", name_of(a.field))};
  for (std::size_t f = 0; f < fields_.size(); ++f)
    for (std::size_t g = 0; g < fields_.size(); ++g) {
      const auto earlier = static_cast<field_id>(f), later = static_cast<field_id>(g);
      if (f == g || fields_[f].storage < 0 || fields_[f].storage != fields_[g].storage) continue;
      if (first_use(earlier) > first_use(later) || (first_use(earlier) == first_use(later) && f > g)) continue;
      if (auto r = check_storage(earlier, later); !r) return r;
    }
  return {};
}

result<void> recipe::check_direction(const pass& p) const {
  const auto [up, down] = directions_of(p);
  if (!up || !down) return {};
  return error{
      fmt::format("pass {} reads its own results at its children and at its parent: expected one direction; "
                  "divide it into two passes",
                  p.name)};
}

result<void> recipe::check_read(int p, const access& a) const {
  const pass& here = passes_[static_cast<std::size_t>(p)];
  const std::vector<int> all = writers(a.field);
  const bool writes_itself = contains(here.writes, a.field);
  const unsigned read = kinds_at(a.at, here.where) & kinds_of(field(a.field).nodes);
  if (read == 0)
    return error{fmt::format("pass {} runs on {} and reads the field {} at {}, but it has memory on {} only", here.name,
                             to_string(here.where), name_of(a.field), to_string(a.at),
                             to_string(field(a.field).nodes))};
  unsigned written = 0;
  for (const int w : all)
    if (w < p || (w == p && is_recursive(a.at))) written |= kinds_of(passes_[static_cast<std::size_t>(w)].where);
  if (!field(a.field).given && written == 0)
    return error{fmt::format("pass {} reads the field {}: expected an earlier pass that writes it, found none",
                             here.name, name_of(a.field))};
  if (!field(a.field).given && (written & read) != read)
    return error{
        fmt::format("pass {} reads the field {} at {}: expected earlier passes that write it on all of these "
                    "nodes, found some on a part of them",
                    here.name, name_of(a.field), to_string(a.at))};
  if (a.at == stencil::own) return {};
  const std::vector<stencil>& shared = field(a.field).shared_at;
  if (std::find(shared.begin(), shared.end(), a.at) == shared.end())
    return error{fmt::format("pass {} reads the field {} at {}: expected a field that is shared there", here.name,
                             name_of(a.field), to_string(a.at))};
  if (writes_itself && !is_recursive(a.at))
    return error{
        fmt::format("pass {} reads the field {} at {} and writes it at its own node: expected another field for "
                    "the new values, since the order of nodes is undefined",
                    here.name, name_of(a.field), to_string(a.at))};
  if (!all.empty() && all.back() > p)
    return error{fmt::format(
        "pass {} writes the field {} after pass {} has read it at {}: expected another field for the new values",
        passes_[static_cast<std::size_t>(all.back())].name, name_of(a.field), here.name, to_string(a.at))};
  return {};
}

// The first pass that needs the field's memory; -1 for a given field.
int recipe::first_use(field_id f) const {
  const std::vector<int> all = writers(f);
  return field(f).given || all.empty() ? -1 : all.front();
}

// The last pass that reads or writes a field; one more than the last of all if it is published.
int recipe::last_use(field_id f) const {
  if (is_published(f)) return static_cast<int>(passes_.size());
  int last = -1;
  for (int p = 0; p < static_cast<int>(passes_.size()); ++p) {
    const pass& here = passes_[static_cast<std::size_t>(p)];
    if (contains(here.writes, f) ||
        std::any_of(here.reads.begin(), here.reads.end(), [f](const access& a) { return a.field == f; }))
      last = p;
  }
  return last;
}

// Two fields in the same memory: the later one begins when the earlier one has ended, in the order of the passes and at
// every node. A pass may read the earlier one at its own node and write the later one there.
result<void> recipe::check_storage(field_id earlier, field_id later) const {
  if (first_use(later) < 0 || last_use(earlier) > first_use(later))
    return error{
        fmt::format("the fields {} and {} have the same memory, and {} is used after {} is written: expected other "
                    "memory for one of them",
                    name_of(earlier), name_of(later), name_of(earlier), name_of(later))};
  for (const int w : writers(later))
    if (auto r = check_overwriting(w, earlier, later); !r) return r;
  return {};
}

// Has every node that reads the earlier field at this writer's node done so? Yes, if an earlier writer on the same
// nodes has been examined.
result<void> recipe::check_overwriting(int writer, field_id earlier, field_id later) const {
  const pass& here = passes_[static_cast<std::size_t>(writer)];
  for (const int w : writers(later))
    if (w < writer && includes(passes_[static_cast<std::size_t>(w)].where, here.where)) return {};
  for (int q = 0; q <= writer; ++q)
    for (const access& a : passes_[static_cast<std::size_t>(q)].reads) {
      if (a.field != earlier || a.at == stencil::own) continue;
      if (q < writer && waits_for_readers(writer, q, a.at)) continue;
      return error{fmt::format(
          "pass {} overwrites the field {} with {} while pass {} may still read it at {}: expected "
          "other memory, or a read of what that pass writes",
          here.name, name_of(earlier), name_of(later), passes_[static_cast<std::size_t>(q)].name, to_string(a.at))};
    }
  return {};
}

// Does the pass `down` run on any node only after the pass `up` has run on all? The top of the tree has the result of
// `up` once all nodes have it, if that goes up the tree, and passes it on, if that of `down` goes down.
bool recipe::waits_for_all_nodes(int up, int down) const {
  const pass& u = passes_[static_cast<std::size_t>(up)];
  const pass& d = passes_[static_cast<std::size_t>(down)];
  if (u.where != node_set::blocks_and_refined || d.where != node_set::blocks_and_refined) return false;
  const auto reads = [](const pass& p, field_id f, stencil at) {
    return std::find(p.reads.begin(), p.reads.end(), access{f, at}) != p.reads.end();
  };
  const auto own = [&](const pass& p, stencil at) {
    return std::any_of(p.writes.begin(), p.writes.end(), [&](field_id f) { return reads(p, f, at); });
  };
  return own(u, stencil::children) && own(d, stencil::parent) &&
         std::any_of(u.writes.begin(), u.writes.end(), [&](field_id f) { return reads(d, f, stencil::own); });
}

// The nodes that read at the stencil `at` are those of the opposite stencil. If the pass, or one before it on its node,
// reads there what the reader or a later pass on those nodes has written, they have read. Passes on a part of the nodes
// each may do so together.
bool recipe::waits_for_readers(int p, int reader, stencil at) const {
  const stencil back = at == stencil::children      ? stencil::parent
                       : at == stencil::parent      ? stencil::children
                       : at == stencil::finer_faces ? stencil::neighbours  // coarser blocks across faces are among them
                                                    : at;
  const node_set read_on = passes_[static_cast<std::size_t>(reader)].where;
  const unsigned readers = kinds_of(read_on) & kinds_with(at);
  const unsigned overwritten = kinds_of(passes_[static_cast<std::size_t>(p)].where) & kinds_at(at, read_on);
  unsigned waiting = 0;
  for (int up = reader; up < p; ++up)
    for (int down = up + 1; down <= p; ++down)
      if (waits_for_all_nodes(up, down)) return true;
  for (int q = reader + 1; q <= p; ++q)
    for (const access& a : passes_[static_cast<std::size_t>(q)].reads) {
      if (a.at != back) continue;
      // It waits for the last pass that writes the field on each of those nodes.
      unsigned written = 0;
      for (const int w : writers(a.field))
        if (w >= reader) written |= kinds_of(passes_[static_cast<std::size_t>(w)].where);
      if ((written & readers) == readers) waiting |= kinds_of(passes_[static_cast<std::size_t>(q)].where);
    }
  return (waiting & overwritten) == overwritten;
}

}  // namespace plx::step
