# cmake -DFROM=page.html -DTO=page.cpp -P embed.cmake: generates a function that returns the file's contents, with each
# line "// include: NAME" replaced by that file of the same folder.
file(READ ${FROM} hex HEX)
get_filename_component(folder ${FROM} DIRECTORY)
foreach(name timeline_extras.js timeline.js)
  string(HEX "// include: ${name}\n" mark)
  file(READ ${folder}/${name} script HEX)
  string(REPLACE "${mark}" "${script}" hex "${hex}")
endforeach()
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
