// For tests: a strict JSON reader (RFC 8259), which refuses any file that some reader would refuse.
#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plx::probe {

struct json {
  enum class kind { null, boolean, number, text, list, object };
  kind is = kind::null;
  bool flag = false;
  double number = 0;
  std::string text;
  std::vector<json> list;
  std::map<std::string, json> object;

  bool has(const std::string& key) const { return object.count(key) != 0; }
  const json& operator[](const std::string& key) const {
    const auto at = object.find(key);
    if (at == object.end()) throw std::runtime_error("no member " + key);
    return at->second;
  }
};

class json_reader {
 public:
  static json read(std::string_view text) {
    json_reader r(text);
    json all = r.value();
    r.blank();
    if (!r.rest_.empty()) r.fail("nothing after the value");
    return all;
  }

 private:
  explicit json_reader(std::string_view text) : rest_(text) {}

  [[noreturn]] void fail(const std::string& expected) const {
    throw std::runtime_error("expected " + expected + ", found '" + std::string(rest_.substr(0, 40)) + "'");
  }
  void blank() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\r' || rest_[0] == '\t'))
      rest_.remove_prefix(1);
  }
  bool take(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  json value() {
    blank();
    json v;
    if (take("null")) return v;
    if (take("true") || take("false")) return v.is = json::kind::boolean, v;
    if (rest_.starts_with('"')) return v.is = json::kind::text, v.text = text(), v;
    if (take("[")) return list();
    if (take("{")) return object();
    v.is = json::kind::number;
    v.number = number();
    return v;
  }
  json list() {
    json v;
    v.is = json::kind::list;
    blank();
    if (take("]")) return v;
    for (;;) {
      v.list.push_back(value());
      blank();
      if (take("]")) return v;
      if (!take(",")) fail("a comma or ]");
    }
  }
  json object() {
    json v;
    v.is = json::kind::object;
    blank();
    if (take("}")) return v;
    for (;;) {
      blank();
      const std::string key = text();
      blank();
      if (!take(":")) fail("a colon");
      if (!v.object.emplace(key, value()).second) fail("no second '" + key + "'");
      blank();
      if (take("}")) return v;
      if (!take(",")) fail("a comma or }");
    }
  }
  double number() {
    std::size_t n = 0;
    const auto digits = [&] {
      const std::size_t first = n;
      while (n < rest_.size() && std::isdigit(static_cast<unsigned char>(rest_[n])) != 0) ++n;
      if (n == first) fail("a value");
    };
    if (rest_.starts_with('-')) ++n;
    const bool zero = n < rest_.size() && rest_[n] == '0';
    const std::size_t first = n;
    digits();
    if (zero && n != first + 1) fail("no leading zero");
    if (n < rest_.size() && rest_[n] == '.') ++n, digits();
    if (n < rest_.size() && (rest_[n] == 'e' || rest_[n] == 'E')) {
      ++n;
      if (n < rest_.size() && (rest_[n] == '+' || rest_[n] == '-')) ++n;
      digits();
    }
    const double d = std::strtod(std::string(rest_.substr(0, n)).c_str(), nullptr);
    rest_.remove_prefix(n);
    return d;
  }
  std::string text() {
    if (!take("\"")) fail("a text");
    std::string s;
    for (;;) {
      if (rest_.empty()) fail("the end of a text");
      const char c = rest_[0];
      if (static_cast<unsigned char>(c) < 0x20) fail("no control character");
      rest_.remove_prefix(1);
      if (c == '"') return s;
      s += c == '\\' ? escaped() : c;
    }
  }
  char escaped() {
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (take("u")) {
      const std::string digits(rest_.substr(0, 4));
      if (digits.size() != 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        fail("\\uXXXX");
      rest_.remove_prefix(4);
      return static_cast<char>(std::strtol(digits.c_str(), nullptr, 16));
    }
    const std::size_t which = rest_.empty() ? letters.npos : letters.find(rest_[0]);
    if (which == letters.npos) fail("an escape");
    rest_.remove_prefix(1);
    return meanings[which];
  }

  std::string_view rest_;
};

}  // namespace plx::probe
