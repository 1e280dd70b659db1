// The language, made of the tables of the file that includes this at its end.
#ifdef _WIN32
#define TS_PUBLIC __declspec(dllexport)
#else
#define TS_PUBLIC __attribute__((visibility("default")))
#endif

// The scanner reads all tokens; what is left is the end.
static bool read_end(TSLexer* lexer, TSStateId state) {
  (void)state;
  while (lexer->lookahead == ' ' || (lexer->lookahead >= '\t' && lexer->lookahead <= '\r'))
    lexer->advance(lexer, true);
  lexer->mark_end(lexer);
  lexer->result_symbol = 0;
  return lexer->eof(lexer);
}

TS_PUBLIC const TSLanguage* tree_sitter_tl(void) {
  static const TSLanguage language = {
      .version = 14,
      .symbol_count = SYMBOL_COUNT,
      .token_count = TOKEN_COUNT,
      .external_token_count = TOKEN_COUNT - 1,
      .state_count = STATE_COUNT,
      .large_state_count = LARGE_STATE_COUNT,
      .production_id_count = PRODUCTION_COUNT,
      .field_count = FIELD_COUNT,
      .max_alias_sequence_length = LONGEST_RULE,
      .parse_table = large_rows,
      .small_parse_table = small_rows,
      .small_parse_table_map = small_row_places,
      .parse_actions = actions,
      .symbol_names = symbol_names,
      .field_names = field_names,
      .field_map_slices = field_slices,
      .field_map_entries = field_entries,
      .symbol_metadata = symbol_metadata,
      .public_symbol_map = public_symbols,
      .alias_map = alias_map,
      .alias_sequences = alias_sequences,
      .lex_modes = lex_modes,
      .lex_fn = read_end,
      .external_scanner = {external_states, external_symbols, tree_sitter_tl_external_scanner_create,
                           tree_sitter_tl_external_scanner_destroy, tree_sitter_tl_external_scanner_scan,
                           tree_sitter_tl_external_scanner_serialize, tree_sitter_tl_external_scanner_deserialize},
      .primary_state_ids = primary_states,
  };
  return &language;
}
