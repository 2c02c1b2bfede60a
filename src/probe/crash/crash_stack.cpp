#include "probe/crash/crash_stack.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#if defined(__linux__)
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#endif

namespace plx::probe {
namespace {

constexpr std::size_t most_name = 4096, most_written = 160;

/// Reads a mangled name of the Itanium C++ ABI, section 5.1, as far as the names of functions need it.
class mangled_reader {
 public:
  mangled_reader(std::string_view text, signal_text& out) noexcept : rest_(text), out_(out) {}

  /// <encoding>: the name; parameters are left unread, unless a local name follows them. False if it is not understood.
  bool function() noexcept {
    const nesting here(*this);
    if (!here) return false;
    if (skip("T") || skip("G")) return false;  // tables, guards, thunks
    if (skip("Z")) return local();
    if (skip("N")) return nested();
    if (skip("St")) out_ << "std::";
    if (!name()) return false;
    if (peek() == 'I') return arguments();
    return true;
  }

 private:
  [[nodiscard]] char peek(std::size_t i = 0) const noexcept { return i < rest_.size() ? rest_[i] : '\0'; }
  bool skip(std::string_view text) noexcept {
    if (rest_.substr(0, text.size()) != text) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  /// Z <function> E <name>: something within a function, mostly a lambda.
  bool local() noexcept {
    if (!function()) return false;
    out_ << "()::";
    if (!pass_to_end()) return false;
    if (skip("N")) return nested();
    return name();
  }

  /// N <qualifiers> <names> E
  bool nested() noexcept {
    while (peek() == 'K' || peek() == 'V' || peek() == 'r' || peek() == 'R' || peek() == 'O') rest_.remove_prefix(1);
    bool first = true;
    while (!skip("E")) {
      if (peek() == 'I') {
        if (!arguments()) return false;
        continue;
      }
      if (!first) out_ << "::";
      first = false;
      if (skip("St"))
        out_ << "std";
      else if (peek() == 'S')
        return false;  // a part of the name seen before
      else if (!name())
        return false;
    }
    return !first;
  }

  bool name() noexcept {
    while (skip("L")) {
    }
    const char c = peek();
    if (c >= '1' && c <= '9') return identifier(true);
    if (skip("Ul")) {  // a lambda: parameters E number _
      out_ << "{lambda}";
      return pass_to_end() && number();
    }
    if (skip("C1") || skip("C2") || skip("C3")) return out_ << "{constructor}", true;
    if (skip("D0") || skip("D1") || skip("D2")) return out_ << "{destructor}", true;
    if (skip("cl")) return out_ << "operator()", true;
    const bool is_operator = c >= 'a' && c <= 'z' && peek(1) >= 'a' && peek(1) <= 'z' && rest_.substr(0, 2) != "cv";
    if (is_operator) rest_.remove_prefix(2), out_ << "operator";
    return is_operator;  // not a conversion, whose name is a type
  }

  bool identifier(bool write) noexcept {
    std::size_t n = 0;
    while (peek() >= '0' && peek() <= '9' && n < most_name) {
      n = n * 10 + static_cast<std::size_t>(peek() - '0');
      rest_.remove_prefix(1);
    }
    if (n == 0 || n > rest_.size()) return false;
    const std::string_view id = rest_.substr(0, n);
    if (write) out_ << (id.substr(0, 8) == "_GLOBAL_" ? std::string_view("(anonymous namespace)") : id);
    rest_.remove_prefix(n);
    while (skip("B")) {  // an ABI tag
      if (!identifier(false)) return false;
    }
    return true;
  }

  bool arguments() noexcept {
    rest_.remove_prefix(1);
    out_ << "<...>";
    return pass_to_end();
  }

  /// Digits, if any, and _.
  bool number() noexcept {
    while (peek() >= '0' && peek() <= '9') rest_.remove_prefix(1);
    return skip("_");
  }
  /// The rest of S_, S0_, T_, T0_ or St after the first letter.
  bool reference() noexcept {
    if (peek() >= 'a' && peek() <= 'z') return rest_.remove_prefix(1), true;  // std:: and its abbreviations
    while ((peek() >= '0' && peek() <= '9') || (peek() >= 'A' && peek() <= 'Z')) rest_.remove_prefix(1);
    return skip("_");
  }

  /// Passes types, names and expressions up to the E that belongs to what has begun before.
  bool pass_to_end() noexcept {
    const nesting here(*this);
    if (!here) return false;
    for (int open = 1; open > 0;) {
      const char c = peek();
      if (c == '\0') return false;
      if (c >= '0' && c <= '9') {
        if (!identifier(false)) return false;
        continue;
      }
      rest_.remove_prefix(1);
      bool understood = true;
      if (c == 'E') {
        --open;
      } else if (c == 'N' || c == 'I' || c == 'X' || c == 'J' || c == 'F' || c == 'Z') {
        ++open;
      } else if (c == 'L') {
        understood = literal();
      } else if (c == 'S' || c == 'T') {
        understood = reference();
      } else if (c == 'U' && skip("l")) {
        understood = pass_to_end() && number();
      } else if (c == 'A' || (c == 'U' && skip("t")) || (c == 'f' && skip("p"))) {  // arrays, unnamed types, parameters
        understood = number();
      } else if (c == 'D' && (skip("t") || skip("T"))) {
        ++open;
      }
      if (!understood) return false;
    }
    return true;
  }

  /// L <type> <value> E, or L _Z <function> E, after the L.
  bool literal() noexcept {
    if (skip("_Z")) return pass_to_end();
    while (peek() == 'P' || peek() == 'R' || peek() == 'K') rest_.remove_prefix(1);
    const char c = peek();
    if (c >= '1' && c <= '9') {
      if (!identifier(false)) return false;
    } else if (c != '\0') {
      rest_.remove_prefix(1);
      if (c == 'N' && !pass_to_end()) return false;
      if ((c == 'S' || c == 'T') && !reference()) return false;
    }
    if (skip("I") && !pass_to_end()) return false;
    while (peek() != 'E' && peek() != '\0') rest_.remove_prefix(1);
    return skip("E");
  }

  /// Limits the depth: the stack of a handler is small, and a damaged file may have any names.
  class nesting {
   public:
    explicit nesting(mangled_reader& r) noexcept : reader_(r) { ++reader_.depth_; }
    ~nesting() { --reader_.depth_; }
    nesting(const nesting&) = delete;
    nesting& operator=(const nesting&) = delete;
    explicit operator bool() const noexcept { return reader_.depth_ <= 32; }

   private:
    mangled_reader& reader_;
  };

  int depth_ = 0;
  std::string_view rest_;
  signal_text& out_;
};

#if defined(__linux__) && defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35)
#define PLX_NAMES_FRAMES 1

/// A file of which parts are read into buffers of the caller.
class file_reader {
 public:
  explicit file_reader(const char* path) noexcept : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}
  ~file_reader() {
    if (file_ >= 0) ::close(file_);
  }
  file_reader(const file_reader&) = delete;
  file_reader& operator=(const file_reader&) = delete;

  /// The number of bytes read: fewer than `n` only at the end of the file or after an error.
  std::size_t read(std::uint64_t from, void* to, std::size_t n) const noexcept {
    std::size_t done = 0;
    while (file_ >= 0 && done < n) {
      const ssize_t r = ::pread(file_, static_cast<char*>(to) + done, n - done, static_cast<off_t>(from + done));
      if (r == 0 || (r < 0 && errno != EINTR)) break;
      if (r > 0) done += static_cast<std::size_t>(r);
    }
    return done;
  }
  template <class T>
  bool read(std::uint64_t from, T& to) const noexcept {
    return read(from, &to, sizeof to) == sizeof to;
  }

 private:
  int file_;
};

// One crash is written at a time (only_writer in flight_dump.cpp), and the stack of a handler is small.
ElfW(Sym) symbols[512];
char symbol_name[most_name], program_path[1024];

/// The mangled function at an address of a file, from the tables of symbols of one kind; "" if there is none.
std::string_view function_at(const file_reader& file, std::uintptr_t address, std::uint32_t kind) noexcept {
  ElfW(Ehdr) header;
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_shentsize != sizeof(ElfW(Shdr)))
    return {};
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    ElfW(Shdr) table, names;
    if (!file.read(header.e_shoff + i * sizeof table, table)) return {};
    if (table.sh_type != kind || table.sh_link >= header.e_shnum) continue;
    if (!file.read(header.e_shoff + table.sh_link * sizeof names, names)) return {};
    std::uintptr_t best = 0;
    std::uint64_t name = 0;
    for (std::uint64_t at = 0; at < table.sh_size; at += sizeof symbols) {
      const std::size_t bytes = std::min<std::uint64_t>(sizeof symbols, table.sh_size - at);
      const std::size_t n = file.read(table.sh_offset + at, symbols, bytes) / sizeof symbols[0];
      for (std::size_t s = 0; s < n; ++s) {
        const ElfW(Sym)& one = symbols[s];
        if ((one.st_info & 0xfu) != STT_FUNC || one.st_shndx == SHN_UNDEF || one.st_value > address ||
            one.st_value < best || address - one.st_value >= std::max<std::uint64_t>(one.st_size, 1))
          continue;
        best = one.st_value, name = one.st_name;
      }
      if (n * sizeof symbols[0] < bytes) break;
    }
    if (name == 0 || name >= names.sh_size) continue;
    const std::size_t n = file.read(names.sh_offset + name, symbol_name, sizeof symbol_name);
    return {symbol_name, ::strnlen(symbol_name, n)};
  }
  return {};
}

#else
#define PLX_NAMES_FRAMES 0
#endif

}  // namespace

void write_function(signal_text& out, std::string_view mangled) noexcept {
  char buffer[512];
  signal_text brief(buffer, sizeof buffer);
  const bool understood = mangled.substr(0, 2) == "_Z" && mangled_reader(mangled.substr(2), brief).function();
  const std::string_view name = understood ? brief.text() : mangled;
  out << name.substr(0, most_written) << (name.size() > most_written ? "..." : "");
}

void crash_stack::walk(const void* context, stack_bounds stack) noexcept {
  static constinit walk_cache cache;
  size_ = 0;
  if (context == nullptr || !walks_stacks()) return;
  const walked_stack walked = walk_stack(context, stack, frames_, most_frames, cache);
  size_ = walked.frames, whole_ = walked.whole;
}

#if PLX_NAMES_FRAMES

namespace {

/// Where an address was loaded from.
struct loaded {
  std::string_view path;
  std::uintptr_t offset;
  const char* open;  // for open(); null: unknown
};

loaded place_of(std::uintptr_t pc) noexcept {
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(pc), &object) != 0 || object.dlfo_link_map == nullptr)
    return {"?", pc, nullptr};
  const std::uintptr_t offset = pc - object.dlfo_link_map->l_addr;
  const char* name = object.dlfo_link_map->l_name;
  if (name != nullptr && *name != '\0') return {name, offset, name};
  constexpr const char* program = "/proc/thread-self/exe";  // the program itself has no name in the list
  const ssize_t n = ::readlink(program, program_path, sizeof program_path);
  return {std::string_view(program_path, n > 0 ? static_cast<std::size_t>(n) : 0), offset, program};
}

}  // namespace

#endif

void crash_stack::write_place(signal_text& out, [[maybe_unused]] std::size_t i) const noexcept {
#if PLX_NAMES_FRAMES
  const loaded at = place_of(address(i));
  (out << at.path << "+0x").hex(at.offset);
#endif
}

void crash_stack::write(signal_text& out, [[maybe_unused]] std::size_t i) const noexcept {
#if PLX_NAMES_FRAMES
  const loaded at = place_of(address(i));
  if (at.open != nullptr) {
    const file_reader file(at.open);
    std::string_view function = function_at(file, at.offset, SHT_SYMTAB);
    if (function.empty()) function = function_at(file, at.offset, SHT_DYNSYM);
    if (!function.empty()) write_function(out, function), out << " ";
  }
  (out << "(" << at.path.substr(at.path.rfind('/') + 1) << "+0x").hex(at.offset) << ")";
#endif
}

}  // namespace plx::probe
