// A function of a session, and calls of it.
#pragma once
#include "abi/interface.h"
#include "abi/kernel.h"
#include "abi/program/bytecode.h"
#include "api/session.h"

namespace tl::api {

bool is_number(int kind); // an argument of TL_INT, TL_FLOAT or TL_BOOL

// An argument with what it is of.
struct Given {
  const tl_argument* argument = nullptr;
  const Declared* declared = nullptr; // null: nothing is known of its parameter
  const Content* content = nullptr;   // of a value
  DType dtype = DType::F32;           // of a tensor, also of a value
  int32_t rank = -1;                  // the same; -1: no tensor
  std::string type;                   // its own, as a parameter could have it
};

// A program that does one call.
struct Instance {
  const Program* program = nullptr;
  KernelProvider* kernels = nullptr;
  const SourceManager* sources = nullptr;
  FileId main;
  std::string name;    // of the function in `main` that makes the call
  size_t own_end = 0;  // of the program's text in the file `main`; the call stands behind it
  std::string in_text; // by argument: '1' for one that stands in the program's text; those behind its end are passed
  std::string result_type;                // tl_result_type
  std::shared_ptr<const ValueInfo> value; // what it gives

  virtual ~Instance() = default;
  bool passes(size_t argument) const { return argument >= in_text.size() || in_text[argument] != '1'; }
  void set_interface(const ProgramInterface& interface); // value, result_type
};

} // namespace tl::api

struct tl_function {
  tl_function(tl::api::Session& session, std::string expression, std::shared_ptr<const tl::Declaration> like)
      : expression_(std::move(expression)), like_(std::move(like)), session_(session) {}
  virtual ~tl_function() = default;

  // Throws Failed.
  virtual tl::api::Content call(const tl_argument* arguments, size_t count);
  tl_value* start(const tl_argument* arguments, size_t count);
  virtual const char* result_type(const tl_argument* arguments, size_t count);
  tl::api::Session& session() const { return session_; }

protected:
  // What makes a call with such arguments; lives as long as the function.
  virtual std::shared_ptr<const tl::api::Instance> instance(const std::vector<tl::api::Given>& arguments) = 0;
  std::vector<const tl::Declared*> parameters_of(const tl_argument* arguments, size_t count) const;
  tl::api::Error said_of(tl::api::Error error, const std::string& call) const;

  const std::string expression_;
  const std::shared_ptr<const tl::Declaration> like_; // whose parameters it has; null: not known

private:
  std::vector<tl::api::Given> given(const tl_argument* arguments, size_t count) const;

  tl::api::Session& session_;
};
