#include "base/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>

#include "base/clock.hpp"

extern char** environ;

namespace plx {
namespace {

// The file that an address was loaded from, and the address within that file.
struct place {
  std::string path;
  std::uintptr_t offset = 0;
};

// By way of the thread: /proc/self is empty once the main thread has ended and others still run.
constexpr const char* path_of_program = "/proc/thread-self/exe";

// dladdr() takes the lock that dlopen() holds while constructors run, and a constructor may wait for this thread;
// dl_iterate_phdr() takes another lock, which dlopen() does not hold at that time.
struct search {
  std::uintptr_t address;
  std::uintptr_t offset = 0;
  char path[4096] = "";  // copied during the search: the file may be unloaded afterwards
};

int look_into(dl_phdr_info* file, std::size_t /*size*/, void* given) {
  auto& wanted = *static_cast<search*>(given);
  for (const auto& segment : std::span(file->dlpi_phdr, file->dlpi_phnum)) {
    const std::uintptr_t begin = file->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0) continue;
    if (wanted.address < begin || wanted.address - begin >= segment.p_memsz) continue;
    const bool named = file->dlpi_name != nullptr && file->dlpi_name[0] != '\0';
    std::strncpy(wanted.path, named ? file->dlpi_name : path_of_program, sizeof wanted.path - 1);
    wanted.offset = wanted.address - file->dlpi_addr;
    return 1;
  }
  return 0;
}

place place_of(const void* address) {
  search wanted{reinterpret_cast<std::uintptr_t>(address)};
  if (dl_iterate_phdr(&look_into, &wanted) == 0) return {};
  // The program itself has no name in the list; /proc has its path even after a change of directory.
  std::string path = wanted.path;
  if (path == path_of_program) {
    char real[4096];
    const ssize_t n = readlink(path_of_program, real, sizeof real);
    if (n > 0 && n < static_cast<ssize_t>(sizeof real)) path.assign(real, static_cast<std::size_t>(n));
  }
  return {std::move(path), wanted.offset};
}

// The functions and variables of a file by address, from .symtab, or from .dynsym if the file is stripped. The file
// stays mapped: names are read from it.
class symbol_table {
 public:
  explicit symbol_table(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat s {};
    if (fstat(file, &s) == 0 && s.st_size > static_cast<off_t>(sizeof(ElfW(Ehdr)))) {
      bytes_ = static_cast<std::size_t>(s.st_size);
      void* map = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
      if (map != MAP_FAILED) {
        image_ = static_cast<const char*>(map);
        if (!read(SHT_SYMTAB)) read(SHT_DYNSYM);
      }
    }
    ::close(file);
  }

  struct symbol {
    std::uintptr_t begin, end;
    const char* name;
  };

  [[nodiscard]] const char* function(std::uintptr_t offset) const {
    const symbol* s = find(functions_, offset);
    return s == nullptr ? nullptr : s->name;
  }
  [[nodiscard]] const symbol* variable(std::uintptr_t offset) const { return find(variables_, offset); }

 private:
  static const symbol* find(const std::vector<symbol>& sorted, std::uintptr_t offset) {
    auto it = std::upper_bound(sorted.begin(), sorted.end(), offset,
                               [](std::uintptr_t o, const symbol& s) { return o < s.begin; });
    if (it == sorted.begin()) return nullptr;
    --it;
    return offset < it->end ? &*it : nullptr;
  }

  template <class T>
  const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(image_ + offset);
  }

  bool read(std::uint32_t kind) {
    const auto* header = at<ElfW(Ehdr)>(0);
    if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
    const auto* sections = at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
    if (sections == nullptr) return false;
    for (const auto& section : std::span(sections, header->e_shnum)) {
      if (section.sh_type != kind || section.sh_link >= header->e_shnum) continue;
      const auto& names = sections[section.sh_link];
      const std::uint64_t n = section.sh_size / sizeof(ElfW(Sym));
      const auto* symbols = at<ElfW(Sym)>(section.sh_offset, n);
      const char* text = at<char>(names.sh_offset, names.sh_size);
      if (symbols == nullptr || text == nullptr || names.sh_size == 0 || text[names.sh_size - 1] != '\0') continue;
      for (const auto& s : std::span(symbols, n)) {
        const unsigned type = s.st_info & 0xfu;
        if ((type != STT_FUNC && type != STT_OBJECT) || s.st_shndx == SHN_UNDEF || s.st_name >= names.sh_size) continue;
        (type == STT_FUNC ? functions_ : variables_)
            .push_back({s.st_value, s.st_value + std::max<std::uintptr_t>(s.st_size, 1), text + s.st_name});
      }
    }
    // Not std::sort, whose recursion needs more stack than a task may have left.
    for (auto* all : {&functions_, &variables_})
      std::stable_sort(all->begin(), all->end(), [](const symbol& a, const symbol& b) { return a.begin < b.begin; });
    return !functions_.empty();
  }

  const char* image_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<symbol> functions_, variables_;
};

const symbol_table& table_of(const place& p) {
  // Never destroyed: another thread may still use it while the process exits.
  static auto* lock = new std::mutex;
  static auto* tables = new std::map<std::string, symbol_table, std::less<>>;
  const std::lock_guard guard(*lock);
  auto it = tables->find(p.path);
  if (it == tables->end()) it = tables->try_emplace(p.path, p.path).first;
  return it->second;  // never changes
}

const char* symbol_at(const place& p) { return table_of(p).function(p.offset); }

// Results of earlier look-ups, since the same hang is reported more than once. Bounded, and separate per tool.
struct answer_cache {
  std::mutex lock;
  std::map<std::tuple<std::string, std::uintptr_t, std::string>, std::vector<code_location>> of;
};
answer_cache& answers() {
  static auto* all = new answer_cache;
  return *all;
}
std::tuple<std::string, std::uintptr_t, std::string> key_of(const place& p) {
  const char* tool = std::getenv("PLX_ADDR2LINE");
  return {p.path, p.offset, tool != nullptr ? tool : ""};
}
bool answered(const place& p, std::vector<code_location>& into) {
  answer_cache& c = answers();
  const std::lock_guard guard(c.lock);
  const auto it = c.of.find(key_of(p));
  if (it == c.of.end()) return false;
  into = it->second;
  return true;
}
void keep_answer(const place& p, const std::vector<code_location>& found) {
  answer_cache& c = answers();
  const std::lock_guard guard(c.lock);
  if (c.of.size() < 10'000) c.of.emplace(key_of(p), found);
}

std::string hex(std::uintptr_t n) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  do text.insert(text.begin(), digits[n & 15u]);
  while ((n >>= 4) != 0);
  return "0x" + text;
}

// ---------------------------------------------------------------------------------------------------- addr2line

// The output of the command `arguments`; "" if the program does not exist or takes longer than `limit_s`.
std::string output_of(const std::vector<std::string>& arguments, double limit_s) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<char*> argv;
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  // Not with the program's signal mask: a worker may have blocked the signals that end the child.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  // Nor with a measurement of this program (plx-exec --follow).
  std::vector<char*> environment;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e)
    if (const std::string_view variable = *e; !variable.starts_with("LD_PRELOAD=") && !variable.starts_with("PLX_"))
      environment.push_back(*e);
  environment.push_back(nullptr);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text;
  const double end = monotonic_seconds() + limit_s;
  while (failed == 0) {
    pollfd wanted{ends[0], POLLIN, 0};
    const int left_ms = static_cast<int>((end - monotonic_seconds()) * 1e3);
    const int ready = left_ms > 0 ? poll(&wanted, 1, left_ms) : 0;
    if (ready < 0 && errno == EINTR) continue;
    char buffer[4096];
    const ssize_t n = ready > 0 ? ::read(ends[0], buffer, sizeof buffer) : -1;
    if (n < 0 && ready > 0 && errno == EINTR) continue;
    if (n < 0) kill(child, SIGKILL), text.clear();
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  if (failed == 0)
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  return text;
}

/// "" from the time `end` on.
std::string addr2line(const std::string& path, std::span<const std::string> offsets, double end) {
  static constexpr double most_s = 30;
  const char* chosen = std::getenv("PLX_ADDR2LINE");
  const std::vector<std::string> programs =
      chosen != nullptr ? std::vector<std::string>{chosen} : std::vector<std::string>{"addr2line", "llvm-addr2line"};
  for (const auto& program : programs) {
    std::vector<std::string> arguments{program, "-a", "-f", "-C", "-i", "-e", path};
    arguments.insert(arguments.end(), offsets.begin(), offsets.end());
    const double limit_s = std::min(most_s, end - monotonic_seconds());
    if (limit_s <= 0) return {};
    std::string text = output_of(arguments, limit_s);
    if (!text.empty()) return text;
  }
  return {};
}

std::string_view next_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// For each address: a line with the address, then pairs of lines, the function and "file:line (discriminator 2)".
void read_answer(std::string_view text, std::span<std::vector<code_location>* const> answers) {
  std::size_t i = 0;
  for (std::string_view line = next_line(text); !line.empty(); line = next_line(text)) {
    if (line.starts_with("0x")) {
      ++i;
      continue;
    }
    std::string_view where = next_line(text);
    if (i == 0 || i > answers.size()) return;
    code_location l;
    if (line != "??") l.function = line;
    where = where.substr(0, where.find(" ("));
    if (const auto colon = where.rfind(':'); colon != where.npos && where.substr(0, colon) != "??") {
      l.file = where.substr(0, colon);
      l.line = std::atoi(std::string(where.substr(colon + 1)).c_str());
    }
    if (!l.function.empty() || l.line != 0) answers[i - 1]->push_back(std::move(l));
  }
}

}  // namespace

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

namespace {

/// The length of the parenthesis at the beginning of `text`.
std::size_t length_of_parenthesis(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i + 1;
  }
  return text.size();
}

/// The length of what is copied as it is at the beginning of `text`, outside of template arguments; 0: nothing.
std::size_t length_of_name(std::string_view text) {
  constexpr std::string_view anonymous = "(anonymous namespace)", call = "operator()";
  if (text.starts_with(anonymous)) return anonymous.size();
  if (text.starts_with(call)) return call.size();
  return text.starts_with("operator") ? std::min(text.find('('), text.size()) : 0;
}

/// Template arguments that are longer than their function is likely to be become "<...>".
std::string with_brief_arguments(std::string_view name) {
  constexpr std::size_t most = 32;
  std::string out;
  std::size_t begin = 0;  // of the open outermost arguments, in `out`
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool operator_sign = depth == 0 && out.ends_with("operator");
    if (name[i] == '<' && !operator_sign && depth++ == 0) begin = out.size();
    out += name[i];
    const bool closes = name[i] == '>' && depth > 0 && name[i - 1] != '-';
    if (closes && --depth == 0 && out.size() - begin > most) out.replace(begin, out.npos, "<...>");
  }
  return out;
}

}  // namespace

std::string brief_function(std::string_view demangled) {
  constexpr std::size_t most = 240;
  std::string out;
  int depth = 0;  // of template arguments and of {lambda(int)#1}, which are copied
  bool after_parameters = false;
  for (std::size_t i = 0; i < demangled.size();) {
    const std::string_view rest = demangled.substr(i);
    const char c = rest.front();
    if (depth == 0) {
      if (const std::size_t n = length_of_name(rest); n != 0) {
        out += rest.substr(0, n);
        i += n;
        continue;
      }
      if (c == '(') {
        i += length_of_parenthesis(rest);
        after_parameters = true;
        continue;
      }
      if (c == ' ') {  // before a qualifier such as const, otherwise after the type that a template returns
        i = after_parameters ? std::min(demangled.find("::", i), demangled.size()) : i + 1;
        if (!after_parameters) out.clear();
        continue;
      }
      after_parameters = false;
    }
    if (c == '<' || c == '{') ++depth;
    if (c == '}' || (c == '>' && i > 0 && demangled[i - 1] != '-')) --depth;
    out += c;
    ++i;
  }
  if (out.empty()) out = demangled;
  out = with_brief_arguments(out);
  return out.size() <= most ? out : out.substr(0, most - 3) + "...";
}

namespace {
/// A symbol for people. Without the prefix of mangled names it is a C name, which may read as a mangled type: "m" is
/// unsigned long.
std::string symbol_text(const char* symbol) {
  return std::strncmp(symbol, "_Z", 2) == 0 ? demangled(symbol) : std::string(symbol);
}
}  // namespace

std::string loaded_file(const void* address) { return place_of(address).path; }

std::string function_name(const void* address) {
  const place p = place_of(address);
  const char* symbol = p.path.empty() ? nullptr : symbol_at(p);
  return symbol == nullptr ? std::string() : symbol_text(symbol);
}

std::string variable_name(const void* address) {
  const place p = place_of(address);
  const auto* s = p.path.empty() ? nullptr : table_of(p).variable(p.offset);
  if (s == nullptr) return {};
  return p.offset == s->begin ? symbol_text(s->name) : symbol_text(s->name) + "+" + hex(p.offset - s->begin);
}

std::vector<std::vector<code_location>> locate(std::span<const void* const> addresses, double limit_s) {
  const double end = monotonic_seconds() + limit_s;
  std::vector<std::vector<code_location>> found(addresses.size());
  struct batch {
    std::vector<std::string> offsets;
    std::vector<std::vector<code_location>*> answers;
  };
  std::map<std::string, batch> modules;
  std::vector<place> places;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    places.push_back(place_of(addresses[i]));
    if (places[i].path.empty() || answered(places[i], found[i])) continue;
    batch& b = modules[places[i].path];
    b.offsets.push_back(hex(places[i].offset));
    b.answers.push_back(&found[i]);
  }
  constexpr std::size_t at_once = 500;  // addresses per command line
  for (auto& [path, b] : modules)
    for (std::size_t i = 0; i < b.offsets.size(); i += at_once) {
      const std::size_t n = std::min(at_once, b.offsets.size() - i);
      read_answer(addr2line(path, std::span(b.offsets).subspan(i, n), end), std::span(b.answers).subspan(i, n));
    }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const bool fresh = found[i].empty() || found[i].back().module.empty();
    if (found[i].empty()) found[i].emplace_back();
    if (places[i].path.empty() || !fresh) continue;
    code_location& outermost = found[i].back();
    if (outermost.function.empty())
      if (const char* symbol = symbol_at(places[i])) outermost.function = symbol_text(symbol);
    outermost.module = places[i].path + "+" + hex(places[i].offset);
    keep_answer(places[i], found[i]);
  }
  return found;
}

}  // namespace plx
