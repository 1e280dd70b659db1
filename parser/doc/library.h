// The standard library as it is documented, for `tl doc` and for editors.
#pragma once
#include "parser/doc/reference.h"
#include <string>
#include <string_view>
#include <vector>

namespace tl {

struct DocumentedModule {
  std::string name, doc;             // doc: the `##` comment at the head of its file
  std::vector<Documented> functions; // behind the structs
};

// The prelude first, then the modules by name.
std::vector<DocumentedModule> documented_library();

// Is this ("add_leaves", "linalg.det_by_factors") what functions of the library are made of, and nothing that programs
// are meant to call? Its comment begins with `## Inner. `. It can be called, and asked for by its name, but lists of
// what there is, completion and suggestions do without.
bool is_inner(std::string_view name);

} // namespace tl
