// For an object whose handlers may destroy it while it calls them: afterwards it asks a watch whether it
// still exists before it touches a member.
#pragma once

namespace fb {

/// A member of the object that may be destroyed.
class Lifetime {
 public:
  class Watch;

  Lifetime() = default;
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;
  ~Lifetime();

 private:
  Watch* innermost_ = nullptr;
};

/// On the stack, around the calls. Watches nest: each hears of the end.
class Lifetime::Watch {
 public:
  explicit Watch(Lifetime& of);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// True from the destructor of the object on.
  const bool& gone() const { return gone_; }

 private:
  friend class Lifetime;
  Lifetime& of_;
  Watch* outer_;
  bool gone_ = false;
};

}  // namespace fb
