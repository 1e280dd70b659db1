// A function of a session's sources: an instance for each combination of types that it is called with.
#pragma once
#include "api/call.h"
#include "api/compiled/session.h"
#include <shared_mutex>
#include <unordered_map>

namespace tl::api {

class CompiledFunction : public tl_function {
public:
  CompiledFunction(CompiledSession& session, std::string source, std::string text, std::string expression,
                   std::shared_ptr<const Declaration> like)
      : tl_function(session, std::move(expression), std::move(like)), session_(session), source_(std::move(source)),
        text_(std::move(text)) {}

protected:
  std::shared_ptr<const Instance> instance(const std::vector<Given>& arguments) override;

private:
  std::shared_ptr<const Instance> compile(const std::vector<Given>& arguments, bool numbers_as_text) const;

  CompiledSession& session_;
  const std::string source_, text_;
  std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Instance>> instances_;
};

} // namespace tl::api
