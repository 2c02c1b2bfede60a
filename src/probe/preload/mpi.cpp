// MPI by its profiling interface: every call below is a timer of its own name, and the bytes that it gives and takes
// are counted (/mpi/sent/Send, /mpi/received/Recv, ...). A library apart from plx-exec's, because it is built for one
// MPI.
//
// Bytes are those of this rank's own buffers: of a collective what it gives to and takes from the operation, whatever
// the network moves. Calls from Fortran are seen if the MPI's Fortran calls the MPI_ functions of C.
// Thread safety: as MPI's level of threads. Cost: two reads of the clock and two locked additions.
// Example: tests/exec/mpi_program.cpp
#include <dlfcn.h>
#include <mpi.h>

#include <string>

#include "probe/preload/call_table.hpp"

using plx::probe::call_table;

namespace {

const call_table* find_calls() {
  auto* get = reinterpret_cast<const call_table* (*)()>(dlsym(RTLD_DEFAULT, "plx_probe_preloaded_calls"));
  return get != nullptr ? get() : nullptr;
}

/// Null when nothing is measured.
const call_table* calls() {
  static const call_table* const table = find_calls();
  return table;
}

/// One function of MPI.
class call {
 public:
  explicit call(const char* name) {
    if (calls() == nullptr) return;
    timer_ = calls()->timer_named((std::string("MPI_") + name).c_str());
    sent_ = calls()->counter_named((std::string("/mpi/sent/") + name).c_str(), "bytes", "Given to this call");
    received_ = calls()->counter_named((std::string("/mpi/received/") + name).c_str(), "bytes", "Taken from this call");
  }

  class running {
   public:
    explicit running(const call& c) : timer_(c.timer_) {
      if (calls() != nullptr) calls()->start(timer_);
    }
    ~running() {
      if (calls() != nullptr) calls()->stop(timer_);
    }
    running(const running&) = delete;
    running& operator=(const running&) = delete;

   private:
    plx_probe_timer timer_;
  };

  void sent(double bytes) const {
    if (sent_ != nullptr && bytes != 0) calls()->count(sent_, bytes);
  }
  void received(double bytes) const {
    if (received_ != nullptr && bytes != 0) calls()->count(received_, bytes);
  }

 private:
  plx_probe_timer timer_ = 0;
  plx_probe_counter* sent_ = nullptr;
  plx_probe_counter* received_ = nullptr;
};

double bytes_of(double count, MPI_Datatype type) {
  int size = 0;
  if (calls() == nullptr || count <= 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS) return 0;
  return count * size;
}
int size_of(MPI_Comm c) {
  int n = 0;
  return PMPI_Comm_size(c, &n) == MPI_SUCCESS ? n : 0;
}
bool is_root(int root, MPI_Comm c) {
  int rank = -1;
  return PMPI_Comm_rank(c, &rank) == MPI_SUCCESS && rank == root;
}
double sum_of(const int* counts, MPI_Comm c) {
  double sum = 0;
  for (int i = 0, n = size_of(c); i < n; ++i) sum += counts[i];
  return sum;
}

}  // namespace

// A function, its parameters, how they are handed on, and what is counted; `me` is the call, `done` what MPI said.
#define PLX_MPI(name, parameters, arguments, counting)                  \
  extern "C" [[gnu::visibility("default")]] int MPI_##name parameters { \
    static const call me(#name);                                        \
    int done;                                                           \
    {                                                                   \
      const call::running now(me);                                      \
      done = PMPI_##name arguments;                                     \
    }                                                                   \
    counting;                                                           \
    return done;                                                        \
  }
#define PLX_NOTHING static_cast<void>(0)
#define PLX_SENT(n, type) me.sent(bytes_of(n, type))
#define PLX_RECEIVED(n, type) me.received(bytes_of(n, type))

// Between two.
#define PLX_MPI_SEND(name)                                                                                  \
  PLX_MPI(name, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c), \
          PLX_SENT(n, t))
PLX_MPI_SEND(Send)
PLX_MPI_SEND(Ssend)
PLX_MPI_SEND(Bsend)
PLX_MPI_SEND(Rsend)
#define PLX_MPI_ISEND(name)                                                                          \
  PLX_MPI(name, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r), \
          (b, n, t, to, tag, c, r), PLX_SENT(n, t))
PLX_MPI_ISEND(Isend)
PLX_MPI_ISEND(Issend)
PLX_MPI_ISEND(Ibsend)
PLX_MPI_ISEND(Irsend)

/// What arrived may be less than there was room for.
extern "C" [[gnu::visibility("default")]] int MPI_Recv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c,
                                                       MPI_Status* status) {
  static const call me("Recv");
  MPI_Status own;
  if (status == MPI_STATUS_IGNORE) status = &own;
  int done;
  {
    const call::running now(me);
    done = PMPI_Recv(b, n, t, from, tag, c, status);
  }
  int arrived = 0;
  if (done == MPI_SUCCESS && PMPI_Get_count(status, t, &arrived) == MPI_SUCCESS && arrived != MPI_UNDEFINED)
    me.received(bytes_of(arrived, t));
  return done;
}
// Counted when it is asked for, with the room there is.
PLX_MPI(Irecv, (void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* r),
        (b, n, t, from, tag, c, r), PLX_RECEIVED(n, t))
PLX_MPI(Sendrecv,
        (const void* sb, int sn, MPI_Datatype st, int to, int stag, void* rb, int rn, MPI_Datatype rt, int from,
         int rtag, MPI_Comm c, MPI_Status* s),
        (sb, sn, st, to, stag, rb, rn, rt, from, rtag, c, s), (PLX_SENT(sn, st), PLX_RECEIVED(rn, rt)))
PLX_MPI(Probe, (int from, int tag, MPI_Comm c, MPI_Status* s), (from, tag, c, s), PLX_NOTHING)
PLX_MPI(Iprobe, (int from, int tag, MPI_Comm c, int* flag, MPI_Status* s), (from, tag, c, flag, s), PLX_NOTHING)
PLX_MPI(Wait, (MPI_Request * r, MPI_Status* s), (r, s), PLX_NOTHING)
PLX_MPI(Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s), PLX_NOTHING)
PLX_MPI(Waitany, (int n, MPI_Request r[], int* which, MPI_Status* s), (n, r, which, s), PLX_NOTHING)
PLX_MPI(Waitsome, (int n, MPI_Request r[], int* out, int which[], MPI_Status s[]), (n, r, out, which, s), PLX_NOTHING)
PLX_MPI(Test, (MPI_Request * r, int* flag, MPI_Status* s), (r, flag, s), PLX_NOTHING)
PLX_MPI(Testall, (int n, MPI_Request r[], int* flag, MPI_Status s[]), (n, r, flag, s), PLX_NOTHING)

// All together.
PLX_MPI(Barrier, (MPI_Comm c), (c), PLX_NOTHING)
PLX_MPI(Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c),
        is_root(root, c) ? PLX_SENT(n, t) : PLX_RECEIVED(n, t))
PLX_MPI(Reduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
        (s, r, n, t, op, root, c), (PLX_SENT(n, t), is_root(root, c) ? PLX_RECEIVED(n, t) : PLX_NOTHING))
#define PLX_MPI_REDUCTION(name)                                                                              \
  PLX_MPI(name, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c), (s, r, n, t, op, c), \
          (PLX_SENT(n, t), PLX_RECEIVED(n, t)))
PLX_MPI_REDUCTION(Allreduce)
PLX_MPI_REDUCTION(Scan)
PLX_MPI_REDUCTION(Exscan)
PLX_MPI_REDUCTION(Reduce_scatter_block)
PLX_MPI(Iallreduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request* q),
        (s, r, n, t, op, c, q), (PLX_SENT(n, t), PLX_RECEIVED(n, t)))
PLX_MPI(Ibarrier, (MPI_Comm c, MPI_Request* q), (c, q), PLX_NOTHING)
PLX_MPI(Ibcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request* q), (b, n, t, root, c, q),
        is_root(root, c) ? PLX_SENT(n, t) : PLX_RECEIVED(n, t))
PLX_MPI(Gather, (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
        (s, sn, st, r, rn, rt, root, c),
        (PLX_SENT(sn, st), is_root(root, c) ? PLX_RECEIVED(1.0 * rn * size_of(c), rt) : PLX_NOTHING))
PLX_MPI(Gatherv,
        (const void* s, int sn, MPI_Datatype st, void* r, const int rn[], const int at[], MPI_Datatype rt, int root,
         MPI_Comm c),
        (s, sn, st, r, rn, at, rt, root, c),
        (PLX_SENT(sn, st), is_root(root, c) ? PLX_RECEIVED(sum_of(rn, c), rt) : PLX_NOTHING))
PLX_MPI(Scatter, (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
        (s, sn, st, r, rn, rt, root, c),
        (is_root(root, c) ? PLX_SENT(1.0 * sn * size_of(c), st) : PLX_NOTHING, PLX_RECEIVED(rn, rt)))
PLX_MPI(Scatterv,
        (const void* s, const int sn[], const int at[], MPI_Datatype st, void* r, int rn, MPI_Datatype rt, int root,
         MPI_Comm c),
        (s, sn, at, st, r, rn, rt, root, c),
        (is_root(root, c) ? PLX_SENT(sum_of(sn, c), st) : PLX_NOTHING, PLX_RECEIVED(rn, rt)))
PLX_MPI(Allgather, (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, MPI_Comm c),
        (s, sn, st, r, rn, rt, c), (PLX_SENT(sn, st), PLX_RECEIVED(1.0 * rn * size_of(c), rt)))
PLX_MPI(Allgatherv,
        (const void* s, int sn, MPI_Datatype st, void* r, const int rn[], const int at[], MPI_Datatype rt, MPI_Comm c),
        (s, sn, st, r, rn, at, rt, c), (PLX_SENT(sn, st), PLX_RECEIVED(sum_of(rn, c), rt)))
PLX_MPI(Alltoall, (const void* s, int sn, MPI_Datatype st, void* r, int rn, MPI_Datatype rt, MPI_Comm c),
        (s, sn, st, r, rn, rt, c), (PLX_SENT(1.0 * sn * size_of(c), st), PLX_RECEIVED(1.0 * rn * size_of(c), rt)))
PLX_MPI(Alltoallv,
        (const void* s, const int sn[], const int sat[], MPI_Datatype st, void* r, const int rn[], const int rat[],
         MPI_Datatype rt, MPI_Comm c),
        (s, sn, sat, st, r, rn, rat, rt, c), (PLX_SENT(sum_of(sn, c), st), PLX_RECEIVED(sum_of(rn, c), rt)))

// To memory of others.
PLX_MPI(Put, (const void* b, int n, MPI_Datatype t, int to, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Win w),
        (b, n, t, to, at, tn, tt, w), PLX_SENT(n, t))
PLX_MPI(Get, (void* b, int n, MPI_Datatype t, int from, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Win w),
        (b, n, t, from, at, tn, tt, w), PLX_RECEIVED(n, t))
PLX_MPI(Accumulate,
        (const void* b, int n, MPI_Datatype t, int to, MPI_Aint at, int tn, MPI_Datatype tt, MPI_Op op, MPI_Win w),
        (b, n, t, to, at, tn, tt, op, w), PLX_SENT(n, t))
PLX_MPI(Win_fence, (int a, MPI_Win w), (a, w), PLX_NOTHING)
PLX_MPI(Win_lock, (int type, int rank, int a, MPI_Win w), (type, rank, a, w), PLX_NOTHING)
PLX_MPI(Win_unlock, (int rank, MPI_Win w), (rank, w), PLX_NOTHING)
PLX_MPI(Win_flush, (int rank, MPI_Win w), (rank, w), PLX_NOTHING)

// The begin and the end, and what makes groups.
PLX_MPI(Init, (int* argc, char*** argv), (argc, argv), PLX_NOTHING)
PLX_MPI(Init_thread, (int* argc, char*** argv, int wanted, int* given), (argc, argv, wanted, given), PLX_NOTHING)
PLX_MPI(Finalize, (), (), PLX_NOTHING)
PLX_MPI(Comm_split, (MPI_Comm c, int color, int key, MPI_Comm* out), (c, color, key, out), PLX_NOTHING)
PLX_MPI(Comm_dup, (MPI_Comm c, MPI_Comm* out), (c, out), PLX_NOTHING)
PLX_MPI(Comm_free, (MPI_Comm * c), (c), PLX_NOTHING)
