// The functions of the tables as consumers call them: each enters the adapter of its object, and goes on with what it does.
#pragma once

#include <algorithm>
#include <cstddef>

#include "networkdirect/ndk/provider/adapter.h"
#include "networkdirect/ndk/provider/objects.h"

namespace fb::ndk::provider {

/// The name of a function, as an argument of a template.
template <std::size_t kSize>
struct EntryName {
  char text[kSize];
  consteval EntryName(const char (&from)[kSize]) { std::copy_n(from, kSize, text); }  // NOLINT: it is one
};

inline Adapter& adapter_of(Adapter& adapter) { return adapter; }
inline Adapter& adapter_of(Object& object) { return object.adapter(); }

template <EntryName kName, class T, auto kFunction>
struct Entry;
template <EntryName kName, class T, class Answer, class Ndk, class... Arguments, Answer (*kFunction)(Ndk*, Arguments...)>
struct Entry<kName, T, kFunction> {
  static Answer call(Ndk* object, Arguments... arguments) {
    adapter_of(of<T>(object)).enter(kName.text);
    return kFunction(object, arguments...);
  }
};

/// `kFunction` of a T, under its name in the table.
template <EntryName kName, class T, auto kFunction>
inline constexpr auto kEntry = &Entry<kName, T, kFunction>::call;

}  // namespace fb::ndk::provider
