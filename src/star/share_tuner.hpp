// Which share of the blocks devices shall have, where the CPU's workers may have the rest: found by what was measured.
//
// Devices have all blocks for a while, then most of them; from the rates of both sides follows the share with which
// they end together; it is tried, and kept if the whole was faster than without the workers. After some time that is
// asked anew.
//
// Thread safety: none. Cost: some arithmetic per measurement. Example: star/share_tuner_test.cpp
#pragma once

#include <cstdint>
#include <string>

namespace plx::star {

class share_tuner {
 public:
  /// What was measured while the share was that of share(): seconds that steps took, less those of waiting for other
  /// localities, and that either side was busy.
  struct sample {
    double blocks = 0.0;  ///< advanced by a step, all of them
    std::int64_t steps = 0;
    double wall_s = 0.0, devices_s = 0.0, workers_s = 0.0;
  };
  static constexpr double trial_share = 0.75;
  static constexpr int settled_samples = 32;  ///< then it is asked anew

  double share() const { return share_; }  ///< of the blocks, 0 to 1
  const std::string& why() const { return why_; }
  /// Takes what was measured; share() is then that of the next steps.
  void measured(const sample& s);

 private:
  enum class phase { alone, trial, both, settled };
  void settle(double share, std::string why);

  phase phase_ = phase::alone;
  double share_ = 1.0, rate_alone_ = 0.0;
  int settled_for_ = 0;
  std::string why_ = "how fast devices are alone";
};

}  // namespace plx::star
