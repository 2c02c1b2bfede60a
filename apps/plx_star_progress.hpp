// How plx-star shows that it goes on: a bar that is redrawn on a terminal, now and then a plain line elsewhere.
//
// Thread safety: none; used by main. Cost: a few writes per second. Example: apps/plx_star.cpp
#pragma once

#include <csignal>
#include <cstdint>

#include "star/run.hpp"

namespace plx::app {

class progress : public star::run_observer {
 public:
  /// `stop`: set by a signal handler.
  progress(bool quiet, const volatile std::sig_atomic_t& stop);
  void stepped(const star::step_report& now) override;
  bool stop_requested() override { return stop_ != 0; }
  /// Ends the line of the bar.
  void finish();

 private:
  void draw(const star::step_report& now) const;

  bool quiet_, terminal_;
  const volatile std::sig_atomic_t& stop_;
  star::step_report first_, drawn_, last_;
  double rate_ = 0.0;        // cell updates per second since the last drawing
  double time_per_s_ = 0.0;  // code time per second, smoothed
  bool started_ = false;
  mutable bool open_ = false;  // a bar stands on the terminal's line
};

}  // namespace plx::app
