// plx-exec PROGRAM ARGS...: runs a program with the measuring library. The process becomes the program: process id,
// files, signals and exit status are the program's own.
//
// plx-exec --attach PID measures a process that runs already, until Ctrl-C.
//
// Exit status before the program runs, as in env(1): 125 (invalid options, or the program cannot be measured), 126 (the
// program cannot be run) or 127 (program not found). Example: tests/exec/plx_exec_test.cpp
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "attach/preload/attach_client.hpp"
#include "attach/preload/exec_settings.hpp"
#include "base/build_info.hpp"
#include "base/file.hpp"
#include "base/process.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "probe/settings.hpp"
#include "session/attach_server.hpp"

using namespace plx;
using namespace plx::probe;

namespace {

constexpr const char* help_text = R"(plx-exec: measures a multithreaded program without rebuilding it

  plx-exec [OPTIONS] PROGRAM [ARGUMENTS...]
  plx-exec --attach PID [OPTIONS]      a running program with a runtime of Parallax, until Ctrl-C

  -o, --output FOLDER  folder of the files; default: PLX_OUTPUT, or plx-run
      --force          write into a folder that is not empty; files of the same names are replaced
  -t, --trace          also write a trace, for plx-trace
  -d, --diagnose       also write the files that `./plx diagnose FOLDER` reads
  -m, --mpi            also measure MPI calls, as in mpirun -n 4 plx-exec -m PROGRAM; each rank has a folder rank-N
  -f, --follow         also measure programs that PROGRAM starts, in folders process-N
  -a, --attach PID     measure that process, which was started without measurement: profile.csv of its run so far, and
                       with -t its trace, with --plx:sample-stacks=100 its stacks from now on
      --seconds S      with --attach: end after that time
  -q, --quiet          print no line at the end
      --plx:KEY=VALUE  any measurement option, such as --plx:sample-interval=0.1 (docs/probe.md); PLX_KEY=VALUE works too, but
                       with --attach only PLX_OUTPUT does
  -h, --help           print this text
  -V, --version        print the version

plx-exec measures threads (threads.csv), their waits for mutexes, condition variables, semaphores, barriers, futures,
threads and time (waits.csv), and their working time (profile.csv); also OpenMP, Kokkos, and the calls of
attach/plx_probe.h if PROGRAM uses them. `./plx diagnose FOLDER` names the likely causes of lost time; it needs -d.
PROGRAM must be linked dynamically, for this processor, and not set-user-id. Its exit status is plx-exec's.
)";

[[noreturn]] void fail(int status, const std::string& why) {
  std::fprintf(stderr, "plx-exec: %s\n", printable(why).c_str());
  std::exit(status);
}

[[noreturn]] void answer(const std::string& text) {
  const auto written = write_stdout(text);
  if (!written) fail(125, written.error().message);
  std::exit(0);
}

struct arguments {
  std::vector<std::string> settings;
  bool follow = false, quiet = false, mpi = false, force = false, diagnose = false;
  int attach = 0;      // the process
  double seconds = 0;  // 0: no limit
  int first = 0;       // the program among the arguments
};

double number_of(std::string_view option, const char* text, double most, const char* expected) {
  char* end = nullptr;
  const double value = text == nullptr ? 0 : std::strtod(text, &end);
  if (text == nullptr || end == text || *end != '\0' || !(value > 0 && value <= most))
    fail(125, fmt::format("{}: expected {}, found '{}'", option, expected, text == nullptr ? "" : text));
  return value;
}

int process_of(std::string_view option, const char* text) {
  int id = 0;
  const char* const end = text == nullptr ? nullptr : text + std::strlen(text);
  if (text == nullptr || std::from_chars(text, end, id).ptr != end || id <= 0)
    fail(125, fmt::format("{}: expected a process id, found '{}'", option, text == nullptr ? "" : text));
  return id;
}

arguments read(int argc, char** argv) {
  arguments w;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    const std::string_view a = argv[i];
    if (a == "--") {
      ++i;
      break;
    }
    if (a == "-h" || a == "--help") {
      answer(help_text);
    } else if (a == "-V" || a == "--version") {
      answer(fmt::format("plx-exec {}\n", this_build().version));
    } else if (a == "-o" || a == "--output") {
      if (i + 1 == argc) fail(125, fmt::format("{} requires a folder", a));
      w.settings.push_back(std::string("--plx:output=") + argv[++i]);
    } else if (a.starts_with("--output=")) {
      w.settings.push_back("--plx:output=" + std::string(a.substr(9)));
    } else if (a == "-t" || a == "--trace") {
      w.settings.emplace_back("--plx:trace=1");
    } else if (a == "-d" || a == "--diagnose") {
      w.settings.emplace_back("--plx:diagnose=1");
      w.diagnose = true;
    } else if (a == "-a" || a == "--attach") {
      w.attach = process_of(a, argv[++i]);
    } else if (a == "--seconds") {
      w.seconds = number_of(a, argv[++i], 1e9, "seconds above 0");
    } else if (a == "-m" || a == "--mpi") {
      w.mpi = true;
    } else if (a == "-f" || a == "--follow") {
      w.follow = true;
    } else if (a == "--force") {
      w.force = true;
    } else if (a == "-q" || a == "--quiet") {
      w.quiet = true;
    } else if (a.starts_with("--plx:")) {
      w.settings.emplace_back(a);
    } else {
      const std::string name(a.substr(0, a.find('=')));
      const std::string near = did_you_mean(name, {"--output", "--force", "--trace", "--diagnose", "--mpi", "--follow",
                                                   "--quiet", "--help", "--version", "--attach", "--seconds"});
      fail(125,
           fmt::format("unknown option '{}'{}", name, near.empty() ? "; plx-exec --help lists the options" : near));
    }
  }
  w.first = i;
  return w;
}

/// Checks the settings before the program runs, when errors can still be corrected.
settings checked(const arguments& w, const char* own) {
  std::vector<std::string> words{own};
  words.insert(words.end(), w.settings.begin(), w.settings.end());
  std::vector<char*> argv;
  for (std::string& s : words) argv.push_back(s.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  auto s = settings_from_arguments(argc, argv.data());
  if (!s) fail(125, s.error().message);
  return *std::move(s);
}

/// Makes the folder. Protects files of an earlier run unless `force`.
void make_folder(const std::string& folder, bool force) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed || access(folder.c_str(), R_OK | W_OK | X_OK) != 0)
    fail(125, fmt::format("the folder '{}' cannot be written: {}. Choose another with -o FOLDER", folder,
                          failed ? failed.message() : std::strerror(errno)));
  if (!force && !std::filesystem::is_empty(folder, failed))
    fail(125, fmt::format("the folder '{}' is not empty: expected an empty or a new one, so that files of an earlier "
                          "run are kept. Choose another with -o FOLDER, or replace the files with --force",
                          folder));
}

/// In the folder of this program in a build tree, or where it is installed.
std::string library(const char* name) {
  char own[4096];
  const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
  std::string folder(own, n > 0 ? static_cast<std::size_t>(n) : 0);
  folder.resize(folder.rfind('/') == folder.npos ? 0 : folder.rfind('/'));
  const std::string places[] = {folder, folder + "/" + PLX_EXEC_LIBRARY_FOLDER};
  for (const std::string& place : places)
    if (const std::string path = place + "/" + name; access(path.c_str(), R_OK) == 0) {
      if (path.find_first_of(" :") != path.npos)
        fail(125, fmt::format("the path '{}' has a blank or a colon, at which LD_PRELOAD is split: no library can be "
                              "loaded from it. Move plx-exec and its libraries to a path without them",
                              path));
      return path;
    }
  fail(125, fmt::format("cannot find {}: expected in {} or {}", name, places[0], places[1]));
}

void set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

// -------------------------------------------------------------------------------------------------------- program file

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

/// The file of a program, found like in the shell: in PATH unless the name contains a slash. "" if there is none.
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

/// Checks that a library can be preloaded into the program; the error gives the reason (linked statically, other
/// processor, 32 bits, set-user-id). For a script its interpreter is checked. Unreadable files are left to the system
/// to refuse.
result<void> can_be_measured(const std::string& path) { return check(path, 0); }

/// True if the program itself, not only one of its libraries, is linked with a library of this name ("libgomp.so.1").
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

}  // namespace

namespace {

[[noreturn]] void attach(arguments& w, int argc) {
  if (w.first < argc) fail(125, "--attach: expected no program, as the process runs already");
  if (w.diagnose || w.mpi || w.follow) fail(125, "--attach: -d, -m and -f are for programs that plx-exec starts");
  w.settings.insert(w.settings.begin(), "--plx:profile=csv");
  if (const char* folder = std::getenv("PLX_OUTPUT"); folder != nullptr && *folder != '\0')
    w.settings.insert(w.settings.begin(), std::string("--plx:output=") + folder);
  const auto asked = settings_of_attachment(w.settings);
  if (!asked) fail(125, asked.error().message);
  if (asked->output.empty()) fail(125, "-o: expected a folder, found an empty text");
  if (const std::string why = why_not_ours(w.attach); !why.empty()) fail(125, why);
  const bool fresh = !std::filesystem::exists(asked->output);
  make_folder(asked->output, w.force);
  // The program writes the files, and may be that of another user.
  struct stat owner {};
  if (fresh && geteuid() == 0 && stat(fmt::format("/proc/{}", w.attach).c_str(), &owner) == 0 &&
      chown(asked->output.c_str(), owner.st_uid, owner.st_gid) != 0)
    fail(125, file_error("give to the program's user", asked->output, errno).message);
  const std::string folder = std::filesystem::absolute(asked->output).string();
  w.settings.push_back("--plx:output=" + folder);
  const int code = measure_process(
      {.process = w.attach, .arguments = w.settings, .folder = folder, .duration_s = w.seconds, .quiet = w.quiet});
  std::error_code ignored;
  if (code == 125 && fresh) std::filesystem::remove(folder, ignored);
  std::exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  arguments w = read(argc, argv);
  if (w.attach != 0) attach(w, argc);
  if (w.seconds > 0) fail(125, "--seconds: expected it with --attach only");
  if (w.first >= argc) fail(125, "expected the name of a program to run; see plx-exec --help");
  const settings asked = checked(w, argv[0]);
  const char* name = argv[w.first];
  const std::string path = find_program(name);
  if (path.empty()) fail(127, fmt::format("'{}': program not found", name));
  if (access(path.c_str(), X_OK) != 0) fail(126, fmt::format("'{}': {}", path, std::strerror(errno)));
  if (auto can = can_be_measured(path); !can) fail(125, can.error().message);

  if (asked.output.empty()) fail(125, "-o: expected a folder, found an empty text");
  make_folder(folder_of_rank(asked.output), w.force);
  // The program and its children may change their folder.
  w.settings.push_back("--plx:output=" + std::filesystem::absolute(asked.output).string());

  std::string libraries = library("libplx-exec.so");
  if (is_linked_with(path, "libgomp.so.1")) libraries += ":" + library("libplx-gomp.so");
  if (w.mpi) libraries += ":" + library("libplx-mpi.so");
  // A library without InitializeInjectionNvtx2() (built without NVTX) has no effect.
  for (const char* tools : {"KOKKOS_TOOLS_LIBS", "NVTX_INJECTION64_PATH"})
    if (std::getenv(tools) == nullptr) set(tools, library("libplx-exec.so"));
  if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr && *others != '\0')
    libraries += std::string(":") + others;
  set("LD_PRELOAD", libraries);
  std::string settings;
  for (const std::string& s : w.settings) settings += (settings.empty() ? "" : std::string(1, exec_separator)) + s;
  set(exec_arguments, settings);
  set(exec_process, std::to_string(getpid()));
  set(exec_follow, w.follow ? "1" : "0");
  set(exec_mpi, w.mpi ? "1" : "0");
  set(exec_quiet, w.quiet ? "1" : "0");
  execv(path.c_str(), argv + w.first);
  fail(126, fmt::format("'{}': {}", path, std::strerror(errno)));
}
