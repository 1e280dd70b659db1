#include "cli/command.h"

int main(int argc, char** argv) { return tl::cli::run_command(argc, argv); }
