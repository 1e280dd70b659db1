#include "driver/leaves.h"
#include "driver/usage.h"
#include "vm/io/access.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tl::driver {
namespace {

std::string join(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : fmt::format("{}.{}", a, b);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string_view::npos &&
         (text.size() == 1 || text[0] != '0');
}

// A leaf as messages name it: "'net.layers.0.w' (Net)".
std::string what(const ParamInfo& param, const std::string& leaf) {
  return fmt::format("'{}' ({})", join(param.name, leaf), param.type_text);
}

template <class F> auto reading(const ParamInfo& param, const std::string& leaf, const std::string& path, F&& read) {
  try {
    return read();
  } catch (const IoError& error) {
    const std::string message = fmt::format("{}: {}", what(param, leaf), error.what());
    if (error.kind == "OutOfMemory") throw IoError(message, error.kind);
    throw UsageError(message);
  } catch (const std::bad_alloc&) {
    throw IoError(fmt::format("{}: there is not enough memory for the contents of '{}'", what(param, leaf), path),
                  "OutOfMemory");
  }
}

// The tensor that is this leaf, under this name.
HostTensor read_tensor(const ParamInfo& param, const std::string& leaf, const std::string& path,
                       const std::string& name, DType dtype, uint32_t rank, uint64_t& bytes) {
  return reading(param, leaf, path, [&] {
    TensorReader reader(path, {{}, name, dtype, rank});
    require_type(path, reader.header(), dtype, rank);
    HostTensor tensor = reader.take(); // alone it is not too much
    if (!tensor.mapped) require_readable(path, bytes += static_cast<uint64_t>(tensor.byte_count()));
    tensor.dtype = dtype; // keys are kept as u64
    return tensor;
  });
}

// The lists of one parameter in one file.
class ListReader {
public:
  ListReader(const ParamInfo& param, const std::string& path, uint64_t& bytes)
      : param_(param), path_(path), bytes_(bytes) {
    for (const std::string& name : reading(param, param.leaf, path, [&] { return archive_names(path); })) {
      // NumPy calls what it is given without a name arr_0, arr_1.
      bool unnamed = name.starts_with("arr_") && is_number(std::string_view(name).substr(4));
      names_.emplace(unnamed ? name.substr(4) : name, name);
    }
  }

  Argument read() {
    if (!param_.leaf.empty() && names_.count(param_.leaf))
      throw UsageError(fmt::format("{}: '{}' holds '{}' as a tensor; elements of a list are '{}.0', '{}.1' and so on",
                                   what(param_, param_.leaf), path_, param_.leaf, param_.leaf, param_.leaf));
    Argument list = elements(param_.leaf, param_.element);
    for (auto at = first(param_.leaf); at != names_.end() && below(at->first, param_.leaf); ++at)
      if (!used_.count(at->first))
        throw UsageError(
            fmt::format("{}: '{}' holds '{}', which is no part of it", what(param_, param_.leaf), path_, at->second));
    return list;
  }

private:
  using Names = std::map<std::string, std::string>; // as the program says, as the file says

  Names::const_iterator first(const std::string& list) const {
    return list.empty() ? names_.begin() : names_.lower_bound(list + ".");
  }
  static bool below(const std::string& name, const std::string& list) {
    return list.empty() || name.starts_with(list + ".");
  }

  // How many elements the list has: the names go on with 0, 1, …
  size_t length(const std::string& list) const {
    std::set<size_t> positions;
    std::string example;
    for (auto at = first(list); at != names_.end() && below(at->first, list); ++at) {
      std::string_view rest = std::string_view(at->first).substr(list.empty() ? 0 : list.size() + 1);
      rest = rest.substr(0, rest.find('.'));
      if (!is_number(rest)) continue; // said at the end
      size_t position = 0;
      std::from_chars(rest.data(), rest.data() + rest.size(), position);
      positions.insert(position);
      if (position == *positions.rbegin()) example = at->second;
    }
    for (size_t k = 0; k < positions.size(); ++k)
      if (!positions.count(k))
        throw UsageError(fmt::format("{}: '{}' holds '{}', and no element {}", what(param_, list), path_, example, k));
    return positions.size();
  }

  Argument elements(const std::string& list, const std::vector<FileLeaf>& leaves) {
    auto result = std::make_shared<ListArgument>();
    result->width = leaves.size();
    const size_t count = length(list);
    for (size_t k = 0; k < count; ++k)
      for (const FileLeaf& leaf : leaves) {
        const std::string name = join(join(list, std::to_string(k)), leaf.name);
        if (leaf.is_list) {
          result->values.push_back(elements(name, leaf.element));
          continue;
        }
        auto found = names_.find(name);
        if (found == names_.end())
          throw UsageError(fmt::format("{}: '{}' holds no tensor '{}'", what(param_, name), path_, name));
        used_.insert(name);
        result->values.emplace_back(read_tensor(param_, name, path_, found->second, leaf.dtype, leaf.rank, bytes_));
      }
    return result;
  }

  const ParamInfo& param_;
  const std::string& path_;
  uint64_t& bytes_;
  Names names_;
  std::set<std::string> used_;
};

void add(const std::string& name, bool is_list, const std::vector<FileLeaf>& element, const Argument& value,
         std::vector<NamedTensor>& leaves) {
  if (!is_list) {
    leaves.push_back({name, std::get<HostTensor>(value)});
    return;
  }
  const ListArgument& list = *std::get<std::shared_ptr<const ListArgument>>(value);
  for (size_t k = 0; k < list.values.size(); ++k) {
    const FileLeaf& leaf = element.at(k % list.width);
    add(join(join(name, std::to_string(k / list.width)), leaf.name), leaf.is_list, leaf.element, list.values[k],
        leaves);
  }
}

} // namespace

Argument read_leaf(const ParamInfo& param, const std::string& path, uint64_t& bytes) {
  if (param.kind == ParamInfo::Kind::List) return ListReader(param, path, bytes).read();
  return read_tensor(param, param.leaf, path, param.leaf, param.dtype, param.rank, bytes);
}

void add_leaves(const ResultInfo& info, const Argument& value, std::vector<NamedTensor>& leaves) {
  add(info.leaf, info.is_list, info.element, value, leaves);
}

} // namespace tl::driver
