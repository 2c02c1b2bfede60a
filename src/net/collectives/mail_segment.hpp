// The memory that letters come in (mail_ring.hpp): each locality makes some for the others of its host, tells them
// where it is through the launcher's channel, and they map it. It has no name in any file system: it is gone with the
// last process that has it.
//
// Layout: a page-aligned head, with a key of 16 random bytes that only the job's own processes were told, then for each
// locality of the host a line for what was read, and the ring. Thread safety: one thread, until it is made. Errors: one
// line. Cost: some system calls; `ring_lines` lines for each locality of the host, so some 4 MiB at most where
// the host has no more than 4096 of them.
// Example: net/collectives/mail_segment_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "net/collectives/mail_ring.hpp"
#include "net/detail/secret.hpp"

namespace plx::net::collective {

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
