#include "abi/program/program_file.h"
#include <cstring>
#include <doctest/doctest.h>

using namespace tl;

namespace {

ProgramFile sample() {
  ProgramFile file;
  HostTensor x = HostTensor::make(DType::F64, {2, 3});
  for (int64_t i = 0; i < 6; ++i)
    x.set(i, Scalar::of(0.5 * static_cast<double>(i)));
  for (int p = 0; p < 2; ++p) {
    Program program;
    program.interface.doc = "what it is for";
    ParamInfo param;
    param.name = "x";
    param.kind = ParamInfo::Kind::Tensor;
    param.rank = 2;
    program.interface.params.push_back(param);
    program.locations = {
        {}, {"a.tl", 7, 3, 10, 12, {}, "f"}, {"unused.tl", 1, 1, 0, 1, {}, "g"}, {"a.tl", 9, 1, 30, 31, {1}, "h"}};
    BcFunction function{"entry", 3, {Slot{1}}, {}};
    Instruction i{};
    i.op = BcOp::Launch;
    i.loc = LocId{3};
    i.site = -1;
    i.imm = Scalar::of(-2.5);
    i.in = {{Slot{0}, true}, {Slot{300}, false}};
    i.ints = {-1, INT64_MIN, INT64_MAX, 1000000};
    OutputDesc output;
    output.dims = {{false, 5, {}}, {true, 0, Slot{2}}};
    i.outputs = {output, output};
    i.outputs[1].suffers = {{3, 0}, {1}};
    function.code = {i, i};
    program.functions = {function};
    HostTensor copy = HostTensor::make(DType::F64, {2, 3}); // equal to x, elsewhere
    std::memcpy(copy.data(), x.data(), 48);
    program.tensors = {x, copy, HostTensor::make(DType::F32, {0})};
    program.sites = {{"IndexOutOfRange", "index {}", "", LocId{1}, {{"from here", LocId{3}}}}};
    program.strings = {"", "text", "text"};
    file.programs.push_back(program);
  }
  file.sources = {{"a.tl", "print(1)\n"}};
  KernelVariant variant;
  variant.features = 0x80000001;
  CompiledKernel kernel{"k", {{nullptr, SizeFormula::constant(-3), {}}}, {}, {}};
  variant.kernels = {kernel};
  variant.first_function = {0};
  file.variants = {variant};
  return file;
}

// At a multiple of 64, as read_program wants it.
struct Aligned {
  std::vector<std::byte> room;
  std::span<const std::byte> bytes;
  explicit Aligned(std::string_view text) : room(text.size() + 64) {
    std::byte* begin = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
    std::memcpy(begin, text.data(), text.size());
    bytes = {begin, text.size()};
  }
};

} // namespace

TEST_CASE("a program as bytes reads back") {
  const Aligned written(write_program(sample()));
  const ProgramFile read = read_program(written.bytes), first = sample();
  REQUIRE(read.programs.size() == 2);
  const Program &a = read.programs[1], &b = first.programs[1];
  CHECK(a.interface.doc == b.interface.doc);
  CHECK(a.interface.params.at(0).name == "x");
  const Instruction &i = a.functions.at(0).code.at(1), &j = b.functions[0].code[1];
  CHECK(i.op == j.op);
  CHECK(i.site == -1);
  CHECK(i.imm.bits == j.imm.bits);
  CHECK(i.ints == j.ints);
  CHECK(i.in.at(1).slot.index == 300);
  CHECK(i.in.at(0).last_use);
  CHECK(i.outputs.at(0).dims.at(1).slot.index == 2);
  CHECK(a.strings == b.strings);
  CHECK(a.tensors.at(0).get(5).as<double>() == 2.5);
  CHECK(a.tensors.at(2).dims == std::vector<int64_t>{0});
  CHECK(read.sources.at(0).text == "print(1)\n");
  CHECK(read.variants.at(0).features == 0x80000001);
  CHECK(read.variants.at(0).kernels.at(0).phases.at(0).tiles.steps.at(0).value == -3);
}

TEST_CASE("places that nothing names are left out, the others keep their callers") {
  const Aligned written(write_program(sample()));
  const Program program = std::move(read_program(written.bytes).programs[0]);
  REQUIRE(program.locations.size() == 3);
  const Location& place = program.locations.at(program.functions[0].code[0].loc.index);
  CHECK(place.function == "h");
  CHECK(program.locations.at(place.caller.index).function == "f");
  CHECK(program.sites.at(0).loc == place.caller);
}

TEST_CASE("constants stay where they are, each once, at multiples of 64") {
  const Aligned written(write_program(sample()));
  const ProgramFile read = read_program(written.bytes);
  const std::byte* data = read.programs[0].tensors[0].data();
  CHECK(reinterpret_cast<uintptr_t>(data) % 64 == 0);
  CHECK(data >= written.bytes.data());
  CHECK(data + 48 <= written.bytes.data() + written.bytes.size());
  CHECK(read.programs[0].tensors[1].data() == data);
  CHECK(read.programs[1].tensors[0].data() == data);
}

TEST_CASE("what is cut off or of another build is refused") {
  const std::string whole = write_program(sample());
  for (size_t size = 0; size < whole.size(); ++size) {
    const Aligned part(std::string_view(whole).substr(0, size));
    CHECK_THROWS_AS(read_program(part.bytes), std::runtime_error);
  }
  std::string other = whole;
  other[3] ^= 1;
  CHECK_THROWS_WITH_AS(read_program(Aligned(other).bytes), "this program was built by another version of tl",
                       std::runtime_error);
}
