#include <cxxabi.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>

#include "base/symbols.hpp"
#include "probe/crash/crash_stack.hpp"
#include "probe/crash/flight_dump.hpp"
#include "probe/crash/flight_ring.hpp"
#include "probe/record/recorder.hpp"
#include "probe/sample/sampler.hpp"

namespace plx::probe {
namespace {

constexpr int most_sources = 16;
struct place {
  std::atomic<bool> taken{false}, there{false};
  flight_source source{};
};
constinit std::array<place, most_sources> places{};

/// The thread that writes a file or ends a registration; 0: none. Memory order: acquired when it is set to a thread,
/// released when it is set to 0.
constinit std::atomic<std::uintptr_t> writing{0};
constinit std::atomic<bool> crash_written{false};
constinit std::atomic<unsigned> last_number{0};
/// Only for threads that have made a registration, mostly the main one.
constinit thread_local stack_bounds stack_of_registrant{};

/// The reason for a system error, for the few that can occur; strerror() may allocate.
std::string_view reason_of(int error) noexcept {
  switch (error) {
    case ENOSPC:
      return "No space left on device";
    case EDQUOT:
      return "Disk quota exceeded";
    case EFBIG:
      return "File too large";
    case EACCES:
    case EPERM:
      return "Permission denied";
    case EROFS:
      return "Read-only file system";
    case ENOENT:
      return "No such file or directory";
    case ENOTDIR:
      return "Not a directory";
    case EMFILE:
      return "Too many open files";
    case EIO:
      return "Input/output error";
    default:
      return "the system refused";
  }
}

char file_buffer[1u << 16], line_buffer[16384], frame_buffer[2048];  // static: a handler's stack may be small

/// The state of one file.
class flight_file {
 public:
  flight_file(std::string_view reason, unsigned number, const void* context) noexcept
      : reason_(reason), number_(number), context_(context) {}

  bool write() noexcept {
    now_ = now_ticks();
    const flight_source* first = find_sources();
    if (first == nullptr) return false;
    stack_.walk(context_, bounds_);
    name_file(*first);
    int error = 0;
    ::unlink(temporary_);  // left by an earlier process with this id; a link is not followed
    const int file = ::open(temporary_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0) {
      error = errno;
    } else {
      signal_text out(file_buffer, sizeof file_buffer, file);
      write_json(out);
      out.flush();
      error = out.error();
      if (::close(file) != 0 && error == 0) error = errno;
      if (error == 0 && ::rename(temporary_, path_) != 0) error = errno;
      if (error != 0) ::unlink(temporary_);
    }
    say(error);
    return error == 0;
  }

 private:
  /// Returns the oldest source, which determines the folder, and finds the caller's worker.
  const flight_source* find_sources() noexcept {
    const flight_source* first = nullptr;
    for (place& p : places) {
      if (!p.there.load(std::memory_order_acquire)) continue;  // pairs with the release of its registration
      if (first == nullptr) first = &p.source;
      const int i = p.source.here != nullptr ? p.source.here(p.source.context) : -1;
      if (i < 0) continue;
      worker_ = i;
      if (p.source.stack != nullptr)
        if (const stack_bounds task = p.source.stack(p.source.context); task.top != 0) bounds_ = task;
      mine_ = p.source.now(p.source.context, static_cast<unsigned>(i));
    }
    return first;
  }

  void name_file(const flight_source& s) noexcept {
    ::mkdir(s.folder, 0755);  // an existing folder is fine; other failures are reported by open()
    signal_text path(path_, sizeof path_ - 1);
    path << s.folder << "/flight-" << static_cast<std::uint64_t>(::getpid());
    if (number_ != 0) path << "-" << number_;
    path << ".json";
    const std::string_view text = path.text();
    std::memcpy(temporary_, text.data(), text.size());
    std::memcpy(temporary_ + text.size(), ".part", 6);
  }

  static std::uint64_t ns_between(ticks from, ticks to) noexcept {
    const auto span = static_cast<std::int64_t>(to - from);
    return span <= 0 ? 0 : static_cast<std::uint64_t>(static_cast<double>(span) / ticks_per_second() * 1e9 + 0.5);
  }

  void write_json(signal_text& out) noexcept {
    begin_ = now_;
    for (place& p : places)
      if (p.there.load(std::memory_order_acquire))
        begin_ = std::min(begin_, now_ - std::min(now_, ticks_from(p.source.seconds)));
    timespec wall{};
    clock_gettime(CLOCK_REALTIME, &wall);
    out << "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"reason\":";
    out.quoted(reason_) << ",\"process\":" << static_cast<std::uint64_t>(::getpid())
                        << ",\"unix_s\":" << static_cast<std::uint64_t>(wall.tv_sec);
    if (worker_ >= 0) {
      out << ",\"worker\":" << static_cast<std::uint64_t>(worker_);
      if (mine_.busy) {
        out << ",\"task\":";
        out.quoted(name_of_at_once(mine_.name));
        if (mine_.key != no_key) out << ",\"key\":" << mine_.key;
      }
    }
    if (stack_.size() > 0) {
      out << ",\n\"stack\":[";
      for (std::size_t i = 0; i < stack_.size(); ++i) {
        signal_text place(frame_buffer, sizeof frame_buffer);
        stack_.write_place(place, i);
        out << (i == 0 ? "\n" : ",\n");
        out.quoted(place.text(), sizeof frame_buffer);
      }
      out << "]";
    }
    out << "},\n\"traceEvents\":[\n{\"ph\":\"i\",\"s\":\"g\",\"pid\":1,\"tid\":" << tid(worker_) << ",\"ts\":";
    out.microseconds(ns_between(begin_, now_)) << ",\"name\":";
    out.quoted(reason_) << "}";
    std::uint64_t process = 0;
    for (place& p : places)
      if (p.there.load(std::memory_order_acquire)) write_source(out, p.source, ++process);
    out << "\n]}\n";
  }

  static std::uint64_t tid(int worker) noexcept { return static_cast<std::uint64_t>(std::max(worker, 0)); }

  void write_source(signal_text& out, const flight_source& s, std::uint64_t process) noexcept {
    out << ",\n{\"ph\":\"M\",\"pid\":" << process
        << ",\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"runtime " << process << "\"}}";
    for (unsigned i = 0; i < s.rec->worker_count(); ++i) {
      out << ",\n{\"ph\":\"M\",\"pid\":" << process << ",\"tid\":" << i
          << ",\"name\":\"thread_name\",\"args\":{\"name\":\"worker " << i << "\"}}";
      if (const flight_ring* ring = s.rec->worker(i).flight()) write_ring(out, *ring, process, i);
      const flight_now now = s.now(s.context, i);
      if (now.busy) write_piece(out, {now.since, now_, now.key, now.name, 0}, process, i, ",\"running\":true");
    }
  }

  void write_ring(signal_text& out, const flight_ring& ring, std::uint64_t process, unsigned worker) noexcept {
    const std::uint64_t there = std::min<std::uint64_t>(ring.pushed(), ring.capacity());
    std::uint64_t passed = there > most_flight_pieces ? there - most_flight_pieces : 0;
    ring.read([&](const trace_record& r) {
      if (passed != 0) return void(--passed);
      if (r.end >= begin_ && r.begin <= now_) write_piece(out, r, process, worker, "");
    });
  }

  void write_piece(signal_text& out, const trace_record& r, std::uint64_t process, unsigned worker,
                   std::string_view more) noexcept {
    const ticks from = std::max(r.begin, begin_);
    out << ",\n{\"ph\":\"X\",\"pid\":" << process << ",\"tid\":" << worker << ",\"ts\":";
    out.microseconds(ns_between(begin_, from)) << ",\"dur\":";
    out.microseconds(ns_between(from, r.end)) << ",\"name\":";
    out.quoted(name_of_at_once(r.name));
    if (r.key != no_key) {
      out << ",\"args\":{\"key\":" << r.key << more << "}";
    } else if (!more.empty()) {
      out << ",\"args\":{" << more.substr(1) << "}";
    }
    out << "}";
  }

  void say(int error) noexcept {
    signal_text line(line_buffer, sizeof line_buffer);
    line << "plx: ";
    line.plain(reason_, 300);
    if (mine_.busy) {
      line << " in task \"";
      line.plain(name_of_at_once(mine_.name), 200) << "\"";
      if (mine_.key != no_key) line << " (key " << mine_.key << ")";
    }
    if (worker_ >= 0) line << " on worker " << static_cast<std::uint64_t>(worker_);
    if (error == 0)
      line << "; the last seconds of all workers are in '" << path_ << "' (open it in ui.perfetto.dev)\n";
    else
      line << "; cannot write '" << path_ << "': " << reason_of(error) << "\n";
    print(line.text());
    if (stack_.size() == 0) return;
    // Last, because it reads files, which may be on a disk that does not respond.
    signal_text calls(line_buffer, sizeof line_buffer);
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      signal_text frame(frame_buffer, sizeof frame_buffer);
      stack_.write(frame, i);
      const std::size_t first = i;
      while (i + 1 < stack_.size() && stack_.same(i + 1, first)) ++i;  // recursion
      calls << "  #" << std::uint64_t{first};
      if (i > first) calls << " to #" << std::uint64_t{i};
      (calls << " ").plain(frame.text(), sizeof frame_buffer) << "\n";
    }
    if (stack_.size() > 1 && !stack_.whole()) calls << "  and further callers\n";
    print(calls.text());
  }

  static void print(std::string_view text) noexcept {
    pollfd p{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&p, 1, 1000) == 0) return;  // a pipe or a terminal that is not read must not delay the end
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
  }

  const std::string_view reason_;
  const std::uint64_t number_;
  const void* context_;
  stack_bounds bounds_ = stack_of_registrant;
  crash_stack stack_;
  ticks now_ = 0, begin_ = 0;
  int worker_ = -1;
  flight_now mine_{};
  char path_[1024] = {}, temporary_[1032] = {};
};

std::uintptr_t this_thread() noexcept { return (std::uintptr_t)::pthread_self(); }  // a number, or a pointer (macOS)

/// While it exists and is true, this thread is the only one that writes a file. Its signals are blocked, except faults,
/// which cannot be blocked.
class only_writer {
 public:
  explicit only_writer(int most_pauses) noexcept {
    sigset_t requests;
    sigfillset(&requests);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&requests, fault);
    ::pthread_sigmask(SIG_BLOCK, &requests, &before_);
    const timespec pause{0, 1'000'000};
    for (int i = 0; most_pauses < 0 || i < most_pauses; ++i) {
      std::uintptr_t none = 0;
      mine_ = writing.compare_exchange_strong(none, this_thread(), std::memory_order_acquire);
      if (mine_ || none == this_thread()) return;  // a fault while this thread writes
      nanosleep(&pause, nullptr);
    }
  }
  ~only_writer() {
    if (mine_) writing.store(0, std::memory_order_release);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  only_writer(const only_writer&) = delete;
  only_writer& operator=(const only_writer&) = delete;
  /// False if another thread wrote for too long, or after a fault of the writing thread itself.
  explicit operator bool() const noexcept { return mine_; }

 private:
  sigset_t before_;
  bool mine_ = false;
};

}  // namespace

bool write_flight(std::string_view reason, unsigned number, const void* context) noexcept {
  const int error = errno;
  bool written = false;
  if (const only_writer mine(5000); mine) {
    // A crash is reported once: SIGABRT follows std::terminate().
    if (number != 0 || !crash_written.exchange(true, std::memory_order_relaxed))
      written = flight_file(reason, number, context).write();
  }
  errno = error;
  return written;
}

unsigned next_flight_number() noexcept { return last_number.fetch_add(1, std::memory_order_relaxed) + 1; }

flight_registration::flight_registration(const flight_source& s) {
  (void)ticks_per_second();        // measured here rather than in a handler
  (void)name_of_at_once(unnamed);  // its table is created at first use
  stack_of_registrant = stack_of_this_thread();
  for (int i = 0; i < most_sources; ++i) {
    if (places[static_cast<std::size_t>(i)].taken.exchange(true, std::memory_order_acquire)) continue;
    place_ = i;
    places[static_cast<std::size_t>(i)].source = s;
    places[static_cast<std::size_t>(i)].there.store(true, std::memory_order_release);
    return;
  }
}

flight_registration::~flight_registration() {
  if (place_ < 0) return;
  place& p = places[static_cast<std::size_t>(place_)];
  {
    const only_writer none_writes(-1);
    p.there.store(false, std::memory_order_relaxed);
  }
  p.taken.store(false, std::memory_order_release);
}

namespace {

struct known_signal {
  int number;
  const char* name;
};
constexpr std::array<known_signal, 5> crashes{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGABRT, "SIGABRT"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}}};

// Written under `lock` while our handler is not installed for the signal, read by handlers.
struct sigaction before_crash[crashes.size()], before_request;
int request_signal = 0;
std::mutex lock;
unsigned users = 0, requesters = 0;
std::terminate_handler before_terminate = nullptr;

/// Calls the earlier handler. Returns false if that was the system's default action, or if a fault was ignored, which
/// is impossible: the instruction would fault again for ever.
bool hand_on(const struct sigaction& to, int signal, siginfo_t* info, void* context) {
  if ((to.sa_flags & SA_SIGINFO) != 0) return to.sa_sigaction(signal, info, context), true;
  if (to.sa_handler == SIG_IGN) return info->si_code <= 0;
  if (to.sa_handler != SIG_DFL) return to.sa_handler(signal), true;
  return false;
}

void use_default_action(int signal) {
  struct sigaction end {};
  end.sa_handler = SIG_DFL;
  sigaction(signal, &end, nullptr);
}

void on_crash(int signal, siginfo_t* info, void* context) {
  std::size_t i = 0;
  while (crashes[i].number != signal) ++i;
  write_flight(crashes[i].name, 0, context);
  // As the system does before it calls a handler that was set for one signal: the next one ends the program.
  if ((before_crash[i].sa_flags & static_cast<int>(SA_RESETHAND)) != 0) use_default_action(signal);
  if (hand_on(before_crash[i], signal, info, context)) return;
  use_default_action(signal);
  if (info->si_code <= 0) raise(signal);  // sent by a process; a fault occurs again when the handler returns
}

void on_request(int signal, siginfo_t* info, void* context) {
  write_flight("requested by a signal", next_flight_number());
  hand_on(before_request, signal, info, context);
}

/// "uncaught std::runtime_error: " and what().
std::string current_exception_text() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "std::terminate()";
  const std::string name = "uncaught " + demangled(type->name());
  try {
    throw;
  } catch (const std::exception& e) {
    return name + ": " + e.what();
  } catch (...) {
    return name;
  }
}

[[noreturn]] void on_terminate() {
  ucontext_t here;  // an exception that is not caught has left the stack as it was
  write_flight(current_exception_text(), 0, ::getcontext(&here) == 0 ? &here : nullptr);
  if (before_terminate != nullptr) before_terminate();
  std::abort();
}

void install(int signal, void (*handler)(int, siginfo_t*, void*), struct sigaction& before) {
  struct sigaction mine {};
  mine.sa_sigaction = handler;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&mine.sa_mask);  // write_flight() blocks signals itself
  if (sigaction(signal, &mine, &before) != 0)
    throw std::system_error(errno, std::generic_category(), "flight-signal = " + std::to_string(signal));
}

/// Restores the earlier handler, unless a later one is installed; that one may still call ours, which then only
/// forwards.
void put_back(int signal, void (*handler)(int, siginfo_t*, void*), const struct sigaction& before) {
  struct sigaction now {};
  if (sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handler)
    sigaction(signal, &before, nullptr);
}

}  // namespace

flight_signals::flight_signals(int request) : request_(request) {
  const std::lock_guard guard(lock);
  if (request_ != 0 && requesters != 0 && request_ != request_signal)
    request_ = 0;  // the signal of the first one is
                   // used
  if (request_ != 0) {
    if (requesters == 0) install(request_, on_request, before_request);
    request_signal = request_;
    ++requesters;
  }
  if (users++ != 0) return;
  for (std::size_t i = 0; i < crashes.size(); ++i) install(crashes[i].number, on_crash, before_crash[i]);
  before_terminate = std::set_terminate(on_terminate);
}

flight_signals::~flight_signals() {
  const std::lock_guard guard(lock);
  if (request_ != 0 && --requesters == 0) put_back(request_, on_request, before_request);
  if (--users != 0) return;
  for (std::size_t i = 0; i < crashes.size(); ++i) put_back(crashes[i].number, on_crash, before_crash[i]);
  if (std::get_terminate() == on_terminate) std::set_terminate(before_terminate);
}

}  // namespace plx::probe
