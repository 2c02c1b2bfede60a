#include "probe/flight_signals.hpp"

#include <cxxabi.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>

#include "base/symbols.hpp"
#include "probe/flight_dump.hpp"

namespace plx::probe {
namespace {

struct known_signal {
  int number;
  const char* name;
};
constexpr std::array<known_signal, 5> crashes{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGABRT, "SIGABRT"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}}};

// Written under `lock` while no handler of ours is installed for the signal, read by handlers.
struct sigaction before_crash[crashes.size()], before_request;
int request_signal = 0;
std::mutex lock;
unsigned users = 0, requesters = 0;
std::terminate_handler before_terminate = nullptr;

/// Calls who handled it before. False when that was the system's own action; a fault cannot be ignored, the instruction
/// would meet it again for ever.
bool hand_on(const struct sigaction& to, int signal, siginfo_t* info, void* context) {
  if ((to.sa_flags & SA_SIGINFO) != 0) return to.sa_sigaction(signal, info, context), true;
  if (to.sa_handler == SIG_IGN) return info->si_code <= 0;
  if (to.sa_handler != SIG_DFL) return to.sa_handler(signal), true;
  return false;
}

void on_crash(int signal, siginfo_t* info, void* context) {
  std::size_t i = 0;
  while (crashes[i].number != signal) ++i;
  write_flight(crashes[i].name);
  if (hand_on(before_crash[i], signal, info, context)) return;
  struct sigaction end {};
  end.sa_handler = SIG_DFL;
  sigaction(signal, &end, nullptr);
  if (info->si_code <= 0) raise(signal);  // sent by somebody; a fault comes again by itself
}

void on_request(int signal, siginfo_t* info, void* context) {
  write_flight("asked for by a signal", next_flight_number());
  hand_on(before_request, signal, info, context);
}

/// "uncaught std::runtime_error: what it says".
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
  write_flight(current_exception_text());
  if (before_terminate != nullptr) before_terminate();
  std::abort();
}

void install(int signal, void (*handler)(int, siginfo_t*, void*), struct sigaction& before) {
  struct sigaction mine {};
  mine.sa_sigaction = handler;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&mine.sa_mask);  // write_flight() blocks what must wait
  if (sigaction(signal, &mine, &before) != 0)
    throw std::system_error(errno, std::generic_category(), "flight-signal = " + std::to_string(signal));
}

/// Somebody who came later keeps theirs, and may still call ours, which then only hands on.
void put_back(int signal, void (*handler)(int, siginfo_t*, void*), const struct sigaction& before) {
  struct sigaction now {};
  if (sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handler)
    sigaction(signal, &before, nullptr);
}

}  // namespace

flight_signals::flight_signals(int request) : request_(request) {
  const std::lock_guard guard(lock);
  if (request_ != 0 && requesters != 0 && request_ != request_signal) request_ = 0;  // the first one's signal holds
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
