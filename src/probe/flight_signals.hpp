// What makes the flight recorder write: a crash (SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL), an exception that nobody
// catches, and a signal by which somebody asks for it.
//
// Whoever handled these before is called afterwards, and what would have ended the program still does. Who installs a
// handler later replaces this one, as ever. Thread safety: everything. Cost: nothing until it happens.
// Example: tests/flight/
#pragma once

namespace plx::probe {

/// While one lives, the process writes flight files. Several may; handlers are there once, and go with the last one.
class flight_signals {
 public:
  /// `request`: a signal upon which a file is written and the program goes on; 0: none. Throws std::system_error when
  /// the system refuses that one.
  explicit flight_signals(int request = 0);
  ~flight_signals();
  flight_signals(const flight_signals&) = delete;
  flight_signals& operator=(const flight_signals&) = delete;

 private:
  int request_;
};

}  // namespace plx::probe
