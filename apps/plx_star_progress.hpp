// Progress display of plx-star: a bar that is redrawn on a terminal; elsewhere, and under a launcher, a plain line from
// time to time.
//
// Thread safety: none; used by main. Cost: a few writes per second. Example: apps/plx_star.cpp
#pragma once

#include <string>

#include "console.hpp"
#include "star/driver/run.hpp"

namespace plx::app {

class progress : public star::run_observer {
 public:
  /// `speaks`: a signal to stop gets a message, which changes at the first report.
  progress(bool quiet, bool speaks);
  void stepped(const star::step_report& now) override;
  void warned(const std::string& text) override;
  bool stop_requested() override { return app::stop_requested(); }
  /// Ends the line of the bar.
  void finish();

 private:
  void draw(const star::step_report& now) const;

  bool quiet_, speaks_, terminal_;
  star::step_report first_, drawn_, last_;
  double rate_ = 0.0;        // cell updates per second since the last drawing
  double time_per_s_ = 0.0;  // code time per second, smoothed
  bool started_ = false;
  mutable bool open_ = false;  // a bar is displayed on the current line
};

}  // namespace plx::app
