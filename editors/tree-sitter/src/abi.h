// What the runtime of tree-sitter reads of a parser, in version 14 of its binary interface.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint16_t TSSymbol;
typedef uint16_t TSStateId;
typedef uint16_t TSFieldId;

typedef struct {
  bool visible, named, supertype;
} TSSymbolMetadata;

typedef struct {
  TSFieldId field;
  uint8_t child;
  bool inherited; // from a child that is no node itself
} TSFieldMapEntry;

typedef struct {
  uint16_t index, length;
} TSFieldMapSlice;

typedef struct {
  uint16_t lex_state, external_lex_state;
} TSLexMode;

typedef struct TSLexer TSLexer;
struct TSLexer {
  int32_t lookahead; // the character at the cursor; 0 at the end
  TSSymbol result_symbol;
  void (*advance)(TSLexer*, bool skip); // skip: the token begins behind it
  void (*mark_end)(TSLexer*);           // the token ends here, whatever is read behind it
  uint32_t (*get_column)(TSLexer*);
  bool (*is_at_included_range_start)(const TSLexer*);
  bool (*eof)(const TSLexer*);
};

typedef enum { kShift, kReduce, kAccept, kRecover } TSParseActionType;

typedef union {
  struct {
    uint8_t type;
    TSStateId state;
    bool extra, repetition;
  } shift;
  struct {
    uint8_t type, child_count;
    TSSymbol symbol;
    int16_t dynamic_precedence;
    uint16_t production_id;
  } reduce;
  uint8_t type;
} TSParseAction;

typedef union {
  TSParseAction action;
  struct {
    uint8_t count;
    bool reusable;
  } entry; // before its actions
} TSParseActionEntry;

typedef struct {
  uint32_t version;
  uint32_t symbol_count, alias_count, token_count, external_token_count;
  uint32_t state_count, large_state_count, production_id_count, field_count;
  uint16_t max_alias_sequence_length;
  const uint16_t *parse_table, *small_parse_table;
  const uint32_t* small_parse_table_map;
  const TSParseActionEntry* parse_actions;
  const char* const* symbol_names;
  const char* const* field_names;
  const TSFieldMapSlice* field_map_slices;
  const TSFieldMapEntry* field_map_entries;
  const TSSymbolMetadata* symbol_metadata;
  const TSSymbol* public_symbol_map;
  const uint16_t* alias_map;
  const TSSymbol* alias_sequences;
  const TSLexMode* lex_modes;
  bool (*lex_fn)(TSLexer*, TSStateId);
  bool (*keyword_lex_fn)(TSLexer*, TSStateId);
  TSSymbol keyword_capture_token;
  struct {
    const bool* states;
    const TSSymbol* symbol_map;
    void* (*create)(void);
    void (*destroy)(void*);
    bool (*scan)(void*, TSLexer*, const bool* valid);
    unsigned (*serialize)(void*, char* buffer);
    void (*deserialize)(void*, const char* buffer, unsigned length);
  } external_scanner;
  const TSStateId* primary_state_ids;
} TSLanguage;

enum { kSerializationSize = 1024 };

void* tree_sitter_tl_external_scanner_create(void);
void tree_sitter_tl_external_scanner_destroy(void* scanner);
bool tree_sitter_tl_external_scanner_scan(void* scanner, TSLexer* lexer, const bool* valid);
unsigned tree_sitter_tl_external_scanner_serialize(void* scanner, char* buffer);
void tree_sitter_tl_external_scanner_deserialize(void* scanner, const char* buffer, unsigned length);

#define SHIFT(next)                                                                                                    \
  {                                                                                                                    \
    .action.shift = {.type = kShift, .state = (next) }                                                                 \
  }
#define SHIFT_REPEAT(next)                                                                                             \
  {                                                                                                                    \
    .action.shift = {.type = kShift, .state = (next), .repetition = true }                                             \
  }
#define SHIFT_EXTRA                                                                                                    \
  {                                                                                                                    \
    .action.shift = {.type = kShift, .extra = true }                                                                   \
  }
#define REDUCE(left, count, production)                                                                                \
  {                                                                                                                    \
    .action.reduce = {.type = kReduce, .child_count = (count), .symbol = (left), .production_id = (production) }       \
  }
#define ACCEPT {.action.type = kAccept}
#define RECOVER {.action.type = kRecover}
