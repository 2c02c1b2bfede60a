#include "net/transport/mpi/mpi_bootstrap.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/clock.hpp"
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

namespace {

error late(const std::string& localities, double deadline_s) {
  return error{
      fmt::format("expected all {} at the start within {:g} s, but at least one is missing; check that their "
                  "processes run",
                  localities, deadline_s)};
}

}  // namespace

result<std::unique_ptr<mpi_bootstrap>> mpi_bootstrap::make(double deadline_s) try {
  static std::atomic<bool> abandoned{false};
  if (abandoned)
    return error{
        "MPI cannot be started: an earlier start in this process exceeded its deadline, and may still continue; start "
        "the process again"};
  const auto library = load_mpi();
  if (!library) return library.error();
  std::promise<result<world>> started;
  std::promise<void> finalized;
  auto opened = started.get_future();
  finalization f{{}, finalized.get_future()};
  std::thread([&mpi = **library, started = std::move(started), requested = f.request.get_future(),
               finalized = std::move(finalized)]() mutable {
    try {
      started.set_value(open(mpi));
    } catch (...) {
      started.set_exception(std::current_exception());
    }
    try {
      requested.get();
      mpi.Finalize();
    } catch (const std::future_error&) {  // the bootstrap was destroyed without a request
    }
    finalized.set_value();
  }).detach();
  if (opened.wait_for(std::chrono::duration<double>(deadline_s)) != std::future_status::ready) {
    abandoned = true;  // two threads must not start MPI at the same time
    return late("localities", deadline_s);
  }
  const auto w = opened.get();
  if (!w) return w.error();
  return std::unique_ptr<mpi_bootstrap>(new mpi_bootstrap(**library, *w, std::move(f)));
} catch (const std::exception& e) {  // no memory, or no thread
  return error{fmt::format("cannot start MPI: {}", e.what())};
}

result<mpi_bootstrap::world> mpi_bootstrap::open(const mpi_library& mpi) {
  world w;
  int initialized = 0, level = MPI_THREAD_SINGLE;
  mpi.Initialized(&initialized);
  if (initialized != 0) {
    mpi.Query_thread(&level);
  } else {
    // With more processes than cores Open MPI would otherwise yield the core at every look at the network: the runtime
    // looks between tasks, and yields by itself when it has nothing to do.
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", 0);
    if (const int r = mpi.Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level); r != MPI_SUCCESS)
      return error{fmt::format("MPI_Init_thread failed: {}", mpi.text(r))};
    w.ours = true;
  }
  if (level < MPI_THREAD_SERIALIZED)
    return error{
        fmt::format("expected MPI_THREAD_SERIALIZED of MPI, found level {}; initialise MPI with it, or let Parallax "
                    "initialise MPI",
                    level)};
  mpi.Comm_set_errhandler(mpi.world, mpi.errors_return);
  int rank = 0, size = 1;
  mpi.Comm_rank(mpi.world, &rank);
  mpi.Comm_size(mpi.world, &size);
  w.here = static_cast<locality_id>(rank);
  w.size = static_cast<unsigned>(size);
  for (MPI_Comm* each : {&w.start, &w.heads, &w.pieces}) {
    if (const int r = mpi.Comm_dup(mpi.world, each); r != MPI_SUCCESS)
      return error{fmt::format("MPI_Comm_dup failed: {}", mpi.text(r))};
    mpi.Comm_set_errhandler(*each, mpi.errors_return);
  }
  return w;
}

bool mpi_bootstrap::ends(MPI_Request& request, double until) const noexcept {
  int done = 0;
  for (unsigned turns = 0; mpi_.Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0; ++turns) {
    if (monotonic_seconds() > until) return false;
    if (turns > 1000) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return done != 0;
}

result<std::vector<std::string>> mpi_bootstrap::exchange_bytes(std::string_view mine, double deadline_s) {
  struct gathering {
    std::string mine, all;
    int size_bytes = 0;
    std::vector<int> sizes, begins;
  };
  auto g = std::make_unique<gathering>();
  g->mine = mine;
  g->size_bytes = static_cast<int>(mine.size());
  g->sizes.resize(world_.size);
  g->begins.resize(world_.size);
  const double until = monotonic_seconds() + deadline_s;
  MPI_Request request;
  const bool sized = mpi_.Iallgather(&g->size_bytes, sizeof(int), mpi_.byte, g->sizes.data(), sizeof(int), mpi_.byte,
                                     world_.start, &request) == MPI_SUCCESS &&
                     ends(request, until);
  if (sized) {
    std::exclusive_scan(g->sizes.begin(), g->sizes.end(), g->begins.begin(), 0);
    g->all.resize(static_cast<std::size_t>(g->begins.back() + g->sizes.back()));
  }
  if (!sized ||
      mpi_.Iallgatherv(g->mine.data(), g->size_bytes, mpi_.byte, g->all.data(), g->sizes.data(), g->begins.data(),
                       mpi_.byte, world_.start, &request) != MPI_SUCCESS ||
      !ends(request, until)) {
    (void)g.release();  // MPI may still write there
    return late(fmt::format("{} localities", world_.size), deadline_s);
  }
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < world_.size; ++i)
    parts.push_back(g->all.substr(static_cast<std::size_t>(g->begins[i]), static_cast<std::size_t>(g->sizes[i])));
  return parts;
}

// MPI_Finalize waits for all processes: it is called only if all of them arrive here. Otherwise the process ends
// without it. Requests must have completed.
void mpi_bootstrap::leave(double deadline_s) noexcept {
  if (std::exchange(left_, true) || !world_.ours || !complete_) return;
  const double until = monotonic_seconds() + deadline_s;
  MPI_Request request;
  if (mpi_.Ibarrier(world_.start, &request) != MPI_SUCCESS || !ends(request, until)) return;
  finalization_.request.set_value();
  finalization_.done.wait_for(std::chrono::duration<double>(std::max(0.0, until - monotonic_seconds())));
}

}  // namespace plx::net::detail
