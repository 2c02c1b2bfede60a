// Inspects suspended tasks, reads their stacks and finds those that wait for each other. explain_text.cpp formats the
// report.
#include "rt/explain/explain.hpp"

#include <sched.h>
#include <unwind.h>

#include <algorithm>
#include <unordered_map>

#include "rt/core/scheduler.hpp"

// -------------------------------------------------------------------- reading a suspended stack

namespace plx::detail {
namespace {

struct walk {
  const void** out;
  std::size_t most;
  std::size_t n;
  int skip;  // the frames of the walk itself
};

_Unwind_Reason_Code see_frame(_Unwind_Context* c, void* p) {
  walk& w = *static_cast<walk*>(p);
  const auto address = static_cast<std::uintptr_t>(_Unwind_GetIP(c));
  if (address == 0 || w.n == w.most) return _URC_END_OF_STACK;
  if (w.skip > 0)
    --w.skip;
  else
    w.out[w.n++] = reinterpret_cast<const void*>(address);
  return _URC_NO_REASON;
}

}  // namespace
}  // namespace plx::detail

// Calls `f(p)` through a frame whose unwind information names the resume point of `context` as its caller. So the
// unwinder walks from here directly into the suspended fiber, with the registers that it will have there. The offsets
// are those at which Boost.Context's jump_fcontext saves them.
extern "C" void plx_call_as_if_from(void* context, void (*f)(void*), void* p) noexcept;
extern "C" void plx_walk_from_here(void* p) noexcept;

#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .local plx_call_as_if_from
  .type plx_call_as_if_from, @function
plx_call_as_if_from:
  .cfi_startproc
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  movq %rdi, %rbx
  movq %rdx, %rdi
  .cfi_remember_state
  .cfi_def_cfa %rbx, 0x40
  .cfi_offset %rip, -0x08
  .cfi_offset %rbp, -0x10
  .cfi_offset %rbx, -0x18
  .cfi_offset %r15, -0x20
  .cfi_offset %r14, -0x28
  .cfi_offset %r13, -0x30
  .cfi_offset %r12, -0x38
  call *%rsi
  nop
  .cfi_restore_state
  popq %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
  .cfi_endproc
  .size plx_call_as_if_from, . - plx_call_as_if_from
)");
#define PLX_HAVE_FRAMES 1
#elif defined(__aarch64__)
asm(R"(
  .text
  .p2align 4
  .local plx_call_as_if_from
  .type plx_call_as_if_from, %function
plx_call_as_if_from:
  .cfi_startproc
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  str x19, [sp, #16]
  .cfi_offset x19, -16
  mov x19, x0
  mov x0, x2
  .cfi_remember_state
  .cfi_def_cfa x19, 0xb0
  .cfi_offset x30, -0x10
  .cfi_offset x29, -0x20
  .cfi_offset x28, -0x28
  .cfi_offset x27, -0x30
  .cfi_offset x26, -0x38
  .cfi_offset x25, -0x40
  .cfi_offset x24, -0x48
  .cfi_offset x23, -0x50
  .cfi_offset x22, -0x58
  .cfi_offset x21, -0x60
  .cfi_offset x20, -0x68
  .cfi_offset x19, -0x70
  blr x1
  nop
  .cfi_restore_state
  ldr x19, [sp, #16]
  ldp x29, x30, [sp], #32
  ret
  .cfi_endproc
  .size plx_call_as_if_from, . - plx_call_as_if_from
)");
#define PLX_HAVE_FRAMES 1
#endif

extern "C" [[gnu::noinline]] void plx_walk_from_here(void* p) noexcept {
  _Unwind_Backtrace(plx::detail::see_frame, p);
  asm volatile("" ::: "memory");  // not a tail call: the frame is counted
}

namespace plx::detail {

std::size_t frames_of([[maybe_unused]] void* context, const void** out, std::size_t most) noexcept {
  walk w{out, most, 0, 2};
#if defined(PLX_HAVE_FRAMES)
  plx_call_as_if_from(context, plx_walk_from_here, &w);
#endif
  return w.n;
}

}  // namespace plx::detail

// ----------------------------------------------------------------------------- inspection

namespace plx::detail {

void scheduler::stop_resuming() noexcept {
  inspector_lock_.lock();
  inspecting_.store(true, std::memory_order_seq_cst);
  full_fence();
  heavy_fence();  // pairs with inspected(): every running thread has a fence here
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
