// Kokkos from its initialization to its end, as an object.
//
//   plx::kokkos::guard kokkos({.threads = 4});
//   plx::runtime rt;                                    // and what uses Kokkos with it
//
// Where Kokkos was built with Threads, which takes kernels from one thread only, the guard keeps a thread of its own
// that initializes Kokkos, runs the kernels of that space, and finalizes it. Otherwise its maker initializes Kokkos.
// Who has initialized Kokkos already finalizes it: the guard does neither then.
// Thread safety: require_space() and names everything; one thread makes and destroys guards. Cost: that of Kokkos.
// Requires: Views, and the spaces of gpu/kokkos/space.hpp, end before it.
// Errors: std::runtime_error. Kokkos cannot be initialized a second time in a process.
// Example: gpu/kokkos/guard_test.cpp, examples/20_kokkos.cpp
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace plx::kokkos {

struct settings {
  int threads = 0;                   // of Kokkos' host-parallel space; 0: what Kokkos chooses (OMP_NUM_THREADS, cores)
  int device = -1;                   // number of the device of its default instance; -1: what Kokkos chooses
  bool warnings = false;             // Kokkos' own, to std::cerr
  bool print_configuration = false;  // to std::cout
};

class guard {
 public:
  explicit guard(const settings& s = {});
  ~guard();
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;

  /// False: somebody else did, and ends it.
  [[nodiscard]] bool initialized_here() const noexcept { return here_; }

 private:
  bool here_ = false;
};

/// Names of the execution spaces that this Kokkos was built with, such as "Cuda Serial".
std::string_view execution_spaces() noexcept;
/// Its version, such as "4.6.1".
std::string version();
/// Returns when Kokkos was built with the execution space of that name ("Serial", "OpenMP", "Threads", "Cuda", "HIP",
/// "SYCL", "HPX"). Errors: throws std::runtime_error with those there are, and what to do.
void require_space(std::string_view name);

namespace detail {

/// Something to call once.
struct job {
  virtual ~job() = default;
  virtual void run() noexcept = 0;
};
/// On the guard's own thread, soon, in the order of the calls. Errors: throws std::runtime_error when there is none.
void post_to_kokkos_thread(std::unique_ptr<job> j);

/// A pool of instances lives, from now on or no more. Throws std::runtime_error when Kokkos is not initialized.
void space_begins(const char* name);
void space_ends() noexcept;

}  // namespace detail
}  // namespace plx::kokkos
