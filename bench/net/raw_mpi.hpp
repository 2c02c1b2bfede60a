// The installed MPI, for comparison: loaded while a part needs it, between the same processes.
#pragma once

#include <memory>
#include <string>

namespace plx::bench {

class raw_mpi {
 public:
  /// By every process of the job. Null where there is no MPI: `why` says it in one line.
  static std::unique_ptr<raw_mpi> open(std::string& why);
  /// By every process of the job.
  ~raw_mpi();
  raw_mpi(const raw_mpi&) = delete;
  raw_mpi& operator=(const raw_mpi&) = delete;

  /// So many MPI_Allreduce of one double, one after the other, behind a barrier. Seconds of all of them.
  double all_reduce(int n);

 private:
  struct parts;
  explicit raw_mpi(std::unique_ptr<parts> p);
  const std::unique_ptr<parts> parts_;
};

}  // namespace plx::bench
