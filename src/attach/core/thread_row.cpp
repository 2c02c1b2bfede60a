#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "attach/core/thread_row.hpp"
#include "base/file.hpp"
#include "probe/record/text_sink.hpp"

#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace plx::probe {

void thread_table::add(thread_record r) {
  ++threads_;
  if (kept_.size() < most) return kept_.push_back(std::move(r));
  auto [it, fresh] = rest_.try_emplace(r.function, r);
  thread_record& sum = it->second;
  if (fresh) {
    sum.name = "(others)";
    sum.tid = 0;
    return;
  }
  sum.begin = std::min(sum.begin, r.begin);
  sum.end = std::max(sum.end, r.end);
  sum.waited += r.waited;
  sum.cpu_s += r.cpu_s;
  const bool known = sum.ready_s >= 0 && r.ready_s >= 0;
  sum.ready_s = known ? sum.ready_s + r.ready_s : thread_record::unknown;
  sum.voluntary += r.voluntary;
  sum.involuntary += r.involuntary;
  sum.threads += 1;
}

result<void> thread_table::write_csv(const std::string& path, ticks origin,
                                     const std::vector<thread_record>& living) const {
  std::string text =
      "threads,row,tid,name,function,begin_s,end_s,wait_s,cpu_s,ready_s,voluntary_switches,involuntary_switches,"
      "state\n";
  const auto add = [&](const thread_record& r) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{:.9f},{:.9f},{:.9f},{:.6f},{},{},{},{}\n", r.threads,
                   r.row, r.tid, csv_field(r.name), csv_field(name_of(r.function)),
                   r.begin > origin ? seconds(r.begin - origin) : 0.0, r.end > origin ? seconds(r.end - origin) : 0.0,
                   seconds(r.waited), r.cpu_s, r.ready_s < 0 ? std::string() : fmt::format("{:.9f}", r.ready_s),
                   r.voluntary, r.involuntary, r.ended ? "ended" : "running");
  };
  for (const thread_record& r : kept_) add(r);
  for (const auto& [function, sum] : rest_) add(sum);
  for (const thread_record& r : living) add(r);
  return write_measurement(path, text);
}

double ready_time_s(int tid) {
  // "run_ns ready_ns timeslices"; without the C++ library, because ending threads call it.
  char path[64], text[128];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return thread_record::unknown;
  const ssize_t n = ::read(file, text, sizeof text - 1);
  ::close(file);
  text[n > 0 ? n : 0] = '\0';
  unsigned long long run_ns = 0, ready_ns = 0;
  if (std::sscanf(text, "%llu %llu", &run_ns, &ready_ns) != 2) return thread_record::unknown;
  return 1e-9 * static_cast<double>(ready_ns);
}

void read_usage_of_this_thread(thread_record& r) {
  r.ready_s = ready_time_s(r.tid);
#if defined(RUSAGE_THREAD)
  rusage u{};
  if (getrusage(RUSAGE_THREAD, &u) != 0) return;
  const auto time_s = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  r.cpu_s = time_s(u.ru_utime) + time_s(u.ru_stime);
  r.voluntary = static_cast<std::uint64_t>(u.ru_nvcsw);
  r.involuntary = static_cast<std::uint64_t>(u.ru_nivcsw);
#else
  (void)r;
#endif
}

void read_usage(thread_record& r, int tid) {
  r.ready_s = ready_time_s(tid);
  const std::string folder = fmt::format("/proc/self/task/{}/", tid);
  if (const auto status = read_file(folder + "status")) {
    const auto number_after = [&](const char* key) -> std::uint64_t {
      const std::size_t at = status->find(key);
      return at == std::string::npos ? 0 : std::strtoull(status->c_str() + at + std::strlen(key), nullptr, 10);
    };
    r.voluntary = number_after("\nvoluntary_ctxt_switches:");
    r.involuntary = number_after("\nnonvoluntary_ctxt_switches:");
  }
  if (const auto stat = read_file(folder + "stat")) {
    unsigned long user = 0, system = 0;  // fields 14 and 15 of proc(5); field 2, the name, may contain spaces
    const std::size_t after_name = stat->rfind(')');
    if (after_name != std::string::npos &&
        std::sscanf(stat->c_str() + after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                    &system) == 2)
      r.cpu_s = static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
}

std::string system_name_of_this_thread() {
  char name[17] = "";  // at most 15 characters: no allocation
#if defined(__linux__)
  prctl(PR_GET_NAME, name);
#endif
  return name;
}

std::string system_name(int tid) {
  auto text = read_file(fmt::format("/proc/self/task/{}/comm", tid));
  std::string name = text ? *std::move(text) : std::string();
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

bool thread_row::is_open(name_id name) const noexcept {
  return std::any_of(stack_.begin(), stack_.end(), [&](const open& o) { return !o.wait && o.name == name; });
}

void thread_row::cut(ticks now) {
  if (stack_.empty()) return;
  open& top = stack_.back();
  if (now <= top.piece) return;
  if (top.wait) {
    log_.idle(top.piece, now);
    detail::add(waited_, now - top.piece);
  } else {
    record(top, now, false);
  }
  top.earlier += now - top.piece;
  top.piece = now;
}

void thread_row::record(open& top, ticks now, bool finished) noexcept {
  const task_id cause = std::exchange(top.cause, 0);
  log_.record({.name = top.name,
               .key = top.key,
               .begin = std::min(top.piece, now),
               .end = now,
               .finished = finished,
               .earlier = top.earlier,
               .id = top.id,
               .cause = cause,
               .ready = cause != 0 ? top.made : 0});
}

void thread_row::push(open o) {
  cut(o.piece);
  if (!o.wait && (log_.mode() & worker_log::tracing) != 0) {
    o.id = log_.next_id();
    if (o.made == 0) o.made = o.piece;
    for (auto around = stack_.rbegin(); around != stack_.rend() && o.cause == 0; ++around) o.cause = around->id;
  }
  stack_.push_back(o);
  if (!o.wait) innermost_.store(o.name, std::memory_order_relaxed);
}

void thread_row::note_innermost() noexcept {
  const auto timer = std::find_if(stack_.rbegin(), stack_.rend(), [](const open& o) { return !o.wait; });
  innermost_.store(timer == stack_.rend() ? unnamed : timer->name, std::memory_order_relaxed);
}

void thread_row::pop(ticks now) {
  if (stack_.back().wait) {
    cut(now);
    stack_.pop_back();
  } else {
    open top = stack_.back();
    stack_.pop_back();
    note_innermost();
    record(top, now, true);
    if (!top.within_itself) inclusive_.record({.name = top.name, .begin = top.begin, .end = now});
  }
  if (!stack_.empty()) stack_.back().piece = now;
}

void thread_row::start(name_id name, std::uint64_t key, ticks now, task_id cause, ticks made) {
  push({name, false, is_open(name), key, now, now, 0, 0, cause, made});
}

bool thread_row::stop(name_id name, ticks now) {
  if (!stack_.empty() && !stack_.back().wait && stack_.back().name == name) [[likely]] {
    pop(now);
    return true;
  }
  detail::add(misfits_, 1);
  if (!is_open(name)) return false;
  while (stack_.back().wait || stack_.back().name != name) pop(now);
  pop(now);
  return false;
}

bool thread_row::yield(paused_timer& out, ticks now) {
  if (stack_.empty() || stack_.back().wait) return false;
  cut(now);
  const open& top = stack_.back();
  out = {top.name, top.key, top.begin, top.earlier, now};
  stack_.pop_back();
  note_innermost();
  if (!stack_.empty()) stack_.back().piece = now;
  return true;
}

void thread_row::resume(const paused_timer& t, ticks now) {
  // The inclusive time excludes the time away.
  const ticks away = now > t.away ? now - t.away : 0;
  push({t.name, false, is_open(t.name), t.key, t.begin + away, now, t.earlier});
}

bool thread_row::begin_wait(ticks now, ticks asked) {
  if (waits()) return false;
  if (asked != 0) now = asked;
  if (!stack_.empty()) now = std::max(now, stack_.back().piece);
  push({unnamed, true, false, no_key, now, now, 0});
  return true;
}

ticks thread_row::end_wait(ticks now) {
  // Timers that were started meanwhile and never stopped, such as by a longjmp, end here.
  while (!stack_.empty() && !stack_.back().wait) pop(now);
  if (stack_.empty()) return 0;
  cut(now);
  const ticks waited = stack_.back().earlier;
  pop(now);
  return waited;
}

void thread_row::close(ticks now) {
  while (!stack_.empty()) pop(now);
}

}  // namespace plx::probe
