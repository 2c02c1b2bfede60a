// Small letters from one process to another on its host: a ring of cache lines in memory that both have.
//
// A letter is one line, or a few that follow each other: a stamp, then contents. The stamp of its first line says which
// letter it is and how long, and is written last; so whoever looks for the next letter has both with one transfer of a
// line between two cores. Stamps count lines since the beginning: none of an earlier lap can be taken for a new one.
// Who reads says now and then how far it has come, in a line of its own; where there is no room, put() says so and the
// letter goes another way. Nobody ever waits, and there is no lock between the processes: who dies in the middle of
// writing leaves a letter that never comes.
//
// Thread safety: one writer and one reader at a time, in any processes. Nothing that the other side wrote is believed
// before it is checked. Cost: copies, and one transfer of a line each way. Example: net/group/test/mail_ring_test.cpp
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

#include "base/result.hpp"
#include "net/start/meeting.hpp"

namespace plx::net::collective {

struct alignas(64) mail_line {
  static constexpr std::size_t room = 56;
  std::atomic<std::uint64_t> stamp{0};
  std::array<std::byte, room> bytes;
};
static_assert(sizeof(mail_line) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);

/// A letter has at most so many lines, and so many bytes.
inline constexpr std::size_t most_mail_lines = 8, most_mail_bytes = most_mail_lines * mail_line::room;

/// What both sides share of one ring. Lines: a power of two of them.
struct mail_ring {
  std::atomic<std::uint64_t>* taken = nullptr;  ///< lines that were read; the reader writes it
  std::span<mail_line> lines;

  static constexpr unsigned size_bits = 16;
  /// Of the letter that begins with line `at`, counted from the beginning.
  [[nodiscard]] static constexpr std::uint64_t stamp(std::uint64_t at, std::size_t bytes) noexcept {
    return (at + 1) << size_bits | bytes;
  }
  [[nodiscard]] mail_line& line(std::uint64_t at) const noexcept { return lines[at & (lines.size() - 1)]; }
  [[nodiscard]] static constexpr std::size_t lines_of(std::size_t bytes) noexcept {
    return (bytes + mail_line::room - 1) / mail_line::room;
  }
};

class mail_writer {
 public:
  mail_writer() = default;
  explicit mail_writer(const mail_ring& r) noexcept : ring_(r) {}

  /// False: there is no room now. Requires: 0 < first.size() + rest.size() <= most_mail_bytes; `first` fits in a line.
  bool put(std::span<const std::byte> first, std::span<const std::byte> rest) noexcept {
    const std::size_t bytes = first.size() + rest.size(), n = mail_ring::lines_of(bytes);
    if (!has_room(n)) return false;
    mail_line& head = ring_.line(next_);
    std::memcpy(head.bytes.data(), first.data(), first.size());
    copy_in(head.bytes.data() + first.size(), mail_line::room - first.size(), rest);
    for (std::size_t i = 1; i < n; ++i) copy_in(ring_.line(next_ + i).bytes.data(), mail_line::room, rest);
    // seq_cst: either the reader finds the letter after it has said that it sleeps, or who wrote it sees that it
    // sleeps. Includes release: pairs with the acquire in mail_reader::next().
    head.stamp.store(mail_ring::stamp(next_, bytes), std::memory_order_seq_cst);
    next_ += n;
    return true;
  }

 private:
  // Takes what fits off `from`.
  static void copy_in(std::byte* to, std::size_t room, std::span<const std::byte>& from) noexcept {
    const std::size_t n = std::min(room, from.size());
    if (n != 0) std::memcpy(to, from.data(), n);
    from = from.subspan(n);
  }
  bool has_room(std::size_t n) noexcept {
    if (next_ + n - seen_ <= ring_.lines.size()) [[likely]]
      return true;
    // acquire: what was read has been read. A number that cannot be is no room.
    const std::uint64_t taken = ring_.taken->load(std::memory_order_acquire);
    if (taken - seen_ > next_ - seen_) return false;
    seen_ = taken;
    return next_ + n - seen_ <= ring_.lines.size();
  }
  mail_ring ring_;
  std::uint64_t next_ = 0, seen_ = 0;  // lines written; those of them that are known to be read
};

class mail_reader {
 public:
  enum class found : std::uint8_t { nothing, letter, nonsense };

  mail_reader() = default;
  explicit mail_reader(const mail_ring& r) noexcept : ring_(r) {}

  /// Whether there is a letter. For who is about to sleep: after it has said so, by a seq_cst store.
  [[nodiscard]] bool any() const noexcept {
    return ring_.line(next_).stamp.load(std::memory_order_seq_cst) >> mail_ring::size_bits == next_ + 1;
  }
  /// Takes the next letter: `bytes` of `into`. After nonsense the ring is of no use any more.
  found next(std::array<std::byte, most_mail_bytes>& into, std::size_t& bytes) noexcept {
    // acquire: pairs with the store of put().
    const std::uint64_t stamp = ring_.line(next_).stamp.load(std::memory_order_acquire);
    if (stamp >> mail_ring::size_bits != next_ + 1) return found::nothing;
    bytes = stamp & ((std::uint64_t{1} << mail_ring::size_bits) - 1);
    if (bytes == 0 || bytes > most_mail_bytes) return found::nonsense;
    const std::size_t n = mail_ring::lines_of(bytes);
    for (std::size_t i = 0; i < n; ++i)
      std::memcpy(into.data() + i * mail_line::room, ring_.line(next_ + i).bytes.data(),
                  std::min(mail_line::room, bytes - i * mail_line::room));
    next_ += n;
    // release: the lines may be written again. Rarely, for the writer has a copy of this line.
    if (next_ - told_ >= ring_.lines.size() / 4) ring_.taken->store(told_ = next_, std::memory_order_release);
    return found::letter;
  }

 private:
  mail_ring ring_;
  std::uint64_t next_ = 0, told_ = 0;
};

// The memory that letters come in (mail_ring.hpp): each locality makes some for the others of its host, tells them
// where it is through the launcher's channel, and they map it. It has no name in any file system: it is gone with the
// last process that has it.
//
// Layout: a page-aligned head, with a key of 16 random bytes that only the job's own processes were told, then for each
// locality of the host a line for what was read, and the ring. Thread safety: one thread, until it is made. Errors: one
// line. Cost: some system calls; `ring_lines` lines for each locality of the host, so some 4 MiB at most where
// the host has no more than 4096 of them.
// Example: net/group/test/mail_segment_test.cpp

class mail_segment {
 public:
  /// Where those letters come that `senders` localities send to this one. An error where the system denies it.
  static result<mail_segment> make(unsigned senders);
  /// The one that another process, which told() this, has made for as many senders.
  static result<mail_segment> open(std::string_view told, unsigned senders);
  /// The same, for several localities of one process: at memory of theirs, zeros. Requires: bytes_for(senders) of it.
  static mail_segment at(std::byte* memory, unsigned senders) noexcept;

  mail_segment() = default;
  mail_segment(mail_segment&& other) noexcept;
  mail_segment& operator=(mail_segment&& other) noexcept;
  ~mail_segment();

  [[nodiscard]] static std::size_t bytes_for(unsigned senders) noexcept;
  [[nodiscard]] static std::size_t ring_lines(unsigned senders) noexcept;

  /// What the others need to open it.
  [[nodiscard]] const std::string& told() const noexcept { return told_; }
  [[nodiscard]] mail_ring ring_of(unsigned sender) const noexcept;
  /// Its owner sleeps, and has to be told of letters. The owner sets it, whoever sees it first takes it back and tells.
  [[nodiscard]] std::atomic<std::uint32_t>& asleep() const noexcept;

 private:
  struct head;
  [[nodiscard]] head& begin() const noexcept;
  static result<std::byte*> map(int file, std::size_t bytes);

  std::byte* memory_ = nullptr;
  unsigned senders_ = 0;
  int file_ = -1;        // of the owner: it can be opened as long as that is
  bool mapped_ = false;  // by this object
  std::string told_;
};

}  // namespace plx::net::collective
