// Direct access to memory of other localities by UCX: puts, gets and atomic operations of its own, which use shared
// memory within a host, InfiniBand where there is such, and messages that UCX answers inside progress() otherwise
// (TCP).
//
// Memory is allocated by UCX; within a host it is shared memory, which attach() maps into this process. Accesses have a
// UCX context and worker of their own, made by the first create(), so that messages are the same with and without them.
// A put is complete when a flush of its endpoint that began after it is; one flush at a time covers all puts before it.
//
// Thread safety: create(), destroy(), attach(), detach() and start() from any thread; the rest with the lock of the
// transport, as all state. Cost: that of UCX. Example: net/window/accesses.cpp; tests/net/test_windows.py
// tests it between processes.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "net/transport/remote_memory.hpp"

namespace plx::net::detail {

struct ucx_library;
class ucx_transport;

class ucx_memory final : public remote_memory {
 public:
  explicit ucx_memory(ucx_transport& t);
  ~ucx_memory() override;

  result<exported> create(std::size_t size_bytes) override;
  void destroy(void* handle) noexcept override;
  result<attached> attach(locality_id owner, std::string_view key) override;
  void detach(void* key) noexcept override;
  void start(locality_id to, remote_access& a) noexcept override;

  // For the transport.
  [[nodiscard]] bool is_open() const noexcept { return worker_ != nullptr; }
  void issue(remote_access& a) noexcept;
  bool progress() noexcept;
  [[nodiscard]] bool arm() noexcept;
  void lose(locality_id who) noexcept;
  /// UCX is no longer called: all accesses end.
  void give_up_all() noexcept;

 private:
  class locked;
  struct key;
  struct peer {
    ucx_memory* owner = nullptr;
    ucp_ep_h endpoint = nullptr;
    remote_access* first = nullptr;                  // a list of those in progress
    std::vector<remote_access*> unflushed, flushed;  // puts that no flush covers yet; those of the flush in progress
    bool lost = false;
  };

  result<void> open();
  /// Like create(), but the memory is not zero yet.
  result<exported> create_locked(std::size_t size_bytes);
  result<attached> attach_locked(locality_id owner, std::string_view key_text);
  [[nodiscard]] error failed(std::string_view what, ucs_status_t s) const;
  ucs_status_t connect(peer& p, locality_id who, std::string_view address) noexcept;
  [[nodiscard]] bool is_native(ucp_ep_h endpoint) const;
  void begin(peer& p, remote_access& a) noexcept;
  void flush(peer& p) noexcept;
  static void on_flushed(void* request, ucs_status_t status, void* of);
  static void end_flush(peer& p, bool ok) noexcept;
  static void on_part(void* request, ucs_status_t status, void* access);
  void part_ended(remote_access& a, bool ok) noexcept;
  void finish(remote_access& a) noexcept;

  ucx_transport& transport_;
  const ucx_library& ucx_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::vector<peer> peers_;
  std::vector<locality_id> to_flush_;     // peers with unflushed puts and no flush in progress
  std::vector<remote_access*> finished_;  // within issue(): progress() calls their `done`
  bool issuing_ = false, stopped_ = false;
  bool keeps_worker_ = false;  // UCX may still use memory of accesses: the worker is not destroyed
};

}  // namespace plx::net::detail
