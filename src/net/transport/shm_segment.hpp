// Short messages between processes of one host: a ring buffer of cache lines in shared memory.
//
// A message is one line or a few consecutive lines: a stamp, then the contents. The stamp of its first line gives the
// position, length and kind of the message and is written last, so that the reader gets both with one cache-line
// transfer between two cores. Stamps count lines from the start: no stamp of an earlier lap is mistaken for a new one.
// The reader publishes its position from time to time, in a line of its own. If the ring is full, put() returns false,
// and the message is sent over the network. The processes share no lock and never wait for each other: the message of a
// process that dies while it writes never becomes visible.
//
// Thread safety: one writer and one reader at a time, in any processes. Data from the other process are checked before
// use. Cost: copies, and one cache-line transfer each way. Example: net/transport/test/shm_ring_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "net/start/job_info.hpp"

namespace plx::net::detail {

struct alignas(64) shm_line {
  static constexpr std::size_t room = 56;
  std::atomic<std::uint64_t> stamp{0};
  std::array<std::byte, room> bytes;
};
static_assert(sizeof(shm_line) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

/// The maximum size of a message.
inline constexpr std::size_t most_shm_lines = 8, most_shm_bytes = most_shm_lines * shm_line::room;

/// The shared state of one ring. The number of lines is a power of two.
struct shm_ring {
  std::atomic<std::uint64_t>* taken = nullptr;  ///< number of lines read, written by the reader
  std::span<shm_line> lines;

  static constexpr unsigned size_bits = 16;
  static constexpr std::size_t raw_bit = std::size_t{1} << 15;  ///< in the size: a raw message
  /// The stamp of the message that begins with line `at`, counted from the start.
  [[nodiscard]] static constexpr std::uint64_t stamp(std::uint64_t at, std::size_t bytes) noexcept {
    return (at + 1) << size_bits | bytes;
  }
  [[nodiscard]] shm_line& line(std::uint64_t at) const noexcept { return lines[at & (lines.size() - 1)]; }
  [[nodiscard]] static constexpr std::size_t lines_of(std::size_t bytes) noexcept {
    return (bytes + shm_line::room - 1) / shm_line::room;
  }
};

class shm_writer {
 public:
  shm_writer() = default;
  /// `first`: the number of the first line, the same as the reader's; for tests.
  explicit shm_writer(const shm_ring& r, std::uint64_t first = 0) noexcept : ring_(r), next_(first), seen_(first) {}

  /// False if there is no room. Requires: 0 < first.size() + rest.size() <= most_shm_bytes; `first` fits in a line.
  bool put(std::span<const std::byte> first, std::span<const std::byte> rest, bool raw = false) noexcept {
    const std::size_t bytes = first.size() + rest.size(), n = shm_ring::lines_of(bytes);
    if (!has_room(n)) return false;
    shm_line& head = ring_.line(next_);
    std::memcpy(head.bytes.data(), first.data(), first.size());
    copy_in(head.bytes.data() + first.size(), shm_line::room - first.size(), rest);
    for (std::size_t i = 1; i < n; ++i) copy_in(ring_.line(next_ + i).bytes.data(), shm_line::room, rest);
    // seq_cst: either the reader finds the message after it has announced that it sleeps, or the writer sees that it
    // sleeps. Includes release: pairs with the acquire in shm_reader::next().
    head.stamp.store(shm_ring::stamp(next_, raw ? bytes | shm_ring::raw_bit : bytes), std::memory_order_seq_cst);
    next_ += n;
    return true;
  }

 private:
  // Copies what fits and removes it from `from`.
  static void copy_in(std::byte* to, std::size_t room, std::span<const std::byte>& from) noexcept {
    const std::size_t n = std::min(room, from.size());
    if (n != 0) std::memcpy(to, from.data(), n);
    from = from.subspan(n);
  }
  bool has_room(std::size_t n) noexcept {
    if (next_ + n - seen_ <= ring_.lines.size()) [[likely]]
      return true;
    // acquire: the lines have been read. An impossible position counts as no room.
    const std::uint64_t taken = ring_.taken->load(std::memory_order_acquire);
    if (taken - seen_ > next_ - seen_) return false;
    seen_ = taken;
    return next_ + n - seen_ <= ring_.lines.size();
  }
  shm_ring ring_;
  std::uint64_t next_ = 0, seen_ = 0;  // lines written; lines known to be read
};

class shm_reader {
 public:
  enum class found : std::uint8_t { nothing, message, raw_message, invalid };

  shm_reader() = default;
  explicit shm_reader(const shm_ring& r, std::uint64_t first = 0) noexcept
      : ring_(r), next_(first), published_(first) {}

  /// Whether there is a message. A reader calls it before it sleeps, after announcing that by a seq_cst store.
  [[nodiscard]] bool any() const noexcept { return is_next(ring_.line(next_).stamp.load(std::memory_order_seq_cst)); }
  /// The maximum number of messages that are in the ring at the same time.
  [[nodiscard]] std::size_t most() const noexcept { return ring_.lines.size(); }
  /// Takes the next message: `bytes` bytes of `into`. With `only_raw`, `nothing` if the next one is not a raw message.
  /// After `invalid` the ring is unusable.
  found next(std::array<std::byte, most_shm_bytes>& into, std::size_t& bytes, bool only_raw = false) noexcept {
    // acquire: pairs with the store of put().
    const std::uint64_t stamp = ring_.line(next_).stamp.load(std::memory_order_acquire);
    if (!is_next(stamp) || (only_raw && (stamp & shm_ring::raw_bit) == 0)) return found::nothing;
    bytes = stamp & (shm_ring::raw_bit - 1);
    if (bytes == 0 || bytes > most_shm_bytes) return found::invalid;
    const std::size_t n = shm_ring::lines_of(bytes);
    for (std::size_t i = 0; i < n; ++i)
      std::memcpy(into.data() + i * shm_line::room, ring_.line(next_ + i).bytes.data(),
                  std::min(shm_line::room, bytes - i * shm_line::room));
    next_ += n;
    // release: the lines may be overwritten. Rare, because the writer caches this line.
    if (next_ - published_ >= ring_.lines.size() / 4) ring_.taken->store(published_ = next_, std::memory_order_release);
    return (stamp & shm_ring::raw_bit) != 0 ? found::raw_message : found::message;
  }

 private:
  // A stamp has 48 bits of the number: the others are lost.
  [[nodiscard]] bool is_next(std::uint64_t stamp) const noexcept {
    return (stamp ^ shm_ring::stamp(next_, 0)) >> shm_ring::size_bits == 0;
  }

  shm_ring ring_;
  std::uint64_t next_ = 0, published_ = 0;
};

// How a locality that reads rings sleeps and is woken. It publishes the number of each sleep in its segment
// (shm_segment::asleep()), then looks for messages once more; a sender looks at that number after it has written: one
// of them sees the other. Each sender wakes the reader itself, once per sleep, over the network: none depends on
// another one, which may be stopped or killed before its wake-up has left.

/// The sleeps of the reader. Thread safety: one thread at a time.
class shm_sleep {
 public:
  /// From now on each sender wakes the reader once. The reader looks for messages before it sleeps.
  void begin(std::atomic<std::uint32_t>& asleep) noexcept {
    number_ += number_ + 1 == 0 ? 2 : 1;
    begun_ = true;
    // seq_cst: see shm_writer::put().
    asleep.store(number_, std::memory_order_seq_cst);
  }
  /// The reader calls begin() before it sleeps again: no wake-ups are needed.
  void end(std::atomic<std::uint32_t>& asleep) noexcept {
    if (std::exchange(begun_, false)) asleep.store(0, std::memory_order_relaxed);
  }
  [[nodiscard]] bool begun() const noexcept { return begun_; }

 private:
  std::uint32_t number_ = 0;  // of the last sleep; never 0 in a segment
  bool begun_ = false;
};

/// The wake-ups that a locality sends to one reader. Thread safety: everything.
class shm_wake_ups {
 public:
  /// Whether the caller must send one. Called after it has written.
  bool due(std::atomic<std::uint32_t>& asleep) noexcept {
    // seq_cst: pairs with the store in shm_sleep::begin(), see shm_writer::put().
    const std::uint32_t sleep = asleep.load(std::memory_order_seq_cst);
    if (sleep == 0 || woken_for_.load(std::memory_order_relaxed) == sleep) [[likely]]
      return false;
    return woken_for_.exchange(sleep, std::memory_order_relaxed) != sleep;
  }

 private:
  std::atomic<std::uint32_t> woken_for_{0};  // relaxed: it only counts
};

// The shared memory of the rings (shm_ring). A locality creates a segment for the other localities of its host, and
// publishes its location through the launcher's key-value exchange; the others map it. The segment has no name in a
// file system: it is freed with the last process that maps it. On Linux it is not mapped in a forked child, which
// inherits only the file descriptor of its parent's segment, and is ended by a signal if it destroys the parent's job:
// a child ends by _exit() or exec.
//
// Layout: a page-aligned header with a key of 16 random bytes known only to the processes of the job; then, for each
// locality of the host, a line for the position of the reader, and the ring. Thread safety: one thread during
// construction. Errors: one line. Cost: some system calls; `ring_lines` lines for each locality of the host, at most
// about 4 MiB for up to 4096 localities.
// Example: net/transport/test/shm_segment_test.cpp

/// The value of PLX_SHARED_MEMORY: on (the default) or off. Errors: any other value.
[[nodiscard]] result<bool> shared_memory_wanted();
/// Logs that some or all messages of this host are sent without shared memory, with the first reason: once per process.
void warn_without_shm(std::string_view why);

class shm_segment {
 public:
  /// A segment for messages from `senders` localities to this one. Errors: the system denies the memory.
  static result<shm_segment> make(unsigned senders);
  /// Maps the segment of another process, made for the same number of senders, from its description.
  static result<shm_segment> open(std::string_view description, unsigned senders);
  /// The same within one process, in zeroed memory of the caller. Requires: bytes_for(senders) bytes.
  static shm_segment at(std::byte* memory, unsigned senders) noexcept;

  shm_segment() = default;
  shm_segment(shm_segment&& other) noexcept;
  shm_segment& operator=(shm_segment&& other) noexcept;
  ~shm_segment();

  [[nodiscard]] static std::size_t bytes_for(unsigned senders) noexcept;
  [[nodiscard]] static std::size_t ring_lines(unsigned senders) noexcept;

  /// The description that other processes need to open the segment.
  [[nodiscard]] const std::string& description() const noexcept { return description_; }
  [[nodiscard]] shm_ring ring_of(unsigned sender) const noexcept;
  /// Not 0: the owner sleeps and needs a wake-up message from each sender; the number of that sleep (shm_sleep).
  [[nodiscard]] std::atomic<std::uint32_t>& asleep() const noexcept;

 private:
  struct head;
  [[nodiscard]] head& begin() const noexcept;
  static result<std::byte*> map(int file, std::size_t bytes);

  std::byte* memory_ = nullptr;
  unsigned senders_ = 0;
  int file_ = -1;        // of the owner: others can open the segment while it is open
  bool mapped_ = false;  // by this object
  std::string description_;
};

}  // namespace plx::net::detail
