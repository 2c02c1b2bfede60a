#include "probe/sample/unwind_table.hpp"

#if defined(__linux__)
#include <dlfcn.h>
#endif

#include <array>
#include <cstring>

namespace plx::probe {
namespace {

using rule = walk_cache::rule;
using rules = walk_cache::rules;

rule* rule_of(rules& all, std::uint64_t r) noexcept {
  return r == fp_register ? &all.fp : r == ra_register ? &all.ra : nullptr;
}

/// A part of a table. After a read beyond its end, ok() is false and all reads give 0.
class table_reader {
 public:
  table_reader(const std::byte* at, const std::byte* end) noexcept
      : at_(at), end_(end), ok_(at != nullptr && at <= end) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool more() const noexcept { return ok_ && at_ < end_; }
  [[nodiscard]] const std::byte* at() const noexcept { return at_; }

  template <class T>
  T get() noexcept {
    T v{};
    if (!ok_ || static_cast<std::size_t>(end_ - at_) < sizeof v) {
      ok_ = false;
      return v;
    }
    std::memcpy(&v, at_, sizeof v);
    at_ += sizeof v;
    return v;
  }
  std::uint64_t uleb() noexcept {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto b = get<std::uint8_t>();
      v |= std::uint64_t{b & 0x7fu} << shift;
      if ((b & 0x80u) == 0) return v;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t sleb() noexcept {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto b = get<std::uint8_t>();
      v |= std::uint64_t{b & 0x7fu} << shift;
      shift += 7;
      if ((b & 0x80u) != 0) continue;
      if (shift < 64 && (b & 0x40u) != 0) v |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(v);
    }
    ok_ = false;
    return 0;
  }
  /// The next `n` bytes.
  table_reader part(std::uint64_t n) noexcept {
    if (!ok_ || n > static_cast<std::uint64_t>(end_ - at_)) {
      ok_ = false;
      return {nullptr, nullptr};
    }
    const std::byte* begin = at_;
    at_ += n;
    return {begin, at_};
  }
  /// A pointer in one of the encodings that occur: absolute or relative to itself.
  std::uintptr_t pointer(std::uint8_t encoding) noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(at_);
    const std::uintptr_t base = (encoding & 0x70u) == 0x10u ? here : 0;
    if ((encoding & 0xf0u) != 0 && (encoding & 0xf0u) != 0x10u) ok_ = false;  // indirect, or relative to something else
    switch (encoding & 0x0fu) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return base + get<std::uint64_t>();
      case 0x03:
        return base + get<std::uint32_t>();
      case 0x0b:
        return base + static_cast<std::uintptr_t>(std::int64_t{get<std::int32_t>()});
      default:
        ok_ = false;
        return 0;
    }
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
  bool ok_;
};

/// Instructions (DW_CFA_...). The first three have an operand in their lower six bits.
enum opcode : std::uint8_t {
  op_advance_loc = 0x40,
  op_offset = 0x80,
  op_restore = 0xc0,
  op_nop = 0x00,
  op_set_loc = 0x01,
  op_advance_loc1 = 0x02,
  op_advance_loc2 = 0x03,
  op_advance_loc4 = 0x04,
  op_offset_extended = 0x05,
  op_restore_extended = 0x06,
  op_undefined = 0x07,
  op_same_value = 0x08,
  op_register = 0x09,
  op_remember_state = 0x0a,
  op_restore_state = 0x0b,
  op_def_cfa = 0x0c,
  op_def_cfa_register = 0x0d,
  op_def_cfa_offset = 0x0e,
  op_def_cfa_expression = 0x0f,
  op_expression = 0x10,
  op_offset_extended_sf = 0x11,
  op_def_cfa_sf = 0x12,
  op_def_cfa_offset_sf = 0x13,
  op_val_offset = 0x14,
  op_val_offset_sf = 0x15,
  op_val_expression = 0x16,
  op_negate_ra_state = 0x2d,  // AArch64
  op_gnu_args_size = 0x2e
};

constexpr std::uint8_t op_with_operand = 0xc0;  // the bits that tell the first three from the others

/// Operations of blocks that compute an address (DW_OP_...).
enum operation : std::uint8_t { op_deref = 0x06, op_breg0 = 0x70, op_breg31 = 0x8f };

/// The common part of the entries of functions (CIE).
struct common_entry {
  std::uint64_t code_factor = 0;
  std::int64_t data_factor = 0;
  std::uint8_t pointers = 0;  // their encoding
  bool augmented = false;     // entries have the length of further data
  bool signal = false;        // of the function that a signal handler returns to
  table_reader program{nullptr, nullptr};
};

bool read_common(table_reader r, common_entry& c) noexcept {
  table_reader entry = r.part(r.get<std::uint32_t>());
  if (entry.get<std::uint32_t>() != 0) return false;
  const auto version = entry.get<std::uint8_t>();
  char words[8] = {};
  for (std::size_t i = 0;; ++i) {
    const auto letter = entry.get<char>();
    if (letter == '\0') break;
    if (i + 1 == sizeof words || !entry.ok()) return false;
    words[i] = letter;
  }
  c.code_factor = entry.uleb();
  c.data_factor = entry.sleb();
  const std::uint64_t returns = version == 1 ? entry.get<std::uint8_t>() : entry.uleb();
  if (returns != ra_register) return false;
  c.augmented = words[0] == 'z';
  if (c.augmented) {
    table_reader more = entry.part(entry.uleb());
    for (const char* w = words + 1; *w != '\0'; ++w) {
      if (*w == 'R') {
        c.pointers = more.get<std::uint8_t>();
      } else if (*w == 'P') {
        const auto encoding = more.get<std::uint8_t>();
        (void)more.pointer(encoding & 0x1fu);  // its value is not needed: of an indirect one, its size
      } else if (*w == 'L') {
        (void)more.get<std::uint8_t>();
      } else if (*w == 'S') {
        c.signal = true;
      } else if (*w != 'B') {
        break;
      }
    }
  } else if (words[0] != '\0') {
    return false;
  }
  c.program = entry;
  return entry.ok();
}

/// A block that computes an address: the value of a register plus an offset, or the word there.
bool read_address(table_reader block, std::uint8_t& base, std::int32_t& offset, bool& loaded) noexcept {
  const auto first = block.get<std::uint8_t>();
  if (first < op_breg0 || first > op_breg31) return false;
  base = static_cast<std::uint8_t>(first - op_breg0);
  offset = static_cast<std::int32_t>(block.sleb());
  loaded = block.more() && block.get<std::uint8_t>() == op_deref;
  return block.ok() && !block.more();
}

/// The block with which linkers describe the jump to a function of another library:
/// sp + 8 + ((pc & 15) >= N ? 8 : 0). The result is N, or 0 if it is another one.
std::uint8_t pushed_from([[maybe_unused]] table_reader block) noexcept {
#if defined(__x86_64__)
  constexpr std::uint8_t before[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a}, after[] = {0x2a, 0x33, 0x24, 0x22};
  for (const std::uint8_t b : before)
    if (block.get<std::uint8_t>() != b) return 0;
  const auto n = static_cast<std::uint8_t>(block.get<std::uint8_t>() - 0x30);
  for (const std::uint8_t b : after)
    if (block.get<std::uint8_t>() != b) return 0;
  if (n < 16 && block.ok() && !block.more()) return n;
#endif
  return 0;
}

/// Executes the program of a function's entry.
class table_program {
 public:
  table_program(const common_entry& c, std::uintptr_t begin, std::uintptr_t pc) noexcept
      : common_(c), here_(begin), pc_(pc) {}

  /// False if the program is damaged or contains what is not supported.
  bool run(table_reader program) noexcept {
    while (program.more() && here_ <= pc_)
      if (!step(program)) return false;
    return program.ok();
  }
  void begin_function() noexcept { initial_ = now_; }
  [[nodiscard]] const rules& result() const noexcept { return now_; }

 private:
  bool step(table_reader& p) noexcept {
    const auto code = p.get<std::uint8_t>();
    const std::uint8_t operand = code & 0x3fu;
    switch (code & op_with_operand) {
      case op_advance_loc:
        return advance(operand);
      case op_offset:
        return saved(operand, scaled(p.uleb()));
      case op_restore:
        return restore(operand);
      default:
        return code <= op_register ? step_register(code, p) : step_other(code, p);
    }
  }
  bool step_register(std::uint8_t code, table_reader& p) noexcept {
    switch (code) {
      case op_nop:
        return true;
      case op_set_loc:
        here_ = p.pointer(common_.pointers);
        return p.ok();
      case op_advance_loc1:
        return advance(p.get<std::uint8_t>());
      case op_advance_loc2:
        return advance(p.get<std::uint16_t>());
      case op_advance_loc4:
        return advance(p.get<std::uint32_t>());
      case op_offset_extended: {
        const std::uint64_t r = p.uleb();
        return saved(r, scaled(p.uleb()));
      }
      case op_restore_extended:
        return restore(p.uleb());
      case op_undefined:
        return set(p.uleb(), {rule::undefined});
      case op_same_value:
        return set(p.uleb(), {rule::same});
      default: {  // op_register: in another register
        const std::uint64_t r = p.uleb();
        (void)p.uleb();
        return set(r, {rule::unsupported});
      }
    }
  }
  bool step_other(std::uint8_t code, table_reader& p) noexcept {
    switch (code) {
      case op_remember_state:
        if (n_remembered_ == remembered_.size()) return false;
        remembered_[n_remembered_++] = now_;
        return true;
      case op_restore_state:
        if (n_remembered_ == 0) return false;
        now_ = remembered_[--n_remembered_];
        return true;
      case op_def_cfa: {
        const std::uint64_t r = p.uleb();
        return frame_at(r, static_cast<std::int64_t>(p.uleb()));
      }
      case op_def_cfa_register:
        return frame_at(p.uleb(), now_.offset);
      case op_def_cfa_offset:
        return frame_at(now_.base, static_cast<std::int64_t>(p.uleb()));
      case op_def_cfa_expression:
        return computed_frame(p.part(p.uleb()));
      case op_expression: {
        const std::uint64_t r = p.uleb();
        rule near{rule::saved_near};
        bool loaded = false;
        if (!read_address(p.part(p.uleb()), near.from, near.offset, loaded) || loaded) near.kind = rule::unsupported;
        return set(r, near);
      }
      case op_offset_extended_sf: {
        const std::uint64_t r = p.uleb();
        return saved(r, p.sleb() * common_.data_factor);
      }
      case op_def_cfa_sf: {
        const std::uint64_t r = p.uleb();
        return frame_at(r, p.sleb() * common_.data_factor);
      }
      case op_def_cfa_offset_sf:
        return frame_at(now_.base, p.sleb() * common_.data_factor);
      case op_val_offset:
      case op_val_offset_sf: {  // a value instead of a place: both operands have one length
        const std::uint64_t r = p.uleb();
        (void)p.uleb();
        return set(r, {rule::unsupported});
      }
      case op_val_expression: {
        const std::uint64_t r = p.uleb();
        (void)p.part(p.uleb());
        return set(r, {rule::unsupported});
      }
      case op_negate_ra_state:  // AArch64: the return address is signed from here on; see without_signature()
        return true;
      case op_gnu_args_size:  // the size of arguments on the stack
        (void)p.uleb();
        return true;
      default:
        return false;
    }
  }

  bool advance(std::uint64_t by) noexcept {
    here_ += by * common_.code_factor;
    return true;
  }
  bool set(std::uint64_t r, rule value) noexcept {
    if (rule* kept = rule_of(now_, r)) *kept = value;
    return true;
  }
  bool saved(std::uint64_t r, std::int64_t offset) noexcept {
    return set(r, {rule::saved, 0, static_cast<std::int32_t>(offset)});
  }
  bool restore(std::uint64_t r) noexcept {
    if (const rule* before = rule_of(initial_, r)) *rule_of(now_, r) = *before;
    return true;
  }
  bool frame_at(std::uint64_t base, std::int64_t offset) noexcept {
    now_.base = static_cast<std::uint8_t>(base < n_registers ? base : n_registers);
    now_.offset = static_cast<std::int32_t>(offset);
    now_.loaded = false;
    return true;
  }
  bool computed_frame(table_reader block) noexcept {
    if (const std::uint8_t n = pushed_from(block); n != 0) return frame_at(sp_register, (pc_ & 15u) >= n ? 16 : 8);
    if (!read_address(block, now_.base, now_.offset, now_.loaded)) now_.base = n_registers;
    return true;
  }
  [[nodiscard]] std::int64_t scaled(std::uint64_t n) const noexcept {
    return static_cast<std::int64_t>(n) * common_.data_factor;
  }

  const common_entry& common_;
  std::uintptr_t here_;
  const std::uintptr_t pc_;
  rules now_, initial_;
  std::array<rules, 8> remembered_{};
  std::size_t n_remembered_ = 0;
};

}  // namespace

bool rules_of_entry(const std::byte* entry, const std::byte* begin, const std::byte* end, std::uintptr_t pc,
                    walk_cache::rules& out) noexcept {
  if (entry < begin) return false;
  table_reader r(entry, end);
  table_reader function = r.part(r.get<std::uint32_t>());
  const std::byte* here = function.at();
  const auto back = function.get<std::uint32_t>();
  if (!function.ok() || back == 0 || back > static_cast<std::uint64_t>(here - begin)) return false;
  common_entry common;
  if (!read_common({here - back, end}, common)) return false;
  const std::uintptr_t first = function.pointer(common.pointers);
  const std::uintptr_t length = function.pointer(common.pointers & 0x0fu);
  if (!function.ok() || pc < first || pc - first >= length) return false;
  if (common.augmented) (void)function.part(function.uleb());  // the address of the table for exceptions
  table_program program(common, first, pc);
  if (!program.run(common.program)) return false;
  program.begin_function();
  if (!program.run(function)) return false;
  out = program.result();
  out.signal = common.signal;
  return true;
}

#if defined(__linux__) && defined(DLFO_STRUCT_HAS_EH_DBASE)

namespace {

/// The entry of the function that contains `pc`, by the sorted index in .eh_frame_hdr; null if there is none.
const std::byte* entry_of(const std::byte* index, const std::byte* end, std::uintptr_t pc) noexcept {
  table_reader r(index, end);
  if (r.get<std::uint8_t>() != 1) return nullptr;
  const auto table_at = r.get<std::uint8_t>(), counts = r.get<std::uint8_t>(), rows = r.get<std::uint8_t>();
  (void)r.pointer(table_at);
  // Counts of 4 bytes, rows of two offsets from the beginning of the index.
  if (counts != 0x03 || rows != 0x3b) return nullptr;
  struct row {
    std::int32_t function, entry;
  };
  const auto n = r.get<std::uint32_t>();
  const table_reader all = r.part(std::uint64_t{n} * sizeof(row));
  if (!all.ok()) return nullptr;
  const auto wanted = static_cast<std::int64_t>(pc - reinterpret_cast<std::uintptr_t>(index));
  std::size_t low = 0, high = n;
  row found{};
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    row here;
    std::memcpy(&here, all.at() + middle * sizeof here, sizeof here);
    if (here.function <= wanted) {
      low = middle + 1;
      found = here;
    } else {
      high = middle;
    }
  }
  return low == 0 ? nullptr : index + found.entry;
}

}  // namespace

bool find_rules(std::uintptr_t pc, walk_cache::rules& out) noexcept {
  if (!walks_stacks()) return false;
  dl_find_object object{};
  if (_dl_find_object(reinterpret_cast<void*>(pc), &object) != 0 || object.dlfo_eh_frame == nullptr) return false;
  const auto* begin = static_cast<const std::byte*>(object.dlfo_map_start);
  const auto* end = static_cast<const std::byte*>(object.dlfo_map_end);
  const std::byte* entry = entry_of(static_cast<const std::byte*>(object.dlfo_eh_frame), end, pc);
  return entry != nullptr && rules_of_entry(entry, begin, end, pc, out);
}

#else

bool find_rules(std::uintptr_t, walk_cache::rules&) noexcept { return false; }

#endif

}  // namespace plx::probe
