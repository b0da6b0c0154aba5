/**
 * Completion scripts. Each asks `tacho __complete SHELL -- WORDS…`, where the last word is the one to complete, and gets one
 * candidate per line. The lines `:files` and `:folders` ask the shell for its own completion of paths. The scripts start the
 * `tacho` of PATH, not the one that was typed: a typed path may name a program of a repository.
 */

const bash = `_tacho() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" line kind
  # Bash splits words at = and :, and replaces only what comes after them.
  case "$cur" in = | :) cur="" ;; esac
  COMPREPLY=()
  compopt -o nosort 2> /dev/null
  while IFS= read -r line; do
    case "$line" in
      :files | :folders)
        kind=-f
        [ "$line" = :folders ] && kind=-d
        compopt -o filenames 2> /dev/null
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$kind" -- "$cur")
        ;;
      *) COMPREPLY+=("$line") ;;
    esac
  done < <(command tacho __complete bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -F _tacho tacho
`;

const zsh = `#compdef tacho
_tacho() {
  local line
  local -a values
  for line in "\${(@f)$(command tacho __complete zsh -- "\${(@Q)words[2,CURRENT]}" 2> /dev/null)}"; do
    case "$line" in
      :files) _files ;;
      :folders) _files -/ ;;
      ?*) values+=("$line") ;;
    esac
  done
  (( \${#values} )) && _describe -V tacho values
}
if [ "\${funcstack[1]}" = _tacho ]; then
  _tacho "$@"
else
  (( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit; }
  compdef _tacho tacho
fi
`;

const fish = `function __tacho_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in (command tacho __complete fish -- $words[2..-1] "$current" 2> /dev/null)
    switch $line
      case :files
        __fish_complete_path "$current"
      case :folders
        __fish_complete_directories "$current" ''
      case '*'
        printf '%s\\n' $line
    end
  end
end
complete -c tacho -f -k -a '(__tacho_complete)'
`;

export const SCRIPTS = { bash, zsh, fish } as const;
