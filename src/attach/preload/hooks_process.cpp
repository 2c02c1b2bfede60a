// The begin and the end of the process: settings of plx-exec, and the ways in which a program ends (exit, _exit, exec,
// signals).
//
// If a process has two images (a shell that execs a program), each writes the files, and those of the last one remain.
// Children of fork, and programs started by the measured one, are not measured, unless plx-exec --follow is used.
#include <dlfcn.h>
#include <errno.h>
#include <fmt/format.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "attach/core/program.hpp"
#include "attach/preload/call_table.hpp"
#include "attach/preload/deaths.hpp"
#include "attach/preload/program_file.hpp"
#include "attach/preload/real.hpp"
#include "base/log.hpp"

using namespace plx::probe;

PLX_HOOK const call_table* plx_probe_preloaded_calls() { return program::begun() ? own_call_table() : nullptr; }

namespace {

void say(const std::string& text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

void finish() {
  if (program* p = program::get()) p->finish();
}

/// The settings of plx-exec, passed as arguments.
plx::result<settings> asked_for() {
  std::vector<std::string> words{"plx-exec"};
  const char* given = std::getenv(exec_arguments);
  for (const char* at = given; at != nullptr && *at != '\0';) {
    const char* end = std::strchr(at, exec_separator);
    words.emplace_back(at, end == nullptr ? std::strlen(at) : static_cast<std::size_t>(end - at));
    at = end == nullptr ? nullptr : end + 1;
  }
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  auto s = settings_from_arguments(argc, argv.data());
  if (s && s->profile.empty()) s->profile = "csv";
  return s;
}

bool has_flag(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '1';
}

[[gnu::constructor]] void begin() {
  find_real();
  const char* owner = std::getenv(exec_process);
  if (owner == nullptr) return;
  const bool child = std::strtol(owner, nullptr, 10) != static_cast<long>(getpid());
  if (child && !has_flag(exec_follow)) return;
  const inside_scope inside;
  auto s = asked_for();
  if (!s) return say("plx-exec: " + s.error().message + "; the program runs without measurement\n");
  s->output = folder_of_rank(s->output);
  if (child) s->output += fmt::format("/process-{}", getpid());
  const auto done =
      program::begin(*std::move(s), {.main_name = "main", .says_where = !has_flag(exec_quiet), .to_the_end = true});
  if (!done) return say("plx-exec: " + done.error().message + "; the program runs without measurement\n");
  std::atexit(&finish);
  at_quick_exit(&finish);
  watch_deaths(&finish);
}

/// The image is replaced if exec succeeds; otherwise the program continues and is still measured.
void before_exec() {
  if (!program::begun() || !program::measures()) return;
  const int before = errno;
  (void)program::get()->write_now();
  errno = before;
}

/// The arguments of the execl family, which end with a null; `environment` receives the one after it.
std::vector<char*> collect(const char* first, va_list list, char* const** environment) {
  std::vector<char*> argv{const_cast<char*>(first)};
  while (argv.back() != nullptr) argv.push_back(va_arg(list, char*));
  if (environment != nullptr) *environment = va_arg(list, char* const*);
  return argv;
}

}  // namespace

PLX_HOOK void _exit(int status) {
  finish();
  real()._exit(status);
  __builtin_unreachable();
}
PLX_HOOK void _Exit(int status) noexcept { _exit(status); }

PLX_HOOK int execve(const char* path, char* const argv[], char* const environment[]) noexcept {
  before_exec();
  return real().execve(path, argv, environment);
}
PLX_HOOK int execv(const char* path, char* const argv[]) noexcept {
  before_exec();
  return real().execv(path, argv);
}
PLX_HOOK int execvp(const char* file, char* const argv[]) noexcept {
  before_exec();
  return real().execvp(file, argv);
}
PLX_HOOK int execvpe(const char* file, char* const argv[], char* const environment[]) noexcept {
  before_exec();
  return real().execvpe(file, argv, environment);
}
PLX_HOOK int fexecve(int file, char* const argv[], char* const environment[]) noexcept {
  before_exec();
  return real().fexecve(file, argv, environment);
}
// A child of vfork may call these functions and shares our memory: the list is freed if exec fails.
PLX_HOOK int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const std::vector<char*> argv = collect(first, list, nullptr);
  va_end(list);
  before_exec();
  return real().execv(path, argv.data());
}
PLX_HOOK int execlp(const char* file, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const std::vector<char*> argv = collect(first, list, nullptr);
  va_end(list);
  before_exec();
  return real().execvp(file, argv.data());
}
PLX_HOOK int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  char* const* environment = nullptr;
  const std::vector<char*> argv = collect(first, list, &environment);
  va_end(list);
  before_exec();
  return real().execve(path, argv.data(), environment);
}

// Function names in the library can be found only while it is loaded.
PLX_HOOK int dlclose(void* handle) noexcept {
  if (program::begun() && program::measures() && this_slot.inside == 0) program::get()->settle_names();
  return real().dlclose(handle);
}
