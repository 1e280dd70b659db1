// Stands in for what vm/io reads in executables of programs that read no files.
#include "vm/io/io.h"
#include <cstdlib>

namespace tl {

struct TensorReader::Impl {};
TensorReader::TensorReader(const std::string&, const ReadOptions&) { std::abort(); }
TensorReader::~TensorReader() = default;
TensorReader::TensorReader(TensorReader&&) noexcept = default;
TensorReader& TensorReader::operator=(TensorReader&&) noexcept = default;
const TensorHeader& TensorReader::header() const { std::abort(); }
void TensorReader::read(std::byte*) { std::abort(); }
HostTensor TensorReader::map() const { std::abort(); }
HostTensor TensorReader::take() { std::abort(); }

std::string read_text(const std::string&) { std::abort(); }
std::vector<std::string> archive_names(const std::string&) { std::abort(); }
std::string tensor_names_text(const std::string&) { std::abort(); }
void require_type(const std::string&, const TensorHeader&, DType, size_t) { std::abort(); }
bool holds_tensor(const std::string&, const std::string&) { std::abort(); }

} // namespace tl
