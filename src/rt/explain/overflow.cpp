#include "rt/explain/explain.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "probe/record/names.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::detail {
namespace {

#if defined(PLX_ASAN)
constexpr bool available = false;
#else
constexpr bool available = true;
#endif

// Text in a fixed buffer: a signal handler must not allocate.
class message {
 public:
  message& operator<<(std::string_view text) noexcept {
    const std::size_t n = text.size() < sizeof text_ - n_ ? text.size() : sizeof text_ - n_;
    std::memcpy(text_ + n_, text.data(), n);
    n_ += n;
    return *this;
  }
  message& operator<<(std::uint64_t number) noexcept {
    char digits[20];
    std::size_t at = sizeof digits;
    do digits[--at] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    return *this << std::string_view(digits + at, sizeof digits - at);
  }
  void print() const noexcept { [[maybe_unused]] const auto n = ::write(STDERR_FILENO, text_, n_); }

 private:
  char text_[1024];
  std::size_t n_ = 0;
};

void say(const worker& w, const fiber& f) noexcept {
  message m;
  m << "stack overflow: task \"" << probe::name_of_at_once(w.info.name).substr(0, 400) << "\"";
  if (w.info.key != probe::no_key) m << " (key " << w.info.key << ")";
  m << " has used up its stack of " << f.memory.size / 1024
    << " KiB. Is it recursion without end? For a larger stack set runtime_options.stack_bytes, or give this task one "
       "of "
       "its own (executor with_stack_size)\n";
  m.print();
}

struct sigaction before;

void hand_on(int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  struct sigaction end {};
  end.sa_handler = SIG_DFL;
  sigaction(signal, &end, nullptr);
  if (info->si_code <= 0) raise(signal);  // sent explicitly; a fault recurs by itself
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const worker* w = this_worker();
  if (w != nullptr && w->current != nullptr && info->si_code > 0) {
    const stack& s = w->current->memory;
    const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const auto bottom = reinterpret_cast<std::uintptr_t>(s.bottom);
    if (s.guarded && at < bottom && at >= bottom - guard_bytes()) say(*w, *w->current);
  }
  errno = error;
  hand_on(signal, info, context);
}

std::mutex installing;
unsigned users = 0;

}  // namespace

overflow_watch::overflow_watch(bool wanted) : on_(wanted && available) {
  if (!on_) return;
  (void)guard_bytes();  // computed before a handler needs it
  const std::lock_guard guard(installing);
  if (users++ != 0) return;
  struct sigaction mine {};
  mine.sa_sigaction = on_fault;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&mine.sa_mask);
  sigaction(SIGSEGV, &mine, &before);
}

overflow_watch::~overflow_watch() {
  if (!on_) return;
  const std::lock_guard guard(installing);
  if (--users != 0) return;
  struct sigaction now {};
  // A handler installed later stays and may still call on_fault(), which then only forwards the signal.
  if (sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault)
    sigaction(SIGSEGV, &before, nullptr);
}

signal_stack::signal_stack(bool wanted) {
  if (!wanted || !available) return;
  if (sigaltstack(nullptr, &before_) != 0 || (before_.ss_flags & SS_DISABLE) == 0) return;  // it already has one
  void* m = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m == MAP_FAILED) return;
  stack_t mine{};
  mine.ss_sp = m;
  mine.ss_size = bytes_;
  if (sigaltstack(&mine, nullptr) == 0)
    memory_ = m;
  else
    munmap(m, bytes_);
}

signal_stack::~signal_stack() {
  if (memory_ == nullptr) return;
  sigaltstack(&before_, nullptr);
  munmap(memory_, bytes_);
}

void unguarded_stack_overflowed(const fiber& f) {
  say(*this_worker(), f);
  std::abort();
}

}  // namespace plx::detail
