#include "probe/preload/thread_row.hpp"

#include <algorithm>
#include <utility>

namespace plx::probe {

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
}

void thread_row::pop(ticks now) {
  if (stack_.back().wait) {
    cut(now);
    stack_.pop_back();
  } else {
    open top = stack_.back();
    stack_.pop_back();
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
  if (!stack_.empty()) stack_.back().piece = now;
  return true;
}

void thread_row::resume(const paused_timer& t, ticks now) {
  // Its inclusive time leaves out the time away.
  const ticks away = now > t.away ? now - t.away : 0;
  push({t.name, false, is_open(t.name), t.key, t.begin + away, now, t.earlier});
}

bool thread_row::begin_wait(ticks now) {
  if (waits()) return false;
  push({unnamed, true, false, no_key, now, now, 0});
  return true;
}

ticks thread_row::end_wait(ticks now) {
  // Timers that were started meanwhile and never stopped (a jump out of them) end here.
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
