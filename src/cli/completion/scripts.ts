/**
 * The completion scripts for shells. Each passes the words so far to `saltworks completion words` and offers the lines of its output. A line
 * is a candidate, a tab and its meaning; the lines `:files` and `:directories` request the shell's own completion.
 */
import type { shells } from "../options/own-options.ts";

/** Bash splits words at `=`. The script joins them again, and removes the part up to `=` from the candidates. */
const bash = `# Completion of saltworks for bash: source <(saltworks completion bash)
_saltworks() {
  local program="$1" word line last cut="" joined=0 i
  local -a words=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    last=$((\${#words[@]} - 1))
    if ((joined)); then
      words[last]+="$word"
      joined=0
    elif [[ "$word" == "=" && last -ge 0 && "\${words[last]}" == --* ]]; then
      words[last]+="="
      joined=1
    else
      words+=("$word")
    fi
  done
  last=$((\${#words[@]} - 1))
  [[ "\${words[last]}" == --*=* ]] && cut="\${words[last]%%=*}="
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :files) compopt -o filenames; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${words[last]#"$cut"}") ;;
      :directories) compopt -o filenames; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "\${words[last]#"$cut"}") ;;
      *) line="\${line%%$'\\t'*}"; COMPREPLY+=("\${line#"$cut"}") ;;
    esac
  done < <("$program" completion words -- "\${words[@]}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} -eq 1 && "\${COMPREPLY[0]}" == *= ]] && compopt -o nospace
  return 0
}
complete -F _saltworks saltworks
`;

const zsh = `#compdef saltworks
# Completion of saltworks for zsh, behind compinit: source <(saltworks completion zsh)
_saltworks() {
  local line
  local -a given found
  given=("\${(@Q)words[2,CURRENT]}")
  while IFS= read -r line; do
    case "$line" in
      :files) compset -P '--*='; _files ;;
      :directories) compset -P '--*='; _files -/ ;;
      *=$'\\t'*) compadd -S '' -- "\${line%%$'\\t'*}" ;;
      *) found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done < <("$words[1]" completion words -- "\${given[@]}" 2>/dev/null)
  (( \${#found} )) && _describe -t saltworks 'saltworks' found
  return 0
}
(( \${+functions[compdef]} )) && compdef _saltworks saltworks
`;

const fish = `# Completion of saltworks for fish: saltworks completion fish | source
function __saltworks_candidates
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in (command $words[1] completion words -- $words[2..-1] "$current" 2>/dev/null)
    switch "$line"
      case ':files'
        __fish_complete_path "$current"
      case ':directories'
        __fish_complete_directories "$current" ''
      case '*'
        printf '%s\\n' "$line"
    end
  end
end
complete -c saltworks -f -a '(__saltworks_candidates)'
`;

export const completionScripts: Readonly<Record<(typeof shells)[number], string>> = { bash, zsh, fish };
