#include "star/gravity/lattice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/text.hpp"

namespace plx::star::gravity {

namespace {

using offset = std::array<int, 3>;

constexpr int square(const offset& o) { return o[0] * o[0] + o[1] * o[1] + o[2] * o[2]; }

// The order for far partners at this square of their distance.
int order_at(const lattice_table& t, int distance_squared) {
  const double ratio = std::log(static_cast<double>(t.opening)) / std::log(static_cast<double>(distance_squared));
  const int p = static_cast<int>(std::ceil(t.order * ratio - 1e-9));
  return p < least_order ? least_order : p;
}

// Appends -1/r and X/r^3.
void append_point(std::vector<double>& to, const double (&x)[3]) {
  const double r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2], inverse = 1.0 / std::sqrt(r2);
  to.push_back(-inverse);
  for (const double a : x) to.push_back(a * (inverse / r2));
}

// The offset of the parent of the cell at o from the parent of the cell itself.
offset parent_offset(const offset& o, const int (&parity)[3]) {
  offset p;
  for (std::size_t a = 0; a < 3; ++a) {
    const int i = parity[a] + o[a];
    p[a] = (i - (i & 1)) / 2;
  }
  return p;
}

// The constants of the partner at an offset for a cell with these parities, or none.
std::vector<double> constants_of(partners kind, int order, const offset& o, const int (&parity)[3],
                                 const lattice_table& t) {
  std::vector<double> out;
  if (o == offset{}) return out;
  const double x[3] = {static_cast<double>(-o[0]), static_cast<double>(-o[1]), static_cast<double>(-o[2])};
  const bool open = square(parent_offset(o, parity)) < t.opening, separated = square(o) >= t.opening;
  switch (kind) {
    case partners::direct:
      if (open) append_point(out, x);
      break;
    case partners::finer:
      for (int child = 0; !separated && child < 8; ++child) {
        const double to[3] = {x[0] - ((child & 1) != 0 ? 0.25 : -0.25), x[1] - ((child & 2) != 0 ? 0.25 : -0.25),
                              x[2] - ((child & 4) != 0 ? 0.25 : -0.25)};
        append_point(out, to);
      }
      break;
    case partners::coarser: {
      const offset p{o[0] / 2, o[1] / 2, o[2] / 2};
      if (o[0] % 2 != 0 || o[1] % 2 != 0 || o[2] % 2 != 0 || square(p) >= t.opening) break;
      const double to[3] = {x[0] - 0.5 + parity[0], x[1] - 0.5 + parity[1], x[2] - 0.5 + parity[2]};
      append_point(out, to);
      break;
    }
    case partners::far:
      if (open && separated && order_at(t, square(o)) == order)
        for (const double d : derivatives_of_inverse(x, order)) out.push_back(-d);
      break;
  }
  return out;
}

// Appends an entry: the offset for cells of even x, the mask, and the constants of both.
void append_entry(lattice_table& t, const offset& o, int mask, std::vector<double> (&c)[2]) {
  for (const int d : o) t.values.push_back(d);
  t.values.push_back(mask);
  for (std::vector<double>& parity : c) parity.resize(std::max(c[0].size(), c[1].size()), 0.0);
  for (std::size_t i = 0; i < c[0].size(); ++i)
    for (const auto& parity : c) t.values.push_back(parity[i]);
}

// Appends a list of finer or coarser partners in ascending order of dz, dy, dx.
void append_cells(lattice_table& t, partners kind, int row) {
  const int far = kind == partners::finer ? t.near : t.reach;
  const auto at = static_cast<std::size_t>(list_at(kind, row));
  t.values[at] = static_cast<double>(t.values.size());
  offset o;
  for (o[2] = -far; o[2] <= far; ++o[2])
    for (o[1] = -far; o[1] <= far; ++o[1])
      for (o[0] = -far; o[0] <= far; ++o[0]) {
        std::vector<double> c[2];
        for (int odd = 0; odd < 2; ++odd) c[odd] = constants_of(kind, least_order, o, {odd, row & 1, row >> 1}, t);
        if (c[0].empty() && c[1].empty()) continue;
        append_entry(t, o, 0, c);
        t.values[at + 1] += 1.0;
      }
}

// A partner of cells of even index, with its images along the axes of `mask`.
struct group {
  offset at;
  int mask;
};

// The images of an offset along the axes of the bits of `image`.
offset mirrored(offset o, int image) {
  for (std::size_t a = 0; a < 3; ++a)
    if (((image >> a) & 1) != 0) o[a] = -o[a];
  return o;
}

// Appends the groups of the partners at an offset >= 0 and at its images, the largest groups first.
void append_groups(std::vector<group>& to, partners kind, int order, const offset& o, const lattice_table& t) {
  bool left[8];
  for (int image = 0; image < 8; ++image) {
    bool is_another = true;
    for (int a = 0; a < 3; ++a)
      is_another = is_another && (((image >> a) & 1) == 0 || o[static_cast<std::size_t>(a)] > 0);
    left[image] = is_another && !constants_of(kind, order, mirrored(o, image), {0, 0, 0}, t).empty();
  }
  for (const int mask : {7, 3, 5, 6, 1, 2, 4, 0})
    for (int first = 0; first < 8; ++first) {
      if ((first & mask) != 0) continue;
      bool all = true;
      for (int image = 0; image < 8; ++image) all = all && (left[image] || (image & ~mask) != first);
      if (!all) continue;
      to.push_back({mirrored(o, first), mask});
      for (int image = 0; image < 8; ++image) left[image] = left[image] && (image & ~mask) != first;
    }
}

// Appends the lists of direct or far partners. Groups with the same cells along y and z follow each other.
void append_lists(lattice_table& t, partners kind, int order) {
  std::vector<group> all;
  offset o;
  for (o[2] = 0; o[2] <= t.reach; ++o[2])
    for (o[1] = 0; o[1] <= t.reach; ++o[1])
      for (o[0] = 0; o[0] <= t.reach; ++o[0]) append_groups(all, kind, order, o, t);
  std::stable_sort(all.begin(), all.end(), [](const group& a, const group& b) {
    const auto key = [](const group& g) {
      return std::array{g.mask >> 1, std::abs(g.at[2]), std::abs(g.at[1]), g.at[2], g.at[1]};
    };
    return key(a) < key(b);
  });
  for (int row = 0; row < 4; ++row) {
    const auto at = static_cast<std::size_t>(list_at(kind, row, order));
    t.values[at] = static_cast<double>(t.values.size());
    t.values[at + 1] = static_cast<double>(all.size());
    for (const group& g : all) {
      offset of_parity[2];
      std::vector<double> c[2];
      for (int odd = 0; odd < 2; ++odd) {
        const int parity = odd + 2 * row;
        of_parity[odd] = mirrored(g.at, parity & ~g.mask);
        c[odd] = constants_of(kind, order, of_parity[odd], {odd, row & 1, row >> 1}, t);
      }
      append_entry(t, of_parity[0], g.mask, c);
    }
  }
}

}  // namespace

// R[m][i]: the recurrence starts from R[m][0] = f[m]; R[0] are the derivatives.
std::vector<double> derivatives_of_radial(const double (&x)[3], const std::vector<double>& f) {
  static constexpr auto all = indices_up_to<largest_order, 2>();
  const int degree = static_cast<int>(f.size()) - 1;
  const auto count = static_cast<std::size_t>(constants_of_far(degree));
  std::vector<std::vector<double>> r(f.size(), std::vector<double>(count));
  for (std::size_t m = 0; m < f.size(); ++m) r[m][0] = f[m];
  for (int d = 1; d <= degree; ++d)
    for (const multi_index& to : all) {
      if (to.degree() != d) continue;
      const int i[3] = {to.x, to.y, to.z};
      const int axis = to.x > 0 ? 0 : to.y > 0 ? 1 : 2;
      const multi_index one{to.x - (axis == 0), to.y - (axis == 1), to.z - (axis == 2)};
      const multi_index two{one.x - (axis == 0), one.y - (axis == 1), one.z - (axis == 2)};
      const auto at = [&](const multi_index& j) { return static_cast<std::size_t>(number_among(j, degree)); };
      for (int m = 0; m <= degree - d; ++m) {
        const auto& next = r[static_cast<std::size_t>(m) + 1];
        double v = x[axis] * next[at(one)];
        if (i[axis] > 1) v += (i[axis] - 1) * next[at(two)];
        r[static_cast<std::size_t>(m)][at(to)] = v;
      }
    }
  return r[0];
}

std::vector<double> derivatives_of_inverse(const double (&x)[3], int degree) {
  const double r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
  std::vector<double> f;
  double g = 1.0 / std::sqrt(r2);  // (-1)^m (2m-1)!! / r^(2m+1)
  for (int m = 0; m <= degree; ++m) {
    f.push_back(g);
    g *= -(2.0 * m + 1.0) / r2;
  }
  return derivatives_of_radial(x, f);
}

std::vector<double> child_powers(int order, int child, bool opposite) {
  std::vector<double> made(static_cast<std::size_t>(count_up_to(order)));
  double s[3] = {};
  for (int a = 0; a < 3; ++a) s[a] = (((child >> a) & 1) != 0) != opposite ? 0.25 : -0.25;
  for (int x = 0; x <= order; ++x)
    for (int y = 0; x + y <= order; ++y)
      for (int z = 0; x + y + z <= order; ++z) {
        double v = 1.0;
        for (int i = 1; i <= x; ++i) v *= s[0] / i;
        for (int i = 1; i <= y; ++i) v *= s[1] / i;
        for (int i = 1; i <= z; ++i) v *= s[2] / i;
        // Pairs of derivatives along z become (-1) (D^xx + D^yy) each.
        const int pairs = z / 2;
        double weight = pairs % 2 == 0 ? v : -v;
        for (int i = 0; i <= pairs; ++i) {
          made[static_cast<std::size_t>(number_of({x + 2 * i, y + 2 * (pairs - i), z % 2}))] += weight;
          weight = weight * (pairs - i) / (i + 1);
        }
      }
  return made;
}

result<lattice_table> make_lattice(double theta, int order, int block_size) {
  if (!(theta >= 0.25 && theta <= 0.5))
    return error{fmt::format(
        "gravity.theta is {}: expected a number from 0.25 to 0.5; smaller is more accurate and slower", theta)};
  if (order < least_order || order > largest_order)
    return error{fmt::format("gravity.order is {}: expected {} to {}; higher is more accurate and slower", order,
                             least_order, largest_order)};
  lattice_table t;
  t.order = order;
  t.opening = static_cast<int>(std::ceil(1.0 / (theta * theta) - 1e-9));
  for (t.near = 0; (t.near + 1) * (t.near + 1) < t.opening;) ++t.near;
  t.reach = 2 * t.near + 1;
  if (t.reach > block_size)
    return error{fmt::format(
        "gravity.theta is {}: its partners reach {}, more than mesh.block_size = {}; expected a larger theta "
        "or larger blocks",
        theta, plural(static_cast<std::uint64_t>(t.reach), "cell"), block_size)};
  t.values.assign(zero_at + 1, 0.0);
  for (int row = 0; row < 4; ++row)
    for (const partners kind : {partners::finer, partners::coarser}) append_cells(t, kind, row);
  append_lists(t, partners::direct, least_order);
  for (int p = least_order; p <= order; ++p) append_lists(t, partners::far, p);
  for (const bool opposite : {false, true})
    for (int child = 0; child < 8; ++child) {
      t.values[static_cast<std::size_t>(powers_at(child, opposite))] = static_cast<double>(t.values.size());
      const std::vector<double> powers = child_powers(order, child, opposite);
      t.values.insert(t.values.end(), powers.begin(), powers.end());
    }
  return t;
}

}  // namespace plx::star::gravity
