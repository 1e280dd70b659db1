// A call: arguments of C become those of the program that makes it, and what that gives a value.
#include "api/call.h"
#include "abi/scalar_op.h"
#include "driver/foreign.h"
#include <algorithm>
#include <deque>
#include <fmt/format.h>

using namespace tl;
using namespace tl::api;
using namespace tl::driver;

namespace {

[[noreturn]] void interrupted(std::string message) {
  Error error;
  error.status = TL_INTERRUPTED;
  error.kind = "Interrupted";
  error.message = error.text = std::move(message);
  throw Failed(std::move(error));
}

// A number without a type of its own, as this parameter has it.
HostTensor number_argument(const tl_argument& number, const ParamInfo& param) {
  const bool is_real = number.kind == TL_FLOAT;
  auto wanted = [&](const char* what) {
    usage(kWrongType, fmt::format("{}: {} is wanted, and this is {}", param.name, param.type_text, what));
  };
  const char* what = is_real ? "a float" : number.kind == TL_BOOL ? "a bool" : "an integer";
  if (param.kind != ParamInfo::Kind::Scalar) wanted(what);
  // The seed of a random key, as key(seed) takes it.
  if (param.dtype == DType::Key && number.kind == TL_INT)
    return scalar_tensor(DType::Key, Scalar::of(number.as.integer));
  if ((param.dtype == DType::Bool) != (number.kind == TL_BOOL) || (is_int(param.dtype) && is_real)) wanted(what);
  if (!has_zero(param.dtype)) wanted(what);
  const Scalar given = is_real ? Scalar::of(number.as.real) : Scalar::of(number.as.integer);
  if (param.dtype == DType::Bool) return scalar_tensor(DType::Bool, Scalar::of<uint8_t>(number.as.integer != 0));
  const Scalar value = convert_scalar(is_real ? DType::F64 : DType::I64, part_of(param.dtype), given);
  if (is_complex(param.dtype)) {
    HostTensor parts = HostTensor::make(part_of(param.dtype), {2}); // zeros
    parts.set(0, value);
    return parts;
  }
  if (is_int(param.dtype)) {
    const bool too_small = number.as.integer < 0 && is_unsigned(param.dtype);
    if (too_small || convert_scalar(param.dtype, DType::I64, value).as<int64_t>() != number.as.integer)
      usage(kWrongValue,
            fmt::format("{}: {} does not fit into {}", param.name, number.as.integer, name_of(param.dtype)));
  }
  return scalar_tensor(param.dtype, value);
}

// A list or tuple that was made of elements does not know whether the program has a struct of such a name: then the
// program's own record has underscores behind it (record_name of the checker).
bool crosses_as(const Content& content, std::string record) {
  if (content.kind() != TL_STRUCT)
    while (record.size() > content.info->record.size() && record.back() == '_')
      record.pop_back();
  return record == content.info->record;
}

// The parameter of a program as its caller sees it, where that differs: the parts of complex numbers are an axis of the
// program's own.
std::optional<ParamInfo> outside(const ParamInfo& param, const Given& given) {
  const DType dtype = given.declared && given.declared->of ? *given.declared->of : given.dtype;
  if (!is_complex(dtype) || !param.record.empty() || param.rank == 0) return std::nullopt;
  ParamInfo changed = param;
  changed.dtype = dtype;
  if (--changed.rank == 0) changed.kind = ParamInfo::Kind::Scalar;
  return changed;
}

const tl::driver::Tensor* as_tensor(const tl_tensor* tensor) {
  static_assert(sizeof(tl_tensor) == sizeof(tl::driver::Tensor));
  return reinterpret_cast<const tl::driver::Tensor*>(tensor);
}

} // namespace

bool tl::api::is_number(int kind) { return kind == TL_INT || kind == TL_FLOAT || kind == TL_BOOL; }

// Whose arguments they are, null where nothing is known of the parameter. What is wrong with their number and names is
// thrown.
std::vector<const Declared*> tl_function::parameters_of(const tl_argument* arguments, size_t count) const {
  std::vector<const Declared*> result(count);
  bool named = false;
  for (size_t i = 0; i < count; ++i) {
    const tl_argument& argument = arguments[i];
    named = named || argument.name;
    if (named && !argument.name) usage(kWrongValue, "arguments without names stand before those with names");
    if (!like_) continue;
    const auto& parameters = like_->parameters;
    if (!argument.name && i >= parameters.size())
      usage(kWrongType, fmt::format("`{}` takes {} argument{}, not {}", like_->name, parameters.size(),
                                    parameters.size() == 1 ? "" : "s", count));
    auto it = argument.name ? std::find_if(parameters.begin(), parameters.end(),
                                           [&](const Declared& p) { return p.name == argument.name; })
                            : parameters.begin() + static_cast<std::ptrdiff_t>(i);
    if (it == parameters.end())
      usage(kWrongType, fmt::format("`{}` has no parameter '{}'", like_->name, argument.name), like_->text);
    if (std::find(result.begin(), result.end(), &*it) != result.end())
      usage(kWrongType, fmt::format("`{}` gets '{}' twice", like_->name, it->name));
    result[i] = &*it;
  }
  if (like_)
    for (const Declared& parameter : like_->parameters)
      if (!parameter.has_default && std::find(result.begin(), result.end(), &parameter) == result.end())
        usage(kWrongType, fmt::format("`{}` needs an argument for '{}'", like_->name, parameter.name), like_->text);
  return result;
}

std::vector<Given> tl_function::given(const tl_argument* arguments, size_t count) const {
  const std::vector<const Declared*> parameters = parameters_of(arguments, count);
  std::vector<Given> result(count);
  for (size_t i = 0; i < count; ++i) {
    const tl_argument& argument = arguments[i];
    Given& own = result[i];
    own.argument = &argument;
    own.declared = parameters[i];
    auto name = [&] { return argument.name ? std::string(argument.name) : fmt::format("argument {}", i + 1); };
    switch (argument.kind) {
    case TL_INT: own.type = "i64"; break;
    case TL_FLOAT: own.type = "f32"; break;
    case TL_BOOL: own.type = "bool"; break;
    case TL_TEXT:
      if (!argument.as.text) usage(kWrongType, name() + ": the text is null");
      own.type = "str";
      break;
    case TL_TENSOR: {
      if (!argument.as.tensor) usage(kWrongType, name() + ": the tensor is null");
      const tl::driver::Tensor& x = *as_tensor(argument.as.tensor);
      const auto dtype = dtype_of(x.type);
      if (!dtype) usage(kWrongType, fmt::format("{}: tl has no {}", name(), name_of_type(x.type)));
      if (x.rank < 0) usage(kWrongValue, fmt::format("{}: the tensor's rank is {}", name(), x.rank));
      own.dtype = *dtype;
      own.rank = x.rank;
      break;
    }
    case TL_VALUE:
      if (!argument.as.value) usage(kWrongType, name() + ": the value is null");
      own.content = &argument.as.value->get();
      if (own.content->kind() == TL_NOTHING) usage(kWrongType, name() + ": there is no value in this");
      if (own.content->kind() == TL_TENSOR) {
        own.dtype = own.content->info->dtype;
        own.rank = static_cast<int32_t>(own.content->info->rank);
      }
      own.type = own.content->type();
      break;
    default: usage(kWrongValue, fmt::format("{}: there is no kind {} of arguments", name(), argument.kind));
    }
    // Where keys are wanted, integers are their bits: C and its tensors have no keys.
    if (own.declared && own.declared->of == DType::Key && (own.dtype == DType::U64 || own.dtype == DType::I64))
      own.dtype = DType::Key;
    if (own.rank >= 0) own.type = tensor_type(own.dtype, static_cast<size_t>(own.rank));
  }
  for (const Given& own : result)
    if (own.declared && own.declared->of && !own.declared->is_closed && !is_number(own.argument->kind) &&
        (own.rank < 0 || own.dtype != *own.declared->of))
      usage(kWrongType,
            fmt::format("{}: {} is wanted, and this is {}", own.declared->name, own.declared->type, own.type));
  // Numbers take the type that their parameter has with the other arguments: that of a type parameter, else, of floats
  // where nothing is said, the one of the tensors of floats.
  std::optional<DType> floats;
  bool several = false;
  for (const Given& other : result)
    if (other.rank >= 0 && is_float(other.dtype)) {
      several = several || (floats && *floats != other.dtype);
      floats = other.dtype;
    }
  for (Given& own : result) {
    if (!is_number(own.argument->kind)) continue;
    if (own.declared && own.declared->of) {
      own.type = std::string(name_of(*own.declared->of));
    } else if (own.declared && !own.declared->element_type.empty()) {
      for (const Given& other : result)
        if (other.rank >= 0 && other.declared && other.declared->element_type == own.declared->element_type) {
          own.type = std::string(name_of(other.dtype));
          break;
        }
    } else if ((!own.declared || !own.declared->has_type) && own.argument->kind == TL_FLOAT && floats && !several) {
      own.type = std::string(name_of(*floats));
    }
  }
  return result;
}

// In place of the function that makes the call stands what was called.
Error tl_function::said_of(Error error, const std::string& call) const {
  const std::string word = "`" + call + "`", ours = "`" + expression_ + "`";
  for (std::string* text : {&error.message, &error.hint, &error.text})
    for (size_t at = 0; (at = text->find(word, at)) != std::string::npos; at += ours.size())
      text->replace(at, word.size(), ours);
  return error;
}

Content tl_function::call(const tl_argument* arguments, size_t count) {
  const std::vector<Given> own = given(arguments, count);
  const Running running(session_); // from here on it can be interrupted, while it is compiled too
  const std::shared_ptr<const Instance> called = instance(own);
  const Program& program = *called->program;
  const std::vector<ParamInfo>& params = program.interface.params;

  std::vector<Argument> values;
  std::vector<HostTensor> lent; // what is the caller's memory
  for (size_t i = 0; i < count; ++i) {
    if (!called->passes(i)) continue;
    const tl_argument& argument = arguments[i];
    const std::optional<ParamInfo> complex = outside(params.at(values.size()), own[i]);
    const ParamInfo& param = complex ? *complex : params.at(values.size());
    auto wanted = [&](const std::string& what) {
      const std::string& name = own[i].declared ? own[i].declared->name : param.name;
      usage(kWrongType, fmt::format("{}: {} is wanted, and this is {}", name, param.type_text, what));
    };
    if (is_number(argument.kind)) {
      if (!param.record.empty() || param.kind == ParamInfo::Kind::Str) wanted("a number");
      values.emplace_back(number_argument(argument, param));
    } else if (argument.kind == TL_TEXT) {
      if (!param.record.empty() || param.kind != ParamInfo::Kind::Str) wanted("a text");
      values.emplace_back(std::string(argument.as.text));
    } else if (argument.kind == TL_TENSOR || own[i].rank >= 0) {
      if (!param.record.empty() || param.kind == ParamInfo::Kind::Str) wanted("a tensor (" + own[i].type + ")");
      if (own[i].dtype != param.dtype || own[i].rank != static_cast<int32_t>(param.rank)) wanted(own[i].type);
      if (argument.kind == TL_VALUE) {
        HostTensor x = std::get<HostTensor>(own[i].content->leaves.at(0));
        if (param.dtype == DType::Key) x.dtype = DType::Key;
        x.mapped = true; // it is counted where it was made
        values.emplace_back(std::move(x));
        continue;
      }
      HostTensor x;
      tl_tensor given = *argument.as.tensor;
      if (param.dtype == DType::Key) given.dtype.code = 1; // whatever integers of 64 bits they are
      try {
        x = tensor_argument(as_tensor(&given), param);
      } catch (const UsageError& error) {
        usage(kWrongValue, error.what());
      }
      if (x.mapped) lent.push_back(x);
      values.emplace_back(std::move(x));
    } else {
      const Content& content = *own[i].content;
      if (content.kind() == TL_TEXT) {
        if (!param.record.empty() || param.kind != ParamInfo::Kind::Str) wanted("a text");
        values.push_back(content.leaves.at(0));
        continue;
      }
      if (!crosses_as(content, param.record)) wanted(content.type());
      for (const Argument& leaf : content.leaves) {
        const ParamInfo& part = params.at(values.size());
        const auto* x = std::get_if<HostTensor>(&leaf);
        if (part.name != param.name ||
            (x && (part.dtype != x->dtype || part.rank != static_cast<uint32_t>(x->dims.size()))))
          wanted(fmt::format("a {} of other parts", content.type())); // of another program
        values.push_back(leaf);
        if (auto* tensor = std::get_if<HostTensor>(&values.back())) tensor->mapped = true;
      }
    }
  }
  if (values.size() != params.size()) usage(kWrongType, "a struct of another program has other parts");

  const std::shared_ptr<const Environment> environment = session_.environment();
  RunOptions options = environment->run;
  options.interrupt = running.interrupt();
  Outcome outcome = run(program, *called->kernels, std::move(values), options, environment->out, environment->err,
                        nullptr, &environment->devices);
  if (options.interrupt && *options.interrupt) interrupted("interrupted");
  if (outcome.error)
    throw Failed(said_of(error_of(kRuntimeError,
                                  diagnostic_of(*outcome.error, program.locations, *called->sources, called->main),
                                  *called->sources, called->main, called->own_end),
                         called->name));
  if (outcome.exit_code != 0 || outcome.results.size() != program.interface.results.size()) {
    Error error;
    error.status = kRuntimeError;
    error.kind = "Exit";
    error.message = error.text = fmt::format("the program called exit({})", outcome.exit_code);
    throw Failed(std::move(error));
  }
  for (Argument& result : outcome.results)
    tl::driver::own(result, lent);
  return {called->value, std::move(outcome.results)};
}

tl_value* tl_function::start(const tl_argument* arguments, size_t count) {
  // The arguments' array is the caller's, names and texts too; its tensors stay.
  struct Call {
    std::vector<tl_argument> arguments;
    std::deque<std::string> words;
    std::deque<tl_tensor> tensors;
    std::deque<std::vector<int64_t>> sizes;
    tl_value* result = nullptr;
  };
  parameters_of(arguments, count); // what is wrong with these is known at once
  auto call = std::make_shared<Call>();
  call->arguments.assign(arguments, arguments + count);
  for (tl_argument& argument : call->arguments) {
    auto keep = [&](const char* text) { return call->words.emplace_back(text).c_str(); };
    if (argument.name) argument.name = keep(argument.name);
    if (argument.kind == TL_TEXT && argument.as.text) argument.as.text = keep(argument.as.text);
    if (argument.kind == TL_VALUE && argument.as.value) ++argument.as.value->references;
    if (argument.kind == TL_TENSOR && argument.as.tensor) {
      tl_tensor& tensor = call->tensors.emplace_back(*argument.as.tensor);
      auto keep_sizes = [&](int64_t*& sizes) {
        if (sizes && tensor.rank > 0) sizes = call->sizes.emplace_back(sizes, sizes + tensor.rank).data();
      };
      keep_sizes(tensor.shape);
      keep_sizes(tensor.strides);
      argument.as.tensor = &tensor;
    }
  }
  auto* result = new tl_value;
  ++result->references;
  call->result = result;
  session_.enqueue([this, call](bool is_closed) {
    try {
      if (is_closed) interrupted("the session was closed before this call began");
      call->result->finish(this->call(call->arguments.data(), call->arguments.size()));
    } catch (...) {
      fail_with_current_exception();
      call->result->finish(last_error());
    }
    for (const tl_argument& argument : call->arguments)
      if (argument.kind == TL_VALUE) tl_value_release(argument.as.value);
    tl_value_release(call->result);
  });
  return result;
}

const char* tl_function::result_type(const tl_argument* arguments, size_t count) {
  return instance(given(arguments, count))->result_type.c_str(); // instances live as long as their function
}

void Instance::set_interface(const ProgramInterface& interface) {
  value = std::make_shared<const ValueInfo>(interface.value.value_or(ValueInfo{}));
  result_type.clear();
  uint32_t values = 0;
  for (const ResultInfo& result : interface.results)
    if (result.value == values) result_type += (values++ ? ", " : "") + result.type_text;
  if (value->kind == ValueInfo::Kind::Tuple) result_type = "(" + result_type + (values == 1 ? ",)" : ")");
}
