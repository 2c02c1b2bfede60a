// A job: one program on one process or many. The same binary runs alone, under `mpirun -n N` or under `srun
// --mpi=pmix`.
//
//   int main(int argc, char** argv) {
//     try {
//       plx::job job(argc, argv);
//       job.run([] { ... plx::async<&f>(locality, x).get() ... });  // on every locality
//     } catch (const plx::job_error& e) {
//       return e.report("program");
//     }
//   }
//
// Each process is a locality with a runtime of its own. Where the processes of a host may use the same cores, each
// takes its part of them. PLX_TRANSPORT in the environment chooses what carries messages
// (net/transport/find_transport.hpp). Thread safety: made, used and destroyed by one thread. Cost: alone, that of a
// runtime; else docs/net.md. Example: examples/17_hello_localities.cpp
#pragma once

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "net/locality.hpp"
#include "rt/runtime.hpp"

namespace plx {

namespace net {
class node;
}

/// The job cannot start, or cannot go on. One line; of all localities that found the same, one speaks.
class job_error : public std::runtime_error {
 public:
  job_error(const std::string& text, bool speaks) : std::runtime_error(text), speaks_(speaks) {}
  /// This locality should tell it; the others would only repeat it.
  [[nodiscard]] bool speaks() const noexcept { return speaks_; }
  /// Prints "program: text" to stderr where this locality speaks. Gives the exit code, 2.
  int report(const char* program) const noexcept;

 private:
  bool speaks_;
};

/// How a job starts and ends.
struct job_options {
  /// Its workers: 0 means this process's part of the cores that it may use.
  runtime_options runtime{};
  /// How long to wait for the other processes at the start, seconds.
  double start_deadline_s = 60;
  /// How long to wait for them at the end, seconds.
  double stop_deadline_s = 10;
  /// The root writes a summary of all localities (net/observe/job_summary.hpp) also where no setting asks for one.
  bool summary = false;
};

class job {
 public:
  /// Options of the runtime from the program's arguments (read_options). Throws job_error for a wrong one, else as
  /// below.
  job(int& argc, char** argv);
  /// Finds the other processes and checks that they run the same program. Throws job_error.
  explicit job(job_options options = {});
  /// Leaves together with the others; within the deadline.
  ~job();
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  /// Runs f() as a task on every locality, each of which calls this; returns what f gave here when all have returned
  /// and no parcel of the program is under way. When f throws, this locality leaves the job, the others are told, and
  /// the exception comes out. Throws locality_lost when the root is lost.
  template <class F>
  auto run(F&& f) {
    return home().run(task_info{}, [this, g = std::forward<F>(f)]() mutable {
      using R = std::invoke_result_t<decltype(g)&>;
      const auto call = [&]() -> R {
        try {
          return g();
        } catch (...) {
          fail(std::current_exception());
          throw;
        }
      };
      if constexpr (std::is_void_v<R>) {
        call();
        wait_for_all();
      } else {
        R value = call();
        wait_for_all();
        return value;
      }
    });
  }
  /// Runs f() on the root, while the others serve; returns on all when it is done and all is quiet. Gives what f gave
  /// on the root, and a default value on the others.
  template <class F>
  auto run_root(F&& f) {
    return run([this, g = std::forward<F>(f)]() mutable {
      using R = std::invoke_result_t<decltype(g)&>;
      if constexpr (std::is_void_v<R>) {
        if (here() == 0) g();
      } else {
        return here() == 0 ? g() : R{};
      }
    });
  }

  /// For a program that refused its input: the end writes no summary. All call it, before the job ends.
  void leave_out_summary() noexcept;

  [[nodiscard]] runtime& home() noexcept;           ///< the runtime of this locality
  [[nodiscard]] net::node& node() noexcept;         ///< its part of the network
  [[nodiscard]] locality_id here() const noexcept;  ///< its number
  [[nodiscard]] unsigned size() const noexcept;     ///< localities, lost ones too

 private:
  void start(job_options options);
  void begin_measuring();
  void end_measuring() noexcept;
  void gather();
  void write_summary();
  void wait_for_all();
  void fail(const std::exception_ptr& e) noexcept;

  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace plx
