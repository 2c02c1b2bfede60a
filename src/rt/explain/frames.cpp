#include "rt/explain/explain.hpp"

#include <unwind.h>

#include <cstdint>

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
