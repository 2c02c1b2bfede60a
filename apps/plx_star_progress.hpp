// Progress display of plx-star: a bar that is redrawn on a terminal; elsewhere, and under a launcher, a plain line from
// time to time.
//
// Thread safety: none; used by main. Cost: a few writes per second. Example: apps/plx_star.cpp
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

#include "star/driver/run.hpp"

namespace plx::app {

class progress : public star::run_observer {
 public:
  /// `stop`: set by a signal handler. `in_steps` is set to 1 at the first report.
  progress(bool quiet, const volatile std::sig_atomic_t& stop, volatile std::sig_atomic_t& in_steps);
  void stepped(const star::step_report& now) override;
  void warned(const std::string& text) override;
  bool stop_requested() override { return stop_ != 0; }
  /// Ends the line of the bar.
  void finish();

 private:
  void draw(const star::step_report& now) const;

  bool quiet_, terminal_;
  const volatile std::sig_atomic_t& stop_;
  volatile std::sig_atomic_t& in_steps_;
  star::step_report first_, drawn_, last_;
  double rate_ = 0.0;        // cell updates per second since the last drawing
  double time_per_s_ = 0.0;  // code time per second, smoothed
  bool started_ = false;
  mutable bool open_ = false;  // a bar is displayed on the current line
};

}  // namespace plx::app
