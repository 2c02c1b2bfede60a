// A collective call in progress on this locality, and the group of localities that it belongs to.
//
// A call is a coroutine (algorithms.hpp) that sends payloads to the other members and awaits theirs. An arriving
// payload resumes the coroutine that awaits it directly in the poller that received it, unless the call is heavy.
// Payloads that arrive before the call was made here are kept in the group. Calls of different members are matched by
// their sequence number in the group: all members make the same calls in the same order.
//
// Thread safety: everything. A call's coroutine runs on one thread at a time. Cost: a lock for each arrival. Example:
// net/test/collectives_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "net/buffer.hpp"
#include "net/core/wire.hpp"
#include "net/global.hpp"
#include "net/locality.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/core/task.hpp"
#include "rt/future/awaiters.hpp"

namespace plx {

// The serialized bytes of one value: a few bytes in place, more in memory that copies share. Handles in the value
// (net/global.hpp) are kept by the payload as handles until it is destroyed, so that their objects live until the value
// has been read.
//
// Thread safety: copies may be used by several threads while none writes. Cost: up to in_place_bytes a copy of the
// bytes; otherwise one allocation. Example: net/group/test/payload_test.cpp

template <>
inline constexpr bool is_bitwise<std::byte> = true;
}  // namespace plx

namespace plx::net {

class payload;
template <>
struct wire_codec<payload>;

class payload {
 public:
  static constexpr std::size_t in_place_bytes = 48;

  payload() noexcept = default;
  /// `size_bytes` bytes; not initialised if there are more than in_place_bytes.
  explicit payload(std::size_t size_bytes) : size_(size_bytes) {
    if (size_ > in_place_bytes) there_ = buffer<std::byte>(size_);
  }
  explicit payload(std::span<const std::byte> bytes) : payload(bytes.size()) {
    if (!bytes.empty()) std::memcpy(data(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::byte* data() noexcept { return size_ > in_place_bytes ? there_.data() : here_.data(); }
  [[nodiscard]] const std::byte* data() const noexcept { return size_ > in_place_bytes ? there_.data() : here_.data(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data(), size_}; }
  /// A copy that does not share its memory.
  [[nodiscard]] payload clone() const {
    payload p(bytes());
    p.handles_ = handles_;
    return p;
  }
  /// The number of handles in it.
  [[nodiscard]] std::size_t handle_count() const noexcept { return handles_ == nullptr ? 0 : handles_->size(); }
  /// Adds `n` handles of `from`, beginning with the i-th. Requires: no copy of this payload has been made.
  void add_handles(const payload& from, std::size_t i, std::size_t n) {
    for (const std::size_t end = i + n; i < end; ++i) own_handles().add(from.handles_->at(i));
  }

  /// The serialized value, including its large arrays.
  template <class T>
  static payload of(const T& value) {
    if constexpr (is_bitwise<T>) {
      payload p(sizeof(T));
      std::memcpy(p.data(), &value, sizeof(T));
      return p;
    } else {
      payload p;
      {
        detail::held_handles counted;
        wire_writer counting({}, nullptr, nullptr, &counted);
        net::write(counting, value);
        p = payload(counting.used());
      }
      auto handles = std::make_shared<detail::held_handles>();
      wire_writer w({p.data(), p.size()}, nullptr, nullptr, handles.get());
      net::write(w, value);
      if (handles->size() != 0) p.handles_ = std::move(handles);
      return p;
    }
  }
  /// Deserializes the value. Throws std::runtime_error if the bytes are not those of a T.
  template <class T>
  [[nodiscard]] T as() const {
    T value{};
    static const detail::held_handles none;
    wire_reader r(bytes(), {}, handles_ == nullptr ? &none : handles_.get());
    net::read(r, value);
    if (!r.complete())
      throw std::runtime_error(
          "another locality sent a value of an unexpected type: do all members call with the same types?");
    return value;
  }

 private:
  friend struct wire_codec<payload>;
  detail::held_handles& own_handles() {
    if (handles_ == nullptr) handles_ = std::make_shared<detail::held_handles>();
    return *handles_;
  }

  std::size_t size_ = 0;
  std::array<std::byte, in_place_bytes> here_{};
  buffer<std::byte> there_;
  std::shared_ptr<detail::held_handles> handles_;  // null: no handles
};

template <>
struct wire_codec<payload> {
  // Flag in the number of bytes: handles follow, preceded by their number.
  static constexpr std::uint64_t with_handles = std::uint64_t{1} << 63;

  static void write(wire_writer& w, const payload& p) {
    const std::uint64_t handles = p.handle_count();
    const std::uint64_t n = p.size() | (handles != 0 ? with_handles : 0);
    w.bytes(&n, sizeof n);
    w.contiguous(p.data(), p.size());
    if (handles == 0) return;
    net::write(w, handles);
    for (std::size_t i = 0; i < handles; ++i) detail::write_handle(w, p.handles_->at(i));
  }
  static void read(wire_reader& r, payload& p) {
    const std::uint64_t n = r.count(0), size = n & ~with_handles;
    if (!r.has_contiguous(size)) return r.fail();
    p = payload(static_cast<std::size_t>(size));
    r.contiguous(p.data(), p.size());
    if ((n & with_handles) == 0) return;
    for (std::size_t handles = r.count(sizeof(gid)); handles > 0 && !r.failed(); --handles) {
      detail::reference* h = detail::read_handle(r, nullptr);
      if (h == nullptr) return r.fail();
      p.own_handles().adopt(h);
    }
  }
};

class node;
}  // namespace plx::net

namespace plx::net::collective {

class call;
class group;
class groups;

/// The operation; members that make different ones at the same position get an error that says so.
enum class kind : std::uint16_t {
  none,
  barrier,
  broadcast,
  reduce,
  all_reduce,
  gather,
  all_gather,
  scatter,
  all_to_all,
  inclusive_scan,
  exclusive_scan,
  all_reduce_halves,
  all_reduce_exchanged,
  reduce_scatter,
  reduce_scatter_exchanged
};
inline constexpr kind last_kind = kind::reduce_scatter_exchanged;
[[nodiscard]] const char* name_of(kind k) noexcept;

/// The destination of a payload.
struct address {
  std::uint64_t group = 0;  ///< hash of the group's name and members
  std::uint64_t call = 0;   ///< sequence number in the group
  std::uint32_t rank = 0;   ///< of the sender
  std::uint16_t step = 0;   ///< of the algorithm
  kind what = kind::none;
};

static_assert(std::has_unique_object_representations_v<address>, "addresses are compared as bytes");

/// Delivers a received raw message, an address and a payload, to its group. Called as from a poller.
void deliver_raw(node& n, locality_id from, std::span<const std::byte> message) noexcept;

/// A payload that arrived before it was awaited.
struct early_payload {
  early_payload* next = nullptr;
  std::uint32_t rank = 0;
  std::uint16_t step = 0;
  payload contents;
};

/// The awaitable of a payload: payload p = co_await c.from(rank, step);
class reception {
 public:
  reception(call& c, std::uint32_t rank, std::uint16_t step) noexcept : call_(c), rank_(rank), step_(step) {}
  static constexpr bool await_ready() noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> h);
  /// Throws the error that ended the group.
  payload await_resume();

 private:
  bool has_come(std::coroutine_handle<> waits);  // null: only checks

  call& call_;
  const std::uint32_t rank_;
  const std::uint16_t step_;
};

/// The split() that has made a group: the group that was split, and the number of its call.
struct origin_of_part {
  std::uint64_t parent = 0;  ///< 0: the group has a name of its own
  std::uint64_t call = 0;
};

/// A group of localities that make collective calls. Named ones live as long as the node, parts as groups.hpp says.
class group : public std::enable_shared_from_this<group> {
 public:
  group(groups& all, node& n, std::uint64_t id) noexcept : all_(all), node_(n), id_(id) {}
  ~group();
  group(const group&) = delete;
  group& operator=(const group&) = delete;

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(members_.size()); }
  [[nodiscard]] unsigned rank() const noexcept { return rank_; }  ///< index of this locality among the members
  [[nodiscard]] const std::vector<locality_id>& members() const noexcept { return members_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool has(locality_id l) const noexcept;
  /// Whether become() was called, and l is not a member.
  [[nodiscard]] bool excludes(locality_id l);
  /// The number of calls that this locality has begun.
  [[nodiscard]] std::uint64_t calls();
  /// Whether no call of this locality is pending.
  [[nodiscard]] bool is_idle();
  /// Defines the group. Payloads that arrive earlier are kept until then; their total size over all undefined groups is
  /// bounded, and a group that exceeds it fails. Only the first call has an effect.
  void become(std::string name, std::vector<locality_id> members);

  /// Delivers a payload that arrived from that locality.
  void deliver(locality_id from, const address& to, payload&& contents);
  /// All pending and later calls fail with `error`. Only the first call has an effect; returns true for it.
  bool end(const std::exception_ptr& error);
  /// The same, and reports it to members, which pass it on, so that all learn of it.
  void fail(const std::exception_ptr& error);

 private:
  friend class call;
  friend class groups;
  friend class reception;
  /// The state of one sequence number.
  struct slot {
    call* here = nullptr;  // the pending local call
    early_payload* first = nullptr;
    bool ended = false;
    kind what = kind::none;
  };

  slot& slot_of(std::uint64_t number);
  void enter(call& c);
  void leave(call& c) noexcept;
  void notify(const std::exception_ptr& error);
  std::string name_now();
  void too_far(const address& to);
  void mismatch(std::uint64_t number, kind here, kind there);

  bool keep(std::size_t new_slots, std::size_t payload_bytes);
  void too_much(locality_id from);

  groups& all_;
  node& node_;
  const std::uint64_t id_;
  std::string name_;
  std::vector<locality_id> members_;
  unsigned rank_ = 0;
  plx::detail::spinlock lock_;  // guards all below, and the awaited payload of each call
  std::uint64_t first_ = 0;     // sequence number of slots_[0]
  std::uint64_t next_ = 0;      // sequence number of the next local call
  std::deque<slot> slots_;
  std::exception_ptr error_;
  std::size_t unknown_bytes_ = 0;  // kept until become()
  // For parts, and for groups that have parts; guarded by the lock of groups.
  struct part {
    std::shared_ptr<group> of;
    bool is_reported = false;  // that it is unused here
    unsigned unused_at = 0;    // members that have reported this
  };
  origin_of_part made_by_;  // written before become()
  std::vector<part> parts_;
  std::atomic<bool> has_handles_{true};
};

/// One call on this locality. Derived classes (net/collectives.hpp) are the state of its future.
class call {
 public:
  /// `heavy`: processing an arrival takes long enough to run as a task.
  call(group& g, kind k, bool heavy) noexcept;
  call(const call&) = delete;
  call& operator=(const call&) = delete;
  virtual ~call() = default;

  [[nodiscard]] unsigned rank() const noexcept { return group_.rank(); }
  [[nodiscard]] unsigned size() const noexcept { return group_.size(); }
  /// Takes the next sequence number; to be called once, before everything else. False if the group has ended; then this
  /// call has failed, too.
  [[nodiscard]] bool begin();
  void send(unsigned rank, std::uint16_t step, const payload& contents);
  [[nodiscard]] reception from(unsigned rank, std::uint16_t step) noexcept { return {*this, rank, step}; }

  /// left := left op right; all values in left come from lower ranks than those in right.
  virtual void combine(payload& left, const payload& right);
  /// mine := mine op theirs, or theirs op mine, for each element: net/group/elements.hpp.
  virtual void combine_elements(std::byte* mine, const std::byte* theirs, std::size_t bytes, bool theirs_first);
  /// Completes the future with the value. The call may be destroyed afterwards.
  void finish(std::span<payload> results);
  void finish(payload result) { finish(std::span<payload>(&result, 1)); }
  /// Completes the future with the error, also on the other members.
  void fail(std::exception_ptr e) noexcept;

 private:
  virtual void finished(std::span<payload> results) noexcept = 0;
  virtual void failed(std::exception_ptr e) noexcept = 0;

  friend class group;
  friend class reception;
  /// Resumes the coroutine: the awaited payload has arrived, or the group has ended.
  void go_on();

  group& group_;
  const kind kind_;
  const bool heavy_;
  std::uint64_t number_ = 0;
  // The awaited payload; guarded by the lock of the group until it has arrived.
  bool waits_ = false;
  std::uint16_t step_ = 0;
  std::uint32_t from_ = 0;
  std::coroutine_handle<> next_;
  payload contents_;
  std::exception_ptr error_;  // the error that ended the group
  plx::detail::task task_;
};

/// The coroutine type of the algorithms: they start immediately and destroy themselves when they end.
struct algorithm {
  struct promise_type : plx::detail::pooled_frame {
    // An algorithm's first parameter is its call.
    template <class... A>
    explicit promise_type(call& c, A&&...) noexcept : of(c) {}
    algorithm get_return_object() noexcept { return {}; }
    static constexpr std::suspend_never initial_suspend() noexcept { return {}; }
    static constexpr std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { of.fail(std::current_exception()); }
    call& of;
  };
};

}  // namespace plx::net::collective

namespace plx {
template <>
inline constexpr bool is_bitwise<net::collective::address> = true;
template <>
inline constexpr bool is_bitwise<net::collective::origin_of_part> = true;
}  // namespace plx
