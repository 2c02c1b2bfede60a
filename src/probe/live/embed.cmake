# cmake -DFROM=page.html -DTO=page.cpp -P embed.cmake: generates a function that returns the file's contents.
file(READ ${FROM} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${TO}.new
"#include <string_view>

#include \"probe/live/live_server.hpp\"

namespace plx::probe {

static constexpr unsigned char page[] = {
${bytes}};

std::string_view live_page_html() { return {reinterpret_cast<const char*>(page), sizeof page}; }

}  // namespace plx::probe
")
file(RENAME ${TO}.new ${TO})
