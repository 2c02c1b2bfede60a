#include "mesh/prolong.hpp"

#include <algorithm>
#include <cmath>

#include "mesh/level_kernels.hpp"
#include "mesh/symmetric.hpp"

namespace plx::mesh {

namespace {

double minmod(double a, double b) { return larger(0.0, smaller(a, b)) + smaller(0.0, larger(a, b)); }

// Differences to the lower and the upper neighbour along each axis.
struct differences {
  double lower[3], upper[3];
};

differences differences_at(const double* c, const grid_view& g) {
  const std::ptrdiff_t step[3] = {1, g.row, g.plane};
  differences d;
  for (int a = 0; a < 3; ++a) {
    d.lower[a] = c[0] - c[-step[a]];
    d.upper[a] = c[step[a]] - c[0];
  }
  return d;
}

double limited(double lower, double upper, limiter rule) {
  const double m = minmod(lower, upper);
  return rule == limiter::minmod ? m : minmod(2.0 * m, 0.5 * (lower + upper));
}

// A quarter of a slope along each axis, and the offsets of the children: child 7 (the upper corner) is c + t[0], its
// opposite 0 is c - t[0]; t[1]: 6 and 1, t[2]: 5 and 2, t[3]: 3 and 4.
struct offsets {
  double t[4];
};

offsets offsets_of(double x, double y, double z) {
  return {{sum3(x, y, z), sum3(-x, y, z), sum3(x, -y, z), sum3(x, y, -z)}};
}

// The factor by which the offsets are scaled back so that no child leaves the range of the cell and its neighbours.
double range_scale(const offsets& o, const differences& d) {
  double above = 0.0, below = 0.0;
  for (int a = 0; a < 3; ++a) {
    above = larger(above, larger(-d.lower[a], d.upper[a]));
    below = larger(below, larger(d.lower[a], -d.upper[a]));
  }
  double most = 0.0;
  for (const double t : o.t) most = larger(most, std::fabs(t));
  const double allowed = smaller(above, below);
  return most > allowed ? allowed / most : 1.0;
}

// Writes those children of coarse cell (i, j, k) that are in the box.
void write_children(const grid_view& fine, const cell_box& box, int i, int j, int k, double c, const offsets& o) {
  const double child[8] = {c - o.t[0], c - o.t[1], c - o.t[2], c + o.t[3],
                           c - o.t[3], c + o.t[2], c + o.t[1], c + o.t[0]};
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

grid_view of_variable(const grid_view& g, std::size_t v) {
  return {g.origin + static_cast<std::ptrdiff_t>(v) * g.volume, g.row, g.plane, g.volume};
}

// One factor per axis times the central slope: the smallest that any member requires.
void prolong_together(const grid_view& coarse, const grid_view& fine, const cell_box& box,
                      const std::vector<int>& members, limiter rule) {
  for_coarse_cells(box, [&](int i, int j, int k) {
    double factor[3] = {1.0, 1.0, 1.0};
    for (const int v : members) {
      const differences d = differences_at(of_variable(coarse, v).at(i, j, k), coarse);
      for (int a = 0; a < 3; ++a) {
        const double central = 0.5 * (d.lower[a] + d.upper[a]), m = limited(d.lower[a], d.upper[a], rule);
        if (d.lower[a] != 0.0 || d.upper[a] != 0.0)
          factor[a] = smaller(factor[a], m == 0.0 ? 0.0 : smaller(1.0, m / central));
      }
    }
    const auto offsets_with = [&](const differences& d) {
      double s[3];
      for (int a = 0; a < 3; ++a) s[a] = 0.125 * (factor[a] * (d.lower[a] + d.upper[a]));
      return offsets_of(s[0], s[1], s[2]);
    };
    double scale = 1.0;
    for (const int v : members) {
      const differences d = differences_at(of_variable(coarse, v).at(i, j, k), coarse);
      scale = smaller(scale, range_scale(offsets_with(d), d));
    }
    for (const int v : members) {
      const double* c = of_variable(coarse, v).at(i, j, k);
      offsets o = offsets_with(differences_at(c, coarse));
      for (double& t : o.t) t *= scale;
      write_children(of_variable(fine, v), box, i, j, k, *c, o);
    }
  });
}

}  // namespace

void prolong_box(const grid_view& coarse, const grid_view& fine, const cell_box& fine_box,
                 const std::vector<variable>& variables, limiter rule) {
  const level_kernels& kernels = fastest_kernels();
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const int group = variables[v].share_limiter;
    if (group < 0) {
      kernels.prolong_box(of_variable(coarse, v), of_variable(fine, v), fine_box, rule);
      continue;
    }
    std::vector<int> members;
    bool done = false;
    for (std::size_t w = 0; w < variables.size(); ++w)
      if (variables[w].share_limiter == group) {
        if (w < v) done = true;  // the first member has handled the whole group
        members.push_back(static_cast<int>(w));
      }
    if (!done) prolong_together(coarse, fine, fine_box, members, rule);
  }
}

void restrict_box(const grid_view& fine, const grid_view& coarse, const cell_box& box, int variables) {
  fastest_kernels().restrict_box(fine, coarse, box, variables);
}

}  // namespace plx::mesh
