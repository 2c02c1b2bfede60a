#include "net/mpi/mpi_library.hpp"

#include <string>

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

}  // namespace plx::net::detail
