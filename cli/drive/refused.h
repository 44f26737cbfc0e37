// How the parts of the driver say no.
#pragma once

#include <stdexcept>
#include <string>

namespace fb::drive {

/// Why a request failed; with the controller's status where that is known.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  Refused(const std::string& text, int type, int code) : std::runtime_error(text), sct(type), sc(code) {}
  int sct = -1, sc = -1;
};

}  // namespace fb::drive
