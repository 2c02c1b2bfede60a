#include "plx_star_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "base/text.hpp"
#include "net/job.hpp"
#include "program.hpp"

namespace plx::app {

namespace {

constexpr double terminal_interval_s = 0.1, plain_interval_s = 2.0;

double share_done(const star::step_report& r) {
  const double by_time = r.time / r.t_end;
  const double by_steps = r.max_steps > 0 ? double(r.step) / double(r.max_steps) : 0.0;
  return std::clamp(std::max(by_time, by_steps), 0.0, 1.0);
}

std::string bar(double share, int width) {
  const int full = static_cast<int>(share * width);
  return fmt::format("[{:=<{}}{: <{}}]", "", full, "", width - full);
}

}  // namespace

progress::progress(bool quiet, plx::job& job)
    : job_(job), quiet_(quiet || job.here() != 0), speaks_(job.size() == 1), terminal_(is_terminal(STDOUT_FILENO)) {}

void progress::stepped(const star::step_report& now) {
  if (speaks_)
    app::set_stop_message("\nstopping after this step, with a checkpoint (signal again to stop immediately)\n");
  if (quiet_) return;
  last_ = now;
  if (!started_) {
    started_ = true;
    first_ = drawn_ = now;
    draw(now);
    return;
  }
  const double since = now.wall_s - drawn_.wall_s;
  if (since < (terminal_ ? terminal_interval_s : plain_interval_s)) return;
  rate_ = double(now.cell_updates - drawn_.cell_updates) / since;
  const double speed = (share_done(now) - share_done(drawn_)) / since;
  const double weight = time_per_s_ > 0.0 ? std::min(1.0, since / 5.0) : 1.0;
  time_per_s_ += weight * (speed - time_per_s_);
  draw(now);
  drawn_ = now;
}

void progress::warned(const std::string& text) {
  std::fprintf(stderr, "plx-star: warning: %s\n", printable(text).c_str());
}

void progress::draw(const star::step_report& r) const {
  const double share = share_done(r);
  const std::string left = time_per_s_ > 0.0 ? clock_text((1.0 - share) / time_per_s_, 360000.0) : "-:--";
  std::string line = fmt::format("step {:5d}  time {:.4g}/{:.4g}  {:5d} {:6}, level {}  {:5.2f} M updates/s  left {}",
                                 r.step, r.time, r.t_end, r.blocks, noun(static_cast<std::uint64_t>(r.blocks), "block"),
                                 r.deepest, 1e-6 * rate_, left);
  if (!terminal_) {
    std::printf("%3.0f %%  %s\n", 100 * share, line.c_str());
    std::fflush(stdout);
    return;
  }
  const int room = columns_of(STDOUT_FILENO) - 1 - static_cast<int>(line.size()) - 10;
  if (room >= 10) line = bar(share, std::min(room, 40)) + fmt::format(" {:3.0f} %  ", 100 * share) + line;
  std::printf("\r\033[K%s", line.substr(0, columns_of(STDOUT_FILENO) - 1).c_str());
  std::fflush(stdout);
  open_ = true;
}

void progress::finish() {
  if (quiet_ || !started_) return;
  if (last_.step != drawn_.step) {
    if (rate_ == 0.0 && last_.wall_s > first_.wall_s)
      rate_ = double(last_.cell_updates - first_.cell_updates) / (last_.wall_s - first_.wall_s);
    draw(last_);
  }
  if (open_) std::printf("\n");
  std::fflush(stdout);
  open_ = false;
}

}  // namespace plx::app
