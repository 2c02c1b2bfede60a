// Internal: the format of a trace file. For trace_writer.cpp and trace_reader.cpp.
//
// A file is a line with its name and version, then chunks, each with a head of 48 bytes and a payload. Numbers are
// little-endian. Both parts of a chunk have a checksum: a chunk is read completely or not at all, and a file that ends
// in the middle of a chunk is read up to it. The heads are the index, which a crash cannot lose: they contain the times
// of the records, so that a reader of a part of the run steps over the payloads of the others. Ids of names are those
// of the recording process; a chunk with new names precedes the chunks that use them. Readers skip chunks of unknown
// kinds, so what is new to them has a kind of its own.
//
// Records are rows of 32-bit words. A word is stored as its difference to that word of the previous row of the same
// group in the chunk (zigzag), in 0, 1, 2 or 4 bytes; 2 bits per word, in front of the row, encode the length.
//
// Thread safety: plain functions. Cost: included in that of trace_writer.hpp and trace_reader.hpp.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "probe/record/trace_ring.hpp"
#include "probe/record/trace_sink.hpp"

namespace plx::probe::detail {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::string_view trace_file_begin = "parallax trace 2\n";

enum class chunk_kind : std::uint16_t {
  start = 1,
  names,
  row,
  records,
  operations,
  sample,
  mark,
  sent,
  received,
  clock,
  totals,
  messages_sent,  // of MPI; the layout is that of sent and received, which contain parcels
  messages_received
};

constexpr bool is_of_messages(chunk_kind k) noexcept {
  return k == chunk_kind::messages_sent || k == chunk_kind::messages_received;
}
constexpr bool is_of_parcels(chunk_kind k) noexcept { return k == chunk_kind::sent || k == chunk_kind::received; }

struct chunk_head {
  static constexpr std::uint32_t first_bytes = 0x4b434c50;  // "PLCK"
  std::uint32_t magic = first_bytes;
  chunk_kind kind = chunk_kind::start;
  std::uint16_t unused = 0;
  std::uint32_t row = 0;
  std::uint32_t count = 0;  // of records
  std::uint64_t payload_sum = 0;
  std::uint32_t bytes = 0;  // of the payload
  std::uint32_t head_sum = 0;
  ticks first = 0;  // all times of the payload are in [first, last]
  ticks last = ~ticks{0};
};
static_assert(sizeof(chunk_head) == 48);

inline constexpr std::uint32_t most_chunk_bytes = 1u << 24;

/// Changes with every change of a single word of 8 bytes, and with all others but one in 2^64.
inline std::uint64_t chunk_sum(const char* bytes, std::size_t n) noexcept {
  std::uint64_t sum = 0x9e3779b97f4a7c15 ^ n;
  const auto add = [&sum](std::uint64_t word) {
    sum = (sum ^ word) * 0xff51afd7ed558ccd;
    sum ^= sum >> 32;
  };
  std::uint64_t word = 0;
  for (; n >= 8; n -= 8, bytes += 8) std::memcpy(&word, bytes, 8), add(word);
  word = 0;
  std::memcpy(&word, bytes, n);
  add(word);
  return sum;
}
inline std::uint32_t head_sum(chunk_head h) noexcept {
  h.head_sum = 0;
  return static_cast<std::uint32_t>(chunk_sum(reinterpret_cast<const char*>(&h), sizeof h));
}

/// Rows of N words, in groups with differences of their own.
template <unsigned N, unsigned Groups>
class row_coder {
 public:
  using row = std::array<std::uint32_t, N>;
  static constexpr std::size_t most_bytes = N / 4 + 4 * N;

  void restart() noexcept { before_ = {}; }

  /// Requires: room for most_bytes. Returns the end of what was written.
  char* put(char* to, const row& words, unsigned group) noexcept {
    row& before = before_[group];
    char* const lengths = to;
    to += N / 4;
    for (unsigned block = 0; block < N; block += 4) {
      unsigned bits = 0;
      for (unsigned i = block; i < block + 4; ++i) {
        const std::uint32_t step = words[i] - before[i];
        const std::uint32_t z = step << 1 ^ (0 - (step >> 31));
        const unsigned code = (z > 0 ? 1u : 0u) + (z > 0xff ? 1u : 0u) + (z > 0xffff ? 1u : 0u);
        std::memcpy(to, &z, 4);
        to += code + (code == 3 ? 1 : 0);
        bits |= code << 2 * (i - block);
      }
      lengths[block / 4] = static_cast<char>(bits);
    }
    before = words;
    return to;
  }
  /// Requires: 4 readable bytes beyond `end`. Returns the end of what was read; null if it lies beyond `end`.
  const char* get(const char* from, const char* end, row& words, unsigned group) noexcept {
    if (end - from < static_cast<std::ptrdiff_t>(N / 4)) return nullptr;
    row& before = before_[group];
    const char* const lengths = from;
    from += N / 4;
    for (unsigned i = 0; i < N; ++i) {
      constexpr std::uint32_t masks[] = {0, 0xff, 0xffff, 0xffffffff};
      const unsigned code = static_cast<unsigned char>(lengths[i / 4]) >> 2 * (i % 4) & 3;
      if (from > end) return nullptr;
      std::uint32_t z = 0;
      std::memcpy(&z, from, 4);
      z &= masks[code];
      from += code + (code == 3 ? 1 : 0);
      words[i] = before[i] + (z >> 1 ^ (0 - (z & 1)));
    }
    before = words;
    return from <= end ? from : nullptr;
  }

 private:
  std::array<row, Groups> before_{};
};

/// Records of a worker. Those of one kind have small differences, so each kind is a group; a byte in front of up to 31
/// records of one group contains the group (lower 3 bits) and their number.
class record_coder {
 public:
  static constexpr std::size_t most_bytes = row_coder<8, 7>::most_bytes + 1;

  void restart() noexcept { *this = {}; }

  /// Appends to `to`, of which `size` bytes are in use. Requires: room for most_bytes. Returns the new size.
  std::size_t put(char* to, std::size_t size, const trace_record& r) noexcept {
    const unsigned group = group_of(r.flags);
    if (left_ == 0 || group != group_) {
      group_ = group, left_ = 31, run_ = size;
      to[size++] = static_cast<char>(group);
    }
    --left_;
    to[run_] = static_cast<char>(static_cast<unsigned char>(to[run_]) + 8);
    return static_cast<std::size_t>(rows_.put(to + size, std::bit_cast<row_coder<8, 7>::row>(r), group) - to);
  }
  /// See row_coder::get().
  const char* get(const char* from, const char* end, trace_record& r) noexcept {
    if (left_ == 0) {
      if (from >= end) return nullptr;
      const auto run = static_cast<unsigned char>(*from++);
      group_ = run & 7, left_ = run >> 3;
      if (left_ == 0 || group_ > 6) return nullptr;
    }
    --left_;
    row_coder<8, 7>::row words{};
    from = rows_.get(from, end, words, group_);
    r = std::bit_cast<trace_record>(words);
    return from;
  }

 private:
  static unsigned group_of(std::uint32_t flags) noexcept {
    if ((flags & is_packed) != 0) return 0;
    if ((flags & trace_record::is_edge) != 0) return 1;
    if ((flags & trace_record::is_more) != 0) return 2;
    if ((flags & trace_record::is_link) != 0) return 3;
    if ((flags & trace_record::is_lock) != 0) return 4;
    return (flags & trace_record::is_placement) != 0 ? 5 : 6;
  }

  row_coder<8, 7> rows_;
  unsigned group_ = 0, left_ = 0;
  std::size_t run_ = 0;
};

/// An operation of a device as a row.
inline std::array<std::uint32_t, 16> row_of(const device_operation& o) noexcept {
  const auto low = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
  const auto high = [](std::uint64_t n) { return static_cast<std::uint32_t>(n >> 32); };
  return {low(o.begin),
          high(o.begin),
          low(o.end),
          high(o.end),
          low(o.submitted),
          high(o.submitted),
          low(o.from),
          high(o.from),
          low(o.number),
          high(o.number),
          low(o.bytes),
          high(o.bytes),
          o.name,
          o.items,
          static_cast<std::uint32_t>(o.kind),
          (o.failed ? 1u : 0u) | (o.part ? 2u : 0u)};
}
inline device_operation operation_of(const std::array<std::uint32_t, 16>& w) noexcept {
  const auto number = [&w](unsigned i) { return w[i] | std::uint64_t{w[i + 1]} << 32; };
  return {.begin = number(0),
          .end = number(2),
          .submitted = number(4),
          .from = number(6),
          .number = number(8),
          .bytes = number(10),
          .name = w[12],
          .items = w[13],
          .kind = static_cast<device_work>(w[14] & 3),
          .failed = (w[15] & 1) != 0,
          .part = (w[15] & 2) != 0};
}
static_assert(sizeof(trace_parcel) == 48);
using parcel_row = std::array<std::uint32_t, 12>;

/// Numbers and texts of small chunks: numbers of seven bits per byte, lowest first (LEB128).
class byte_writer {
 public:
  void number(std::uint64_t n) {
    for (; n >= 0x80; n >>= 7) text_ += static_cast<char>(n | 0x80);
    text_ += static_cast<char>(n);
  }
  void real(double x) { number(std::bit_cast<std::uint64_t>(x)); }
  void text(std::string_view t) {
    number(t.size());
    text_ += t;
  }
  [[nodiscard]] const std::string& bytes() const noexcept { return text_; }

 private:
  std::string text_;
};

/// Numbers beyond the end are 0, and make the payload invalid.
class byte_reader {
 public:
  explicit byte_reader(std::string_view text) : text_(text) {}

  std::uint64_t number() {
    std::uint64_t n = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == text_.size()) break;
      const auto byte = static_cast<unsigned char>(text_[at_++]);
      n |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return n;
    }
    valid_ = false;
    return 0;
  }
  double real() { return std::bit_cast<double>(number()); }
  std::string text() {
    const std::uint64_t n = number();
    if (n > text_.size() - at_) return valid_ = false, std::string();
    at_ += n;
    return std::string(text_.substr(at_ - n, n));
  }
  [[nodiscard]] bool valid() const noexcept { return valid_; }
  [[nodiscard]] bool at_end() const noexcept { return at_ == text_.size(); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  bool valid_ = true;
};

}  // namespace plx::probe::detail
