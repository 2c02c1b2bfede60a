/* Two ranks with known numbers of calls: 10 messages of 100 doubles in both directions, 3 sums of 1 double. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  double block[100] = {0}, sum = 0, one = 1;
  int rank = 0, i = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (i = 0; i < 10; ++i) {
    if (rank == 0) MPI_Send(block, 100, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(block, 100, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Recv(block, 100, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(block, 50, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  }
  for (i = 0; i < 3; ++i) MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("sum %g\n", sum);
  MPI_Finalize();
  return 0;
}
