// MPI's profiling interface: every function that returns an error code is a timer with its name, and those that move
// data count bytes (/mpi/sent/Send, /mpi/received/Recv, ...). A separate library, because it is built for one MPI:
// mpi_wrappers.py generates a wrapper for each function in its mpi.h.
//
// Bytes are those of this rank's own buffers: for a collective, its contribution and its result, whatever the network
// moves; for a nonblocking receive, the size of its buffer; for persistent requests none. They are counted after a
// successful call, from arguments that are significant by the standard: ignored ones (counts and types with
// MPI_IN_PLACE, receive arguments at ranks other than the root) are never read. Calls from Fortran are measured if the
// MPI's Fortran bindings call the C functions.
// Thread safety: that of the MPI's thread level. Cost: two reads of the clock and two locked additions; while
//   measurement is off, two loads. Example: tests/exec/mpi_calls.c
#include <mpi.h>

#include <atomic>
#include <string>
#include <vector>

#include "attach/preload/call_tables.hpp"
#include "attach/preload/mpi_messages.hpp"

using plx::probe::call_table;

// Defined in libplx-exec.so, which is loaded before this library. Not found by dlsym(), which takes a lock of the
// loader.
extern "C" [[gnu::weak, gnu::visibility("default")]] const call_table* plx_probe_preloaded_calls();

namespace plx_mpi {
namespace {

/// Null while measurement is off.
const call_table* measuring() {
  static std::atomic<const call_table*> known{nullptr};
  const call_table* table = known.load(std::memory_order_acquire);  // pairs with the release below
  if (table == nullptr) {
    if (plx_probe_preloaded_calls == nullptr) return nullptr;
    table = plx_probe_preloaded_calls();
    if (table == nullptr || table->version != call_table::current) return nullptr;
    known.store(table, std::memory_order_release);
  }
  return table->measuring() != 0 ? table : nullptr;
}

struct bytes {
  double sent = 0;
  double received = 0;
};

/// A function of MPI. Requires: measuring() is not null.
class function {
 public:
  function(const char* name, bool counts) : calls_(measuring()) {
    if (calls_ == nullptr) return;  // ended in the meantime
    timer_ = calls_->timer_named((std::string("MPI_") + name).c_str());
    if (!counts) return;
    sent_ = calls_->counter_named((std::string("/mpi/sent/") + name).c_str(), "bytes", "Sent by this function");
    received_ =
        calls_->counter_named((std::string("/mpi/received/") + name).c_str(), "bytes", "Received by this function");
  }

  template <class F>
  int timed(F&& f) const {
    const running now(*this);
    return f();
  }

  [[nodiscard]] unsigned timer() const noexcept { return timer_; }

  void count(const bytes& b) const {
    if (sent_ != nullptr && b.sent > 0) calls_->count(sent_, b.sent);
    if (received_ != nullptr && b.received > 0) calls_->count(received_, b.received);
  }

 private:
  class running {
   public:
    explicit running(const function& f) : f_(f) {
      if (f_.calls_ != nullptr) f_.calls_->start(f_.timer_);
    }
    ~running() {
      if (f_.calls_ != nullptr) f_.calls_->stop(f_.timer_);
    }
    running(const running&) = delete;
    running& operator=(const running&) = delete;

   private:
    const function& f_;
  };

  const call_table* calls_;
  plx_probe_timer timer_ = 0;
  plx_probe_counter* sent_ = nullptr;
  plx_probe_counter* received_ = nullptr;
};

double size_of(double count, MPI_Datatype type) {
  int size = 0;
  if (count <= 0 || type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS) return 0;
  return size > 0 ? count * size : 0;
}

// ---------------------------------------------------------------------------------------------- between two, and files

bytes both(const bytes& a, const bytes& b) { return {a.sent + b.sent, a.received + b.received}; }

bytes room(double n, MPI_Datatype type) { return {0, size_of(n, type)}; }
bytes room_sent(double n, MPI_Datatype type) { return {size_of(n, type), 0}; }
bytes send(double n, MPI_Datatype type, int to) { return to == MPI_PROC_NULL ? bytes{} : room_sent(n, type); }
bytes receive(double n, MPI_Datatype type, int from) { return from == MPI_PROC_NULL ? bytes{} : room(n, type); }

/// The received bytes, which may be fewer than the buffer holds.
bytes arrived(const MPI_Status* status, MPI_Datatype type) {
  int n = 0;
  if (PMPI_Get_count(status, type, &n) != MPI_SUCCESS || n == MPI_UNDEFINED) return {};
  return room(n, type);
}

/// The origin's buffer is ignored if the operation does not read it.
bytes get_accumulate(double n, MPI_Datatype type, double n_result, MPI_Datatype result_type, int target, MPI_Op op) {
  if (target == MPI_PROC_NULL) return {};
  return {op == MPI_NO_OP ? 0 : size_of(n, type), size_of(n_result, result_type)};
}

// --------------------------------------------------------------------------------------------------------- collectives

struct group {
  bool inter = false;  // an intercommunicator: data are exchanged with the remote group
  int rank = -1;
  int size = 0;
  int others = 0;  // ranks that data are exchanged with: the remote group, or this one

  explicit group(MPI_Comm c) {
    int flag = 0;
    if (PMPI_Comm_test_inter(c, &flag) != MPI_SUCCESS) return;
    inter = flag != 0;
    PMPI_Comm_rank(c, &rank);
    PMPI_Comm_size(c, &size);
    others = size;
    if (inter) PMPI_Comm_remote_size(c, &others);
  }

  enum class role { root, member, none };
  [[nodiscard]] role role_with(int root) const {
    if (!inter) return root == rank ? role::root : role::member;
    return root == MPI_ROOT ? role::root : root == MPI_PROC_NULL ? role::none : role::member;
  }
};
using role = group::role;

// Counts and types of a collective call: one for every rank, or an array with those of each.
double at(double count, int /*rank*/) { return count; }
template <class Count>
double at(const Count* counts, int rank) {
  return rank < 0 ? 0 : static_cast<double>(counts[rank]);
}
MPI_Datatype type_at(MPI_Datatype type, int /*rank*/) { return type; }
MPI_Datatype type_at(const MPI_Datatype* types, int rank) { return types[rank]; }

double size_of_all(double count, MPI_Datatype type, int ranks) { return size_of(count * ranks, type); }
template <class Count>
double size_of_all(const Count* counts, MPI_Datatype type, int ranks) {
  double sum = 0;
  for (int i = 0; i < ranks; ++i) sum += at(counts, i);
  return size_of(sum, type);
}
template <class Count>
double size_of_all(const Count* counts, const MPI_Datatype* types, int ranks) {
  double sum = 0;
  for (int i = 0; i < ranks; ++i) sum += size_of(at(counts, i), types[i]);
  return sum;
}

bytes broadcast(double n, MPI_Datatype type, int root, MPI_Comm c) {
  switch (group(c).role_with(root)) {
    case role::root:
      return room_sent(n, type);
    case role::member:
      return room(n, type);
    default:
      return {};
  }
}

bytes reduction(double n, MPI_Datatype type) { return {size_of(n, type), size_of(n, type)}; }

bytes exclusive_scan(double n, MPI_Datatype type, MPI_Comm c) {
  return group(c).rank == 0 ? room_sent(n, type) : reduction(n, type);
}

bytes reduce(double n, MPI_Datatype type, int root, MPI_Comm c) {
  const group g(c);
  switch (g.role_with(root)) {
    case role::root:
      return g.inter ? room(n, type) : reduction(n, type);
    case role::member:
      return room_sent(n, type);
    default:
      return {};
  }
}

template <class N>
bytes reduce_scatter(N n, MPI_Datatype type, MPI_Comm c) {
  const group g(c);
  return {size_of_all(n, type, g.size), size_of(at(n, g.rank), type)};
}

template <class N>
bytes gather(const void* from, double n, MPI_Datatype type, N each, MPI_Datatype to_type, int root, MPI_Comm c) {
  const group g(c);
  const role r = g.role_with(root);
  if (r == role::none) return {};
  if (r == role::member) return room_sent(n, type);
  bytes b{0, size_of_all(each, to_type, g.others)};
  if (!g.inter) b.sent = from == MPI_IN_PLACE ? size_of(at(each, g.rank), to_type) : size_of(n, type);
  return b;
}

template <class N>
bytes scatter(N each, MPI_Datatype from_type, const void* to, double n, MPI_Datatype type, int root, MPI_Comm c) {
  const group g(c);
  const role r = g.role_with(root);
  if (r == role::none) return {};
  if (r == role::member) return room(n, type);
  bytes b{size_of_all(each, from_type, g.others), 0};
  if (!g.inter) b.received = to == MPI_IN_PLACE ? size_of(at(each, g.rank), from_type) : size_of(n, type);
  return b;
}

template <class N>
bytes allgather(const void* from, double n, MPI_Datatype type, N each, MPI_Datatype to_type, MPI_Comm c) {
  const group g(c);
  return {from == MPI_IN_PLACE ? size_of(at(each, g.rank), to_type) : size_of(n, type),
          size_of_all(each, to_type, g.others)};
}

template <class N, class Type>
bytes alltoall(const void* from, N sent, Type type, N taken, Type to_type, MPI_Comm c) {
  const int others = group(c).others;
  const double received = size_of_all(taken, to_type, others);
  return {from == MPI_IN_PLACE ? received : size_of_all(sent, type, others), received};
}

// ---------------------------------------------------------------------------------------------------------- neighbours

/// The neighbours that data are exchanged with, in the order of buffers; MPI_PROC_NULL beyond the ends of a grid.
struct neighbours {
  std::vector<int> from, to;

  explicit neighbours(MPI_Comm c) {
    int kind = MPI_UNDEFINED, n = 0, n_to = 0, weighted = 0;
    if (PMPI_Topo_test(c, &kind) != MPI_SUCCESS) return;
    if (kind == MPI_CART && PMPI_Cartdim_get(c, &n) == MPI_SUCCESS) {
      for (int dimension = 0; dimension < n; ++dimension) {
        int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
        PMPI_Cart_shift(c, dimension, 1, &below, &above);
        from.insert(from.end(), {below, above});
      }
      to = from;
    } else if (kind == MPI_GRAPH) {
      int rank = 0;
      PMPI_Comm_rank(c, &rank);
      if (PMPI_Graph_neighbors_count(c, rank, &n) == MPI_SUCCESS) from.assign(static_cast<std::size_t>(n), 0);
      to = from;
    } else if (kind == MPI_DIST_GRAPH && PMPI_Dist_graph_neighbors_count(c, &n, &n_to, &weighted) == MPI_SUCCESS) {
      from.assign(static_cast<std::size_t>(n), 0);
      to.assign(static_cast<std::size_t>(n_to), 0);
    }
  }

  /// Counts and types: one for every neighbour, or an array.
  template <class N, class Type>
  static double sum(const std::vector<int>& all, N counts, Type types) {
    double total = 0;
    for (int i = 0; i < static_cast<int>(all.size()); ++i)
      if (all[static_cast<std::size_t>(i)] != MPI_PROC_NULL) total += size_of(at(counts, i), type_at(types, i));
    return total;
  }
};

template <class N>
bytes neighbor_allgather(double n, MPI_Datatype type, N each, MPI_Datatype to_type, MPI_Comm c) {
  return {size_of(n, type), neighbours::sum(neighbours(c).from, each, to_type)};
}
template <class N, class Type>
bytes neighbor_alltoall(N sent, Type type, N taken, Type to_type, MPI_Comm c) {
  const neighbours near(c);
  return {neighbours::sum(near.to, sent, type), neighbours::sum(near.from, taken, to_type)};
}

}  // namespace

#define PLX_WRAPPER extern "C" [[gnu::visibility("default")]]
#include <mpi_wrappers.inc>  // generated during the build

}  // namespace plx_mpi
