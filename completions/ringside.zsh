#compdef ringside
# SPDX-License-Identifier: BSD-2-Clause
# zsh completion for ringside: `ringside complete` lists the possible words.

local command=${${(Q)words[1]}/#\~\//$HOME/} line word
local -a lines shown

lines=("${(@f)$("$command" complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
for line in "${(@)lines[1,-2]}"; do
	word=${${line%%$'\t'*}//\\/\\\\}
	shown+=("${word//:/\\:}${${(M)line:#*$'\t'*}:+:${line#*$'\t'}}")
done
(( ! $#shown )) || _describe ringside shown
line=$lines[-1]
case $line in
:file*) compset -p ${#line#*$'\t'} && _files ;;
:directory*) compset -p ${#line#*$'\t'} && _files -/ ;;
esac
