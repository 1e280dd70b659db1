/* tl's compiler and virtual machine inside a process: sources come in, their functions are compiled for the types of
   the arguments that they are called with, and run.

   Errors. A function that returns int returns 0, or one of tl_status; then tl_last_error() says what is wrong, and
   nothing else has happened. No function ends the process, prints by itself or changes signal handlers but for
   tl_command_line.

   Threads. A session, a function and a value may be used from any number of threads at once; only tl_session_close and
   tl_value_release must be the last use. A process that is forked cannot go on with the sessions that it had: calls on
   them return TL_USAGE there; new ones may be opened.

   Texts are UTF-8 and end at their first 0. Those that come from here belong to the library; each says until when. */
#ifndef TL_H
#define TL_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TL_API __attribute__((visibility("default")))
#else
#define TL_API
#endif

typedef enum tl_status {
  TL_OK = 0,
  TL_REJECTED = 1,     /* the program, or a function for these arguments, is wrong: nothing has run */
  TL_USAGE = 2,        /* a wrong argument: another type or rank, a name that nothing has, a closed or forked session */
  TL_FAILED = 3,       /* the program failed while it ran, or called exit() */
  TL_INTERNAL = 70,    /* a fault of tl */
  TL_INTERRUPTED = 130 /* by tl_session_interrupt */
} tl_status;

typedef struct tl_error {
  int status;           /* a tl_status */
  const char* kind;     /* as `tl explain` knows it: "TypeMismatch", "IndexOutOfRange"; "" where it has none */
  const char* message;  /* one line, without the place */
  const char* hint;     /* what to do about it, or "" */
  const char* file;     /* of the place in the program; "" where there is none */
  int64_t line, column; /* from 1; 0 where there is none */
  const char* text;     /* all of it, with the lines of the program, as `tl run` shows it */
} tl_error;
/* Of this thread's last call that failed, until its next one that fails. Never null. */
TL_API const tl_error* tl_last_error(void);

TL_API const char* tl_version(void); /* "0.2.0" */

/* ---- sessions ---- */

/* Sources, the functions made of them, and settings. */
typedef struct tl_session tl_session;
TL_API int tl_session_open(tl_session** session);
/* Frees it and its functions. Calls that tl_start began and that are not done end with TL_INTERRUPTED: whoever wants
   what they give waits for it before. Values stay valid, and are still to be released. NULL is fine. */
TL_API void tl_session_close(tl_session* session);

/* A flag of `tl run` without its dashes ("threads", "4"; "memory-limit", "1G"; "sync", "true"), for calls that begin
   afterwards. */
TL_API int tl_session_set(tl_session* session, const char* flag, const char* value);

/* Where print and debug write (is_error: what `tl run` writes to standard error). Called from one thread at a time in
   each call, maybe not the caller's. Without it they write to the process's standard output and error. */
typedef void (*tl_output)(void* context, int is_error, const char* text, size_t length);
TL_API int tl_session_set_output(tl_session* session, tl_output output, void* context);

/* Checks a program and keeps it. `name` is in messages, and what other sources import it by, before files are looked
   for; relative imports and the `const`s of files start from its folder. Its top level may have no effects: each call
   runs it. A second source of the same name replaces the first for functions that are asked for from then on. */
TL_API int tl_session_add_source(tl_session* session, const char* name, const char* text);
/* The same for a .tl file, or an ONNX model (.onnx), which is translated first. */
TL_API int tl_session_add_file(tl_session* session, const char* path);

/* The calls of this session that run now, or are compiled, and the pieces, end with TL_INTERRUPTED. May be called from
   a signal handler, of a thread in a call too: that call is left when the handler has returned. */
TL_API void tl_session_interrupt(tl_session* session);

typedef struct tl_parameter { /* of a function, or a field of a struct */
  const char* name;
  const char* type;          /* as it is written; NULL: none, a generic parameter */
  const char* default_value; /* as it is written; NULL: none */
  const char* doc;           /* "" where there is none */
} tl_parameter;
typedef struct tl_signature {
  const char* name;
  const char* text;   /* "fn scale(x: f32[..s], by: f32 = 2.0) -> f32[..s]" */
  const char* result; /* as it is written; NULL: inferred */
  const char* doc;
  const char* source; /* the name of its source */
  int is_generic;     /* it is another one for each combination of element types and ranks */
  int is_struct;      /* its parameters are the fields */
  size_t parameter_count;
  const tl_parameter* parameters;
} tl_signature;
/* The functions and structs that the sources declare, in their order. Until the next source is added, or the session
   is closed. */
TL_API int tl_session_declarations(tl_session* session, const tl_signature** first, size_t* count);
/* A struct by the name that a source (NULL: the last one) has for it: also one of the modules that it imports,
   "nn.Linear", and of the prelude. Its fields' types are written as that module has them. Until the session is
   closed. */
TL_API int tl_session_struct(tl_session* session, const char* source, const char* name, const tl_signature** signature);

/* ---- tensors ---- */

/* Laid out as DLPack's DLTensor and DLManagedTensor (of its versions 0.x), so that one may be cast to the other. */
#ifndef TL_TENSOR_DEFINED
#define TL_TENSOR_DEFINED
typedef struct tl_dtype {
  uint8_t code; /* 0 signed, 1 unsigned, 2 float, 4 bfloat, 5 complex (the two parts side by side), 6 bool */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} tl_dtype;
typedef struct tl_tensor {
  void* data;
  int32_t device_type, device_id; /* 1, 0: memory of the CPU */
  int32_t rank;
  tl_dtype dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; NULL: dense, the last axis together */
  uint64_t byte_offset;
} tl_tensor;
typedef struct tl_managed_tensor {
  tl_tensor tensor;
  void* context;
  void (*deleter)(struct tl_managed_tensor* self);
} tl_managed_tensor;
#endif

/* ---- values ---- */

/* What a call gave: immutable. */
typedef struct tl_value tl_value;
typedef enum tl_kind {
  TL_NOTHING = 0, /* of a function without a result */
  TL_TENSOR = 1,  /* a scalar is one of rank 0; keys (their type is "key", "key[_]") are u64 in C */
  TL_TEXT = 2,
  TL_STRUCT = 3,
  TL_LIST = 4,
  TL_TUPLE = 5,
  /* of arguments alone: numbers that take the type of their parameter, or are the seed of a key; where it is generic,
     i64, f32 and bool */
  TL_INT = 6,
  TL_FLOAT = 7,
  TL_BOOL = 8,
  TL_VALUE = 9 /* any value */
} tl_kind;

/* Each of these waits until the value is computed; for one whose call failed they fail as the call did. */
TL_API int tl_value_kind(tl_value* value, int* kind);
/* Its type with open sizes, as a parameter of the program could have it: "f32[_, _]", "nn.Linear<f32>". Until the value
   is released. */
TL_API int tl_value_type(tl_value* value, const char** type);
/* A tensor that belongs to the caller, who may write to it: tensor->deleter(tensor) frees it. The memory is the value's
   own if nothing else uses it (then the value is empty afterwards, and may only be released), else a copy. */
TL_API int tl_value_take_tensor(tl_value* value, tl_managed_tensor** tensor);
/* A tensor that shares the value's memory and keeps it: only to be read. */
TL_API int tl_value_view_tensor(tl_value* value, tl_managed_tensor** tensor);
/* The element type and bits of a tensor of rank 0, but of complex numbers. */
TL_API int tl_value_scalar(tl_value* value, tl_dtype* dtype, uint64_t* bits);
TL_API int tl_value_text(tl_value* value, const char** text); /* until the value is released */
/* The elements of a tuple or list, the fields of a struct. */
TL_API int tl_value_count(tl_value* value, size_t* count);
TL_API int tl_value_at(tl_value* value, size_t index, tl_value** element);
/* Of a struct: a field's name, until the value is released; a field by its name. */
TL_API int tl_value_name(tl_value* value, size_t index, const char** name);
TL_API int tl_value_field(tl_value* value, const char* name, tl_value** field);

/* 0: its call is done, well or not. */
TL_API int tl_value_is_pending(tl_value* value);
/* Until its call is done; gives what the call would have returned. */
TL_API int tl_value_wait(tl_value* value);
TL_API void tl_value_retain(tl_value* value);  /* as many releases more */
TL_API void tl_value_release(tl_value* value); /* NULL is fine */

/* ---- functions ---- */

/* A function of the session's program, compiled for each combination of types that it is called with. */
typedef struct tl_function tl_function;
/* `expression`: a function's or struct's name, or any expression that is a function: "grad(loss)", "vmap(f)",
   "|x, y| f(x, 2.0) + y". `like`: the name of the function or struct whose parameters (names, types, defaults) it has,
   as grad(loss) has those of loss; NULL: those of `expression`, where that is a name, else any. `source`: where the
   names are looked up; NULL: in the last source that was added. Lives as long as the session; the same for the same
   words. Whether the expression is right is known with the first call. */
TL_API int tl_function_get(tl_session* session, const char* source, const char* expression, const char* like,
                           tl_function** function);

typedef struct tl_argument {
  const char* name; /* of the parameter; NULL: the next one in order, before all that have names */
  int kind;         /* TL_TENSOR, TL_INT, TL_FLOAT, TL_BOOL, TL_TEXT, TL_VALUE */
  union {
    const tl_tensor* tensor;
    int64_t integer; /* also of TL_BOOL: 0 or 1 */
    double real;
    const char* text;
    tl_value* value; /* of any session: a struct is known by its name and the types of its fields */
  } as;
} tl_argument;

/* Calls it and waits. Tensors are read where they lie if they are dense and aligned, else copied; they need to live
   for the call alone and are never written to. `result`: to be released; NULL where it is not wanted. */
TL_API int tl_call(tl_function* function, const tl_argument* arguments, size_t count, tl_value** result);
/* The same, but returns at once: what the call returns says tl_value_wait. Tensors of the caller must live, and not be
   written to, until then. Other values may be results that are pending themselves. At most 64 calls of a session wait
   for their turn: then this waits until one of them begins. */
TL_API int tl_start(tl_function* function, const tl_argument* arguments, size_t count, tl_value** result);

/* The type of the result for arguments of these types, whose elements are not looked at (a tensor's data and sizes may
   be anything): with sizes in terms of those of the arguments, "f32[x.shape[0], 2 * x.shape[1] + 1]"; "_" for a size
   that depends on more. Until the session is closed. */
TL_API int tl_result_type(tl_function* function, const tl_argument* arguments, size_t count, const char** type);

/* A list of these, all of one type: `List<f32[_, _]>`, `List<Model>`. Tensors are copied. */
TL_API int tl_list(tl_session* session, const tl_argument* elements, size_t count, tl_value** list);
/* A tuple of these, of whatever types: numbers are i64, f32 and bool, others are tensors of rank 0. Tensors are
   copied. */
TL_API int tl_tuple(tl_session* session, const tl_argument* elements, size_t count, tl_value** tuple);

/* ---- a program in pieces, as `tl repl` has it ---- */

/* Runs a piece of a program, which sees what the pieces before it declared and bound. A piece that is wrong or fails
   changes nothing. Pieces and sources do not see one another. */
TL_API int tl_session_run(tl_session* session, const char* name, const char* text);
/* Binds a name for the pieces that follow, as `let` does. */
TL_API int tl_session_bind(tl_session* session, const char* name, const tl_argument* value);
/* What a name is bound to. */
TL_API int tl_session_lookup(tl_session* session, const char* name, tl_value** value);
/* The names that pieces have bound to values, each with a newline after it. Until the next call of this thread. */
TL_API int tl_session_names(tl_session* session, const char** names);

/* ---- the same as cells of a notebook ---- */

/* Where pieces show what is more than text, in the order of what they print, and called as tl_output is:
   kind "image/svg+xml": a plot that is for no file, as `content`; type is "";
   kind "text/plain": an expression that stands alone, as `tl repl` shows it, and its type. Its value, unless it is a
   function, a range or a type, is bound to `_` when the piece has ended.
   Without this, both are printed. Before the first piece. */
typedef void (*tl_display)(void* context, const char* kind, const char* content, const char* type);
TL_API int tl_session_set_display(tl_session* session, tl_display display, void* context);
/* What the word before the cursor, a number of bytes of the piece `text`, may become: it begins at the byte `begin`,
   and each has a newline after it. Until the next call of this thread. */
TL_API int tl_session_complete(tl_session* session, const char* text, size_t cursor, size_t* begin,
                               const char** completions);
/* Documentation of what pieces have declared or what the library has, or the type of what they have bound: as `:help`
   of `tl repl`. Until the next call of this thread. */
TL_API int tl_session_help(tl_session* session, const char* name, const char** text);
/* 0: the piece is complete, right or wrong; else more lines belong to it, and the next one begins with so many
   blanks. */
TL_API int tl_is_incomplete(const char* text, size_t* indentation);

/* ---- the command ---- */

/* The command line of `tl`, for a program whose main does nothing else: it prints, sets signal handlers and may end the
   process. Gives the exit code. */
TL_API int tl_command_line(int argc, char** argv);

#ifdef __cplusplus
}
#endif
#endif
