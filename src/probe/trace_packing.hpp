// Internal: how what is told of a task fits into fewer trace_records. For worker_log.cpp, which writes them, and
// trace_data.cpp, which reads them.
//
// A piece of a task has 56 bytes to tell: begin, end, when it was ready, its task, the cause, the key, the name. Ids of
// one recorder differ in the worker and in a number that grows, times by spans: where each of these fits into 32 bits,
// and the worker is one of the 15 before or 16 after the one that records, a piece is one record. Else it is two, a
// link and a slice; nothing is rounded. Of the targets of edges of one moment, five fit into a record likewise.
//
// Thread safety: none, plain functions. Cost: pack_slice() some 15 instructions without a branch but the last.
// Example: probe/trace_packing_test.cpp
#pragma once

#include <array>
#include <cstdint>

#include "probe/trace_data.hpp"
#include "probe/worker_log.hpp"

namespace plx::probe::detail {

/// In trace_record::flags, beside those that it names. A slice has 5 bits each for the workers of its task and of the
/// cause, and the name above; what it names is_link and is_edge means the two below.
inline constexpr std::uint32_t is_packed = 32, told_ready = 4, caused_by_join = 8;
inline constexpr unsigned own_worker_shift = 6, cause_worker_shift = 11, name_shift = 16;

inline constexpr std::uint64_t low_word = 0xffffffff;
inline constexpr unsigned id_worker_shift = 40;
/// An id as a distance from the first id of the recording worker: bits 40 to 44 are the worker, 15 is the same one.
inline constexpr std::uint64_t same_worker = std::uint64_t{15} << id_worker_shift;
inline constexpr std::uint64_t id_bits = std::uint64_t{31} << id_worker_shift | low_word;

/// What all ids of a worker's tasks are told from; worker_log gives the first as this + 1.
constexpr task_id first_id_of(unsigned worker, unsigned space) noexcept {
  return task_id{space & 0x3f} << 56 | (task_id{worker} + 1) << id_worker_shift;
}

constexpr std::uint64_t distance_of(task_id id, task_id first) noexcept {
  return (id & ~join_bit) - first + same_worker;
}
constexpr bool is_near(std::uint64_t distance) noexcept { return (distance & ~id_bits) == 0; }
/// From the two parts of a distance. A number of 0 stands for no id.
constexpr task_id id_at(std::uint64_t worker, std::uint64_t number, bool join, task_id first) noexcept {
  if (number == 0) return 0;
  return ((worker << id_worker_shift) + number + first - same_worker) | (join ? join_bit : 0);
}

/// False when it does not fit. `name_and_flags`: the flags of a trace_record in the upper half. Requires: id != 0.
inline bool pack_slice(trace_record& to, task_id first, ticks begin, ticks end, std::uint64_t key,
                       std::uint64_t name_and_flags, task_id id, task_id cause, ticks ready) noexcept {
  const std::uint64_t own = distance_of(id, first);
  const std::uint64_t other = cause == 0 ? 0 : distance_of(cause, first);
  const std::uint64_t length = end - begin;
  const std::uint64_t waited = ready != 0 && ready < begin ? begin - ready : 0;
  const std::uint64_t name = name_and_flags & low_word;
  const std::uint64_t too_large = (length | waited | (key + 1)) >> 32 | name >> 16;  // no_key + 1 is 0
  if ((too_large | ((own | other) & ~id_bits)) != 0) return false;
  to.begin = end;
  to.end = length | waited << 32;
  to.key = (own & low_word) | other << 32;
  to.name = static_cast<std::uint32_t>(key + 1);
  to.flags = static_cast<std::uint32_t>(
      is_packed | name_and_flags >> 32 | (ready != 0 ? told_ready : 0) | (is_join(cause) ? caused_by_join : 0) |
      own >> id_worker_shift << own_worker_shift | other >> id_worker_shift << cause_worker_shift | name << name_shift);
  return true;
}

/// The same, as long as the task and the cause, if there is one, are tasks of the recording worker: that is most, and
/// takes half the instructions. Else `to` holds anything.
inline bool pack_own_slice(trace_record& to, task_id first, ticks begin, ticks end, std::uint64_t key,
                           std::uint64_t name_and_flags, task_id id, task_id cause, ticks ready) noexcept {
  const std::uint64_t length = end - begin;
  const std::uint64_t waited = ready == 0 ? 0 : begin - ready;
  to.begin = end;
  to.end = length | waited << 32;
  std::uint64_t large = length | waited | (key + 1);
  to.name = static_cast<std::uint32_t>(key + 1);
  const std::uint64_t own = id ^ first;  // below 2^32: its number
  const std::uint64_t other = cause == 0 ? 0 : cause ^ first;
  to.key = own | other << 32;
  large |= own | other;
  to.flags =
      static_cast<std::uint32_t>(is_packed | 15u << own_worker_shift | 15u << cause_worker_shift |
                                 name_and_flags >> 32 | (ready != 0 ? told_ready : 0) | name_and_flags << name_shift);
  return (large >> 32 | (name_and_flags & low_word) >> 16) == 0;
}

struct unpacked_slice {
  trace_slice slice;
  task_id cause = 0;
};

inline unpacked_slice unpack_slice(const trace_record& r, task_id first) noexcept {
  const ticks begin = r.begin - (r.end & low_word);
  return {.slice = {.begin = begin,
                    .end = r.begin,
                    .key = std::uint64_t{r.name} - 1,
                    .id = id_at(r.flags >> own_worker_shift & 31, r.key & low_word, false, first),
                    .ready = (r.flags & told_ready) != 0 ? begin - (r.end >> 32) : 0,
                    .name = r.flags >> name_shift,
                    .finished = (r.flags & trace_record::finished) != 0,
                    .resumed = (r.flags & trace_record::resumed) != 0},
          .cause = id_at(r.flags >> cause_worker_shift & 31, r.key >> 32, (r.flags & caused_by_join) != 0, first)};
}

/// Targets of edges, in three words, the last one in the lowest bits: its number, the worker, whether it is a join.
using packed_targets = std::array<std::uint64_t, 3>;
inline constexpr unsigned target_bits = 38, most_targets = 5;

/// Requires: is_near(distance), and that there are fewer than most_targets.
inline void add_target(packed_targets& all, std::uint64_t distance, bool join) noexcept {
  const std::uint64_t one = (distance & low_word) | distance >> id_worker_shift << 32 | std::uint64_t{join} << 37;
  all[2] = all[2] << target_bits | all[1] >> (64 - target_bits);
  all[1] = all[1] << target_bits | all[0] >> (64 - target_bits);
  all[0] = all[0] << target_bits | one;
}

/// Takes the last one off; 0 when there is none.
inline task_id take_target(packed_targets& all, task_id first) noexcept {
  const std::uint64_t one = all[0] & ((std::uint64_t{1} << target_bits) - 1);
  all[0] = all[0] >> target_bits | all[1] << (64 - target_bits);
  all[1] = all[1] >> target_bits | all[2] << (64 - target_bits);
  all[2] >>= target_bits;
  return id_at(one >> 32 & 31, one & low_word, (one >> 37 & 1) != 0, first);
}

}  // namespace plx::probe::detail
