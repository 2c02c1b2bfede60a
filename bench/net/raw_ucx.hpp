// UCX's active messages without any layer on top, between this process and one other: the minimum cost of a message.
// The same as ucx_perftest's ucp_am_lat and ucp_am_bw, within the program that is compared with it.
//
// Not thread-safe; the caller asks UCX for progress until it is done.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace plx::bench {

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

}  // namespace plx::bench
