// OpenMP, MPI and Kokkos under plx-exec: numbers of calls and bytes are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "run_program.hpp"

using testing::HasSubstr;

TEST(Models, OpenMpTellsItsRegionsLoopsAndBarriers) {
  if (!exists(PLX_BIN "/openmp_program")) GTEST_SKIP() << "no clang with LLVM's OpenMP here; GCC's does not tell tools";
  const std::string folder = fresh_folder();
  const outcome o = run("%BIN%/plx-exec -q -o " + folder + " %BIN%/openmp_program");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.out, run("%BIN%/openmp_program").out);
  const table profile = read_csv(folder + "/profile.csv");
  EXPECT_EQ(sum(where(profile, "name", "omp parallel in "), "calls"), 10);
  EXPECT_EQ(sum(where(profile, "name", "omp for in"), "calls"), 10);
  EXPECT_EQ(sum(where(profile, "name", "omp single in"), "calls"), 5);
  EXPECT_EQ(sum(where(profile, "name", "omp task"), "calls"), 4);
  EXPECT_GE(sum(where(read_csv(folder + "/waits.csv"), "kind", "omp_barrier"), "waits"), 20);
}

TEST(Models, OpenMpTasksAreCountedOnceAndTheirWaitsAreThere) {
  if (!exists(PLX_BIN "/openmp_program")) GTEST_SKIP() << "no clang with LLVM's OpenMP here";
  const std::string folder = fresh_folder();
  const outcome o = run("%BIN%/plx-exec -o " + folder + " %BIN%/openmp_program tasks");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.err, testing::Not(HasSubstr("timers")));  // all were stopped where they were started
  long made = 0, waited = 0, result = 0;
  ASSERT_EQ(std::sscanf(o.out.c_str(), "%ld %ld %ld", &made, &waited, &result), 3) << o.out;
  EXPECT_EQ(result, 144);
  const table profile = read_csv(folder + "/profile.csv"), waits = read_csv(folder + "/waits.csv");
  EXPECT_EQ(sum(where(profile, "name", "omp task in "), "calls"), made + 20);  // 10 that move, and one within each
  EXPECT_EQ(sum(where(waits, "kind", "omp_taskwait"), "waits"), waited + 10);
  EXPECT_LT(sum(where(waits, "kind", "omp_lock"), "total_s"), 0.01);  // after it, 20 ms of work
  // The time of ten tasks that sleep 500 us each is theirs, whatever thread they were on.
  EXPECT_GT(sum(where(read_csv(folder + "/timers.csv"), "name", "omp task in main"), "inclusive_s"), 10 * 500e-6);
}

TEST(Models, MpiCountsCallsAndBytesPerRank) {
  if (!exists(PLX_BIN "/mpi_program")) GTEST_SKIP() << "no MPI here";
  const std::string folder = fresh_folder();
  const std::string mpirun = "mpirun -n 2 --oversubscribe --allow-run-as-root ";
  const outcome o = run(mpirun + "%BIN%/plx-exec -q -m -o " + folder + " %BIN%/mpi_program");
  if (o.exit_code != 0 && o.err.find("mpirun") != std::string::npos) GTEST_SKIP() << "mpirun cannot be used: " << o.err;
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("sum 2"));
  for (const bool first : {true, false}) {
    const std::string rank = folder + (first ? "/rank-0" : "/rank-1");
    const table profile = read_csv(rank + "/profile.csv"), counters = read_csv(rank + "/counters.csv");
    EXPECT_EQ(sum(where(profile, "name", "MPI_Send"), "calls"), 10);
    EXPECT_EQ(sum(where(profile, "name", "MPI_Recv"), "calls"), 10);
    EXPECT_EQ(sum(where(profile, "name", "MPI_Allreduce"), "calls"), 3);
    EXPECT_EQ(sum(where(profile, "name", "MPI_Barrier"), "calls"), 1);
    EXPECT_EQ(sum(where(counters, "name", "/mpi/sent/Send"), "value"), first ? 8000 : 4000);
    EXPECT_EQ(sum(where(counters, "name", "/mpi/received/Recv"), "value"), first ? 4000 : 8000);
    EXPECT_EQ(sum(where(counters, "name", "/mpi/sent/Allreduce"), "value"), 24);
  }
}

TEST(Models, KokkosTellsKernelsRegionsCopiesAndMemory) {
  const auto check = [](const std::string& folder) {
    const table profile = read_csv(folder + "/profile.csv"), counters = read_csv(folder + "/counters.csv");
    EXPECT_EQ(sum(where(profile, "name", "axpy"), "calls"), 7);
    EXPECT_EQ(sum(where(profile, "name", "dot"), "calls"), 7);
    EXPECT_EQ(sum(where(profile, "name", "step"), "calls"), 1);
    EXPECT_EQ(sum(where(profile, "name", "deep_copy Host to Host"), "calls"), 7);
    EXPECT_EQ(sum(where(counters, "name", "/kokkos/deep-copy/bytes"), "value"), 700);
    EXPECT_EQ(sum(where(counters, "name", "/kokkos/memory/Host"), "value"), 500);
    EXPECT_EQ(sum(where(counters, "name", "/kokkos/allocations/Host"), "value"), 2);
  };
  const std::string with = fresh_folder(), without = with + "/alone";
  const outcome o = run("%BIN%/plx-exec -q -o " + with + " %BIN%/kokkos_program");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.out, "kernels 14\n");
  check(with);
  const outcome alone =
      run("KOKKOS_TOOLS_LIBS=%BIN%/libplx-exec.so PLX_PROFILE=csv PLX_OUTPUT=" + without + " %BIN%/kokkos_program");
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  check(without);
}
