#include "probe/sample/stack_walk.hpp"

#if defined(__linux__)
#include <ucontext.h>
#endif

#include <array>

#include "probe/sample/unwind_table.hpp"

namespace plx::probe {
namespace {

#if defined(__linux__) && defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#define PLX_HAVE_WALK 1
#else
#define PLX_HAVE_WALK 0
#endif

#if PLX_HAVE_WALK

/// The registers of a frame whose values are known.
struct frame {
  std::array<std::uintptr_t, n_registers> value{};
  std::uint64_t known = 0;  // a bit per register
  std::uintptr_t pc = 0;
  bool interrupted = true;  // `pc` has not been executed; otherwise it follows a call

  void set(unsigned r, std::uintptr_t v) noexcept {
    value[r] = v;
    known |= std::uint64_t{1} << r;
  }
  [[nodiscard]] bool knows(unsigned r) const noexcept { return r < n_registers && (known >> r & 1) != 0; }
};

using rule = walk_cache::rule;
using rules = walk_cache::rules;

/// The part of the stack that may be read.
struct stack_part {
  std::uintptr_t low, top;

  /// Not instrumented: what is read are frames of other functions.
  __attribute__((no_sanitize("address"), no_sanitize("thread"), noinline)) bool word(std::uintptr_t address,
                                                                                     std::uintptr_t& v) const noexcept {
    if (address < low || address >= top || top - address < sizeof v || address % sizeof v != 0) return false;
    v = *reinterpret_cast<const volatile std::uintptr_t*>(address);
    return true;
  }
};

std::uintptr_t without_signature(std::uintptr_t address) noexcept {
#if defined(__aarch64__)
  return address & ((std::uintptr_t{1} << 48) - 1);
#else
  return address;
#endif
}

enum class step_result { caller, outermost, failed };

bool apply(const rule& r, const frame& f, std::uintptr_t cfa, unsigned reg, const stack_part& stack,
           std::uintptr_t& value) noexcept {
  switch (r.kind) {
    case rule::same:
      value = f.value[reg < n_registers ? reg : 0];
      return f.knows(reg);
    case rule::saved:
      return stack.word(cfa + static_cast<std::uintptr_t>(r.offset), value);
    case rule::saved_near:
      return f.knows(r.from) && stack.word(f.value[r.from] + static_cast<std::uintptr_t>(r.offset), value);
    default:
      return false;
  }
}

/// Replaces `f` by its caller.
step_result to_caller(frame& f, const stack_part& stack, walk_cache& cache) noexcept {
  const std::uintptr_t pc = f.interrupted ? f.pc : f.pc - 1;
  walk_cache::entry& kept = cache.of(pc);
  if (kept.pc != pc) {
    rules found;
    if (!find_rules(pc, found)) return step_result::failed;
    kept = {pc, found};
  }
  const rules now = kept.found;
  if (now.ra.kind == rule::undefined) return step_result::outermost;
  if (!f.knows(now.base)) return step_result::failed;
  std::uintptr_t cfa = f.value[now.base] + static_cast<std::uintptr_t>(now.offset);
  if (now.loaded && !stack.word(cfa, cfa)) return step_result::failed;
  // A frame above its caller's: a damaged table, or, after a signal, another stack.
  if (cfa < f.value[sp_register] || (cfa == f.value[sp_register] && !f.interrupted)) return step_result::failed;
  frame caller;
  std::uintptr_t value = 0;
  if (!apply(now.ra, f, cfa, ra_register, stack, value)) return step_result::failed;
  caller.pc = without_signature(value);
  if (apply(now.fp, f, cfa, fp_register, stack, value)) caller.set(fp_register, value);
  caller.set(sp_register, cfa);
  caller.interrupted = now.signal;
  f = caller;
  return f.pc == 0 ? step_result::outermost : step_result::caller;
}

frame frame_of(const ucontext_t& at) noexcept {
  frame f;
#if defined(__x86_64__)
  constexpr int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  for (unsigned i = 0; i < 16; ++i) f.set(i, static_cast<std::uintptr_t>(at.uc_mcontext.gregs[order[i]]));
  f.pc = static_cast<std::uintptr_t>(at.uc_mcontext.gregs[REG_RIP]);
#else
  for (unsigned i = 0; i < 31; ++i) f.set(i, at.uc_mcontext.regs[i]);
  f.set(sp_register, at.uc_mcontext.sp);
  f.pc = at.uc_mcontext.pc;
#endif
  return f;
}

#endif  // PLX_HAVE_WALK

}  // namespace

walked_stack walk_stack([[maybe_unused]] const void* context, [[maybe_unused]] stack_bounds bounds,
                        [[maybe_unused]] std::uintptr_t* out, [[maybe_unused]] std::size_t most,
                        [[maybe_unused]] walk_cache& cache) noexcept {
#if PLX_HAVE_WALK
#if defined(__x86_64__)
  constexpr std::uintptr_t red_zone_bytes = 128;
#else
  constexpr std::uintptr_t red_zone_bytes = 0;
#endif
  constexpr std::uintptr_t base_bytes = 512;  // at the top of a task's stack, what starts it
  frame f = frame_of(*static_cast<const ucontext_t*>(context));
  out[0] = f.pc;
  walked_stack w{1, false};
  const std::uintptr_t sp = f.value[sp_register];
  constexpr std::uintptr_t guard_bytes = 64 << 10;  // a stack that has overflowed ends in its guard
  if (!walks_stacks() || sp >= bounds.top || (sp < bounds.low && bounds.low - sp > guard_bytes)) return w;
  // At the end of a function, rules may name words that have just been popped.
  const bool near = sp < bounds.low || sp - bounds.low < red_zone_bytes;
  const stack_part stack{near ? bounds.low : sp - red_zone_bytes, bounds.top};
  while (w.frames < most) {
    const step_result r = to_caller(f, stack, cache);
    const std::uintptr_t at = f.value[sp_register];
    if (r == step_result::outermost || at >= bounds.top) return {w.frames, true};
    if (r == step_result::failed) return {w.frames, bounds.top - at < base_bytes};
    out[w.frames++] = f.pc;
  }
#elif defined(__linux__) && defined(__x86_64__)
  out[0] = static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  walked_stack w{1, false};
#elif defined(__linux__) && defined(__aarch64__)
  out[0] = static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
  walked_stack w{1, false};
#else
  walked_stack w;
#endif
  return w;
}

}  // namespace plx::probe
