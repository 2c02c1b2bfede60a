#include "step/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.hpp"

namespace plx::step {

namespace {

bool contains(const std::vector<field_id>& list, field_id f) {
  return std::find(list.begin(), list.end(), f) != list.end();
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
  }
  return "";
}

bool includes(node_set a, node_set b) {
  if (a == b || a == node_set::blocks_and_refined) return true;
  return a == node_set::blocks && b == node_set::beside_finer;
}

void pass_kernel::run(node_id node) { PLX_ASSERT(false && "a kernel for devices runs on workers", node); }

void pass_kernel::launch(launch_range nodes) {
  PLX_ASSERT(false && "a kernel for workers is launched on a device", nodes.level);
}

void recipe::launch(int deepest_level) const {
  for (const pass& p : passes_) launch(p, deepest_level);
}

void recipe::launch(const pass& p, int deepest_level) const {
  bool up = false, down = false;
  for (const access& a : p.reads)
    if (contains(p.writes, a.field)) up |= a.at == stencil::children, down |= a.at == stencil::parent;
  if (!up && !down) p.kernel->launch({});
  if (up)
    for (int level = deepest_level; level >= 0; --level) p.kernel->launch({level});
  if (down)
    for (int level = 0; level <= deepest_level; ++level) p.kernel->launch({level});
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

field_id recipe::add_field(field_info f) {
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
           std::any_of(p.reads.begin(), p.reads.end(), [](const access& a) { return is_recursive(a.at); });
  });
}

result<void> recipe::check() const {
  for (int p = 0; p < static_cast<int>(passes_.size()); ++p) {
    const pass& here = passes_[static_cast<std::size_t>(p)];
    if (here.kernel == nullptr) return error{fmt::format("pass {}: expected a kernel, found none", here.name)};
    for (const access& a : here.reads)
      if (auto r = check_read(p, a); !r) return r;
    for (const field_id f : here.writes)
      if (auto r = check_storage(p, f); !r) return r;
  }
  for (const access& a : published_)
    if (writers(a.field).empty())
      return error{
          fmt::format("the field {} is published: expected a pass that writes it, found none", name_of(a.field))};
  return {};
}

result<void> recipe::check_read(int p, const access& a) const {
  const pass& here = passes_[static_cast<std::size_t>(p)];
  const std::vector<int> all = writers(a.field);
  const bool writes_itself = contains(here.writes, a.field);
  const bool written =
      field(a.field).given || (!all.empty() && all.front() < p) || (writes_itself && is_recursive(a.at));
  if (!written)
    return error{fmt::format("pass {} reads the field {}: expected an earlier pass that writes it, found none",
                             here.name, name_of(a.field))};
  if (a.at == stencil::own) return {};
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

// The pass is the first that writes to memory which another field occupied: no other node may still read that field.
result<void> recipe::check_storage(int p, field_id written) const {
  const int storage = field(written).storage;
  if (storage < 0 || writers(written).front() != p) return {};
  for (int q = 0; q < static_cast<int>(passes_.size()); ++q)
    for (const access& a : passes_[static_cast<std::size_t>(q)].reads) {
      if (a.field == written || field(a.field).storage != storage) continue;
      // A field that is written later takes this memory over in turn.
      if (const std::vector<int> all = writers(a.field); !all.empty() && all.front() > p) continue;
      const char* reader = passes_[static_cast<std::size_t>(q)].name;
      const char* writer = passes_[static_cast<std::size_t>(p)].name;
      if (q > p || (q == p && a.at != stencil::own))
        return error{
            fmt::format("pass {} reads the field {}, whose memory pass {} overwrites with {}: expected other "
                        "memory for one of them",
                        reader, name_of(a.field), writer, name_of(written))};
      if (a.at != stencil::own && !waits_for_readers(p, q, a.at))
        return error{
            fmt::format("pass {} overwrites the field {} with {} while pass {} may still read it at {}: expected "
                        "other memory, or a read of what that pass writes",
                        writer, name_of(a.field), name_of(written), reader, to_string(a.at))};
    }
  return {};
}

// The nodes that read at the stencil `at` are those of the opposite stencil. If the pass, or one before it on its node,
// reads there what the reader or a later pass on those nodes has written, they have read.
bool recipe::waits_for_readers(int p, int reader, stencil at) const {
  if (at == stencil::finer_faces) return false;
  const stencil back = at == stencil::children ? stencil::parent : at == stencil::parent ? stencil::children : at;
  const pass& read = passes_[static_cast<std::size_t>(reader)];
  const pass& overwrites = passes_[static_cast<std::size_t>(p)];
  for (int q = reader + 1; q <= p; ++q)
    for (const access& a : passes_[static_cast<std::size_t>(q)].reads) {
      if (a.at != back || !includes(passes_[static_cast<std::size_t>(q)].where, overwrites.where)) continue;
      const std::vector<int> all = writers(a.field);
      if (!all.empty() && all.front() >= reader &&
          includes(passes_[static_cast<std::size_t>(all.front())].where, read.where))
        return true;
    }
  return false;
}

}  // namespace plx::step
