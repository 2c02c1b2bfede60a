// UCX's active messages with nothing upon them, between this process and one other: what a message costs at least. The
// same as ucx_perftest's ucp_am_lat and ucp_am_bw, in the program that is compared with it.
//
// Not thread-safe; whoever calls it asks UCX for progress until it is done.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace plx::bench {

class raw_ucx {
 public:
  /// Null where UCX cannot be used: `why` says it in one line.
  static std::unique_ptr<raw_ucx> open(std::string& why);
  ~raw_ucx();
  raw_ucx(const raw_ucx&) = delete;
  raw_ucx& operator=(const raw_ucx&) = delete;

  /// What the other process needs to connect().
  [[nodiscard]] std::string address() const;
  void connect(const std::string& address_of_other);

  /// Messages of 8 bytes, there and back; the one calls ping(), the other pong(). Seconds of all of them.
  double ping(int n);
  void pong(int n);
  /// n messages of so many bytes one way, four under way at a time, and a short one back. Seconds of all of it. They
  /// come to one place of memory, or to several in turn.
  double push(int n, std::size_t bytes);
  void pull(int n, std::size_t bytes, std::size_t places = 1);

 private:
  struct parts;
  explicit raw_ucx(std::unique_ptr<parts> p);
  const std::unique_ptr<parts> parts_;
};

}  // namespace plx::bench
