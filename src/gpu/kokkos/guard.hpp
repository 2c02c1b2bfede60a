// Initialization and finalization of Kokkos, as an object.
//
//   plx::kokkos::guard kokkos({.threads = 4});
//   plx::runtime rt;                                    // and the code that uses Kokkos
//
// If Kokkos was built with Threads, which accepts kernels from one thread only, the guard has its own thread that
// initializes Kokkos, runs the kernels of that space, and finalizes it. Otherwise the constructing thread initializes
// Kokkos. If Kokkos is already initialized, the guard neither initializes nor finalizes it.
// Thread safety: require_space() and the names, from any thread; guards are created and destroyed by one thread.
// Cost: that of Kokkos. Requires: Views, and the spaces of gpu/kokkos/space.hpp, are destroyed before the guard.
// Errors: std::runtime_error. Kokkos cannot be initialized a second time in a process.
// Example: gpu/kokkos/test/guard_test.cpp, examples/20_kokkos.cpp
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace plx::kokkos {

struct settings {
  int threads = 0;                   // for Kokkos' host-parallel space; 0: Kokkos' default (OMP_NUM_THREADS, cores)
  int device = -1;                   // index of the device of the default instance; -1: Kokkos' default
  bool warnings = false;             // prints Kokkos' warnings to std::cerr
  bool print_configuration = false;  // prints to std::cout
};

class guard {
 public:
  explicit guard(const settings& s = {});
  ~guard();
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;

  /// False if Kokkos was already initialized.
  [[nodiscard]] bool initialized_here() const noexcept { return here_; }

 private:
  bool here_ = false;
};

/// Names of the execution spaces that Kokkos was built with, such as "Cuda Serial".
std::string_view execution_spaces() noexcept;
/// The version of Kokkos, such as "4.6.1".
std::string version();
/// Requires that Kokkos was built with the execution space of that name ("Serial", "OpenMP", "Threads", "Cuda", "HIP",
/// "SYCL", "HPX"). Errors: throws std::runtime_error with the available spaces and the remedy.
void require_space(std::string_view name);

namespace detail {

/// A function to call once.
struct job {
  virtual ~job() = default;
  virtual void run() noexcept = 0;
};
/// Runs `j` on the guard's thread, in the order of the calls. Errors: throws std::runtime_error if there is no such
/// thread.
void post_to_kokkos_thread(std::unique_ptr<job> j);

/// Counts the existing spaces. Errors: space_begins() throws std::runtime_error if Kokkos is not initialized.
void space_begins(const char* name);
void space_ends() noexcept;

}  // namespace detail
}  // namespace plx::kokkos
