#include "compiler/library.h"
#include "compiler/programs.h"
#include "compiler/run_flags.h"
#include "lang/stdlib.h"
#include "parser/check/library_parts.h"
#include "vm/io/io.h"
#include <filesystem>
#include <fmt/format.h>

namespace tl::compiler {
namespace {

constexpr std::string_view kEnding = ".tl";

const char* type_of_column(ColumnContent content) {
  switch (content) {
  case ColumnContent::Bool: return "bool";
  case ColumnContent::I64: return "i64";
  case ColumnContent::F64: return "f64";
  case ColumnContent::Text: return "Texts"; // these two are structs of stdlib/table.tl
  case ColumnContent::Time: break;
  }
  return "Times";
}

void require_regular(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !is_regular_file(status) && !is_directory(status))
    throw IoError(
        fmt::format("cannot read '{}': it is no regular file, and others are not read before the program runs", path));
}

FileHeader read_header(const std::string& path, const std::string& name, LoadOptions options, const Type* wanted) {
  bool missing = false;
  try {
    missing = !file_exists(path);
    ReadOptions how{options, name, {}, {}};
    if (wanted) how.dtype = wanted->dtype, how.rank = wanted->rank();
    require_regular(path);
    TensorReader reader(path, how);
    if (wanted) require_type(path, reader.header(), wanted->dtype, wanted->rank());
    return {reader.header().dtype, reader.header().dims, "", false};
  } catch (const IoError& error) {
    return {{}, {}, error.what(), missing};
  }
}

TableHeader read_table_header(const std::string& path) {
  bool missing = false;
  try {
    missing = !file_exists(path);
    require_regular(path);
    TableHeader header;
    for (TableColumn& column : table_columns(path)) {
      const bool is_plain = column.content != ColumnContent::Text && column.content != ColumnContent::Time;
      header.columns.push_back({std::move(column.field), type_of_column(column.content), is_plain});
    }
    return header;
  } catch (const IoError& error) {
    return {{}, error.what(), missing};
  }
}

} // namespace

std::optional<std::string> Library::module(const std::string& name) {
  if (texts_.empty()) read();
  auto found = texts_.find(name);
  return found == texts_.end() ? std::nullopt : std::optional(found->second);
}

void Library::read() {
  std::vector<LibraryFile> files;
  for (const EmbeddedFile& file : embedded_stdlib())
    if (file.name.ends_with(kEnding))
      files.push_back({file.name.substr(0, file.name.size() - kEnding.size()), file.text});
  std::vector<std::string_view> program;
  for (uint32_t i = 0; i < sources_.file_count(); ++i)
    program.push_back(sources_.text(FileId{i}));
  std::vector<std::string> parts;
  if (!whole_) parts = reachable_parts(program, files);
  for (size_t i = 0; i < files.size(); ++i)
    texts_[files[i].name] = whole_ ? std::string(files[i].text) : std::move(parts[i]);
}

ImportReader import_reader(Library& library) {
  ImportReader reader;
  reader.module = [&library](const std::string& name) {
    return name == kPrelude ? std::nullopt : library.module(name);
  };
  reader.file = [](const std::string& path, std::string& problem) -> std::optional<std::string> {
    try {
      return read_program(path);
    } catch (const IoError& error) { // it is not the program's to read
      problem = error.what();
      return std::nullopt;
    } catch (const UsageError& error) {
      problem = error.what();
      if (problem.rfind(path + ": ", 0) == 0) problem.erase(0, path.size() + 2);
      return std::nullopt;
    }
  };
  return reader;
}

CheckOptions check_options(const Imports& imports) {
  CheckOptions options;
  options.read_header = read_header;
  options.read_table_header = read_table_header;
  options.imports = &imports;
  return options;
}

} // namespace tl::compiler
