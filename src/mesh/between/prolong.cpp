#include "mesh/between/prolong.hpp"

#include <cmath>
#include <vector>

#include "mesh/between/family_limits.hpp"

namespace plx::mesh {

namespace {

constexpr int most_families = 32 + ghosts + 1;  // along an axis: of the largest block with its ghost cells

cell_differences differences_at(const double* c, const grid_view& g) {
  const std::ptrdiff_t step[3] = {1, g.row, g.plane};
  cell_differences d;
  for (int a = 0; a < 3; ++a) {
    d.lower[a] = c[0] - c[-step[a]];
    d.upper[a] = c[step[a]] - c[0];
  }
  return d;
}

void write_children(const grid_view& fine, const cell_box& box, int i, int j, int k, double c, const child_offsets& o) {
  double child[8];
  o.add_to(c, child);
  for (int n = 0; n < 8; ++n) {
    const int fi = 2 * i + (n & 1), fj = 2 * j + ((n >> 1) & 1), fk = 2 * k + (n >> 2);
    if (fi < box.lo[0] || fi >= box.hi[0] || fj < box.lo[1] || fj >= box.hi[1] || fk < box.lo[2] || fk >= box.hi[2])
      continue;
    *fine.at(fi, fj, fk) = child[n];
  }
}

template <class F>
void for_coarse_cells(const cell_box& fine_box, F&& f) {
  const auto first = [&](int a) { return fine_box.lo[a] >> 1; };
  const auto last = [&](int a) { return (fine_box.hi[a] - 1) >> 1; };
  for (int k = first(2); k <= last(2); ++k)
    for (int j = first(1); j <= last(1); ++j)
      for (int i = first(0); i <= last(0); ++i) f(i, j, k);
}

grid_view of_variable(const grid_view& g, int v) { return {g.origin + v * g.volume, g.row, g.plane, g.volume}; }

void prolong_together(const grid_view& coarse, const grid_view& fine, const cell_box& box, const field_table& fields,
                      int group, limiter rule) {
  for_coarse_cells(box, [&](int i, int j, int k) {
    const auto differences = [&](int m) {
      return differences_at(of_variable(coarse, fields.member(group, m)).at(i, j, k), coarse);
    };
    const int members = fields.group_size(group);
    const shared_limit limit = limit_together(members, rule == limiter::central, differences);
    for (int m = 0; m < members; ++m) {
      const int v = fields.member(group, m);
      const double* c = of_variable(coarse, v).at(i, j, k);
      write_children(of_variable(fine, v), box, i, j, k, *c, limit.offsets(differences_at(c, coarse)));
    }
  });
}

// Could a fine cell of this row of coarse cells have too little internal energy? May answer yes where rounding decides.
// Without a division, so that it costs little where nothing is limited. Boxes hold whole families.
class row_screen {
 public:
  row_screen(const gas_places& at, const grid_view& coarse, const cell_box& box, int j, int k) : at_(at), box_(box) {
    for (int i = box.lo[0] >> 1; 2 * i < box.hi[0]; ++i) {
      const double* u = coarse.at(i, j, k);
      const double here = internal_energy(at, u, coarse.volume);
      const double least = kept_internal_energy * here + 1e-3 * std::fabs(here) + 1e-12 * u[at.energy * coarse.volume];
      const int f = 2 * i - box.lo[0];
      least_[f] = least_[f + 1] = least;
    }
  }
  bool finds(const grid_view& fine, int j, int k) const {
    const int count = box_.hi[0] - box_.lo[0];
    const double* rho = of_variable(fine, at_.density).at(box_.lo[0], j, k);
    const double* e = of_variable(fine, at_.energy).at(box_.lo[0], j, k);
    const double* m = of_variable(fine, at_.momentum).at(box_.lo[0], j, k);
    int found = 0;
    for (int i = 0; i < count; ++i) {
      const double x = m[i], y = m[i + fine.volume], z = m[i + 2 * fine.volume];
      found |= (e[i] - least_[i]) * (rho[i] + rho[i]) < x * x + y * y + z * z ? 1 : 0;
    }
    return found != 0;
  }

 private:
  const gas_places& at_;
  const cell_box& box_;
  double least_[2 * most_families]{};
};

// Requires: a box of whole families.
void keep_internal_energies(const gas_places& at, int n_var, const grid_view& coarse, const grid_view& fine,
                            const cell_box& box) {
  for (int k = box.lo[2] >> 1; 2 * k < box.hi[2]; ++k)
    for (int j = box.lo[1] >> 1; 2 * j < box.hi[1]; ++j) {
      const row_screen screen(at, coarse, box, j, k);
      bool found = false;
      for (int row = 0; row < 4 && !found; ++row) found = screen.finds(fine, 2 * j + (row & 1), 2 * k + (row >> 1));
      for (int i = box.lo[0] >> 1; found && 2 * i < box.hi[0]; ++i) {
        double* family[8];
        for (int c = 0; c < 8; ++c) family[c] = fine.at(2 * i + (c & 1), 2 * j + ((c >> 1) & 1), 2 * k + (c >> 2));
        keep_internal_energy(at, n_var, coarse.at(i, j, k), coarse.volume, family, fine.volume);
      }
    }
}

// Each field by itself, or with those whose limiter it shares. Fields by themselves fill `wide`, the others `box`.
void prolong_fields(const grid_view& coarse, const grid_view& fine, const cell_box& wide, const cell_box& box,
                    const field_table& fields, limiter rule) {
  const level_kernels& kernels = fastest_kernels();
  for (int g = 0; g < fields.groups; ++g) {
    const int first = fields.member(g, 0);
    if (fields.group_size(g) == 1)
      kernels.prolong_box(of_variable(coarse, first), of_variable(fine, first), wide, rule);
    else
      prolong_together(coarse, fine, box, fields, g, rule);
  }
}

// Prolongs the families that the box cuts as a whole, beside the fine array, and copies the box from there.
void prolong_cut_families(const grid_view& coarse, const grid_view& fine, const cell_box& box, const cell_box& families,
                          const field_table& fields, limiter rule) {
  cell_box wide = families;  // to whole vectors of the kernels, which compute these lanes anyway
  wide.hi[0] = wide.lo[0] + (wide.hi[0] - wide.lo[0] + 7) / 8 * 8;
  grid_view all;
  all.row = wide.hi[0] - wide.lo[0];
  all.plane = all.row * (wide.hi[1] - wide.lo[1]);
  all.volume = all.plane * (wide.hi[2] - wide.lo[2]);
  static thread_local std::vector<double> values;
  const auto size = static_cast<std::size_t>(all.volume) * static_cast<std::size_t>(fields.count);
  if (values.size() < size) values.resize(size);
  all.origin = values.data() - (wide.lo[0] + wide.lo[1] * all.row + wide.lo[2] * all.plane);
  prolong_fields(coarse, all, wide, families, fields, rule);
  keep_internal_energies(fields.gas, fields.count, coarse, all, families);
  const int length = box.hi[0] - box.lo[0];
  for (int v = 0; v < fields.count; ++v)
    for (int k = box.lo[2]; k < box.hi[2]; ++k)
      for (int j = box.lo[1]; j < box.hi[1]; ++j) {
        const double* from = of_variable(all, v).at(box.lo[0], j, k);
        double* to = of_variable(fine, v).at(box.lo[0], j, k);
        for (int i = 0; i < length; ++i) to[i] = from[i];
      }
}

}  // namespace

void prolong_box(const grid_view& coarse, const grid_view& fine, const cell_box& fine_box, const field_table& fields,
                 limiter rule) {
  cell_box families;
  bool cut = false;
  for (int a = 0; a < 3; ++a) {
    families.lo[a] = fine_box.lo[a] & ~1;
    families.hi[a] = (fine_box.hi[a] + 1) & ~1;
    cut = cut || families.lo[a] != fine_box.lo[a] || families.hi[a] != fine_box.hi[a];
  }
  if (fields.has_gas() && cut) return prolong_cut_families(coarse, fine, fine_box, families, fields, rule);
  prolong_fields(coarse, fine, fine_box, fine_box, fields, rule);
  if (fields.has_gas()) keep_internal_energies(fields.gas, fields.count, coarse, fine, fine_box);
}

#ifdef __x86_64__
bool machine_has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}

const level_kernels& fastest_kernels() {
  static const level_kernels& fastest = machine_has_avx2() ? isa_avx2::kernels : isa_baseline::kernels;
  return fastest;
}
#else
const level_kernels& fastest_kernels() { return isa_baseline::kernels; }
#endif

void restrict_box(const grid_view& fine, const grid_view& coarse, const cell_box& box, int variables) {
  fastest_kernels().restrict_box(fine, coarse, box, variables);
}

}  // namespace plx::mesh
