// The layout of a message's head: a frame of parcels.
//
//   frame_header, then per parcel: parcel_header, its number if it has one (numbered), the caller of a forwarded call,
//   payload
//
// A frame with large arrays (pieces, net/transport/transport.hpp) holds one parcel. Received frames are checked before
// use: sizes, the number of parcels, the protocol version. Thread safety: values. Cost: nothing is copied. Example:
// tests/fuzz/corpus_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace plx::net {

/// "PX", followed by the version of this layout; changed whenever it changes.
inline constexpr std::uint16_t frame_magic = 0x5850;
inline constexpr std::uint8_t frame_version = 1;

struct frame_header {
  std::uint16_t magic = frame_magic;
  std::uint8_t version = frame_version;
  std::uint8_t reserved = 0;  ///< must be 0
  std::uint32_t parcels = 0;
};
static_assert(sizeof(frame_header) == 8);

/// Flags of a parcel.
enum parcel_flags : std::uint16_t {
  failed_call = 1,  ///< a reply: the call threw; the payload is a detail::failure
  in_piece = 2,     ///< the payload is the first piece, because it is too long for a head
  numbered = 4,     ///< a u64 precedes the payload and counts in its size: for traces (net/parcels/message_log.hpp)
  forwarded = 8,    ///< a u64 precedes the payload, after the number: the caller, which the receiver answers
};
/// Size of a parcel's number.
inline constexpr std::size_t number_bytes = sizeof(std::uint64_t);
/// Size of the caller of a forwarded call.
inline constexpr std::size_t caller_bytes = sizeof(std::uint64_t);

/// Precedes each payload.
struct parcel_header {
  std::uint32_t size = 0;    ///< of the payload and the number, bytes
  std::uint16_t action = 0;  ///< its index; 0: a reply
  std::uint16_t flags = 0;   ///< parcel_flags
  std::uint64_t reply = 0;   ///< reply slot of the caller; in a reply, the slot it completes
};
static_assert(sizeof(parcel_header) == 16);

/// Iterates over the parcels of a frame.
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
  /// Advances to the next parcel; false at the end and if the frame is malformed.
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
    if (!take_if(numbered, number_)) return fail("a parcel with a number is too short for it"), false;
    if (!take_if(forwarded, caller_)) return fail("a forwarded parcel is too short for its caller"), false;
    return true;
  }
  [[nodiscard]] const parcel_header& header() const noexcept { return header_; }
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return payload_; }
  /// The parcel's number, from 1 on; 0 if it has none.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// The locality that made a forwarded call, unchecked.
  [[nodiscard]] std::uint64_t caller() const noexcept { return caller_; }
  /// The number of parcels according to the header; 0 if the header is malformed.
  [[nodiscard]] std::uint32_t parcels() const noexcept { return parcels_; }
  [[nodiscard]] bool valid() const noexcept { return problem_ == nullptr; }
  [[nodiscard]] const char* problem() const noexcept { return problem_; }  ///< the error; null if there is none

 private:
  static const char* problem_of(const frame_header& h, std::size_t size) noexcept {
    if (size < sizeof h) return "shorter than a header";
    if (h.magic != frame_magic || h.reserved != 0) return "not a Parallax frame";
    if (h.version != frame_version) return "unsupported protocol version";
    if (h.parcels == 0 || h.parcels > (size - sizeof h) / sizeof(parcel_header))
      return "an impossible number of parcels";
    return nullptr;
  }
  // Takes a value from the begin of the payload if the parcel has that flag; false if it is too short.
  bool take_if(parcel_flags flag, std::uint64_t& value) noexcept {
    value = 0;
    if ((header_.flags & flag) == 0) return true;
    if (payload_.size() < sizeof value) return false;
    std::memcpy(&value, payload_.data(), sizeof value);
    payload_ = payload_.subspan(sizeof value);
    return true;
  }
  void fail(const char* problem) noexcept {
    problem_ = problem;
    count_ = 0;
    left_ = {};
  }

  std::span<const std::byte> left_, payload_;
  std::uint32_t count_ = 0, parcels_ = 0;
  parcel_header header_;
  std::uint64_t number_ = 0, caller_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace plx::net
