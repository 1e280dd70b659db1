-- Neovim 0.11 and later: vim.lsp.enable("tl")
return { cmd = { "tl", "lsp" }, filetypes = { "tl" }, root_markers = { ".git" } }
