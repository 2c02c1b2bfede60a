// The target of the fuzzer, and of the test that replays its corpus: a locality receives the bytes of one message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fuzz {

/// A node that receives its input as messages from another locality.
///
/// Byte 0 of an input: the number of pieces of the message (bits 0 and 1), whether they never arrive (bit 2), and
/// whether that is reported before their memory is returned (bit 3). Then, per piece, its size in two bytes. The rest
/// is the head: a frame. In it, action n is the n-th one of messages.cpp, and an answer with number n belongs to a call
/// of the n-th type, so that an input means the same in every program.
class message_target {
 public:
  message_target();
  ~message_target();
  message_target(const message_target&) = delete;
  message_target& operator=(const message_target&) = delete;

  /// Delivers the input and runs everything that follows from it. Returns for any input.
  void take(const std::uint8_t* data, std::size_t size);
  /// The number of messages and parcels refused so far.
  [[nodiscard]] std::uint64_t refused() const;

 private:
  struct world;
  const std::unique_ptr<world> world_;
};

/// Decodes an input without a node: frames, arguments, results. Many times faster. True: all of it was well-formed.
bool decode_message(const std::uint8_t* data, std::size_t size);

/// Writes well-formed initial inputs into a folder.
void write_seeds(const char* folder);

}  // namespace fuzz
