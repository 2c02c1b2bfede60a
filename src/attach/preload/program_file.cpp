#include "attach/preload/program_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

namespace plx::probe {
namespace {

#if defined(__x86_64__)
constexpr int own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int own_machine = EM_AARCH64;
#else
constexpr int own_machine = EM_NONE;  // not checked
#endif

bool is_file(const std::string& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
}

/// True if the program requests the dynamic loader, or if that cannot be determined.
bool is_dynamic(std::ifstream& file, const ElfW(Ehdr) & header) {
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff) + i * static_cast<std::streamoff>(header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return true;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

result<void> check_interpreter(std::string_view line, int depth);

result<void> check(const std::string& path, int depth) {
  std::ifstream file(path, std::ios::binary);
  char begin[256] = {};
  file.read(begin, sizeof begin - 1);
  if (std::strncmp(begin, "#!", 2) == 0) return check_interpreter(begin + 2, depth);
  ElfW(Ehdr) header{};
  std::memcpy(&header, begin, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64)
    return error{fmt::format("'{}' is a 32-bit program: expected a 64-bit one, like the measuring library", path)};
  if (own_machine != EM_NONE && header.e_machine != own_machine)
    return error{fmt::format("'{}' is built for another processor than the measuring library", path)};
  struct stat s {};
  const bool other_user = stat(path.c_str(), &s) == 0 && (((s.st_mode & S_ISUID) != 0 && s.st_uid != getuid()) ||
                                                          ((s.st_mode & S_ISGID) != 0 && s.st_gid != getgid()));
  if (other_user || (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0))
    return error{
        fmt::format("'{}' runs with the rights of another user (set-user-id, or capabilities): the system does "
                    "not preload libraries into it. Start it as that user",
                    path)};
  file.clear();
  if (!is_dynamic(file, header))
    return error{
        fmt::format("'{}' is linked statically: no library can be preloaded into it. Link it dynamically, or "
                    "use the calls of attach/plx_probe.h",
                    path)};
  return {};
}

result<void> check_interpreter(std::string_view line, int depth) {
  line = line.substr(0, line.find('\n'));
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == line.npos || depth > 4) return {};
  line.remove_prefix(first);
  const std::string interpreter(line.substr(0, line.find_first_of(" \t")));
  return check(interpreter, depth + 1);
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != name.npos) return is_file(name) ? name : std::string();
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  std::string found;
  for (;;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const std::string candidate = folder.empty() ? "./" + name : std::string(folder) + "/" + name;
    if (is_file(candidate)) {
      if (access(candidate.c_str(), X_OK) == 0) return candidate;
      if (found.empty()) found = candidate;  // exists, but is not executable
    }
    if (colon == rest.npos) return found;
    rest.remove_prefix(colon + 1);
  }
}

result<void> can_be_measured(const std::string& path) { return check(path, 0); }

bool is_linked_with(const std::string& path, const std::string& library) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  if (header.e_phentsize != sizeof(ElfW(Phdr))) return false;
  std::vector<ElfW(Phdr)> segments(header.e_phnum);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  file.read(reinterpret_cast<char*>(segments.data()),
            static_cast<std::streamsize>(segments.size() * sizeof segments[0]));
  std::vector<ElfW(Dyn)> entries;
  for (const auto& s : segments) {
    if (s.p_type != PT_DYNAMIC || s.p_filesz > (1u << 20)) continue;
    entries.resize(s.p_filesz / sizeof(ElfW(Dyn)));
    file.seekg(static_cast<std::streamoff>(s.p_offset));
    file.read(reinterpret_cast<char*>(entries.data()),
              static_cast<std::streamsize>(entries.size() * sizeof entries[0]));
  }
  std::uint64_t names = 0;  // the address of the string table, then its offset in the file
  for (const auto& e : entries)
    if (e.d_tag == DT_STRTAB) names = e.d_un.d_ptr;
  const auto holds = [&](const auto& s) {
    return s.p_type == PT_LOAD && names >= s.p_vaddr && names - s.p_vaddr < s.p_filesz;
  };
  const auto segment = std::find_if(segments.begin(), segments.end(), holds);
  if (!file || segment == segments.end()) return false;
  for (const auto& e : entries) {
    if (e.d_tag != DT_NEEDED) continue;
    std::string name(library.size() + 1, ' ');
    file.seekg(static_cast<std::streamoff>(names - segment->p_vaddr + segment->p_offset + e.d_un.d_val));
    file.read(name.data(), static_cast<std::streamsize>(name.size()));
    if (name.back() == '\0' && name.compare(0, library.size(), library) == 0) return true;
    file.clear();
  }
  return false;
}

}  // namespace plx::probe
