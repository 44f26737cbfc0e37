// Text for terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fb {

/// Words in lines of at most 80 columns, each with its newline; those behind the first are indented. A word that is longer has a
/// line of its own. Blanks in front of the first word stay.
std::string wrap(std::string_view text, std::size_t indent);

}  // namespace fb
