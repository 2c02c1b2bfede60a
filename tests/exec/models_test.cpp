// OpenMP, MPI and Kokkos under plx-exec, with known numbers of calls and bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "run_program.hpp"

using testing::HasSubstr;

TEST(Models, OpenMpReportsRegionsLoopsAndBarriers) {
  if (!exists(PLX_BIN "/openmp_program")) GTEST_SKIP() << "no clang with LLVM's OpenMP here";
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

TEST(Models, OpenMpTasksAreCountedOnceAndTheirWaitsAreRecorded) {
  if (!exists(PLX_BIN "/openmp_program")) GTEST_SKIP() << "no clang with LLVM's OpenMP here";
  const std::string folder = fresh_folder();
  const outcome o = run("%BIN%/plx-exec -o " + folder + " %BIN%/openmp_program tasks");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.err, testing::Not(HasSubstr("timers")));  // each was stopped on the thread that started it
  long made = 0, waited = 0, result = 0;
  ASSERT_EQ(std::sscanf(o.out.c_str(), "%ld %ld %ld", &made, &waited, &result), 3) << o.out;
  EXPECT_EQ(result, 144);
  const table profile = read_csv(folder + "/profile.csv"), waits = read_csv(folder + "/waits.csv");
  EXPECT_EQ(sum(where(profile, "name", "omp task in "), "calls"), made + 20);  // 10 that migrate, and one within each
  EXPECT_EQ(sum(where(waits, "kind", "omp_taskwait"), "waits"), waited + 10);
  EXPECT_LT(sum(where(waits, "kind", "omp_lock"), "total_s"), 0.01);  // 20 ms of work follow the lock
  // Ten tasks sleep 500 us each; the time is accounted to them on any thread.
  EXPECT_GT(sum(where(read_csv(folder + "/timers.csv"), "name", "omp task in main"), "inclusive_s"), 10 * 500e-6);
}

TEST(Models, OpenMpOfGccHasRegionsTasksAndWaits) {
  if (!exists(PLX_BIN "/gomp_program")) GTEST_SKIP() << "no gcc with OpenMP here";
  const std::string folder = fresh_folder();
  // Two threads, which sleep while they wait.
  const std::string settings = "env -u OMP_THREAD_LIMIT -u OMP_DYNAMIC -u GOMP_SPINCOUNT OMP_WAIT_POLICY=passive ";
  const outcome alone = run(settings + "%BIN%/gomp_program");
  const outcome o = run(settings + "%BIN%/plx-exec -o " + folder + " %BIN%/gomp_program");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.out, alone.out);
  EXPECT_THAT(o.err, testing::Not(HasSubstr("timers")));  // each was stopped on the thread that started it
  const table profile = read_csv(folder + "/profile.csv"), waits = read_csv(folder + "/waits.csv");
  EXPECT_EQ(sum(where(profile, "name", "omp parallel in unequal_regions"), "calls"), 10);
  EXPECT_EQ(sum(where(profile, "name", "omp parallel in loop"), "calls"), 4);
  EXPECT_EQ(sum(where(profile, "name", "omp task in fibonacci"), "calls"), 2 * 88);
  EXPECT_EQ(sum(where(profile, "name", "omp task in tasks_with_data"), "calls"), 20);
  EXPECT_EQ(sum(where(profile, "name", "omp task in loop_of_tasks"), "calls"), 10);
  EXPECT_EQ(sum(where(waits, "kind", "omp_taskwait"), "waits"), 88 + 1);
  EXPECT_GE(sum(where(where(waits, "kind", "omp_barrier"), "name", "in unequal_regions"), "waits"), 9);
  // The second thread waits while the first computes for 5 x 60 ms, all but the last in the start of the next region.
  const table threads = read_csv(folder + "/threads.csv");
  ASSERT_EQ(threads.size(), 2u);
  const table second = where(threads, "function", "libgomp");
  const double wait_s = sum(second, "wait_s"), lived_s = sum(second, "end_s") - sum(second, "begin_s");
  EXPECT_GE(wait_s, 4 * 0.06);
  EXPECT_LE(sum(where(profile, "name", "libgomp"), "total_s"), lived_s - wait_s + 1e-6) << "waits are not its own time";
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

/// Each rank has the files of a run of its own, beside a trace that belongs to the job with -m.
TEST(Models, RanksHaveFlameGraphsAndOneJob) {
  if (!exists(PLX_BIN "/mpi_program") || !exists(PLX_BIN "/plx-trace")) GTEST_SKIP() << "no MPI here";
  const std::string folder = fresh_folder();
  const std::string mpirun = "mpirun -n 2 --oversubscribe --allow-run-as-root ";
  for (const std::string with : {"-m ", ""}) {
    const std::string files = folder + (with.empty() ? "/alone" : "/job");
    const outcome o = run(mpirun + "%BIN%/plx-exec -q -t " + with + "-o " + files + " %BIN%/mpi_program");
    if (o.exit_code != 0 && o.err.find("mpirun") != std::string::npos)
      GTEST_SKIP() << "mpirun cannot be used: " << o.err;
    ASSERT_EQ(o.exit_code, 0) << o.err;
    for (const char* rank : {"/rank-0", "/rank-1"}) EXPECT_TRUE(exists(files + rank + "/flame.svg")) << files << rank;
    const outcome read = run("%BIN%/plx-trace stats " + files);
    EXPECT_EQ(read.exit_code == 0, !with.empty()) << read.err;
  }
}

TEST(Models, MpiIgnoresInsignificantArguments) {
  if (!exists(PLX_BIN "/mpi_calls")) GTEST_SKIP() << "no MPI here";
  const std::string folder = fresh_folder();
  const std::string mpirun = "mpirun -n 2 --oversubscribe --allow-run-as-root ";
  const std::string line = " %BIN%/mpi_calls " + folder + "/shared";
  const outcome alone = run(mpirun + line);
  if (alone.exit_code != 0 && alone.err.find("mpirun") != std::string::npos)
    GTEST_SKIP() << "mpirun cannot be used: " << alone.err;
  const outcome o = run(mpirun + "%BIN%/plx-exec -q -m -o " + folder + "/run" + line);
  ASSERT_EQ(o.exit_code, 0) << o.out << o.err;
  EXPECT_EQ(o.out, alone.out);
  for (const int rank : {0, 1}) {
    const std::string files = folder + "/run/rank-" + std::to_string(rank);
    const table profile = read_csv(files + "/profile.csv"), counters = read_csv(files + "/counters.csv");
    const auto calls = [&](const std::string& name) {
      double n = 0;
      for (const auto& row : profile)
        if (row.at("name") == name) n += std::strtod(row.at("calls").c_str(), nullptr);
      return n;
    };
    const auto bytes = [&](const std::string& name) {
      double n = 0;
      for (const auto& row : counters)
        if (row.at("name") == "/mpi/" + name) n += std::strtod(row.at("value").c_str(), nullptr);
      return n;
    };
    // Functions of all parts of the interface are timed.
    for (const char* name : {"Comm_size", "Intercomm_create", "Ialltoallw", "Win_lock_all", "Win_flush_all",
                             "File_open", "Cart_create", "Neighbor_allgather", "Finalize"})
      EXPECT_EQ(calls(std::string("MPI_") + name), 1) << name;
    EXPECT_EQ(calls("MPI_Start"), 4);
    EXPECT_EQ(calls("MPI_Mprobe"), rank);
    // Both ranks.
    for (const char* name : {"Alltoallv", "Alltoall"}) {
      EXPECT_EQ(bytes(std::string("sent/") + name), 8) << name;
      EXPECT_EQ(bytes(std::string("received/") + name), 8) << name;
    }
    for (const char* name : {"Allgather", "Allgatherv"}) {
      EXPECT_EQ(bytes(std::string("sent/") + name), 4) << name;
      EXPECT_EQ(bytes(std::string("received/") + name), 8) << name;
    }
    EXPECT_EQ(bytes("sent/Ialltoallw"), 8);
    EXPECT_EQ(bytes("sent/Reduce_scatter"), 16);
    EXPECT_EQ(bytes("received/Reduce_scatter"), rank == 0 ? 12 : 4);
    EXPECT_EQ(bytes("sent/Sendrecv"), 12);
    EXPECT_EQ(bytes("received/Sendrecv"), 12);  // of 40
    EXPECT_EQ(bytes("sent/Neighbor_allgather"), 8);
    EXPECT_EQ(bytes("received/Neighbor_allgather"), 8);  // the other neighbour is MPI_PROC_NULL
    EXPECT_EQ(bytes("sent/Get_accumulate"), 0);
    EXPECT_EQ(bytes("received/Get_accumulate"), 4);
    EXPECT_EQ(bytes("sent/File_write_at_all"), 12);
    EXPECT_EQ(bytes("received/File_read_at"), 12);
    // Rooted operations within a group, and between groups.
    EXPECT_EQ(bytes("sent/Gatherv"), 4);
    EXPECT_EQ(bytes("received/Gatherv"), rank == 0 ? 8 : 0);
    EXPECT_EQ(bytes("sent/Scatterv"), rank == 0 ? 8 : 0);
    EXPECT_EQ(bytes("received/Scatterv"), 4);
    EXPECT_EQ(bytes("sent/Bcast"), rank == 1 ? 64 : 0);
    EXPECT_EQ(bytes("received/Bcast"), rank == 0 ? 64 : 0);
    EXPECT_EQ(bytes("sent/Gather"), 4 + (rank == 1 ? 64 : 0));
    EXPECT_EQ(bytes("received/Gather"), rank == 0 ? 8 + 64 : 0);
    EXPECT_EQ(bytes("sent/Reduce"), 4 + (rank == 1 ? 64 : 0));
    EXPECT_EQ(bytes("received/Reduce"), rank == 0 ? 4 + 64 : 0);
    EXPECT_EQ(bytes("sent/Send"), rank == 0 ? 12 : 0);
    EXPECT_EQ(bytes("received/Mrecv"), rank == 1 ? 12 : 0);  // of 40
  }
}

TEST(Models, KokkosReportsKernelsRegionsCopiesAndMemory) {
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

TEST(Models, NvtxReportsRangesOfDomainsAndThreads) {
  if (!exists(PLX_BIN "/nvtx_program")) GTEST_SKIP() << "no headers of NVTX here";
  const auto check = [](const std::string& folder) {
    const table timers = read_csv(folder + "/timers.csv"), samples = read_csv(folder + "/samples.csv");
    const auto calls = [&](const char* name) { return sum(where(timers, "name", name), "calls"); };
    EXPECT_EQ(calls("step"), 1);
    EXPECT_EQ(calls("flux"), 7);
    EXPECT_EQ(calls("solver: sweep"), 7);
    EXPECT_EQ(calls("solver: plain"), 1);
    EXPECT_EQ(calls("gr\u00f6\u00dfe"), 1);
    EXPECT_EQ(calls("of the thread"), 3);
    EXPECT_EQ(calls("deep"), 128);  // of 200
    EXPECT_GE(sum(where(timers, "name", "step"), "inclusive_s"), 0.02);
    EXPECT_EQ(sum(where(samples, "name", "request"), "samples"), 1);
    EXPECT_GE(sum(where(samples, "name", "request"), "mean"), 0.01);
    EXPECT_EQ(sum(where(samples, "name", "solver: order"), "samples"), 1);
  };
  const std::string with = fresh_folder(), without = with + "/alone";
  const outcome o = run("env -u NVTX_INJECTION64_PATH %BIN%/plx-exec -o " + with + " %BIN%/nvtx_program");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_EQ(o.out, "levels 7, empty 1\n");
  EXPECT_THAT(o.err, testing::Not(HasSubstr("timers")));  // each was stopped where it was the innermost one
  check(with);
  const outcome alone =
      run("NVTX_INJECTION64_PATH=%BIN%/libplx-exec.so PLX_PROFILE=csv PLX_OUTPUT=" + without + " %BIN%/nvtx_program");
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  check(without);
  EXPECT_EQ(run("NVTX_INJECTION64_PATH=%BIN%/libplx-exec.so %BIN%/nvtx_program").exit_code, 0);  // nothing is requested
}
