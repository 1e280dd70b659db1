#include "driver/arguments.h"
#include "abi/decimal.h"
#include "abi/device.h"
#include "driver/leaves.h"
#include "driver/usage.h"
#include "vm/io/access.h"
#include "vm/io/io.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace tl::driver {
namespace {

std::string flag_name(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

bool same_name(const ParamInfo& param, std::string_view flag) {
  std::string given(flag);
  std::replace(given.begin(), given.end(), '-', '_');
  return given == param.name;
}

bool is_flag(const std::string& word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return !(word[1] >= '0' && word[1] <= '9') && word[1] != '.'; // -3 and -.5 are values
}

bool is_file(const ParamInfo& param) {
  return param.kind == ParamInfo::Kind::Tensor || param.kind == ParamInfo::Kind::List || !param.leaf.empty();
}

const RunFlag* flag_of_run(std::string_view word) { // --threads, --tl-threads
  word.remove_prefix(word.starts_with("--tl-") ? 5 : std::min<size_t>(2, word.size()));
  return find_run_flag(word);
}

template <class T> bool parse_whole(const std::string& text, T& value) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (begin != end && *begin == '+') ++begin;
  auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end && begin != end;
}

UsageError wrong_number(DType type, const std::string& name, const std::string& text) {
  const std::string_view wanted = name_of(type); // begins with the sound of its first letter
  const bool vowel = wanted.starts_with('i') || wanted.starts_with('f');
  return UsageError(fmt::format("{}: '{}' is not {} {}", name, text, vowel ? "an" : "a", wanted));
}

// Of a value that stands without a name: how the program takes it.
std::string value_by_name(const std::vector<ParamInfo>& params, const std::string& given) {
  for (const ParamInfo& param : params)
    if (!is_file(param)) return fmt::format("; a value goes by its name: {} '{}'", flag_name(param.name), given);
  return "";
}

template <class T> Scalar parse_int(DType type, const std::string& name, const std::string& text) {
  T value{};
  if (!parse_whole(text, value)) throw wrong_number(type, name, text);
  return Scalar::of(value);
}

} // namespace

Scalar parse_scalar(DType type, const std::string& name, const std::string& text) {
  switch (type) {
  case DType::Bool:
    if (text == "true" || text == "1") return Scalar::of(true);
    if (text == "false" || text == "0") return Scalar::of(false);
    throw UsageError(fmt::format("{}: '{}' is not true or false", name, text));
  case DType::U8: return parse_int<uint8_t>(type, name, text);
  case DType::I8: return parse_int<int8_t>(type, name, text);
  case DType::U16: return parse_int<uint16_t>(type, name, text);
  case DType::I16: return parse_int<int16_t>(type, name, text);
  case DType::U32: return parse_int<uint32_t>(type, name, text);
  case DType::I32: return parse_int<int32_t>(type, name, text);
  case DType::U64: return parse_int<uint64_t>(type, name, text);
  case DType::Key: return parse_int<uint64_t>(type, name, text);
  case DType::I64: return parse_int<int64_t>(type, name, text);
  case DType::C64:
  case DType::C128: throw UsageError(fmt::format("{}: complex numbers come from files", name));
  case DType::Device:
    if (auto device = device_from_text(text)) return Scalar::of(*device);
    throw UsageError(fmt::format("{}: '{}' is not a device such as cpu:0", name, text));
  case DType::F32: {
    float value = 0; // straight to f32: by way of f64 it would be rounded twice
    if (!parse_whole(text, value)) throw wrong_number(type, name, text);
    return Scalar::of(value);
  }
  default: {
    double value = 0;
    if (!parse_whole(text, value)) throw wrong_number(type, name, text);
    const Scalar number = rounded_once(type, value, text);
    const double made = convert_scalar(type, DType::F64, number).as<double>();
    if (std::isfinite(value) && (std::isinf(made) || (made == 0 && value != 0))) throw wrong_number(type, name, text);
    return number;
  }
  }
}

ProgramArguments parse_arguments(const ProgramInterface& interface, const std::vector<std::string>& words,
                                 RunSetup* setup) {
  ProgramArguments result;
  const auto& params = interface.params;
  result.values.resize(params.size());
  std::vector<size_t> files; // parameters that files fill, in order
  for (size_t i = 0; i < params.size(); ++i)
    if (is_file(params[i]) && (params[i].leaf.empty() || i == 0 || params[i - 1].name != params[i].name))
      files.push_back(i);                                        // of a struct: the first of its leaves
  std::vector<std::string> given;                                // files, in order
  std::vector<std::optional<std::string>> by_name(files.size()); // those that `--NAME FILE` gives
  bool only_files = false;
  for (size_t w = 0; w < words.size(); ++w) {
    const std::string& word = words[w];
    if (!only_files && word == "--") {
      only_files = true;
      continue;
    }
    if (!only_files && (word == "--help" || word == "-h")) {
      result.help = true;
      return result;
    }
    if (!only_files && word == "-o") {
      if (w + 1 == words.size()) throw UsageError("-o needs a file name");
      if (interface.results.empty()) throw UsageError(fmt::format("-o {}: this program has no result", words[w + 1]));
      result.outputs.push_back(words[++w]);
      try {
        require_known_ending(words[w]);
      } catch (const IoError& e) {
        throw UsageError(e.what());
      }
      continue;
    }
    if (only_files || !is_flag(word)) {
      given.push_back(word);
      continue;
    }
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    auto found = std::find_if(params.begin(), params.end(), [&](const ParamInfo& p) {
      return name.size() > 2 && name[1] == '-' && same_name(p, name.substr(2));
    });
    if (found == params.end()) {
      const RunFlag* flag = flag_of_run(name);
      if (flag && !setup)
        throw UsageError(fmt::format("{} is an option of tl: write it before the program's file", name));
      if (!flag) throw UsageError(fmt::format("unknown option {}; --help lists the program's", name));
      if (flag->value.empty() && equals == std::string::npos)
        flag->set(*setup, "true");
      else if (equals != std::string::npos)
        flag->set(*setup, word.substr(equals + 1));
      else if (w + 1 == words.size())
        throw UsageError(fmt::format("{} needs a value", name));
      else
        flag->set(*setup, words[++w]);
      continue;
    }
    size_t i = static_cast<size_t>(found - params.begin());
    std::string value;
    if (is_file(*found)) {
      if (equals == std::string::npos && w + 1 == words.size()) throw UsageError(fmt::format("{} needs a file", name));
      auto& file = by_name[static_cast<size_t>(std::find(files.begin(), files.end(), i) - files.begin())];
      if (file) throw UsageError(fmt::format("{} is given twice", name));
      file = equals != std::string::npos ? word.substr(equals + 1) : words[++w];
      continue;
    }
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (found->dtype == DType::Bool &&
               (found->kind == ParamInfo::Kind::Scalar || (found->is_list && !found->is_text))) {
      value = "true"; // a flag; an explicit value may follow
      if (w + 1 < words.size() && (words[w + 1] == "true" || words[w + 1] == "false")) value = words[++w];
    } else {
      if (w + 1 == words.size()) throw UsageError(fmt::format("{} needs a value", name));
      value = words[++w];
    }
    if (found->is_list) {
      if (!found->is_text) {
        Scalar known = parse_scalar(found->dtype, name, value);
        if (found->dtype == DType::Bool) value = known.as<uint8_t>() ? "true" : "false";
      }
      auto* list = std::get_if<std::string>(&result.values[i]);
      result.values[i] = (list ? *list : "") + value + std::string(1, '\0');
    } else if (found->kind == ParamInfo::Kind::Str) {
      result.values[i] = value;
    } else {
      HostTensor scalar = HostTensor::make(found->dtype, {});
      scalar.set(0, parse_scalar(found->dtype, name, value));
      result.values[i] = scalar;
    }
  }
  size_t next = 0; // of the files in order, which are for what no name is given to
  for (std::optional<std::string>& file : by_name)
    if (!file && next < given.size()) file = given[next++];
  if (next < given.size())
    throw UsageError(files.empty() ? fmt::format("unexpected argument '{}': this program reads no files{}", given[next],
                                                 value_by_name(params, given[next]))
                                   : fmt::format("unexpected argument '{}': this program reads {} file{}", given[next],
                                                 files.size(), files.size() == 1 ? "" : "s"));
  if (setup) prepare(*setup);
  const NamedByUser by_user;
  uint64_t bytes = 0; // of all files
  for (size_t k = 0; k < files.size(); ++k)
    for (size_t i = files[k]; by_name[k] && i < params.size() && params[i].name == params[files[k]].name; ++i)
      result.values[i] = read_leaf(params[i], *by_name[k], bytes);
  for (size_t i = 0; i < params.size(); ++i)
    if (std::holds_alternative<std::monostate>(result.values[i]) && !params[i].has_default) {
      if (params[i].is_list) {
        result.values[i] = std::string();
        continue;
      }
      bool file = is_file(params[i]);
      throw UsageError(file ? fmt::format("missing a file for '{}' ({})", params[i].name, params[i].type_text)
                            : fmt::format("missing {} ({})", flag_name(params[i].name), params[i].type_text));
    }
  size_t count = interface.results.empty() ? 0 : interface.results.back().value + 1;
  if (result.outputs.size() > count)
    throw UsageError(fmt::format("{} files after -o, but the program has {} result{}", result.outputs.size(), count,
                                 count == 1 ? "" : "s"));
  return result;
}

std::string help_text(const ProgramInterface& interface, const std::string& command, bool with_flags) {
  std::string usage = "usage: " + command, files, options;
  const ParamInfo* before = nullptr;
  for (const ParamInfo& param : interface.params) {
    bool file = is_file(param);
    if (before && !param.leaf.empty() && before->name == param.name) continue; // another leaf of the struct
    before = &param;
    std::string left = file ? param.name : fmt::format("{} {}", flag_name(param.name), param.type_text);
    std::string right = file ? fmt::format("a file of {}", param.type_text) : "";
    if (param.is_list) right += "any number of times";
    if (!param.doc.empty()) right += (right.empty() ? "" : ": ") + param.doc;
    if (param.has_default) right += fmt::format("{}(default {})", right.empty() ? "" : " ", param.default_text);
    (file ? files : options) += fmt::format("  {:<24} {}\n", left, right);
    if (file) usage += param.has_default ? fmt::format(" [{}]", param.name) : " " + param.name;
  }
  if (!options.empty()) usage += " [options]";
  if (!interface.results.empty()) {
    usage += " [-o FILE]";
    options += fmt::format("  {:<24} {}\n", "-o FILE", "write the result there instead of printing it");
  }
  std::string text = usage + "\n";
  if (!interface.doc.empty()) text += "\n" + interface.doc + "\n";
  if (!files.empty()) text += "\nfiles, in this order or each as --NAME FILE:\n" + files;
  if (!options.empty()) text += "\noptions:\n" + options;
  if (with_flags) {
    text += "\nof every tl program (also as --tl-NAME, and TL_NAME in the environment):\n";
    for (const RunFlag& flag : run_flags())
      text += fmt::format("  {:<24} {}\n", fmt::format("--{} {}", flag.name, flag.value), flag.help);
  }
  return text;
}

void deliver_results(const ProgramInterface& interface, const std::vector<Argument>& results,
                     const std::vector<std::string>& outputs, const OutputSink& out) {
  std::vector<NamedTensor> leaves; // of the struct or list at hand
  bool has_leaves = false;
  for (size_t i = 0; i < results.size(); ++i) {
    const Argument& result = results[i];
    const ResultInfo info = i < interface.results.size() ? interface.results[i] : ResultInfo{};
    const std::string* file = info.value < outputs.size() ? &outputs[info.value] : nullptr;
    if (const auto* text = std::get_if<std::string>(&result)) {
      if (!file)
        out(*text + "\n");
      else if (!info.is_printed)
        throw IoError(fmt::format("{}: a string cannot be saved there", *file));
      else if (!has_leaves)
        throw IoError(fmt::format("cannot save '{}': the result has parts that are no tensors", *file));
      else
        save_tensors(*file, leaves);
      leaves.clear();
      has_leaves = false;
    } else if (info.is_list || !info.leaf.empty()) {
      has_leaves = true;
      if (file) add_leaves(info, result, leaves);
    } else if (const auto* tensor = std::get_if<HostTensor>(&result)) {
      if (file)
        save_tensor(*file, *tensor);
      else
        out(format_tensor(*tensor) + "\n");
    }
  }
}

} // namespace tl::driver
