#include "rt/runtime.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "probe/counter_registry.hpp"
#include "probe/recorder.hpp"
#include "probe/standard_counters.hpp"
#include "rt/detail/explain.hpp"
#include "rt/detail/explain_signal.hpp"
#include "rt/detail/parker.hpp"
#include "rt/detail/scheduler.hpp"
#include "rt/detail/scheduler_counters.hpp"
#include "rt/detail/topology.hpp"
#include "rt/executor.hpp"

namespace plx {
namespace {

// What PLX_BIND says, if it is set.
std::optional<bool> binding_wanted() {
  const char* text = std::getenv("PLX_BIND");
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view said = text;
  if (said != "0" && said != "1")
    throw std::invalid_argument("PLX_BIND=" + std::string(said) + ": expected 0 (never bind) or 1 (bind)");
  return said == "1";
}

runtime_options completed(runtime_options o) {
  if (o.cores.empty())
    if (const char* cores = std::getenv("PLX_CORES")) o.cores = cores;
  const std::size_t n_cores =
      o.cores.empty() ? detail::allowed_cores().size() : detail::processors_named(o.cores).size();
  if (o.workers == 0) o.workers = detail::default_worker_count(n_cores);
  if (o.workers > detail::most_workers)
    throw std::invalid_argument("workers = " + std::to_string(o.workers) + ": expected at most " +
                                std::to_string(detail::most_workers));
  if (!binding_wanted().value_or(true)) o.bind = false;
  if (const char* signal = std::getenv("PLX_EXPLAIN_SIGNAL"); signal != nullptr && o.explain_signal == 0)
    o.explain_signal = detail::signal_named(signal);
  if (const char* after = std::getenv("PLX_REPORT_HANG")) {
    char* end = nullptr;
    o.report_hang_after_s = std::strtod(after, &end);
    if (end == after || *end != '\0' || !(o.report_hang_after_s >= 0))
      throw std::invalid_argument(std::string("PLX_REPORT_HANG=") + after + ": expected seconds, as in 10");
  }
  return o;
}

std::vector<unsigned> binding_of(const runtime_options& o) {
  if (!o.bind) return {};
  if (!o.cores.empty()) return detail::processors_named(o.cores);
  // Without a say of the user, which processors are free is the system's to know: a bound worker cannot move away when
  // another program takes its core. Who has given this process its own cores has said so.
  const bool ours = detail::processors_were_given() || binding_wanted().value_or(false);
  return ours && o.workers == detail::allowed_cores().size() ? detail::allowed_cores() : std::vector<unsigned>{};
}

// Waits for the token. When nothing has gone on for `after_s` although tasks are suspended, that is said once.
void wait_or_report_hang(detail::scheduler& s, detail::parker& end, double after_s) {
  constexpr int looks = 4;
  if (!(after_s > 0)) return end.wait();
  const auto pause_ns = static_cast<std::int64_t>(std::min(after_s, 1e8) / looks * 1e9);
  std::uint64_t seen = s.progress();
  for (int still = 0; still < looks;) {
    if (end.wait_for(pause_ns)) return;
    const std::uint64_t progress = s.progress();
    still = progress == seen && s.quiet() && s.suspended_tasks() != 0 ? still + 1 : 0;
    seen = progress;
  }
  const bool asked_for = std::getenv("PLX_REPORT_HANG") != nullptr;
  if (asked_for || log_wants(log_level::warning))
    detail::print_explanation("run() waits, and nothing can go on by itself since " + fmt::format("{:.3g}", after_s) +
                              " s or more:\n" + s.explain_waits());
  end.wait();
}

}  // namespace

struct runtime::parts {
  explicit parts(const runtime_options& o)
      : options(o),
        on_signal(o.explain_signal),
        recorder(o.workers),
        scheduler(options, binding_of(options), recorder) {}
  probe::counter_registry& with_counters() {
    std::call_once(counters_made, [this] {
      const auto keep = [this](std::vector<probe::registration> added) {
        for (auto& r : added) registrations.push_back(std::move(r));
      };
      keep(probe::add_machine_counters(counters));
      keep(probe::add_recorder_counters(counters, recorder));
      keep(detail::add_scheduler_counters(counters, scheduler));
    });
    return counters;
  }
  runtime_options options;
  detail::explain_signal on_signal;
  probe::recorder recorder;
  detail::scheduler scheduler;  // its workers use what stands above
  // Made when first asked for, so that a runtime that nobody asks pays nothing.
  std::once_flag counters_made;
  probe::counter_registry counters;
  std::vector<probe::registration> registrations;
};

runtime::runtime(runtime_options options) : parts_(std::make_unique<parts>(completed(options))) {}
runtime::~runtime() { parts_->scheduler.stop(); }  // before any part goes: the last tasks may use them all

void runtime::run_to_end(detail::task* t, detail::future_state_base& end) {
  PLX_ASSERT(detail::this_worker() == nullptr && "runtime::run() waits as a thread; inside a task use async()");
  detail::scheduler& s = parts_->scheduler;
  struct ended : detail::continuation {
    std::atomic<bool> done{false};
    detail::parker* waiting = nullptr;
  } me;
  me.fire = [](detail::continuation* c) {
    auto& e = *static_cast<ended*>(c);
    detail::parker* waiting = e.waiting;
    e.done.store(true, std::memory_order_release);  // pairs with the acquires in scheduler_chosen.cpp
    if (waiting != nullptr) waiting->wake();
  };
  if (!s.deterministic()) me.waiting = &detail::this_thread_parker();
  end.attach(me);
  s.submit(t);
  if (!s.deterministic()) return wait_or_report_hang(s, *me.waiting, parts_->options.report_hang_after_s);
  if (s.run_until(me.done)) return;
  end.try_detach(me);  // this frame goes, the tasks that wait stay
  throw deadlock_error("nothing can go on any more (seed " + std::to_string(s.seed()) + "):\n" + s.explain_waits());
}

executor runtime::get_executor() noexcept { return executor(&parts_->scheduler); }
void runtime::inject(detail::task* t) { parts_->scheduler.inject(t); }
unsigned runtime::worker_count() const noexcept { return parts_->scheduler.worker_count(); }
probe::recorder& runtime::recorder() noexcept { return parts_->recorder; }
probe::counter_registry& runtime::counters() { return parts_->with_counters(); }
const runtime_options& runtime::options() const noexcept { return parts_->options; }
std::uint64_t runtime::add_poller(poll_result (*f)(void*), void* arg) { return parts_->scheduler.add_poller(f, arg); }
void runtime::remove_poller(std::uint64_t id) { parts_->scheduler.remove_poller(id); }
std::string runtime::bindings() const {
  std::string text;
  for (unsigned i = 0; i < worker_count(); ++i) {
    text += "worker " + std::to_string(i) + ": ";
    const auto processors = parts_->scheduler.processors_of(i);
    if (processors.empty()) text += "not bound";
    for (const unsigned p : processors) text += (p == processors.front() ? "" : ", ") + detail::describe_processor(p);
    text += '\n';
  }
  return text;
}
std::string runtime::explain_waits() const { return parts_->scheduler.explain_waits(); }

std::optional<unsigned> worker_index() noexcept {
  const detail::worker* w = detail::this_worker();
  if (w == nullptr) return std::nullopt;
  return w->index;
}

}  // namespace plx
