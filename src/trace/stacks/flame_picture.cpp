#include "trace/stacks/flame_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/text.hpp"
#include "trace/profile.hpp"

namespace plx::probe {
namespace {

constexpr double flame_width = 1200, frame_height = 18, flame_top = 54, least_frame = 2e-5;
constexpr std::size_t least_letters = 8;  // of a label, as shortened() requires

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// A light colour between red and yellow, the same for a name in every picture.
std::string colour_of(std::string_view name) {
  const std::uint64_t h = fnv1a(name);
  return fmt::format("hsl({},{}%,{}%)", 8 + h % 44, 72 + (h >> 8) % 20, 62 + (h >> 16) % 12);
}

constexpr std::string_view flame_style = R"(<style>
text { font: 12px monospace; pointer-events: none; }
.title { font: bold 15px sans-serif; }
.link { font: 13px sans-serif; fill: #0645ad; cursor: pointer; pointer-events: all; }
.frame { cursor: pointer; }
.frame:hover rect { stroke: #000; }
.found rect { fill: #c080ff; }
</style>
)";

// Frames: x and w are shares of the total; p is the parent's index.
constexpr std::string_view flame_script = R"(<script><![CDATA[
const frames = [...document.querySelectorAll(".frame")].map(g => ({
  g, x: +g.dataset.x, w: +g.dataset.w, p: +g.dataset.p, name: g.dataset.n,
  rect: g.querySelector("rect"), text: g.querySelector("text")}));
const {width, letters: least} = document.documentElement.dataset, note = document.getElementById("note");
function label(name, letters) {  // as the picture has it before the first click
  const all = [...name], tail = Math.floor((letters - 3) / 2);
  if (letters < least) return "";
  return all.length <= letters ? name : all.slice(0, letters - 3 - tail).join("") + "..." + all.slice(-tail).join("");
}
function zoom(to) {
  const above = new Set();
  for (let i = to; i >= 0; i = frames[i].p) above.add(i);
  const inside = frames.map(() => false);
  frames.forEach((f, i) => {
    inside[i] = i === to || (f.p >= 0 && inside[f.p]);
    const whole = above.has(i), shown = whole || inside[i];
    const x = whole ? 0 : (f.x - frames[to].x) / frames[to].w, w = whole ? 1 : f.w / frames[to].w;
    f.g.style.display = shown ? "" : "none";
    f.g.style.opacity = whole && i !== to ? 0.6 : 1;
    f.rect.setAttribute("x", x * width);
    f.rect.setAttribute("width", Math.max(w * width - 0.5, 0.2));
    f.text.setAttribute("x", x * width + 4);
    f.text.textContent = label(f.name, Math.floor((w * width - 8) / 7.3));
  });
  document.getElementById("reset").style.display = to ? "" : "none";
}
function search() {
  const part = prompt("Mark the frames whose name contains", "");
  if (part === null) return;
  let share = 0;
  const found = frames.map(() => false);
  frames.forEach((f, i) => {
    const here = part !== "" && f.name.toLowerCase().includes(part.toLowerCase());
    f.g.classList.toggle("found", here);
    const below = f.p >= 0 && found[f.p];
    found[i] = here || below;
    if (here && !below) share += f.w;
  });
  note.textContent = part === "" ? "" : `"${part}" and below: ${(100 * share).toFixed(1)} %`;
}
frames.forEach((f, i) => f.g.addEventListener("click", () => zoom(i)));
document.getElementById("reset").addEventListener("click", () => zoom(0));
document.getElementById("search").addEventListener("click", search);
if (window !== window.top) document.getElementById("search").style.display = "none";  // no prompt() within another page
window.addEventListener("keydown", e => {
  if (e.key === "Escape") zoom(0);
  if (e.key === "/") e.preventDefault(), search();
});
]]></script>
)";

/// A frame in the picture: shares of the total; `used` by its children so far.
struct drawn_frame {
  double x = 0, used = 0;
  int number = -1;  // of those in the picture
};

class flame_writer {
 public:
  flame_writer(double height, std::string& text) : height_(height), text_(text) {}

  int draw(std::string_view name, std::string_view about, double x, double share, int parent, std::uint32_t level) {
    const double w = share * flame_width;
    const auto letters = static_cast<std::size_t>(std::max(0.0, (w - 8) / 7.3));
    fmt::format_to(
        std::back_inserter(text_),
        "<g class=\"frame\" data-x=\"{:.9g}\" data-w=\"{:.9g}\" data-p=\"{}\" data-n=\"{}\"><title>{}</title>"
        "<rect x=\"{:.3f}\" y=\"{:g}\" width=\"{:.3f}\" height=\"{:g}\" fill=\"{}\"/>"
        "<text x=\"{:.3f}\" y=\"{:g}\">{}</text></g>\n",
        x, share, parent, xml_text(name), xml_text(about), x * flame_width, height_ - 8 - frame_height * (level + 1),
        std::max(w - 0.5, 0.2), frame_height - 1, colour_of(name), x * flame_width + 4,
        height_ - 8 - frame_height * level - 5, letters < least_letters ? "" : xml_text(shortened(name, letters)));
    return number_++;
  }

 private:
  const double height_;
  std::string& text_;
  int number_ = 0;
};

}  // namespace

std::string flame_svg(const flame_picture& p) {
  double total = 0;
  std::uint32_t depth = 0;
  for (const flame_frame& f : p.frames)
    if (f.parent == flame_frame::none) total += f.below;
  for (const flame_frame& f : p.frames)
    if (f.below >= least_frame * total) depth = std::max(depth, f.depth + 1);
  const double height = flame_top + frame_height * (depth + 1) + 8;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:g}\" width=\"100%\" data-width=\"{0}\" "
      "data-letters=\"{8}\">\n{2}"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fffdf5\"/>\n"
      "<text class=\"title\" x=\"8\" y=\"20\">{3}</text>\n"
      "<text x=\"8\" y=\"40\">{4}</text>\n"
      "<text class=\"link\" id=\"search\" x=\"{5}\" y=\"20\">Search</text>\n"
      "<text class=\"link\" id=\"reset\" x=\"{6}\" y=\"20\" style=\"display:none\">Reset</text>\n"
      "<text id=\"note\" x=\"{7}\" y=\"40\" text-anchor=\"end\"></text>\n",
      flame_width, height, flame_style, xml_text(p.title), xml_text(p.about), flame_width - 60, flame_width - 120,
      flame_width - 8, least_letters);
  flame_writer out(height, text);
  std::size_t hidden = 0;
  drawn_frame root{.number = out.draw("all", "all: " + p.total, 0, 1, -1, 0)};
  std::vector<drawn_frame> frames(p.frames.size());
  for (std::size_t i = 0; i < p.frames.size() && total > 0; ++i) {
    const flame_frame& f = p.frames[i];
    drawn_frame& below = f.parent == flame_frame::none ? root : frames[f.parent];
    const double share = f.below / total;
    frames[i].x = below.x + below.used;
    below.used += share;
    if (below.number < 0 || share < least_frame) {
      ++hidden;
      continue;
    }
    frames[i].number =
        out.draw(f.name, fmt::format("{}: {}", f.name, f.about), frames[i].x, share, below.number, f.depth + 1);
  }
  if (hidden != 0)
    text += fmt::format("<text x=\"420\" y=\"20\">{} below {:g} % are omitted</text>\n", plural(hidden, "path"),
                        100 * least_frame);
  return text + std::string(flame_script) + "</svg>\n";
}

}  // namespace plx::probe
