// The bytes of a message's head: a frame of parcels.
//
//   frame_header, then per parcel: parcel_header, its number if it has one (numbered), payload
//
// A frame with pieces (net/transport/transport.hpp) holds one parcel. What comes in is checked before it is used:
// sizes, the number of parcels, the protocol's version. Thread safety: values. Cost: nothing is copied. Example:
// tests/fuzz/corpus_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace plx::net {

/// "PX", then the version of this layout: both change when it does.
inline constexpr std::uint16_t frame_magic = 0x5850;
inline constexpr std::uint8_t frame_version = 1;

struct frame_header {
  std::uint16_t magic = frame_magic;
  std::uint8_t version = frame_version;
  std::uint8_t reserved = 0;  ///< must be 0
  std::uint32_t parcels = 0;
};
static_assert(sizeof(frame_header) == 8);

/// What the flags of a parcel say.
enum parcel_flags : std::uint16_t {
  failed_call = 1,  ///< an answer: the call threw; the payload is a detail::failure
  in_piece = 2,     ///< the payload came as the first piece, because it was too long for a head
  numbered = 4,  ///< a u64 stands before the payload, and counts in its size: for a trace (net/parcels/message_log.hpp)
};
/// Bytes of a parcel's number.
inline constexpr std::size_t number_bytes = sizeof(std::uint64_t);

/// Before each payload.
struct parcel_header {
  std::uint32_t size = 0;    ///< of the payload and the number, bytes
  std::uint16_t action = 0;  ///< its index; 0: an answer
  std::uint16_t flags = 0;   ///< parcel_flags
  std::uint64_t reply = 0;   ///< the slot of the one who waits; of an answer, the slot that it is for
};
static_assert(sizeof(parcel_header) == 16);

/// Goes through the parcels of a frame.
///   frame_reader f(bytes);
///   while (f.next()) use(f.header(), f.payload());
///   if (!f.valid()) refuse(f.problem());
class frame_reader {
 public:
  explicit frame_reader(std::span<const std::byte> bytes) noexcept {
    frame_header h;
    if (bytes.size() >= sizeof h) std::memcpy(&h, bytes.data(), sizeof h);
    problem_ = problem_of(h, bytes.size());
    if (problem_ != nullptr) return;
    left_ = bytes.subspan(sizeof h);
    parcels_ = count_ = h.parcels;
  }
  /// Goes to the next parcel; false at the end, and when what comes is malformed.
  bool next() noexcept {
    if (count_ == 0) {
      if (problem_ == nullptr && !left_.empty()) fail("more bytes than parcels");
      return false;
    }
    --count_;
    if (left_.size() < sizeof header_) return fail("cut off in a parcel's header"), false;
    std::memcpy(&header_, left_.data(), sizeof header_);
    left_ = left_.subspan(sizeof header_);
    if (header_.size > left_.size()) return fail("cut off in a parcel"), false;
    payload_ = left_.first(header_.size);
    left_ = left_.subspan(header_.size);
    number_ = 0;
    if ((header_.flags & numbered) != 0) {
      if (payload_.size() < number_bytes) return fail("a parcel with a number is too short for it"), false;
      std::memcpy(&number_, payload_.data(), number_bytes);
      payload_ = payload_.subspan(number_bytes);
    }
    return true;
  }
  [[nodiscard]] const parcel_header& header() const noexcept { return header_; }
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return payload_; }
  /// Its number, from 1 on; 0: it has none.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// How many parcels the frame says it has; 0 when it is malformed at its beginning.
  [[nodiscard]] std::uint32_t parcels() const noexcept { return parcels_; }
  [[nodiscard]] bool valid() const noexcept { return problem_ == nullptr; }
  [[nodiscard]] const char* problem() const noexcept { return problem_; }  ///< what is wrong; null while nothing is

 private:
  static const char* problem_of(const frame_header& h, std::size_t size) noexcept {
    if (size < sizeof h) return "shorter than a header";
    if (h.magic != frame_magic || h.reserved != 0) return "no frame of Parallax";
    if (h.version != frame_version) return "another version of the protocol";
    if (h.parcels == 0 || h.parcels > (size - sizeof h) / sizeof(parcel_header)) return "an absurd number of parcels";
    return nullptr;
  }
  void fail(const char* problem) noexcept {
    problem_ = problem;
    count_ = 0;
    left_ = {};
  }

  std::span<const std::byte> left_, payload_;
  std::uint32_t count_ = 0, parcels_ = 0;
  parcel_header header_;
  std::uint64_t number_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace plx::net
