/* MPI calls with arguments that the standard ignores, and calls that wrappers often omit: two ranks, known counts. The
 * output does not depend on measurement. Argument: a path for a file. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank = 0, other = 0;

/* Arguments that are not significant must not be read. */
static const int* const no_counts = NULL;
static const int ignored = 12345;

static void check(const char* what, long found, long expected) {
  if (found == expected) return;
  printf("rank %d: %s: expected %ld, found %ld\n", rank, what, expected, found);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void in_place(void) {
  int two[2] = {rank * 10, rank * 10 + 1}, counts[2] = {1, 1}, at[2] = {0, 1}, one = rank + 1, sum = 0;
  MPI_Alltoallv(MPI_IN_PLACE, no_counts, no_counts, MPI_DATATYPE_NULL, two, counts, at, MPI_INT, MPI_COMM_WORLD);
  check("alltoallv", two[other], other * 10 + rank);
  MPI_Alltoall(MPI_IN_PLACE, ignored, MPI_DATATYPE_NULL, two, 1, MPI_INT, MPI_COMM_WORLD);
  check("alltoall", two[other], rank * 10 + other);
  two[rank] = rank + 5;
  MPI_Allgather(MPI_IN_PLACE, ignored, MPI_DATATYPE_NULL, two, 1, MPI_INT, MPI_COMM_WORLD);
  check("allgather", two[other], other + 5);
  MPI_Allgatherv(MPI_IN_PLACE, ignored, MPI_DATATYPE_NULL, two, counts, at, MPI_INT, MPI_COMM_WORLD);
  check("allgatherv", two[other], other + 5);
  MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check("allreduce", one, 3);
  if (rank == 0) {
    MPI_Gather(MPI_IN_PLACE, ignored, MPI_DATATYPE_NULL, two, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gatherv(MPI_IN_PLACE, ignored, MPI_DATATYPE_NULL, two, counts, at, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatter(two, 1, MPI_INT, MPI_IN_PLACE, ignored, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Scatterv(two, counts, at, MPI_INT, MPI_IN_PLACE, ignored, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Reduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    check("reduce", one, 6);
  } else { /* only the root receives */
    MPI_Gather(&two[1], 1, MPI_INT, NULL, ignored, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Gatherv(&two[1], 1, MPI_INT, NULL, no_counts, no_counts, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    MPI_Scatter(NULL, ignored, MPI_DATATYPE_NULL, &sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scatterv(NULL, no_counts, no_counts, MPI_DATATYPE_NULL, &sum, 1, MPI_INT, 0, MPI_COMM_WORLD);
    check("scatterv", sum, 6);
    MPI_Reduce(&one, NULL, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  }
}

static void between_groups(void) {
  MPI_Comm own, inter;
  double block[8] = {rank + 1.0}, into[16] = {0};
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own);
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, other, 7, &inter);
  MPI_Bcast(block, 8, MPI_DOUBLE, rank == 1 ? MPI_ROOT : 0, inter);
  check("bcast", (long)block[0], 2);
  MPI_Gather(block, 8, MPI_DOUBLE, into, 8, MPI_DOUBLE, rank == 0 ? MPI_ROOT : 0, inter);
  MPI_Reduce(block, into, 8, MPI_DOUBLE, MPI_SUM, rank == 0 ? MPI_ROOT : 0, inter);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&own);
}

static void others(const char* path) {
  int value = rank, got = -1, counts[2] = {3, 1}, none = MPI_ERR_OTHER, room[10] = {0}, n = 0, period = 0, size = 2;
  int from[3] = {1, 1, 1}, into[3] = {0};
  double line[2] = {0, 0}, mine = rank + 1;
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  const int ones[2] = {1, 1}, places[2] = {0, sizeof(int)};
  int words[2] = {rank, rank}, taken[2] = {-1, -1};
  MPI_Request request;
  MPI_Message message;
  MPI_Status status;
  MPI_Comm grid;
  MPI_Win window;
  MPI_File file;

  if (rank == 0) MPI_Send_init(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &request);
  if (rank == 1) MPI_Recv_init(&got, 1, MPI_INT, other, 1, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 4; ++i) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
  if (rank == 1) check("persistent", got, 0);

  MPI_Ialltoallw(words, ones, places, types, taken, ones, places, types, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check("ialltoallw", taken[other], other);
  MPI_Reduce_scatter(counts[0] == 3 ? (int[4]){1, 1, 1, 1} : NULL, into, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check("reduce_scatter", into[0], 2);

  /* Three integers arrive in a buffer of ten. */
  if (rank == 0) MPI_Send(from, 3, MPI_INT, 1, 2, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Mprobe(0, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(room, 10, MPI_INT, &message, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    check("mrecv", n, 3);
  }
  MPI_Sendrecv(from, 3, MPI_INT, other, 3, room, 10, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(from, 3, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD); /* sends nothing */

  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &period, 0, &grid);
  MPI_Neighbor_allgather(&mine, 1, MPI_DOUBLE, line, 1, MPI_DOUBLE, grid); /* each has one neighbour */
  check("neighbor_allgather", (long)line[other], other + 1);
  MPI_Comm_free(&grid);

  MPI_Win_create(words, sizeof words, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(0, window);
  MPI_Get_accumulate(NULL, ignored, MPI_DATATYPE_NULL, &got, 1, MPI_INT, other, 0, 1, MPI_INT, MPI_NO_OP, window);
  MPI_Win_flush_all(window);
  MPI_Win_unlock_all(window);
  check("get_accumulate", got, other);
  MPI_Win_free(&window);

  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, rank * 12, from, 3, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, 12, room, 10, MPI_INT, MPI_STATUS_IGNORE); /* the file holds three */
  check("file", room[2], 1);
  MPI_File_close(&file);

  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  none = MPI_Send(from, 3, MPI_DATATYPE_NULL, 1, 2, MPI_COMM_WORLD);
  check("an error is returned", none != MPI_SUCCESS, 1);
}

int main(int argc, char** argv) {
  int n = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (n != 2 || argc != 2) MPI_Abort(MPI_COMM_WORLD, 4);
  other = 1 - rank;
  in_place();
  between_groups();
  others(argv[1]);
  MPI_Finalize();
  if (rank == 0) printf("all calls are done\n");
  return 0;
}
