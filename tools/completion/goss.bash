# Completion for bash of all programs of Gossamer: options, subcommands and the values that --help lists for them.
_goss() {
  local word="${COMP_WORDS[COMP_CWORD]}" before="" program="${COMP_WORDS[0]}" help values
  [ "$COMP_CWORD" -eq 0 ] || before="${COMP_WORDS[COMP_CWORD - 1]}"
  command -v "$program" >/dev/null || return
  help="$("$program" --help 2>/dev/null)"
  # A subcommand has a help of its own.
  if [ "$COMP_CWORD" -gt 1 ] && [[ "${COMP_WORDS[1]}" != -* ]] && grep -qE "^  ${COMP_WORDS[1]}\>|'[a-z-]+ ${COMP_WORDS[1]} --help'" <<<"$help"; then
    help="$("$program" "${COMP_WORDS[1]}" --help 2>/dev/null)"
  fi
  if [[ "$word" == -* ]]; then
    values="$(grep -oE '(^|[ ,])--[a-z][a-z0-9-]*' <<<"$help" | tr -d ' ,')"
  elif [[ "$before" == -* ]]; then
    values="$(grep -E -- "(^|[ ,])$before[ ,]" <<<"$help" | grep -oE '\{[^}]*\}' | head -n 1 | tr -d '{}' | tr ',' ' ')"
    [ -n "$values" ] || { mapfile -t COMPREPLY < <(compgen -f -- "$word"); return; }
  else # values of a positional argument; subcommands; what else has a help of its own
    values="$(sed -n '/^Positionals:/,/^Options:/p' <<<"$help" | grep -oE '\{[^}]*\}' | tr -d '{}' | tr ',' ' ')
      $(sed -n '/^Subcommands:/,$p' <<<"$help" | grep -oE '^  [a-z][a-z-]*')
      $(grep -oE "'[a-z-]+ [a-z-]+ --help'" <<<"$help" | grep -oE ' [a-z-]+ ')"
  fi
  mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
}
complete -F _goss goss-bench goss-explain goss-links goss-pipeline-bench goss-sim goss-tune goss-train goss-wanem goss-keys
