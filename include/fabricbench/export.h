// What stands in these headers stays: a program that builds and runs with a version of fabricbench does so with each later one of
// the same major number (of 0.x: of the same minor number). Names of classes, functions, fields and enumerators keep their
// meaning; new ones may come. Nothing else of the library is for its users.
#pragma once

#define FABRICBENCH_API __attribute__((visibility("default")))
/// What the library keeps to itself.
#define FABRICBENCH_INSIDE __attribute__((visibility("hidden")))
