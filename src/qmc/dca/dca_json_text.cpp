#include "qmc/dca/dca_json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace plx::qmc {
namespace {

using nlohmann::json;

// The text with complete numbers: DCA++ also accepts and writes "1." and ".5", which JSON does not.
class completed_numbers {
 public:
  explicit completed_numbers(std::string_view text) {
    const auto is_digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
    bool quoted = false, escaped = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"' && !escaped) quoted = !quoted;
      escaped = quoted && text[i] == '\\' && !escaped;
      const bool point = !quoted && text[i] == '.';
      const bool before = point && i > 0 && is_digit(i - 1), after = point && is_digit(i + 1);
      if (after && !before) insert();
      text_ += text[i];
      if (before && !after) insert();
    }
  }
  const std::string& text() const { return text_; }
  // The place in the text as it was.
  std::size_t original(std::size_t byte) const {
    return byte -
           static_cast<std::size_t>(std::lower_bound(inserted_.begin(), inserted_.end(), byte) - inserted_.begin());
  }

 private:
  void insert() {
    inserted_.push_back(text_.size());
    text_ += '0';
  }
  std::string text_;
  std::vector<std::size_t> inserted_;  // places in text_, ascending
};

std::string location(std::string_view text, std::size_t byte) {
  const auto before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto start = before.rfind('\n');
  return fmt::format("{}:{}", line, before.size() - (start == std::string_view::npos ? 0 : start + 1));
}

// Finds keys that an object has more than once, of which the parser would keep the last.
class duplicate_keys {
 public:
  bool operator()(json::parse_event_t event, const json& name) {
    if (event == json::parse_event_t::object_start) objects_.emplace_back();
    if (event == json::parse_event_t::object_end) objects_.pop_back();
    if (event == json::parse_event_t::key) {
      auto& at = objects_.back();
      at.key = name.get<std::string>();
      if (!at.keys.insert(at.key).second && first_.empty()) first_ = path();
    }
    return true;
  }
  // The path of the first one, or empty.
  const std::string& first() const { return first_; }

 private:
  struct object {
    std::set<std::string> keys;
    std::string key;  // the present one
  };
  std::string path() const {
    std::string all;
    for (const auto& o : objects_) all += (all.empty() ? "" : "/") + o.key;
    return all;
  }
  std::vector<object> objects_;
  std::string first_;
};

}  // namespace

result<json> parse_dca_json(std::string_view text, const std::string& name) {
  json root;
  duplicate_keys duplicates;
  const completed_numbers complete(text);
  try {
    root = json::parse(complete.text(),
                       [&](int, json::parse_event_t event, const json& value) { return duplicates(event, value); });
  } catch (const json::parse_error& e) {
    std::string what = e.what();  // "[json.exception...] parse error at line 1, column 2: reason"
    if (const auto colon = what.find(": "); colon != std::string::npos) what = what.substr(colon + 2);
    std::replace(what.begin(), what.end(), '\n', ' ');
    return error{fmt::format("{}:{}: expected JSON: {}", name, location(text, complete.original(e.byte)), what)};
  } catch (const json::out_of_range& e) {  // "[json.exception...] number overflow parsing '1e400'"
    const std::string what = e.what();
    const auto quote = what.find('\'');
    const std::string number = quote == std::string::npos ? what : what.substr(quote + 1, what.rfind('\'') - quote - 1);
    const auto at = std::min(complete.text().find(number), complete.text().size());
    const auto begin = complete.original(at), end = complete.original(at + number.size());
    return error{fmt::format("{}:{}: expected a number below 1e308, found {}", name, location(text, begin + 1),
                             text.substr(begin, end - begin))};
  }
  if (!duplicates.first().empty())
    return error{fmt::format("{}: {}: expected the key once, found it again", name, duplicates.first())};
  return root;
}

}  // namespace plx::qmc
