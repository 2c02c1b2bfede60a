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
// Each process is a locality with a runtime of its own. Processes of one host that share cores divide them among
// themselves. PLX_TRANSPORT in the environment chooses the transport (net/transport/transport.hpp). Thread safety:
// created, used and destroyed by one thread. Cost: with one process, that of a runtime; otherwise docs/net.md. Example:
// examples/17_hello_localities.cpp
#pragma once

#include <exception>
#include <memory>
#include <optional>
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

/// The job cannot start or continue. The text is one line. An invalid argument is reported by the first locality that
/// has it, also if all have it; different programs by locality 0. Any other error, such as an invalid environment
/// variable or the loss of a locality at the start, is reported by each locality that has it. For the first two kinds,
/// the others throw only after the locality that reports has destroyed the last copy of its exception: a launcher ends
/// all processes as soon as one has failed. Therefore the destructor of that copy waits for the others, for at most
/// start_deadline_s; and while a copy is kept, for example in an exception_ptr or a future, or if the process ends
/// inside the catch block by std::_Exit(), the others wait as long.
class job_error : public std::runtime_error {
 public:
  /// `others`: released with the last copy of the error, when it has been reported.
  job_error(const std::string& text, bool speaks, std::shared_ptr<const void> others = nullptr)
      : std::runtime_error(text), speaks_(speaks), others_(std::move(others)) {}
  /// Whether this locality should report the error; the others would only repeat it.
  [[nodiscard]] bool speaks() const noexcept { return speaks_; }
  /// Prints "program: text" to stderr if this locality reports the error. Returns the exit code, 2.
  int report(const char* program) const noexcept;

 private:
  bool speaks_;
  std::shared_ptr<const void> others_;
};

/// Settings of a job.
struct job_options {
  /// The runtime of this locality; 0 workers means this process's share of the cores available to it.
  runtime_options runtime{};
  /// Timeout for the launcher and the other processes at the start, seconds, for each of its at most four steps.
  double start_deadline_s = 60;
  /// Timeout for the other processes at the end, seconds, for each of two steps: all messages are received, and all
  /// have left. With a trace or a summary, locality 0 takes up to 1.5 times as long before: half each for the end of
  /// the recordings, the last measurement of the clocks (at least 2 s) and the summaries; and up to 2 s for a periodic
  /// measurement of the clocks that is in progress. The others wait for it.
  double stop_deadline_s = 10;
  /// The root writes a summary of all localities (net/observe/job_summary.hpp) even if no setting requests one.
  bool summary = false;
  /// Whether the program replaces lost localities by spares (plx::replace_lost() in net/collectives.hpp). Otherwise the
  /// setting `spares` is refused.
  bool takes_spares = true;
};

class job {
 public:
  /// Reads options of the runtime from the program's arguments (read_options), in place of options.runtime. Throws
  /// job_error for an invalid one, also while other processes are missing; else as below.
  job(int& argc, char** argv, job_options options = {});
  /// Finds the other processes and checks that they run the same program. Throws job_error.
  explicit job(job_options options = {});
  /// Ends the job together with the other localities, within the deadline.
  ~job();
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  /// Runs f() as a task on every locality; every locality calls this. Returns the result of the local f when all have
  /// returned and no parcel of the program is in flight. When f throws, this locality leaves the job, the others are
  /// notified, and the exception is rethrown. Throws locality_lost if all others are lost, except on locality 0.
  /// Without `info` the task has the name of f.
  /// On a spare, f() is called only if replace_lost() takes it in this run; otherwise the result is a default value
  /// (std::logic_error if there is none). Throws locality_lost on an unused spare if all members are lost.
  template <class F>
  auto run(F&& f) {
    const task_info info{probe::register_callable_name(f)};
    return run(info, std::forward<F>(f));
  }
  template <class F>
  auto run(const task_info& info, F&& f) {
    return home().run(info, [this, info, g = std::forward<F>(f)]() mutable {
      using G = std::decay_t<F>;
      using R = std::decay_t<std::invoke_result_t<G&>>;
      if constexpr (std::is_void_v<R>) {
        run_here(info, &g, [](void* body) { (*static_cast<G*>(body))(); });
      } else {
        struct call {
          G& f;
          std::optional<R> value{};
        } c{g};
        run_here(info, &c, [](void* body) {
          auto& of = *static_cast<call*>(body);
          of.value.emplace(of.f());
        });
        if (c.value) return *std::move(c.value);
        return value_of_unused_spare<R>();
      }
    });
  }
  /// Runs f() on the root while the others serve it; returns on all localities after f has returned and no parcel is in
  /// flight: the result of f on the root, a default value on the others.
  template <class F>
  auto run_root(F&& f) {
    const task_info info{probe::register_callable_name(f)};
    return run(info, [this, g = std::forward<F>(f)]() mutable {
      using R = std::invoke_result_t<decltype(g)&>;
      if constexpr (std::is_void_v<R>) {
        if (here() == 0) g();
      } else {
        return here() == 0 ? g() : R{};
      }
    });
  }

  /// Suppresses the summary at the end, for a program that rejected its input. Called by all localities before the end.
  void leave_out_summary() noexcept;

  [[nodiscard]] runtime& home() noexcept;           ///< the runtime of this locality
  [[nodiscard]] net::node& node() noexcept;         ///< its network node
  [[nodiscard]] locality_id here() const noexcept;  ///< its number
  [[nodiscard]] unsigned size() const noexcept;     ///< localities, including lost ones and spares

 private:
  void start(job_options options, std::string problem);
  void begin_measuring();
  void end_measuring() noexcept;
  void gather();
  void write_summary();
  template <class R>
  static R value_of_unused_spare() {
    if constexpr (std::is_default_constructible_v<R>)
      return R();
    else
      throw std::logic_error("a spare that was not taken has no result: the type has no default value");
  }
  void run_here(const task_info& info, void* body, void (*call)(void*));
  void fail(const std::exception_ptr& e) noexcept;

  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace plx
