#include "star/refine/block_limit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plx::star {

namespace {

constexpr int last_step = 1024;      // a factor of 2^128
constexpr int most_steps_back = 8;   // per check
constexpr double eighths[8] = {1.0,  // 2^(i/8), the same bits everywhere
                               1.0905077326652577,
                               1.189207115002721,
                               1.2968395546510096,
                               1.4142135623730951,
                               1.5422108254079407,
                               1.681792830507429,
                               1.8340080864093424};

}  // namespace

double block_limit::factor(int step) { return std::ldexp(eighths[step % 8], step / 8); }

void block_limit::restore(double state) { step_ = std::min(std::max(static_cast<int>(state), 0), last_step); }

// A mesh above the limit, which can only be coarsened, fits if all its requests together would bring it below.
bool block_limit::fits(const mesh::block_mesh& mesh, const std::vector<mesh::flag>& flags) const {
  const int votes = mesh.block_count() > most_ ? 1 : coarsen_after_;
  return mesh::plan_regrid(mesh, flags, votes).next.block_count() <= most_;
}

std::vector<mesh::flag> block_limit::choose(const mesh::block_mesh& mesh,
                                            const std::function<std::vector<mesh::flag>(double)>& flags_at) {
  std::vector<mesh::flag> flags = flags_at(factor(step_));
  if (!present()) return flags;
  if (fits(mesh, flags)) {
    for (int i = 0; i < most_steps_back && step_ > 0; ++i) {
      std::vector<mesh::flag> stronger = flags_at(factor(step_ - 1));
      if (!fits(mesh, stronger)) break;
      flags = std::move(stronger);
      --step_;
    }
    return flags;
  }
  // The mesh of `low` does not fit; that of step_ does, or step_ is the last.
  int low = step_;
  for (int width = 1; low < last_step; width *= 2) {
    step_ = std::min(low + width, last_step);
    flags = flags_at(factor(step_));
    if (step_ == last_step || fits(mesh, flags)) break;
    low = step_;
  }
  while (step_ - low > 1) {
    const int middle = low + (step_ - low) / 2;
    std::vector<mesh::flag> stronger = flags_at(factor(middle));
    if (fits(mesh, stronger)) {
      flags = std::move(stronger);
      step_ = middle;
    } else {
      low = middle;
    }
  }
  return flags;
}

}  // namespace plx::star
