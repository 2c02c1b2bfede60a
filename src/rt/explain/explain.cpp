// Inspects suspended tasks and finds those that wait for each other. explain_text.cpp formats the report.
#include "rt/explain/explain.hpp"

#include <sched.h>

#include <algorithm>
#include <unordered_map>

#include "rt/core/scheduler.hpp"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace plx::detail {

void scheduler::stop_resuming() noexcept {
  inspector_lock_.lock();
  inspecting_.store(true, std::memory_order_seq_cst);
  full_fence();
  // Pairs with inspected(): every running thread has a fence here.
#if defined(__linux__) && defined(SYS_membarrier)
  if (!needs_fence_) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
#endif
}

void scheduler::allow_resuming() noexcept {
  inspecting_.store(false, std::memory_order_release);  // pairs with wait_for_inspector()
  inspector_lock_.unlock();
}

void scheduler::wait_for_inspector() const noexcept {
  while (inspecting_.load(std::memory_order_acquire)) sched_yield();
}

const fiber* scheduler::fibers() const noexcept {
  spin_guard guard(fibers_lock_);
  return all_fibers_;
}

namespace {

class no_resuming {
 public:
  explicit no_resuming(scheduler& s) noexcept : s_(s) { s_.stop_resuming(); }
  ~no_resuming() { s_.allow_resuming(); }
  no_resuming(const no_resuming&) = delete;
  no_resuming& operator=(const no_resuming&) = delete;

 private:
  scheduler& s_;
};

// The reason for a task's wait, once its stack has been left. Requires: no task is resumed meanwhile.
const wait_reason* reason_of(const fiber& f) {
  const wait_reason* why = f.waits_on.load(std::memory_order_acquire);  // pairs with the release in suspend()
  if (why == nullptr || f.context.load(std::memory_order_acquire) == nullptr) return nullptr;
  return why;
}

waiting_task look_at(const fiber& f, const wait_reason& why) {
  waiting_task t;
  t.on = &f;
  t.name = f.info.name;
  t.key = f.info.key;
  t.what = why.what;
  t.object = why.object;
  t.object_name = why.name;
  t.timed = why.timed;
  t.for_tasks_of = why.for_tasks_of;
  t.ready = f.ready.load(std::memory_order_relaxed);
  t.since = f.since;
  if (!t.ready && why.holder != nullptr) t.holder = why.holder(why.object);
  t.held = t.holder != 0;
  // A suspended task that was not resumed has not ended, nor have the tasks below it: their frames are alive.
  if (f.task_owner != nullptr) t.owners.push_back(f.task_owner);
  for (const outer_task* o = f.outer; o != nullptr; o = o->outer)
    if (o->owner != nullptr) t.owners.push_back(o->owner);
  const void* frames[wait_report::most_frames];
  const std::size_t n = frames_of(f.context.load(std::memory_order_acquire), frames, wait_report::most_frames);
  t.frames.assign(frames, frames + n);
  return t;
}

// Batches keep the time short during which no task can resume. Fibers never leave the list; new ones are added in
// front.
void look_at_all(scheduler& s, wait_report& r) {
  constexpr unsigned batch = 256, most_passed = 16 * batch;
  const fiber* f = s.fibers();
  while (f != nullptr) {
    const no_resuming guard(s);
    unsigned looked_at = 0;
    for (unsigned passed = 0; f != nullptr && looked_at < batch && passed < most_passed; ++passed) {
      if (const wait_reason* why = reason_of(*f)) {
        if (r.tasks.size() < wait_report::most_tasks)
          r.tasks.push_back(look_at(*f, *why)), ++looked_at;
        else
          ++r.unseen;
      }
      f = f->next_in_registry;
    }
  }
}

// The task whose stack contains an address.
class stack_map {
 public:
  explicit stack_map(const std::vector<waiting_task>& tasks) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto bottom = reinterpret_cast<std::uintptr_t>(tasks[i].on->memory.bottom);
      entries_.push_back({bottom, bottom + tasks[i].on->memory.size, i});
    }
    std::sort(entries_.begin(), entries_.end(), [](const entry& a, const entry& b) { return a.bottom < b.bottom; });
  }
  [[nodiscard]] const std::size_t* find(std::uintptr_t address) const {
    auto it = std::upper_bound(entries_.begin(), entries_.end(), address,
                               [](std::uintptr_t a, const entry& e) { return a < e.bottom; });
    return it != entries_.begin() && address < (--it)->top ? &it->task : nullptr;
  }

 private:
  struct entry {
    std::uintptr_t bottom, top;
    std::size_t task;
  };
  std::vector<entry> entries_;
};

void find_who_waits_for_whom(std::vector<waiting_task>& tasks) {
  std::unordered_map<const void*, std::vector<std::size_t>> of_owner;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    for (const void* owner : tasks[i].owners) of_owner[owner].push_back(i);
  const stack_map stacks(tasks);
  for (waiting_task& t : tasks) {
    if (t.ready) continue;
    if (t.held)
      if (const std::size_t* who = stacks.find(t.holder)) t.waits_for.push_back(*who);
    if (!t.for_tasks_of) continue;
    if (const auto found = of_owner.find(t.object); found != of_owner.end()) t.waits_for = found->second;
  }
}

// Depth first: an edge back to a task on the path closes a cycle.
std::vector<std::vector<std::size_t>> cycles_among(const std::vector<waiting_task>& tasks) {
  enum class mark : char { fresh, on_path, done };
  std::vector<mark> marks(tasks.size(), mark::fresh);
  std::vector<std::vector<std::size_t>> cycles;
  struct step {
    std::size_t task, edge;
  };
  std::vector<step> path;
  for (std::size_t start = 0; start < tasks.size(); ++start) {
    if (marks[start] != mark::fresh) continue;
    path.push_back({start, 0});
    marks[start] = mark::on_path;
    while (!path.empty()) {
      const std::size_t at = path.back().task;
      // A task that waits with a deadline is not part of a deadlock.
      if (tasks[at].timed || path.back().edge == tasks[at].waits_for.size()) {
        marks[at] = mark::done;
        path.pop_back();
        continue;
      }
      const std::size_t next = tasks[at].waits_for[path.back().edge++];
      if (marks[next] == mark::fresh) {
        marks[next] = mark::on_path;
        path.push_back({next, 0});
      } else if (marks[next] == mark::on_path) {
        auto first = std::find_if(path.begin(), path.end(), [next](const step& s) { return s.task == next; });
        cycles.emplace_back();
        for (; first != path.end(); ++first) cycles.back().push_back(first->task);
      }
    }
  }
  return cycles;
}

// Tasks were inspected in batches: a cycle counts only if all its tasks still wait for the same objects.
bool still_waits(const waiting_task& t) {
  const wait_reason* why = reason_of(*t.on);
  return why != nullptr && t.on->since == t.since && why->object == t.object &&
         !t.on->ready.load(std::memory_order_relaxed) &&
         (why->holder == nullptr || why->holder(why->object) == t.holder);
}

}  // namespace

wait_report look_at_waits(scheduler& s) {
  wait_report r;
  look_at_all(s, r);
  find_who_waits_for_whom(r.tasks);
  r.deadlocks = cycles_among(r.tasks);
  if (!r.deadlocks.empty()) {
    const no_resuming guard(s);
    std::erase_if(r.deadlocks, [&](const auto& cycle) {
      return !std::all_of(cycle.begin(), cycle.end(), [&](std::size_t i) { return still_waits(r.tasks[i]); });
    });
  }
  return r;
}

std::string scheduler::explain_waits() { return text_of(look_at_waits(*this), !deterministic_); }

}  // namespace plx::detail
