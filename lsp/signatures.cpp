// The signature of a function with what it leaves out: names for sizes that are `_`, types that its calls tell, and
// its result.
#include "lsp/fixes.h"
#include "lsp/types.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

namespace tl::lsp {
namespace {

class Signature {
public:
  Signature(Analysis& analysis, const Symbol& symbol, const ast::Function& function)
      : analysis_(analysis), function_(function) {
    for (const typed::Instance& instance : analysis.program.instances)
      if (instance.span == symbol.span) instances_.push_back(&instance);
    std::string word;
    for (const char c : analysis.text + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
        word += c;
      else
        words_.insert(std::move(word)), word.clear();
    }
  }

  // With a name for each different size, one name for all, and the sizes that the calls have.
  std::vector<std::vector<Edit>> candidates() {
    std::vector<std::vector<Edit>> all;
    for (const Sizes sizes : {Sizes::Different, Sizes::Same, Sizes::OfCalls}) {
      sizes_ = sizes;
      names_.clear();
      if (auto edits = edits_now(); !edits.empty()) all.push_back(std::move(edits));
    }
    return all;
  }

private:
  enum class Sizes : uint8_t { Different, Same, OfCalls };

  std::vector<Edit> edits_now() {
    std::vector<Edit> edits;
    for (const ast::Param& param : function_.params) {
      if (param.is_rest) return {};
      if (!param.type && !param.default_value) {
        const std::string type = type_of(param);
        if (type.empty()) return {};
        edits.push_back({{analysis_.file, param.name.span.end, param.name.span.end}, ": " + type});
      }
      const auto* named = param.type ? std::get_if<ast::NamedType>(&param.type->node) : nullptr;
      for (const ast::Expr* dim : named ? named->dims : std::vector<ast::Expr*>())
        if (ast::as<ast::Wildcard>(dim)) edits.push_back({dim->span, name_of(fmt::format("{}", dim->span.begin))});
    }
    return edits;
  }

  // Of a parameter, if all calls have the same element type and number of axes.
  std::string type_of(const ast::Param& param) {
    if (sizes_ == Sizes::OfCalls) return written_type_of_variable(analysis_, param.name.span);
    std::vector<Type> types;
    for (const typed::Instance* instance : instances_)
      for (const typed::VarId var : instance->params)
        if (const typed::Variable& variable = analysis_.program.variables[var.index]; variable.span == param.name.span)
          types.push_back(variable.type);
    if (types.empty() || types.size() != instances_.size()) return "";
    const Type& first = types.front();
    if (!first.is_tensor() || first.rank() == 0) return written_type_of_variable(analysis_, param.name.span);
    std::vector<std::string> keys(first.rank());
    for (const Type& type : types) {
      if (!type.is_tensor() || type.dtype != first.dtype || type.rank() != first.rank()) return "";
      for (size_t k = 0; k < keys.size(); ++k)
        keys[k] += analysis_.program.atoms.to_string(type.shape[k]) + ";";
    }
    std::string text;
    for (const std::string& key : keys)
      text += (text.empty() ? "" : ", ") + name_of(key);
    return fmt::format("{}[{}]", tl::name_of(first.dtype), text);
  }

  // The name of the size that this stands for: one that the file does not have.
  std::string name_of(const std::string& key) {
    const auto [it, is_new] = names_.try_emplace(sizes_ == Sizes::Same ? "" : key);
    if (is_new) {
      size_t number = names_.size();
      for (const char* name : {"n", "m", "k", "d", "p", "q", "r", "s"})
        if (!words_.count(name) && --number == 0) it->second = name;
      if (it->second.empty()) it->second = fmt::format("n{}", names_.size());
    }
    return it->second;
  }

  Analysis& analysis_;
  const ast::Function& function_;
  std::vector<const typed::Instance*> instances_;
  std::set<std::string> words_; // of the file
  Sizes sizes_ = Sizes::Different;
  std::map<std::string, std::string> names_;
};

const Symbol* function_at(const Index& index, uint32_t begin) {
  for (const Symbol& symbol : index.symbols)
    if (symbol.kind == SymbolKind::Function && symbol.span.begin == begin) return &symbol;
  return nullptr;
}

} // namespace

std::optional<Fix> signature_of(Workspace& workspace, Document& document, const Symbol& symbol, int& tries) {
  Analysis& analysis = workspace.analysis(document);
  const auto* function = symbol.statement ? ast::as<ast::Function>(symbol.statement) : nullptr;
  if (!function || symbol.span.file != analysis.file) return std::nullopt;
  const TypeText nothing = [](const Type&) { return std::string("?"); };
  for (std::vector<Edit>& edits : Signature(analysis, symbol, *function).candidates()) {
    if (--tries < 0) break;
    std::unique_ptr<Analysis> after = tried(workspace, document, edits);
    if (!after) continue;
    const uint32_t end = edits.back().span.end;
    std::string title = analysis.text.substr(symbol.span.begin, symbol.span.length());
    const Symbol* there = function_at(workspace.analyzer().index(*after), symbol.span.begin);
    const auto result = inferred_result(analysis, symbol, nothing);
    const auto inferred = there && result
                              ? inferred_result(*after, *there, [&](const Type& type) { return written(*after, type); })
                              : std::nullopt;
    if (inferred) edits.push_back({{analysis.file, result->first, result->first}, " " + inferred->second});
    uint32_t at = symbol.span.end;
    for (const Edit& edit : edits) {
      title += analysis.text.substr(at, edit.span.begin - at) + edit.text;
      at = edit.span.end;
    }
    if (!inferred) title += analysis.text.substr(end, analysis.text.find(')', end) + 1 - end);
    workspace.forget(std::move(after));
    return Fix{std::move(edits), fmt::format("write the signature `{}`", title.substr(0, title.find('\n')))};
  }
  return std::nullopt;
}

} // namespace tl::lsp
