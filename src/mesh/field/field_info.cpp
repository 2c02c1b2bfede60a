#include "mesh/field/field_info.hpp"

#include <cstddef>

#include "base/assert.hpp"

namespace plx::mesh {

field_table table_of(std::span<const field_info> fields) {
  PLX_ASSERT(fields.size() <= field_table::most, fields.size());
  field_table t;
  t.count = static_cast<std::int32_t>(fields.size());
  int members = 0;
  const auto is_momentum = [&](std::size_t w, int axis) {
    return w < fields.size() && fields[w].role == quantity::momentum && fields[w].kind == field_kind::polar &&
           fields[w].axis == axis;
  };
  for (std::size_t v = 0; v < fields.size(); ++v) {
    const field_info& f = fields[v];
    PLX_ASSERT(f.nodes == node_set::blocks && f.doubles == 0, f.name.c_str());
    PLX_ASSERT(f.kind == field_kind::scalar || (f.axis >= 0 && f.axis < 3), f.name.c_str(), f.axis);
    const std::uint32_t bit = std::uint32_t{1} << v;
    for (int axis = 0; axis < 3; ++axis) {
      const bool along = f.axis == axis;
      if (f.kind == field_kind::polar && along) t.normal[axis] |= bit, t.mirrored[axis] |= bit;
      if (f.kind == field_kind::axial && !along) t.mirrored[axis] |= bit;
    }
    const int place = static_cast<int>(v);
    if (f.role == quantity::density || f.role == quantity::energy) {
      int& known = f.role == quantity::density ? t.gas.density : t.gas.energy;
      PLX_ASSERT(known < 0, f.name.c_str(), known);
      known = place;
    }
    if (f.role == quantity::momentum) {
      if (t.gas.momentum < 0) t.gas.momentum = place;
      const int axis = place - t.gas.momentum;
      PLX_ASSERT(axis < 3 && is_momentum(v, axis), f.name.c_str(), f.axis, axis);
      PLX_ASSERT(axis == 2 || is_momentum(v + 1, axis + 1), f.name.c_str(), axis);
    }
    const auto is_with_it = [&](std::size_t w) {
      return w == v || (f.limiter_group >= 0 && fields[w].limiter_group == f.limiter_group);
    };
    std::size_t first = 0;
    while (!is_with_it(first)) ++first;
    if (first != v) continue;  // the first member has listed the whole group
    for (std::size_t w = v; w < fields.size(); ++w)
      if (is_with_it(w)) t.members[members++] = static_cast<std::uint8_t>(w);
    t.begin[++t.groups] = static_cast<std::uint8_t>(members);
  }
  PLX_ASSERT(t.has_gas() ? t.gas.momentum >= 0 && t.gas.energy >= 0 : t.gas.momentum < 0 && t.gas.energy < 0,
             t.gas.density, t.gas.momentum, t.gas.energy);
  return t;
}

}  // namespace plx::mesh
