// The log: messages of one line, for people, to stderr, a file, or a function.
//
// A library only calls log_info() and its kin; it prints nothing until the program adds a sink. One log per process.
// Thread safety: everything. Cost: one relaxed load when no sink wants the level; else formatting, a lock, and a write.
// Example: base/test/log_test.cpp
//
//   log_info("block {} refined to level {}", block, level);
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx {

/// How much a message matters; `none` is above all.
enum class log_level : int { debug, info, warning, error, none };

/// "debug", "info", "warning", "error", "none".
std::string_view name_of(log_level level);

/// Messages of `level` and above to stderr, as "warning: text". `none` takes the sink away.
void log_to_stderr(log_level level);
/// Appends to a file, as "2026-01-31T12:00:00.123Z warning text". One file at a time; "" closes it.
result<void> log_to_file(const std::string& path, log_level level);
/// Calls write(context, level, text), one call at a time, under the log's lock: it must not log. nullptr ends it.
void log_to_function(void (*write)(void* context, log_level level, std::string_view text), void* context,
                     log_level level);

namespace detail {
extern std::atomic<int> least_log_level;  // the least that any sink wants; relaxed, orders nothing
void write_log(log_level level, fmt::string_view format, fmt::format_args arguments);
}  // namespace detail

/// Whether any sink takes messages of this level.
inline bool log_wants(log_level level) noexcept {
  return static_cast<int>(level) >= detail::least_log_level.load(std::memory_order_relaxed);
}

/// Line breaks in the text become spaces.
template <class... T>
void log(log_level level, fmt::format_string<T...> format, T&&... values) {
  if (log_wants(level)) detail::write_log(level, format, fmt::make_format_args(values...));
}
/// log() at its level; likewise the three below.
template <class... T>
void log_debug(fmt::format_string<T...> format, T&&... values) {
  log(log_level::debug, format, std::forward<T>(values)...);
}
/// log() at its level.
template <class... T>
void log_info(fmt::format_string<T...> format, T&&... values) {
  log(log_level::info, format, std::forward<T>(values)...);
}
/// log() at its level.
template <class... T>
void log_warning(fmt::format_string<T...> format, T&&... values) {
  log(log_level::warning, format, std::forward<T>(values)...);
}
/// log() at its level.
template <class... T>
void log_error(fmt::format_string<T...> format, T&&... values) {
  log(log_level::error, format, std::forward<T>(values)...);
}

}  // namespace plx
