// Errors of remote calls.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "net/locality.hpp"

namespace plx {

/// A locality died, failed or became unreachable. The message names it and says how the loss was detected.
class locality_lost : public std::runtime_error {
 public:
  locality_lost(locality_id which, const std::string& why);
  /// `which` failed because of an earlier loss: the message names that, too.
  locality_lost(locality_id which, const locality_lost& because);
  [[nodiscard]] locality_id which() const noexcept { return which_; }  ///< its number
  [[nodiscard]] std::string why() const { return what() + before_; }   ///< how the loss was detected
  /// The first loss: of the locality that `which` failed because of; this one if it did not fail because of another. It
  /// stays the same when this exception leaves job::run() on one locality after the other.
  [[nodiscard]] locality_lost first() const;

 private:
  locality_id which_, first_;
  std::size_t before_, before_first_;  // characters before why(), before that of the first loss
};

/// A call threw on another locality: what() is the number of that locality followed by the text of the exception there.
class remote_error : public std::runtime_error {
 public:
  remote_error(locality_id where, const std::string& text);
  [[nodiscard]] locality_id where() const noexcept { return where_; }  ///< the locality that threw
  [[nodiscard]] std::string text() const { return what() + before_; }  ///< what() there

 private:
  locality_id where_;
  std::size_t before_;  // characters
};

/// Whether this locality reports that the job has failed, that is, prints the message and records the end of the run.
/// Each locality calls it, in a task, after `e` has ended its part of the job. The others are informed of the failure,
/// as by job::run(); then the first call waits 0.5 s for their failures. True on one of the living localities: the
/// first one with an error of its own; without any (`e` is locality_lost everywhere), the first one that has not died
/// and was not cut off. Always true on a single locality.
/// Limits: localities that are no neighbours (net/core/tree_round.hpp) and fail by errors of their own at the same time
/// may both report; after a partition both sides do.
/// Cost: a message to each neighbour, and the wait. Example: net/start/test/failure_report_test.cpp
[[nodiscard]] bool reports_failure(const std::exception_ptr& e);

}  // namespace plx
