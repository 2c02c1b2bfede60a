#include "plx_dca_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "probe/live/live_json.hpp"
#include "program.hpp"
#include "qmc/dca/live_zone.hpp"
#include "rt/runtime.hpp"
#include "session/session.hpp"

namespace plx::app {
namespace {

constexpr double terminal_interval_s = 0.5, plain_interval_s = 10;

std::string line_of(const qmc::dca_progress& p) {
  std::string line = fmt::format("T {:<7.5g} iteration {}/{}: ", p.t, p.iteration + 1, p.iterations);
  if (!p.left_s) return line + "warm-up";
  line += fmt::format("{:.0f} %  left {}", 100 * p.share, clock_text(*p.left_s, 3.6e6));
  if (p.run_left_s) line += fmt::format(", of the run ~{}", clock_text(*p.run_left_s, 3.6e6));
  if (p.sign != 0)  // not before the first measurement of a resumed iteration
    line += fmt::format("  <k> {:.1f}  sign {:.3f}  accepted {:.2f}", p.order, p.sign, p.acceptance);
  if (p.d_wave) line += fmt::format("  lambda_d {:.4f}({:.4f})", p.d_wave->value, p.d_wave->error);
  return line;
}

}  // namespace

dca_progress_display::dca_progress_display(qmc::dca_output& out, const qmc::cluster& c, const qmc::dca_options& o,
                                           runtime& home, bool quiet)
    : out_(out),
      cluster_(c),
      options_(o),
      pictures_(home.session() != nullptr ? home.session()->pictures() : nullptr),
      quiet_(quiet),
      terminal_(is_terminal(STDERR_FILENO)),
      monitor_(o) {
  monitor_.add_counters(home.counters(), true);
  if (!quiet_) timer_ = home.counters().every(terminal_ ? terminal_interval_s : plain_interval_s, [this] { draw(); });
}

void dca_progress_display::draw() {
  const std::lock_guard lock(mutex_);
  const auto now = monitor_.now();
  if (!now) return;
  const std::string line = line_of(*now);
  if (terminal_)
    std::fprintf(stderr, "\r\033[K%s", line.substr(0, static_cast<std::size_t>(columns_of(STDERR_FILENO) - 1)).c_str());
  else
    std::fprintf(stderr, "%s\n", line.c_str());
  open_ = terminal_;
}

void dca_progress_display::clear_line() {
  const std::lock_guard lock(mutex_);
  if (open_) std::fputs("\r\033[K", stderr);
  open_ = false;
}

void dca_progress_display::finish() {
  timer_.reset();
  clear_line();
}

void dca_progress_display::keep(const result<void>& r) {
  if (!r && !failure_) failure_ = r.error();
}

void dca_progress_display::began(const qmc::dca_iteration& now, int iterations) {
  iterations_ = iterations;
  monitor_.began(now, iterations);
}

void dca_progress_display::iterated(const qmc::dca_iteration& i) {
  monitor_.iterated(i);
  measurements_ += static_cast<double>(options_.measurements);
  seconds_ += i.seconds;
  clear_line();
  keep(out_.add(i));
  auto unreported = i;
  if (warned_of_drift_ == i.temperature) unreported.drift = 0;
  if (!(i.drift <= qmc::largest_drift)) warned_of_drift_ = i.temperature;
  for (const auto& warning : warnings_of(options_, unreported)) {
    complain(warning, finished);
    (warnings_ += warnings_.empty() ? "" : "; ") += warning;
  }
  if (quiet_) return;
  std::fprintf(stderr,
               "T %-7.5g iteration %d/%d: mu %8.4f  n %.4f(%.4f)  D %.4f(%.4f)  sign %.3f  <k> %.1f  accepted %.2f  "
               "drift %.0e  tau %.1f  change %.3f  %.1f s\n",
               i.t, i.iteration + 1, iterations_, i.mu, i.density.value, i.density.error, i.double_occupancy.value,
               i.double_occupancy.error, i.sign.value, i.order, i.acceptance, i.drift, i.autocorrelation_time, i.change,
               i.seconds);
}

void dca_progress_display::cooled(const qmc::dca_temperature& t) {
  monitor_.cooled(t);
  keep(out_.add(t, cluster_));
  if (!quiet_ && t.d_wave)
    std::fprintf(stderr, "T %-7.5g lambda_d %.4f +- %.4f (overlap %.3f), energy %.5f +- %.5f\n", t.t, t.d_wave->value,
                 t.d_wave->error, t.d_wave_overlap, t.energy.value, t.energy.error);
}

void dca_progress_display::reached(const qmc::dca_state& s) {
  if (!failure_) keep(out_.add(s));
  if (pictures_ == nullptr) return;
  if (auto picture = qmc::live_self_energy(cluster_, options_, s)) pictures_->publish(*std::move(picture));
}

void dca_progress_display::checkpoint_failed(const error& e) {
  keep(e);
  out_.remove_unused_parts();
}

std::shared_ptr<qmc::function_store> dca_progress_display::functions() { return out_.functions(); }

}  // namespace plx::app
