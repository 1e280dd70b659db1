// The command `tl` of the Python package: all of it is in libtl.
#include "api/tl.h"

int main(int argc, char** argv) { return tl_command_line(argc, argv); }
