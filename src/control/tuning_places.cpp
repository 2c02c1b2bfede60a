// Places of a space, and two simple strategies: exhaustive and random search.
#include <algorithm>
#include <cmath>
#include <limits>

#include "control/tuning_search.hpp"

namespace plx::probe::detail {

places start_of(const parameters& space) {
  places at;
  for (const parameter& p : space) at.push_back(p.place_of(p.start));
  return at;
}

static double anywhere(const parameter& p, tuning_random& random) {
  return p.what == parameter::kind::real ? random.uniform() : static_cast<double>(random.below(p.levels()));
}

places anywhere(const parameters& space, tuning_random& random) {
  places at;
  for (const parameter& p : space) at.push_back(anywhere(p, random));
  return at;
}

places nearby(const parameters& space, places from, double scale, tuning_random& random) {
  const std::uint64_t certain = random.below(space.size());  // at least one parameter changes
  const double share = 1.0 / static_cast<double>(space.size());
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (i != certain && random.uniform() > share) continue;
    const parameter& p = space[i];
    if (p.what == parameter::kind::choice) {
      from[i] = anywhere(p, random);
      continue;
    }
    double step = random.normal() * scale * most_place(p);
    if (p.what == parameter::kind::integer && std::abs(step) < 1) step = step < 0 ? -1 : 1;
    from[i] = std::clamp(from[i] + step, 0.0, most_place(p));
    if (p.what == parameter::kind::integer) from[i] = std::round(from[i]);
  }
  return from;
}

static std::uint64_t levels_of(const parameter& p, int grid) noexcept {
  return p.what == parameter::kind::real ? static_cast<std::uint64_t>(std::max(grid, 2)) : p.levels();
}

std::uint64_t grid_size(const parameters& space, int grid) noexcept {
  constexpr double most = 0x1p62;
  double n = 1;
  for (const parameter& p : space) n *= static_cast<double>(levels_of(p, grid));
  return n < most ? static_cast<std::uint64_t>(n) : std::uint64_t{1} << 62;
}

places grid_point(const parameters& space, int grid, std::uint64_t number) {
  places at;
  for (const parameter& p : space) {
    const std::uint64_t levels = levels_of(p, grid);
    const auto level = static_cast<double>(number % levels);
    at.push_back(p.what == parameter::kind::real ? level / static_cast<double>(levels - 1) : level);
    number /= levels;
  }
  return at;
}

namespace {

class exhaustive_search final : public search {
 public:
  explicit exhaustive_search(const tuning_options& o) : space_(o.space), grid_(o.grid) {}
  std::optional<places> next() override {
    if (next_ == grid_size(space_, grid_)) return std::nullopt;
    return grid_point(space_, grid_, next_++);
  }
  void told(double) override {}

 private:
  const parameters space_;
  const int grid_;
  std::uint64_t next_ = 0;
};

class random_search final : public search {
 public:
  explicit random_search(const tuning_options& o) : space_(o.space), random_(o.seed) {}
  std::optional<places> next() override {
    if (std::exchange(first_, false)) return start_of(space_);
    return anywhere(space_, random_);
  }
  void told(double) override {}

 private:
  const parameters space_;
  tuning_random random_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<search> make_exhaustive(const tuning_options& o) { return std::make_unique<exhaustive_search>(o); }
std::unique_ptr<search> make_random(const tuning_options& o) { return std::make_unique<random_search>(o); }

}  // namespace plx::probe::detail
