#include "backend/aot/library.h"
#include "backend/aot/signature.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl {

Signature signature_of(const ProgramInterface& interface) {
  Signature out;
  for (size_t i = 0; i < interface.params.size(); ++i) {
    const ParamInfo& param = interface.params[i];
    if (i > 0 && !param.record.empty() && interface.params[i - 1].name == param.name) continue; // another leaf
    Item item{Item::Kind::Scalar, param.name,         param.type_text, param.doc,
              param.record,       param.default_text, param.dtype};
    if (!param.record.empty())
      item.kind = Item::Kind::Handle;
    else if (param.kind != ParamInfo::Kind::Scalar)
      item.kind = param.kind == ParamInfo::Kind::Str ? Item::Kind::Text : Item::Kind::Tensor;
    out.params.push_back(std::move(item));
  }
  for (const ResultInfo& result : interface.results) {
    if (out.results.size() > result.value) continue;
    Item item{Item::Kind::Tensor, "", result.type_text, "", result.record, "", result.dtype};
    if (!result.record.empty())
      item.kind = Item::Kind::Handle;
    else if (result.is_str)
      item.kind = Item::Kind::Text;
    else if (result.is_scalar)
      item.kind = Item::Kind::Scalar;
    out.results.push_back(std::move(item));
  }
  for (size_t i = 0; i < out.results.size(); ++i) {
    std::string& name = out.results[i].name;
    name = out.results.size() == 1 ? "result" : fmt::format("result{}", i);
    while (std::any_of(out.params.begin(), out.params.end(), [&](const Item& p) { return p.name == name; }))
      name += "_";
  }
  return out;
}

// Structs and lists that cross, each once.
std::vector<std::string> records_of(const Library& library) {
  std::vector<std::string> names;
  auto add = [&](const std::string& name) {
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const LibraryFunction& function : library.functions) {
    for (const ParamInfo& param : function.interface.params)
      add(param.record);
    for (const ResultInfo& result : function.interface.results)
      add(result.record);
  }
  return names;
}

namespace {

const char* c_type(DType type) {
  switch (type) {
  case DType::Bool: return "bool";
  case DType::I8: return "int8_t";
  case DType::I16: return "int16_t";
  case DType::I32: return "int32_t";
  case DType::I64: return "int64_t";
  case DType::U8: return "uint8_t";
  case DType::U32: return "uint32_t";
  case DType::F32: return "float";
  case DType::F64: return "double";
  case DType::U16:
  case DType::F16:
  case DType::BF16: return "uint16_t"; // of the narrow floats: their bits
  default: return "uint64_t";
  }
}

// C's and C++'s words that a parameter may be called; tl allows them.
bool is_reserved(const std::string& name) {
  static const char* const words[] = {
      "alignas",       "alignof",      "and",       "asm",        "auto",         "bool",        "break",
      "case",          "catch",        "char",      "class",      "const",        "continue",    "default",
      "delete",        "do",           "double",    "else",       "enum",         "explicit",    "extern",
      "float",         "for",          "friend",    "goto",       "if",           "inline",      "int",
      "long",          "mutable",      "namespace", "new",        "operator",     "or",          "private",
      "protected",     "public",       "register",  "restrict",   "return",       "short",       "signed",
      "sizeof",        "static",       "struct",    "switch",     "template",     "this",        "throw",
      "try",           "typedef",      "typename",  "union",      "unsigned",     "using",       "virtual",
      "void",          "volatile",     "while",     "xor",        "not",          "export",      "requires",
      "concept",       "int8_t",       "int16_t",   "int32_t",    "int64_t",      "uint8_t",     "uint16_t",
      "uint32_t",      "uint64_t",     "size_t",    "NULL",       "EOF",          "linux",       "unix",
      "true",          "false",        "nullptr",   "noexcept",   "decltype",     "typeid",      "bitand",
      "bitor",         "compl",        "and_eq",    "or_eq",      "xor_eq",       "not_eq",      "typeof",
      "wchar_t",       "char8_t",      "char16_t",  "char32_t",   "constexpr",    "consteval",   "constinit",
      "co_await",      "co_return",    "co_yield",  "const_cast", "dynamic_cast", "static_cast", "reinterpret_cast",
      "static_assert", "thread_local", "errno"};
  return std::any_of(std::begin(words), std::end(words), [&](const char* word) { return name == word; });
}
std::string c_name(const std::string& name) { return is_reserved(name) ? name + "_" : name; }

std::string comment_lines(const std::string& text, std::string_view prefix) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    for (size_t k = line.find("*/"); k != std::string::npos; k = line.find("*/"))
      line.replace(k, 2, "* /");
    for (size_t k = line.find("/*"); k != std::string::npos; k = line.find("/*"))
      line.replace(k, 2, "/ *");
    out += fmt::format("{}{}\n", prefix, line);
    at = end + 1;
  }
  return out;
}

std::string c_prototype(const Library& library, const LibraryFunction& function) {
  const Signature signature = signature_of(function.interface);
  std::vector<std::string> params;
  for (const Item& p : signature.params)
    switch (p.kind) {
    case Item::Kind::Scalar: params.push_back(fmt::format("{} {}", c_type(p.dtype), c_name(p.name))); break;
    case Item::Kind::Text: params.push_back("const char* " + c_name(p.name)); break;
    case Item::Kind::Tensor: params.push_back("const tl_tensor* " + c_name(p.name)); break;
    case Item::Kind::Handle: params.push_back(fmt::format("const {}_{}* {}", library.name, p.record, c_name(p.name)));
    }
  for (const Item& r : signature.results)
    switch (r.kind) {
    case Item::Kind::Scalar: params.push_back(fmt::format("{}* {}", c_type(r.dtype), r.name)); break;
    case Item::Kind::Text: params.push_back("char** " + r.name); break;
    case Item::Kind::Tensor: params.push_back("tl_managed_tensor** " + r.name); break;
    case Item::Kind::Handle: params.push_back(fmt::format("{}_{}** {}", library.name, r.record, r.name));
    }
  return fmt::format("int {}_{}({})", library.name, function.name,
                     params.empty() ? "void" : fmt::format("{}", fmt::join(params, ", ")));
}

} // namespace

std::vector<std::string> exported_symbols(const Library& library) {
  std::vector<std::string> symbols = {library.name + "_error", library.name + "_configure"};
  for (const LibraryFunction& function : library.functions)
    symbols.push_back(fmt::format("{}_{}", library.name, function.name));
  for (const std::string& record : records_of(library))
    symbols.push_back(fmt::format("{}_{}_close", library.name, record));
  return symbols;
}

std::string c_header(const Library& library) {
  std::string guard = library.name + "_H";
  std::transform(guard.begin(), guard.end(), guard.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = fmt::format("/* {}: made by `tl build --lib`.\n", library.name);
  text += comment_lines(library.doc, "   ");
  text += fmt::format(R"(
   Every function returns 0 where all went well; 2 where an argument is not what it should be, 3 where the program
   failed, 70 for a fault of tl. What went wrong says {0}_error(), of this thread's last call that failed. Functions may
   be called from any number of threads. A result that is not wanted may be NULL.

   Tensors that go in are read where they lie, if their rows stand behind each other and they are aligned as C would
   have it; else they are copied. They need to live for the call alone. Tensors that come out belong to the caller:
   t->deleter(t) gives one back. Texts that come out are free()d; structs and lists that come out are handles, closed
   by their _close function, and may be used by several threads at a time. */
#ifndef {1}
#define {1}
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

)",
                      library.name, guard);
  text += R"(#ifndef TL_TENSOR_DEFINED
#define TL_TENSOR_DEFINED
/* Laid out as DLPack's DLTensor and DLManagedTensor, so that one may be cast to the other. */
typedef struct tl_dtype {
  uint8_t code; /* 0 signed, 1 unsigned, 2 float, 4 bfloat, 6 bool */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} tl_dtype;
typedef struct tl_tensor {
  void* data;
  int32_t device_type, device_id; /* 1, 0: memory of the CPU */
  int32_t rank;
  tl_dtype dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; NULL: dense, the last axis together */
  uint64_t byte_offset;
} tl_tensor;
typedef struct tl_managed_tensor {
  tl_tensor tensor;
  void* context;
  void (*deleter)(struct tl_managed_tensor* self);
} tl_managed_tensor;

static inline tl_tensor tl_view(const void* data, uint8_t code, uint8_t bits, int32_t rank, const int64_t* shape) {
  tl_tensor t;
  t.data = (void*)data;
  t.device_type = 1;
  t.device_id = 0;
  t.rank = rank;
  t.dtype.code = code;
  t.dtype.bits = bits;
  t.dtype.lanes = 1;
  t.shape = (int64_t*)shape;
  t.strides = NULL;
  t.byte_offset = 0;
  return t;
}
/* A dense tensor of the caller's: tl_view_f32(data, 2, (int64_t[]){3, 4}). */
)";
  const std::pair<const char*, std::pair<int, int>> views[] = {
      {"f32", {2, 32}}, {"f64", {2, 64}}, {"f16", {2, 16}}, {"bf16", {4, 16}}, {"i8", {0, 8}},
      {"i16", {0, 16}}, {"i32", {0, 32}}, {"i64", {0, 64}}, {"u8", {1, 8}},    {"u16", {1, 16}},
      {"u32", {1, 32}}, {"u64", {1, 64}}, {"bool", {6, 8}}};
  for (const auto& [name, type] : views)
    text += fmt::format("static inline tl_tensor tl_view_{}(const void* data, int32_t rank, const int64_t* shape) {{\n"
                        "  return tl_view(data, {}, {}, rank, shape);\n}}\n",
                        name, type.first, type.second);
  text += "#endif\n\n";
  text +=
      fmt::format("/* Of the last call of this thread that failed. */\nconst char* {}_error(void);\n", library.name);
  text += fmt::format("/* A flag of `tl run` without its dashes: \"threads\", \"4\"; \"memory-limit\", \"1G\". For "
                      "calls from now on. */\n"
                      "int {}_configure(const char* flag, const char* value);\n",
                      library.name);
  for (const std::string& record : records_of(library))
    text +=
        fmt::format("\ntypedef struct {0}_{1} {0}_{1};\nvoid {0}_{1}_close({0}_{1}* handle);\n", library.name, record);
  for (const LibraryFunction& function : library.functions) {
    const Signature signature = signature_of(function.interface);
    text += "\n/*\n" + comment_lines(function.doc, "   ");
    for (const Item& p : signature.params)
      text += comment_lines(fmt::format("{}: {}{}{}", c_name(p.name), p.type_text, p.doc.empty() ? "" : ", ", p.doc),
                            "   ");
    for (const Item& r : signature.results)
      text += comment_lines(fmt::format("{}: {}", r.name, r.type_text), "   ");
    text += "*/\n" + c_prototype(library, function) + ";\n";
  }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

std::string c_functions(const Library& library) {
  std::string ir = "declare i32 @tl_library_call(i32, ptr, ptr)\ndeclare ptr @tl_library_error()\n"
                   "declare i32 @tl_library_configure(ptr, ptr)\ndeclare void @tl_library_close(ptr)\n";
  ir += fmt::format("define ptr @{}_error() {{\n  %r = tail call ptr @tl_library_error()\n  ret ptr %r\n}}\n",
                    library.name);
  ir += fmt::format("define i32 @{}_configure(ptr %a, ptr %b) {{\n"
                    "  %r = tail call i32 @tl_library_configure(ptr %a, ptr %b)\n  ret i32 %r\n}}\n",
                    library.name);
  for (const std::string& record : records_of(library))
    ir +=
        fmt::format("define void @{}_{}_close(ptr %a) {{\n  tail call void @tl_library_close(ptr %a)\n  ret void\n}}\n",
                    library.name, record);
  for (size_t f = 0; f < library.functions.size(); ++f) {
    const Signature signature = signature_of(library.functions[f].interface);
    std::string head, body;
    auto param = [&](const std::string& type, const std::string& name) {
      head += fmt::format("{}{} %{}", head.empty() ? "" : ", ", type, name);
    };
    auto cell = [&](const char* array, size_t i, const std::string& type, const std::string& value) {
      body += fmt::format("  %{0}{1} = getelementptr i64, ptr %{0}, i64 {1}\n  store {2} {3}, ptr %{0}{1}\n", array, i,
                          type, value);
    };
    for (size_t i = 0; i < signature.params.size(); ++i) {
      const Item& p = signature.params[i];
      const std::string name = fmt::format("p{}", i), value = "%" + name;
      if (p.kind != Item::Kind::Scalar) {
        param("ptr", name);
        cell("in", i, "ptr", value);
      } else if (p.dtype == DType::F32 || p.dtype == DType::F64) {
        const char* type = p.dtype == DType::F32 ? "float" : "double";
        param(type, name);
        cell("in", i, "i64", "0");
        body += fmt::format("  store {} {}, ptr %in{}\n", type, value, i);
      } else {
        const int bits = 8 * size_of(p.dtype);
        const bool is_signed = p.dtype == DType::I8 || p.dtype == DType::I16 || p.dtype == DType::I32;
        param(bits < 32 ? fmt::format("i{} {}", bits, is_signed ? "signext" : "zeroext") : fmt::format("i{}", bits),
              name);
        if (bits == 64) {
          cell("in", i, "i64", value);
        } else {
          body += fmt::format("  %w{0} = {1} i{2} {3} to i64\n", i, is_signed ? "sext" : "zext", bits, value);
          cell("in", i, "i64", fmt::format("%w{}", i));
        }
      }
    }
    for (size_t i = 0; i < signature.results.size(); ++i) {
      param("ptr", fmt::format("r{}", i));
      cell("out", i, "ptr", fmt::format("%r{}", i));
    }
    ir += fmt::format("define i32 @{}_{}({}) {{\n  %in = alloca [{} x i64]\n  %out = alloca [{} x i64]\n{}"
                      "  %status = call i32 @tl_library_call(i32 {}, ptr %in, ptr %out)\n  ret i32 %status\n}}\n",
                      library.name, library.functions[f].name, head, signature.params.size() + 1,
                      signature.results.size() + 1, body, f);
  }
  return ir;
}

} // namespace tl
