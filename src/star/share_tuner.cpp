#include "star/share_tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plx::star {

namespace {

double per_second(double blocks, double seconds) { return seconds > 0.0 ? blocks / seconds : 0.0; }

}  // namespace

void share_tuner::settle(double share, std::string why) {
  phase_ = phase::settled;
  settled_for_ = 0;
  share_ = share;
  why_ = std::move(why);
}

void share_tuner::measured(const sample& s) {
  if (s.steps <= 0 || !(s.wall_s > 0.0) || !(s.blocks > 0.0)) return;
  const double done = s.blocks * static_cast<double>(s.steps), rate = done / s.wall_s;
  switch (phase_) {
    case phase::alone:
      rate_alone_ = rate;
      phase_ = phase::trial;
      share_ = trial_share;
      why_ = "measuring devices and workers together";
      return;
    case phase::trial: {
      const double devices = per_second(done * share_, s.devices_s);
      const double workers = per_second(done * (1.0 - share_), s.workers_s);
      if (!(devices + workers > 0.0)) return settle(1.0, "no measurement");
      phase_ = phase::both;
      share_ = devices / (devices + workers);
      why_ = fmt::format("devices {:.4g} blocks/s, workers {:.4g}", devices, workers);
      if (share_ * s.blocks > s.blocks - 0.5) settle(1.0, "the workers' share is less than one block: " + why_);
      return;
    }
    case phase::both:
      if (rate > rate_alone_)
        return settle(share_, fmt::format("both {:.4g} blocks/s, devices alone {:.4g}", rate, rate_alone_));
      return settle(1.0, fmt::format("devices alone {:.4g} blocks/s, both {:.4g}", rate_alone_, rate));
    case phase::settled:
      if (++settled_for_ < settled_samples) return;
      phase_ = phase::alone;
      share_ = 1.0;
      why_ = "measuring the devices alone again";
      return;
  }
}

}  // namespace plx::star
