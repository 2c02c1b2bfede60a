// The log: one-line messages for people, to stderr, a file, or a function.
//
// A library only calls log_info() and the other levels; nothing is printed until the program adds a sink. One log per
// process.
// Thread safety: all functions are thread-safe. Cost: one relaxed load if no sink accepts the level; otherwise
// formatting, a lock, and a write.
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

/// Severity of a message; `none` is above all.
enum class log_level : int { debug, info, warning, error, none };

/// "debug", "info", "warning", "error", "none".
std::string_view name_of(log_level level);

/// Prints messages of `level` and above to stderr, as "warning: text". `none` removes the sink.
void log_to_stderr(log_level level);
/// Appends to a file, as "2026-01-31T12:00:00.123Z warning text". One file at a time; "" closes it.
result<void> log_to_file(const std::string& path, log_level level);
/// Calls write(context, level, text) under the log's lock, so one call at a time; it must not log. nullptr removes it.
void log_to_function(void (*write)(void* context, log_level level, std::string_view text), void* context,
                     log_level level);

namespace detail {
extern std::atomic<int> least_log_level;  // the lowest level that any sink accepts; relaxed, orders nothing
void write_log(log_level level, fmt::string_view format, fmt::format_args arguments);
}  // namespace detail

/// Whether any sink accepts messages of this level.
inline bool log_wants(log_level level) noexcept {
  return static_cast<int>(level) >= detail::least_log_level.load(std::memory_order_relaxed);
}

/// Logs one message. Line breaks in the text become spaces.
template <class... T>
void log(log_level level, fmt::format_string<T...> format, T&&... values) {
  if (log_wants(level)) detail::write_log(level, format, fmt::make_format_args(values...));
}
/// Logs at the level of its name, as do the three below.
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
