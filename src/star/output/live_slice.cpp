#include "star/output/live_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "probe/live/live_json.hpp"
#include "rt/runtime.hpp"
#include "session/session.hpp"
#include "star/driver/balancer.hpp"
#include "star/driver/simulation.hpp"

namespace plx::star {
namespace {

constexpr std::int64_t most_pixels = 256;  // along an axis
constexpr int density = 0;                 // star/hydro/state.hpp

/// The index in [0, n) of the cell at x inside a block.
int cell_at(double x, double lower, double cell_width, int n) {
  return std::clamp(static_cast<int>((x - lower) / cell_width), 0, n - 1);
}

/// The position of a pixel, and the pixels whose centres lie in [from, to).
struct axis_pixels {
  double lower, width;
  int n;

  [[nodiscard]] double middle(int i) const { return lower + (i + 0.5) * width; }
  [[nodiscard]] int first_from(double x) const {
    return std::clamp(static_cast<int>(std::ceil((x - lower) / width - 0.5)), 0, n);
  }
};

axis_pixels pixels_along(const mesh::block_mesh& m, int axis) {
  const mesh::domain& box = m.box();
  const std::int64_t cells = box.blocks_along(axis, m.deepest()) * m.block_size();
  const int n = static_cast<int>(std::min(cells, most_pixels));
  const double lower = box.lower[static_cast<std::size_t>(axis)], upper = box.upper[static_cast<std::size_t>(axis)];
  return {lower, (upper - lower) / n, n};
}

class painter {
 public:
  explicit painter(simulation& sim)
      : sim_(sim),
        mesh_(sim.state().mesh),
        x_(pixels_along(mesh_, 0)),
        y_(pixels_along(mesh_, 1)),
        z_(0.5 * (mesh_.box().lower[2] + mesh_.box().upper[2])) {}

  probe::live_picture paint() {
    const mesh::domain& box = mesh_.box();
    picture_.title = fmt::format("Density, z = {:.3g}", z_);
    picture_.step = sim_.steps();
    picture_.time = sim_.time();
    for (std::size_t a = 0; a < 2; ++a) picture_.lower[a] = box.lower[a], picture_.upper[a] = box.upper[a];
    picture_.width = x_.n, picture_.height = y_.n;
    picture_.values.assign(static_cast<std::size_t>(x_.n) * static_cast<std::size_t>(y_.n),
                           std::numeric_limits<float>::quiet_NaN());
    sim_.collect_costs();
    for (const mesh::slot_id slot : sim_.state().own()) block(slot);
    return std::move(picture_);
  }

 private:
  void block(mesh::slot_id slot) {
    const std::array<double, 3> lower = mesh_.lower(slot);
    const double cell = mesh_.cell_width(slot), edge = cell * mesh_.block_size();
    if (z_ < lower[2] || z_ >= lower[2] + edge) return;
    const block_costs::entry cost = sim_.costs().of(slot);
    picture_.blocks.push_back({lower[0], lower[1], edge, edge,
                               cost.steps > 0 ? cost.seconds / cost.steps : std::numeric_limits<double>::quiet_NaN(),
                               mesh_.level(slot), sim_.worker_of(slot)});
    const int n = mesh_.block_size(), k = cell_at(z_, lower[2], cell, n);
    const double* const values = sim_.state().now.block(slot) + density * sim_.state().now.cells() + k * n * n;
    for (int py = y_.first_from(lower[1]); py < y_.first_from(lower[1] + edge); ++py) {
      const double* const row = values + n * cell_at(y_.middle(py), lower[1], cell, n);
      float* const out = picture_.values.data() + static_cast<std::ptrdiff_t>(py) * x_.n;
      for (int px = x_.first_from(lower[0]); px < x_.first_from(lower[0] + edge); ++px)
        out[px] = static_cast<float>(row[cell_at(x_.middle(px), lower[0], cell, n)]);
    }
  }

  simulation& sim_;
  const mesh::block_mesh& mesh_;
  const axis_pixels x_, y_;
  const double z_;
  probe::live_picture picture_;
};

// A locality's part of the picture as numbers: count of blocks, the blocks, then index and value of each pixel.
constexpr std::size_t block_numbers = 7;

std::vector<double> packed(const probe::live_picture& p) {
  std::vector<double> all{static_cast<double>(p.blocks.size())};
  for (const probe::live_picture::block& b : p.blocks)
    all.insert(all.end(), {b.x, b.y, b.width, b.height, b.cost_s, double(b.level), double(b.worker)});
  for (std::size_t i = 0; i < p.values.size(); ++i)
    if (!std::isnan(p.values[i])) all.insert(all.end(), {static_cast<double>(i), p.values[i]});
  return all;
}

void unpack_into(probe::live_picture& p, const std::vector<double>& from) {
  std::size_t at = 1;
  for (double left = from[0]; left > 0.0; --left, at += block_numbers) {
    const double* b = &from[at];
    p.blocks.push_back({b[0], b[1], b[2], b[3], b[4], static_cast<int>(b[5]), static_cast<unsigned>(b[6])});
  }
  for (; at + 1 < from.size(); at += 2) p.values[static_cast<std::size_t>(from[at])] = static_cast<float>(from[at + 1]);
}

probe::picture_board* board_of(simulation& sim) {
  probe::session* const session = sim.tasks().session();
  return session == nullptr ? nullptr : session->pictures();
}

}  // namespace

probe::live_picture live_slice(simulation& sim) {
  sim.fetch();
  probe::live_picture picture = painter(sim).paint();
  step::exchange& net = sim.state().net;
  if (net.is_alone()) return picture;
  const task_info info{probe::register_name("star.live_slice"), probe::no_key};
  const auto all = sim.tasks().run(info, [&] { return net.all_gather(packed(picture)); });
  picture.blocks.clear();
  for (const std::vector<double>& from : all) unpack_into(picture, from);
  return picture;
}

bool picture_wanted(simulation& sim) {
  const probe::picture_board* const board = board_of(sim);
  return board != nullptr && board->wanted();
}

void show_slice(simulation& sim) {
  probe::live_picture picture = live_slice(sim);
  if (probe::picture_board* const board = board_of(sim)) board->publish(std::move(picture));
}

}  // namespace plx::star
