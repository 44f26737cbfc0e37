#include "cli/common.h"

int main(int argc, char** argv) { return fb::cli::run_program(argc, argv); }
