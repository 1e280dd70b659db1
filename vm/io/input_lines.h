// Lines of standard input, for programs and for what is typed into tl. Everything that reads lines takes them from
// here, so that none is lost in a buffer of somebody else's. Not thread-safe: effects, which run one after the other,
// and the prompt of `tl repl`, between runs.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace tl {

// The next line without its end (and without a carriage return before it); nothing: there is none, or a signal came.
std::optional<std::string> next_input_line();

// All that has not been read, up to the end of the input; at most `most` bytes and one more.
std::string rest_of_input(uint64_t most);

// Waits until there is something to read, or the end; false once `interrupt` is true, which is looked at ten times a
// second (null: never).
bool wait_for_input(const std::atomic<bool>* interrupt);

// The line `ahead` lines after the next one, which stays to be read, if it has arrived: this waits for nothing.
std::optional<std::string> arrived_input_line(size_t ahead);

// Waits for input so many milliseconds, or without an end for a negative number.
enum class InputState { Ready, Late, Signal, End };
InputState wait_for_input(int milliseconds);
unsigned char next_input_byte(); // only when it is Ready

} // namespace tl
