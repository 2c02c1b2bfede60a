// Direct access to the memory of other localities: reads, writes and atomic operations that the receiver's program
// takes no part in. The capability of a transport that net/window.hpp uses where all localities have it.
//
// Thread safety: everything. Cost: create() and attach() some microseconds to milliseconds; start() that of the
// underlying library. Implementation: net/transport/ucx/ucx_memory.hpp. Example: net/window/accesses.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "net/transport/transport.hpp"

namespace plx::net {

enum class access_kind : std::uint8_t { put, get, fetch_add, exchange, compare_exchange };

/// An access to the memory of another locality. It and the memory that it names stay valid until `done` is called.
struct remote_access : transport_request {
  remote_access() noexcept { is_access = true; }

  access_kind kind = access_kind::put;
  std::uint8_t word_bytes = 0;  ///< of an atomic operation: 4 or 8
  void* key = nullptr;          ///< of the memory, from attach()
  std::uint64_t offset = 0;     ///< in that memory, bytes
  void* data = nullptr;         ///< source of a put, destination of a get
  std::size_t size_bytes = 0;   ///< of these
  std::uint64_t operand = 0;    ///< of an atomic operation: added, or the new value
  std::uint64_t expected = 0;   ///< of compare_exchange
  std::uint64_t result = 0;     ///< of an atomic operation: the previous value
  /// The access is complete: a put has changed the remote memory, the data of a get have arrived. Not ok: it failed, or
  /// its locality is lost. Called once, by progress() or stop(), or by start() after stop(). Must not wait.
  void (*done)(remote_access*, bool ok) noexcept = nullptr;
  /// Its locality is lost, but the underlying library may still use the memory: `done`, not ok, follows later. Must not
  /// wait.
  void (*lost)(remote_access*) noexcept = nullptr;

  remote_access *before = nullptr, *after = nullptr;  ///< used by the transport, as are all members below
  void* issuer = nullptr;
  unsigned parts = 0;
  bool succeeded = true, given_up = false;
};

class remote_memory {
 public:
  virtual ~remote_memory() = default;

  /// Memory of this locality that others can access.
  struct exported {
    void* data = nullptr;    ///< zeros
    void* handle = nullptr;  ///< for destroy()
    std::string key;         ///< for attach() by other localities
  };
  /// Errors: one line. Requires: size_bytes > 0.
  virtual result<exported> create(std::size_t size_bytes) = 0;
  /// Requires: no access to it is in progress.
  virtual void destroy(void* handle) noexcept = 0;

  /// Memory of another locality, or of this one.
  struct attached {
    void* key = nullptr;          ///< for accesses and detach()
    std::byte* mapped = nullptr;  ///< the memory itself, if it can be accessed by this process directly
  };
  /// Errors: one line.
  virtual result<attached> attach(locality_id owner, std::string_view key) = 0;
  /// Requires: no access by this key is in progress.
  virtual void detach(void* key) noexcept = 0;

  /// Begins an access. If its locality is lost, `done` is called, not ok.
  virtual void start(locality_id to, remote_access& a) noexcept = 0;
};

}  // namespace plx::net
