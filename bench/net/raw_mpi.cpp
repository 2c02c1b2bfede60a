#include "raw.hpp"

#if PLX_WITH_MPI

#include <mpi.h>

#include "base/clock.hpp"
#include "probe/monitor/shared_library.hpp"

namespace plx::bench {

struct raw_mpi::parts {
  explicit parts(probe::shared_library&& f) : file(std::move(f)) {}

  // "" if all functions were found.
  std::string find_all() {
    const bool functions = find("MPI_Init", init) && find("MPI_Initialized", initialized) &&
                           find("MPI_Finalize", end) && find("MPI_Allreduce", all_reduce) &&
                           find("MPI_Barrier", barrier);
    if (!functions) return "the MPI that was loaded lacks functions of MPI 3";
#ifdef OPEN_MPI  // the names of its objects are addresses in the library
    if (!find_object("ompi_mpi_comm_world", world) || !find_object("ompi_mpi_double", real) ||
        !find_object("ompi_mpi_op_sum", sum))
      return "the MPI that was loaded is not the one of the build";
#endif
    return "";
  }
  template <class F>
  bool find(const char* name, F*& f) const {
    return file.find(name, f);
  }
  template <class H>
  bool find_object(const char* name, H& handle) const {
    char* address = nullptr;
    if (!file.find(name, address)) return false;
    handle = static_cast<H>(static_cast<void*>(address));
    return true;
  }

  probe::shared_library file;
  decltype(&::MPI_Init) init = nullptr;
  decltype(&::MPI_Initialized) initialized = nullptr;
  decltype(&::MPI_Finalize) end = nullptr;
  decltype(&::MPI_Allreduce) all_reduce = nullptr;
  decltype(&::MPI_Barrier) barrier = nullptr;
#ifdef OPEN_MPI
  MPI_Comm world{};
  MPI_Datatype real{};
  MPI_Op sum{};
#else
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Datatype real = MPI_DOUBLE;
  MPI_Op sum = MPI_SUM;
#endif
  bool ours = false;  // true if this object initialized MPI
};

raw_mpi::raw_mpi(std::unique_ptr<parts> p) : parts_(std::move(p)) {}

std::unique_ptr<raw_mpi> raw_mpi::open(std::string& why) {
  auto file = probe::shared_library::open({PLX_MPI_LIBRARY, "libmpi.so.40", "libmpi.so.12", "libmpi.so"});
  if (!file) return why = file.error().message, nullptr;
  auto p = std::make_unique<parts>(std::move(file).value());
  if (why = p->find_all(); !why.empty()) return nullptr;
  int begun = 0;
  p->initialized(&begun);
  if (begun == 0 && p->init(nullptr, nullptr) != MPI_SUCCESS) return why = "MPI_Init failed", nullptr;
  p->ours = begun == 0;
  return std::unique_ptr<raw_mpi>(new raw_mpi(std::move(p)));
}

raw_mpi::~raw_mpi() {
  if (parts_->ours) parts_->end();
}

double raw_mpi::all_reduce(int n) {
  const parts& p = *parts_;
  double mine = 1, all = 0;
  p.barrier(p.world);
  const double begin = monotonic_seconds();
  for (int i = 0; i < n; ++i) p.all_reduce(&mine, &all, 1, p.real, p.sum, p.world);
  return monotonic_seconds() - begin;
}

}  // namespace plx::bench

#else

namespace plx::bench {

struct raw_mpi::parts {};
raw_mpi::~raw_mpi() = default;
std::unique_ptr<raw_mpi> raw_mpi::open(std::string& why) { return why = "this program was built without MPI", nullptr; }
double raw_mpi::all_reduce(int) { return 0; }

}  // namespace plx::bench

#endif
