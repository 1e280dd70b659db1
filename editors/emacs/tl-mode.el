;;; tl-mode.el --- the tensor language tl  -*- lexical-binding: t -*-
;; Package-Requires: ((emacs "29.1"))

;;; Commentary:
;; Colours, indentation, comments, and Eglot's server for `.tl' files.

;;; Code:
(defgroup tl nil "The tensor language tl." :group 'languages)

(defcustom tl-server '("tl" "lsp") "How the language server is started." :type '(repeat string))

(defvar tl-mode-syntax-table
  (let ((table (make-syntax-table prog-mode-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?_ "_" table)
    (dolist (operator '(?+ ?- ?* ?/ ?% ?< ?> ?= ?! ?& ?| ?@ ?^ ?: ?.))
      (modify-syntax-entry operator "." table))
    table))

(defconst tl-keywords
  `((,(regexp-opt '("let" "var" "const" "fn" "struct" "import" "if" "else" "for" "in" "while" "break" "continue"
                    "return" "assert" "and" "or" "not")
                  'symbols)
     . font-lock-keyword-face)
    ("\\_<\\(test\\)\\_>\\s-+\"" 1 font-lock-keyword-face)
    ("\\_<\\(export\\)\\_>\\s-+fn\\_>" 1 font-lock-keyword-face)
    ("\\_<\\(as\\|on\\)\\_>\\s-+\\(?:\\sw\\|\\s_\\)" 1 font-lock-keyword-face)
    (,(regexp-opt '("true" "false" "none" "new") 'symbols) . font-lock-constant-face)
    (,(regexp-opt '("bool" "u8" "u16" "u32" "u64" "i8" "i16" "i32" "i64" "f16" "bf16" "f32" "f64" "c64" "c128" "str" "List")
                  'symbols)
     . font-lock-type-face)
    ("\\_<fn\\s-+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-function-name-face)
    ("\\_<struct\\s-+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-type-face)
    ("\\_<\\(?:let\\|var\\|const\\)\\s-+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-variable-name-face)))

(defcustom tl-indent 2 "Columns of a level." :type 'integer)

(defun tl--brackets (end)
  "How many brackets are open at END that were not at point, which is behind those that close first."
  (let ((count 0))
    (while (re-search-forward "[][(){}]" end t)
      (unless (nth 8 (save-excursion (syntax-ppss (match-beginning 0))))
        (setq count (if (memq (char-before) '(?\[ ?\( ?\{)) (1+ count) (1- count)))))
    count))

(defun tl--column ()
  "The column of this line: a level more behind a line that leaves brackets open, and back where it begins with what closes."
  (save-excursion
    (back-to-indentation)
    (let ((closes (memq (char-after) '(?\] ?\) ?\}))))
      (forward-line 0)
      (skip-chars-backward " \t\n")
      (if (bobp)
          0
        (let ((end (line-end-position)) (column (current-indentation)))
          (back-to-indentation)
          (skip-chars-forward "])}")
          (let ((opened (tl--brackets end)))
            (max 0 (+ column (* tl-indent (- (if (> opened 0) 1 opened) (if closes 1 0)))))))))))

(defun tl-indent-line ()
  "Indent a line; inside of a long text it stays as it is."
  (if (nth 3 (save-excursion (syntax-ppss (line-beginning-position))))
      'noindent
    (let ((behind (> (current-column) (current-indentation))))
      (if behind (save-excursion (indent-line-to (tl--column))) (indent-line-to (tl--column))))))

;;;###autoload
(define-derived-mode tl-mode prog-mode "tl"
  "Programs in the tensor language tl."
  (setq-local comment-start "# " comment-start-skip "#+\\s-*" comment-end "")
  (setq-local font-lock-defaults '(tl-keywords))
  (setq-local indent-tabs-mode nil indent-line-function #'tl-indent-line)
  (setq-local electric-indent-chars (append "]})" electric-indent-chars))
  (setq-local compile-command (concat "tl check " (and buffer-file-name (shell-quote-argument buffer-file-name)))))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.tl\\'" . tl-mode))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot (add-to-list 'eglot-server-programs (cons 'tl-mode tl-server)))

(provide 'tl-mode)
;;; tl-mode.el ends here
