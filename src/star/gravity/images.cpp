#include "star/gravity/images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "mesh/tree/tree.hpp"

namespace plx::star::gravity {

namespace {

using offset = std::array<int, 3>;
using derivatives = std::vector<double>;

constexpr double largest_exponent = 42.0;  // terms with exp(-42) = 6e-19 are omitted
constexpr int most_images = 128;           // groups of the list; one task computes all interactions at the top

// Calls f(n) for whole numbers |n| <= most along each axis.
template <class F>
void for_lattice(const offset& most, F&& f) {
  offset n;
  for (n[2] = -most[2]; n[2] <= most[2]; ++n[2])
    for (n[1] = -most[1]; n[1] <= most[1]; ++n[1])
      for (n[0] = -most[0]; n[0] <= most[0]; ++n[0]) f(n);
}

void add(const derivatives& from, derivatives& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

// erfc(alpha r) / r and its derivatives, as arguments of derivatives_of_radial().
derivatives screened(double alpha, double r2, int degree) {
  const double r = std::sqrt(r2), gauss = std::exp(-alpha * alpha * r2) / (alpha * std::sqrt(std::numbers::pi));
  derivatives f{std::erfc(alpha * r) / r};
  double b = f[0], power = 1.0, sign = 1.0;
  for (int m = 1; m <= degree; ++m) {
    power *= 2.0 * alpha * alpha, sign = -sign;
    b = ((2 * m - 1) * b + power * gauss) / r2;
    f.push_back(sign * b);
  }
  return f;
}

// The same of -erf(alpha r) / r, which is smooth at 0: its derivatives are integrals of t^2m exp(-alpha^2 r^2 t^2) over
// t from 0 to 1, here as series of positive terms.
derivatives smoothed(double alpha, double r2, int degree) {
  const double t = alpha * alpha * r2;
  double factor = -2.0 * alpha / std::sqrt(std::numbers::pi);
  derivatives f;
  for (int m = 0; m <= degree; ++m) {
    double term = 1.0 / (2 * m + 1), sum = 0.0;
    for (int i = 1; term > 1e-18 * sum; ++i) {
      sum += term;
      term *= 2.0 * t / (2 * m + 2 * i + 1);
    }
    f.push_back(factor * std::exp(-t) * sum);
    factor *= -2.0 * alpha * alpha;
  }
  return f;
}

// Adds the sum over periods, with 1/r omitted for those that are not separated.
void add_periods(const offset& at, const offset& cells, int opening, double alpha, int degree, derivatives& to) {
  offset most;
  for (std::size_t a = 0; a < 3; ++a) most[a] = 1 + static_cast<int>(std::sqrt(largest_exponent) / (alpha * cells[a]));
  for_lattice(most, [&](const offset& n) {
    double x[3], r2 = 0.0;
    for (std::size_t a = 0; a < 3; ++a) x[a] = at[a] + n[a] * cells[a], r2 += x[a] * x[a];
    if (r2 < opening)
      add(derivatives_of_radial(x, smoothed(alpha, r2, degree)), to);
    else if (alpha * alpha * r2 < largest_exponent)
      add(derivatives_of_radial(x, screened(alpha, r2, degree)), to);
  });
}

// Adds the sum over waves k = 2 pi n / L: derivatives of (4 pi / V) exp(-k^2 / 4 alpha^2) / k^2 cos(k x).
void add_waves(const offset& at, const offset& cells, double alpha, int degree, derivatives& to) {
  static constexpr auto all = indices_up_to<largest_order, 2>();
  constexpr double pi = std::numbers::pi;
  const double volume = static_cast<double>(cells[0]) * cells[1] * cells[2];
  offset most;
  for (std::size_t a = 0; a < 3; ++a)
    most[a] = 1 + static_cast<int>(std::sqrt(largest_exponent) * alpha * cells[a] / pi);
  for_lattice(most, [&](const offset& n) {
    double k[3], k2 = 0.0, phase = 0.0;
    for (std::size_t a = 0; a < 3; ++a) k[a] = 2.0 * pi * n[a] / cells[a], k2 += k[a] * k[a], phase += k[a] * at[a];
    const double exponent = k2 / (4.0 * alpha * alpha);
    if (k2 == 0.0 || exponent > largest_exponent) return;
    const double size = 4.0 * pi / volume * std::exp(-exponent) / k2, c = std::cos(phase), s = std::sin(phase);
    const double turned[4] = {c, -s, -c, s};
    for (const multi_index& i : all) {
      if (i.degree() > degree) continue;
      double power = size * turned[i.degree() % 4];
      for (int x = 0; x < i.x; ++x) power *= k[0];
      for (int y = 0; y < i.y; ++y) power *= k[1];
      for (int z = 0; z < i.z; ++z) power *= k[2];
      to[static_cast<std::size_t>(number_among(i, degree))] += power;
    }
  });
  to[0] -= pi / (alpha * alpha * volume);
}

// The cells of the top along each axis, and its level: the coarsest one of the tree of which the box is a whole number
// of cells wide.
struct box_top {
  offset cells;
  int level;
};
box_top top_of(const mesh::domain& box) {
  box_top top{{}, 0};
  for (std::size_t a = 0; a < 3; ++a) top.cells[a] = box.root_blocks[a] * box.block_size;
  const auto is_even = [](int n) { return n % 2 == 0; };
  while (top.level > mesh::top_level(box) && std::all_of(top.cells.begin(), top.cells.end(), is_even)) {
    for (int& n : top.cells) n /= 2;
    --top.level;
  }
  return top;
}

}  // namespace

result<bool> is_periodic_box(const mesh::domain& box) {
  const bool periodic = box.is_periodic(0);
  for (int f = 0; f < mesh::face_count; ++f) {
    if (box.sides[f] == mesh::boundary::reflecting)
      return error{
          fmt::format("gravity.self = true: expected periodic boundaries along all axes, or those of an isolated "
                      "domain, such as \"outflow\", found \"reflecting\" in mesh.sides[{}]",
                      f)};
    if (box.is_periodic(mesh::face_axis(f)) != periodic)
      return error{
          fmt::format("gravity.self = true: expected periodic boundaries along all axes or along none, found "
                      "mesh.sides[0] {} and mesh.sides[{}] {}",
                      periodic ? "periodic" : "not periodic", f, periodic ? "not periodic" : "periodic")};
  }
  return periodic;
}

std::vector<double> image_derivatives(const std::array<int, 3>& at, const std::array<int, 3>& cells, int opening,
                                      int degree) {
  const double volume = static_cast<double>(cells[0]) * cells[1] * cells[2];
  const double alpha = std::sqrt(std::numbers::pi) / std::cbrt(volume);  // both sums fall equally fast
  derivatives sum(static_cast<std::size_t>(constants_of_far(degree)), 0.0);
  add_periods(at, cells, opening, alpha, degree, sum);
  add_waves(at, cells, alpha, degree, sum);
  if (degree >= 2)
    for (const multi_index& i : {multi_index{2, 0, 0}, {0, 2, 0}, {0, 0, 2}})
      sum[static_cast<std::size_t>(number_among(i, degree))] -= 4.0 / 3.0 * std::numbers::pi / volume;
  return sum;
}

result<box_images> make_images(const mesh::domain& box, const lattice_table& t) {
  const auto& roots = box.root_blocks;
  const auto [least, most] = std::minmax_element(roots.begin(), roots.end());
  const auto is_power = [](int n) { return std::has_single_bit(static_cast<unsigned>(n)); };
  if (!std::all_of(roots.begin(), roots.end(), is_power))
    return error{
        fmt::format("mesh.root_blocks: self-gravity in a periodic box: expected powers of two, found {}, {}, {}; "
                    "mesh.block_size = 24 gives grids of 3 x 2^n cells, 40 of 5 x 2^n",
                    roots[0], roots[1], roots[2])};
  if (*most > 8 * *least)
    return error{
        fmt::format("mesh.root_blocks: self-gravity in a periodic box: expected numbers that differ by a factor of 8 "
                    "at most, found {}, {}, {}; choose a box closer to a cube",
                    roots[0], roots[1], roots[2])};
  const box_top top = top_of(box);
  const int count = (top.cells[0] / 2 + 1) * (top.cells[1] / 2 + 1) * (top.cells[2] / 2 + 1);
  if (count > most_images)
    return error{
        fmt::format("mesh.root_blocks and mesh.block_size: self-gravity in a periodic box: expected at most {} groups "
                    "of images, found {} from {}, {}, {} blocks of {}^3 cells; choose a power of two for the block "
                    "size, such as 8 or 16, or a box closer to a cube",
                    most_images, count, roots[0], roots[1], roots[2], box.block_size)};
  box_images made;
  made.cells = top.cells;
  made.width = box.cell_width(top.level);
  made.values.assign(zero_at + 1, 0.0);
  const auto first = static_cast<double>(made.values.size());
  offset o;
  for (o[2] = 0; 2 * o[2] <= top.cells[2]; ++o[2])
    for (o[1] = 0; 2 * o[1] <= top.cells[1]; ++o[1])
      for (o[0] = 0; 2 * o[0] <= top.cells[0]; ++o[0]) {
        // A cell half a period away has images on both sides: half of it is on either.
        double weight = -1.0;
        int mask = 0;
        for (std::size_t a = 0; a < 3; ++a) {
          if (o[a] > 0) mask |= 1 << a;
          if (o[a] > 0 && 2 * o[a] == top.cells[a]) weight *= 0.5;
          made.reach = std::max(made.reach, o[a]);
        }
        for (const int d : o) made.values.push_back(d);
        made.values.push_back(mask);
        for (const double d : image_derivatives({-o[0], -o[1], -o[2]}, top.cells, t.opening, t.order))
          made.values.insert(made.values.end(), 2, weight * d);
      }
  for (int row = 0; row < 4; ++row) {
    const auto at = static_cast<std::size_t>(list_at(partners::far, row, t.order));
    made.values[at] = first, made.values[at + 1] = count;
  }
  return made;
}

}  // namespace plx::star::gravity
