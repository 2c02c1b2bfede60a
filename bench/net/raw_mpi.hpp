// The installed MPI, for comparison: loaded while a part needs it, between the same processes.
#pragma once

#include <memory>
#include <string>

namespace plx::bench {

class raw_mpi {
 public:
  /// Called by every process of the job. Returns null without MPI, with the reason in `why`, in one line.
  static std::unique_ptr<raw_mpi> open(std::string& why);
  /// Called by every process of the job.
  ~raw_mpi();
  raw_mpi(const raw_mpi&) = delete;
  raw_mpi& operator=(const raw_mpi&) = delete;

  /// n calls of MPI_Allreduce of one double, one after another, after a barrier. Seconds of all of them.
  double all_reduce(int n);

 private:
  struct parts;
  explicit raw_mpi(std::unique_ptr<parts> p);
  const std::unique_ptr<parts> parts_;
};

}  // namespace plx::bench
