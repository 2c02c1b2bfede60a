
#include <fmt/core.h>

#include <chrono>
#include <numeric>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "net/transport/mpi/mpi_bootstrap.hpp"
#include "probe/monitor/shared_library.hpp"

namespace plx::net::detail {

namespace {

bool find_handles(const probe::shared_library& file, mpi_library& library) {
#ifdef OPEN_MPI
  const auto find = [&](const char* name, auto& handle) {
    char* address = nullptr;
    if (!file.find(name, address)) return false;
    handle = static_cast<std::remove_reference_t<decltype(handle)>>(static_cast<void*>(address));
    return true;
  };
  return find("ompi_mpi_comm_world", library.world) && find("ompi_mpi_byte", library.byte) &&
         find("ompi_mpi_errors_return", library.errors_return);
#else
  library.world = MPI_COMM_WORLD;
  library.byte = MPI_BYTE;
  library.errors_return = MPI_ERRORS_RETURN;
  return &file != nullptr;
#endif
}

result<const mpi_library*> load() {
  static auto file = probe::shared_library::open({PLX_MPI_LIBRARY, "libmpi.so.40", "libmpi.so.12", "libmpi.so"});
  if (!file)
    return error{"cannot load MPI: " + file.error().message + "; install libopenmpi3, or another MPI and build again"};
  static mpi_library library;
#define PLX_FIND(name)                         \
  if (!file->find("MPI_" #name, library.name)) \
    return error{"this MPI has no MPI_" #name "; expected version 3 or newer"};
  PLX_MPI_FUNCTIONS(PLX_FIND)
#undef PLX_FIND
  if (!find_handles(*file, library)) return error{"the MPI that was loaded is not the one of the build; build again"};
  return &library;
}

}  // namespace

std::string mpi_library::text(int code) const {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  Error_string(code, words, &length);
  return {words, static_cast<std::size_t>(length)};
}

result<const mpi_library*> load_mpi() {
  static const result<const mpi_library*> loaded = load();
  return loaded;
}

result<std::unique_ptr<mpi_bootstrap>> mpi_bootstrap::make() {
  const auto library = load_mpi();
  if (!library) return library.error();
  std::unique_ptr<mpi_bootstrap> b(new mpi_bootstrap(**library));
  if (auto r = b->open(); !r) return r.error();
  return b;
}

result<void> mpi_bootstrap::open() {
  int initialized = 0, level = MPI_THREAD_SINGLE;
  mpi_.Initialized(&initialized);
  if (initialized != 0) {
    mpi_.Query_thread(&level);
  } else {
    if (const int r = mpi_.Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level); r != MPI_SUCCESS)
      return error{fmt::format("MPI_Init_thread failed: {}", mpi_.text(r))};
    ours_ = true;
  }
  if (level < MPI_THREAD_SERIALIZED)
    return error{
        fmt::format("expected MPI_THREAD_SERIALIZED of MPI, found level {}; initialise MPI with it, or let Parallax "
                    "initialise MPI",
                    level)};
  mpi_.Comm_set_errhandler(mpi_.world, mpi_.errors_return);
  int rank = 0, size = 1;
  mpi_.Comm_rank(mpi_.world, &rank);
  mpi_.Comm_size(mpi_.world, &size);
  here_ = static_cast<locality_id>(rank);
  size_ = static_cast<unsigned>(size);
  for (MPI_Comm* each : {&start_, &heads_, &pieces_}) {
    if (const int r = mpi_.Comm_dup(mpi_.world, each); r != MPI_SUCCESS)
      return error{fmt::format("MPI_Comm_dup failed: {}", mpi_.text(r))};
    mpi_.Comm_set_errhandler(*each, mpi_.errors_return);
  }
  return {};
}

bool mpi_bootstrap::ends(MPI_Request& request, double until) const noexcept {
  int done = 0;
  for (unsigned turns = 0; mpi_.Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0; ++turns) {
    if (monotonic_seconds() > until) return false;
    if (turns > 1000) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return done != 0;
}

error mpi_bootstrap::late(double deadline_s) const {
  return error{
      fmt::format("expected all {} localities at the start within {:g} s, but at least one is missing; check that "
                  "their processes run",
                  size_, deadline_s)};
}

result<std::vector<std::string>> mpi_bootstrap::exchange(std::string_view mine, double deadline_s) {
  struct gathering {
    std::string mine, all;
    int size_bytes = 0;
    std::vector<int> sizes, begins;
  };
  auto g = std::make_unique<gathering>();
  g->mine = mine;
  g->size_bytes = static_cast<int>(mine.size());
  g->sizes.resize(size_);
  g->begins.resize(size_);
  const double until = monotonic_seconds() + deadline_s;
  MPI_Request request;
  const bool sized = mpi_.Iallgather(&g->size_bytes, sizeof(int), mpi_.byte, g->sizes.data(), sizeof(int), mpi_.byte,
                                     start_, &request) == MPI_SUCCESS &&
                     ends(request, until);
  if (sized) {
    std::exclusive_scan(g->sizes.begin(), g->sizes.end(), g->begins.begin(), 0);
    g->all.resize(static_cast<std::size_t>(g->begins.back() + g->sizes.back()));
  }
  if (!sized ||
      mpi_.Iallgatherv(g->mine.data(), g->size_bytes, mpi_.byte, g->all.data(), g->sizes.data(), g->begins.data(),
                       mpi_.byte, start_, &request) != MPI_SUCCESS ||
      !ends(request, until)) {
    (void)g.release();  // MPI may still write there
    return late(deadline_s);
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < size_; ++i)
    parts.push_back(g->all.substr(static_cast<std::size_t>(g->begins[i]), static_cast<std::size_t>(g->sizes[i])));
  return parts;
}

// MPI_Finalize has no deadline and waits for all processes: it is called only if all of them arrive here. Otherwise the
// process ends without it.
void mpi_bootstrap::leave(double deadline_s) noexcept {
  if (!std::exchange(ours_, false)) return;
  MPI_Request request;
  if (mpi_.Ibarrier(start_, &request) == MPI_SUCCESS && ends(request, monotonic_seconds() + deadline_s))
    mpi_.Finalize();
}

}  // namespace plx::net::detail
