// The libraries that calls are compared with, between the same two processes. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace plx::bench {

/// UCX's active messages without any layer on top, between this process and one other: the minimum cost of a message.
/// The same as ucx_perftest's ucp_am_lat and ucp_am_bw, within the program that is compared with it.
/// The caller asks UCX for progress until it is done.
class raw_ucx {
 public:
  /// Returns null if UCX cannot be used, with the reason in `why`, in one line.
  static std::unique_ptr<raw_ucx> open(std::string& why);
  ~raw_ucx();
  raw_ucx(const raw_ucx&) = delete;
  raw_ucx& operator=(const raw_ucx&) = delete;

  /// The data that the other process needs for connect().
  [[nodiscard]] std::string address() const;
  void connect(const std::string& address_of_other);

  /// Round trips of messages of 8 bytes; one process calls ping(), the other pong(). Seconds of all of them.
  double ping(int n);
  void pong(int n);
  /// n messages of `bytes` bytes one way, four in flight, and a short one back. Seconds of all of it. They are received
  /// in one buffer, or in several in turn.
  double push(int n, std::size_t bytes);
  void pull(int n, std::size_t bytes, std::size_t places = 1);

 private:
  struct parts;
  explicit raw_ucx(std::unique_ptr<parts> p);
  const std::unique_ptr<parts> parts_;
};

/// Puts and atomic operations of UCX without any layer on top, on memory of the other process that UCX allocated: as
/// ucx_perftest's ucp_put_bw, ucp_fadd. Errors end the program.
class raw_memory {
 public:
  static std::unique_ptr<raw_memory> open(std::size_t bytes, std::string& why);
  ~raw_memory();
  raw_memory(const raw_memory&) = delete;
  raw_memory& operator=(const raw_memory&) = delete;

  /// The data that the other process needs for connect().
  [[nodiscard]] std::string address() const;
  void connect(const std::string& address_of_other);
  /// n puts, at most `window` in flight, and a flush. Seconds of all of it.
  double put(int n, std::size_t bytes, unsigned window);
  /// n additions to one word, at most `window` in flight. Seconds of all of them.
  double fetch_add(int n, unsigned window);
  /// Asks UCX for progress, for operations of the other process.
  void progress();

 private:
  struct parts;
  explicit raw_memory(std::unique_ptr<parts> p);
  const std::unique_ptr<parts> parts_;
};

/// The installed MPI, for comparison: loaded while a part needs it, between the same processes.
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

/// A separate UCX connection between both localities, for comparison: the root runs a measurement and asks the other
/// locality to run its counterpart.
class beside_ucx {
 public:
  /// Called by the root, in a task. Without UCX, here() is false and a line reports why.
  beside_ucx();
  ~beside_ucx();
  [[nodiscard]] bool here() const { return mine_ != nullptr; }
  /// Round trip time, us.
  double round_trip_us(int n);
  /// One-way messages, bytes per second; to one buffer or to several in turn.
  double bytes_per_s(int n, std::size_t bytes, std::size_t places = 1);

 private:
  std::unique_ptr<raw_ucx> mine_;
};

/// raw_memory between both localities; the other locality asks for progress during each measurement.
class beside_memory {
 public:
  /// Called by the root, in a task. Without UCX, here() is false and a line reports why.
  explicit beside_memory(std::size_t bytes);
  ~beside_memory();
  [[nodiscard]] bool here() const { return mine_ != nullptr; }
  /// Bytes per second of puts.
  double put_bytes_per_s(int n, std::size_t bytes, unsigned window);
  /// Additions per second.
  double additions_per_s(int n, unsigned window);

 private:
  template <class F>
  double measured(F f);
  std::unique_ptr<raw_memory> mine_;
};

}  // namespace plx::bench
