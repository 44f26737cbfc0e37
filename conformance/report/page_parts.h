// The sources of the pages (page/*.html, *.css, *.js), as the build put them into the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fb::conformance {

struct PagePart {
  std::string_view name;  ///< "ladder.js"
  std::string_view text;
};

std::vector<PagePart> page_parts();

/// A page that needs no other file: `frame` with its styles, its scripts and `json` in it. The JSON may hold
/// anything: nothing in it ends the element that it stands in. `packs` are elements of pack().
std::string put_page_together(std::string_view frame, const std::vector<std::string_view>& styles,
                              const std::vector<std::string_view>& scripts, std::string_view json, std::string_view packs = {});

/// An element with compressed text, which unpack(name) of base.js reads: what is large and is not needed at once.
std::string pack(std::string_view name, const std::string& text);

}  // namespace fb::conformance
