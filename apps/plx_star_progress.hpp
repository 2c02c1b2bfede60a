// Progress display of plx-star: a bar that is redrawn on a terminal; elsewhere, and under a launcher, a plain line from
// time to time.
//
// Thread safety: none; used by main. Cost: a few writes per second. Example: apps/plx_star.cpp
#pragma once

#include <string>

#include "program.hpp"
#include "star/driver/run.hpp"

namespace plx::app {

class progress : public star::run_observer {
 public:
  /// A signal to stop a run on one process gets a message, which changes at the first report.
  progress(bool quiet, plx::job& job);
  void stepped(const star::step_report& now) override;
  void warned(const std::string& text) override;
  void failing(const std::exception_ptr& e) override { leave_job(job_, e); }
  bool stop_requested() override { return app::stop_requested(); }
  /// Ends the line of the bar.
  void finish();

 private:
  void draw(const star::step_report& now) const;

  plx::job& job_;
  bool quiet_, speaks_, terminal_;
  star::step_report first_, drawn_, last_;
  double rate_ = 0.0;        // cell updates per second since the last drawing
  double time_per_s_ = 0.0;  // code time per second, smoothed
  bool started_ = false;
  mutable bool open_ = false;  // a bar is displayed on the current line
};

}  // namespace plx::app
