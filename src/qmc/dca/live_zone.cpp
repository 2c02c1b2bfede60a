#include "qmc/dca/live_zone.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "probe/live/live_json.hpp"

namespace plx::qmc {
namespace {

// Along an axis. A prime: no centre of a pixel lies on a boundary of the patches of 2x2, 4x4, 6x6 and 8A. On one, as in
// 16A at kx = 0, the pixel has the value of the first of its nearest momenta.
constexpr int pixels = 257;

// The squared distance from the centre of each pixel of an axis to a component of a momentum, modulo 2 pi.
std::vector<double> squared_distances(double k) {
  std::vector<double> d;
  for (int i = 0; i < pixels; ++i) {
    const double centre = std::numbers::pi * (2 * i + 1 - pixels) / pixels;
    const double x = std::remainder(centre - k, 2 * std::numbers::pi);
    d.push_back(x * x);
  }
  return d;
}

std::vector<float> painted(const cluster& c, const matsubara_function& sigma) {
  std::vector<float> values(static_cast<std::size_t>(pixels) * pixels);
  std::vector<double> nearest(values.size(), std::numeric_limits<double>::infinity());
  for (int k = 0; k < c.n_sites(); ++k) {
    const auto [kx, ky] = c.momentum(k);
    const auto dx = squared_distances(kx), dy = squared_distances(ky);
    const auto value = static_cast<float>(-sigma(k, 0).imag());
    std::size_t at = 0;
    for (const double y : dy)
      for (const double x : dx) {
        if (x + y < nearest[at]) nearest[at] = x + y, values[at] = value;
        ++at;
      }
  }
  return values;
}

std::string title_of(const dca_options& o, const dca_state& s) {
  // The self-energy of a temperature's last iteration is in the state at the beginning of the next temperature.
  const bool ended = s.iteration == 0;
  std::string title =
      fmt::format("-Im Sigma(K, i pi T) at T {:.5g}, {}", ended ? s.t.back() : o.temperatures[s.temperature],
                  ended ? "last iteration" : fmt::format("iteration {}", s.iteration));
  if (s.t.empty() || s.d_wave.size() != s.t.size()) return title;
  const estimate& d = s.d_wave.back();
  return title + fmt::format("; lambda_d {:.4f}({:.4f}) at T {:.5g}", d.value, d.error, s.t.back());
}

}  // namespace

std::optional<probe::live_picture> live_self_energy(const cluster& c, const dca_options& options, const dca_state& s) {
  if (s.streams == 0) return std::nullopt;
  probe::live_picture p;
  p.title = title_of(options, s);
  p.unit = "t";
  p.step = static_cast<std::int64_t>(s.streams / static_cast<std::uint64_t>(options.walkers));
  for (int a = 0; a < 2; ++a) p.lower[a] = -1, p.upper[a] = 1;
  p.width = p.height = pixels;
  p.values = painted(c, s.self_energy);
  return p;
}

}  // namespace plx::qmc
