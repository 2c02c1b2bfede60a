// Chooses the share of blocks that devices advance, while the CPU's workers advance the rest, from measured rates.
//
// At first devices have all blocks, then most of them; from the rates of devices and workers follows the share with
// which both finish together. It is tried, and kept if the whole was faster than without the workers. After some time
// the measurement is repeated.
//
// Thread safety: none. Cost: some arithmetic per measurement. Example: star/share_tuner_test.cpp
#pragma once

#include <cstdint>
#include <string>

namespace plx::star {

class share_tuner {
 public:
  /// A measurement with the current share(): the time of steps, without waiting for other localities, and the busy
  /// times of devices and workers.
  struct sample {
    double blocks = 0.0;  ///< advanced per step, by all parts
    std::int64_t steps = 0;
    double wall_s = 0.0, devices_s = 0.0, workers_s = 0.0;
  };
  static constexpr double trial_share = 0.75;
  static constexpr int settled_samples = 32;  ///< then the measurement is repeated

  double share() const { return share_; }  ///< of the blocks, 0 to 1
  const std::string& why() const { return why_; }
  /// Takes a measurement; share() then returns the share for the next steps.
  void measured(const sample& s);

 private:
  enum class phase { alone, trial, both, settled };
  void settle(double share, std::string why);

  phase phase_ = phase::alone;
  double share_ = 1.0, rate_alone_ = 0.0;
  int settled_for_ = 0;
  std::string why_ = "measuring the devices alone";
};

}  // namespace plx::star
