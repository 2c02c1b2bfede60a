// What a locality does with the bytes of one message: the target of the fuzzer, and of the test that replays its
// corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace fuzz {

/// A node that takes what it is given for messages of another locality.
///
/// Byte 0 of an input: how many pieces the message has (bits 0 and 1), whether they never come (bit 2),
/// and whether that is told before their memory is given back (bit 3). Then, per piece, its size in two bytes. The rest
/// is the head: a frame. In it the action n stands for the n-th one of messages.cpp, and in an answer the number n for
/// a call of the n-th kind that waits for it, so that an input means the same in every program.
class message_target {
 public:
  message_target();
  ~message_target();
  message_target(const message_target&) = delete;
  message_target& operator=(const message_target&) = delete;

  /// Gives it to the node and lets everything run that follows. Comes back, whatever the bytes are.
  void take(const std::uint8_t* data, std::size_t size);
  /// Messages and parcels that were refused until now.
  [[nodiscard]] std::uint64_t refused() const;

 private:
  struct world;
  const std::unique_ptr<world> world_;
};

/// What comes of an input when nothing but its bytes are read: frames, arguments, results, without a node. Many times
/// faster. True: all of it was well-formed.
bool decode_message(const std::uint8_t* data, std::size_t size);

/// Writes well-formed inputs into a folder: where a fuzzer begins.
void write_seeds(const char* folder);

}  // namespace fuzz
